//! Machine descriptions: a TOML file, read section by section.
//!
//! A network model, or a node model, takes the keys it knows out of its [`Section`] by name and unit, and then calls
//! [`Section::finish`], which refuses the rest: each model's file is the one place that lists its keys.

mod lines;
mod node;
pub mod noise;
mod section;
pub mod topology;

pub use lines::lines_of_keys;
pub use node::{Node, Work};
pub use noise::{Noise, NoiseModel};
pub use section::{Section, Value, Values};
pub use topology::{AnyTopology, Hop, Placement, Spot, Topology, overlap};

use hocket_core::{Error, Result};

/// A machine file, checked as far as its sections go.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The machine's name.
    pub name: String,
    /// `[network]`: how messages travel.
    pub network: Section,
    /// `[node]`: what a rank computes with.
    pub node: Section,
    /// `[host]`: what a message costs the ranks at its ends, if the file says so.
    pub host: Option<Section>,
    /// `[noise]`: what delays operations.
    pub noise: Section,
}

impl Machine {
    /// Reads the text of a machine file; `file` is the name that messages give.
    ///
    /// # Errors
    /// Not TOML, no name, no network section, or a section that is not known: file, line and key.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let root = Section::parse(text, file)?;
        let name = root.text("name")?;
        let network = root.section("network")?;
        let node = root.optional_section("node")?;
        let host = root.optional_section("host")?;
        let host = root.contains("host").then_some(host);
        let noise = root.optional_section("noise")?;
        root.finish()?;
        if network.is_empty() {
            return Err(Error::new(format!("{file}: section [network] is missing, expected its model and parameters")));
        }
        Ok(Self { name, network, node, host, noise })
    }
}

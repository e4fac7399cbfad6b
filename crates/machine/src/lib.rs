//! Machine descriptions: a TOML file, read section by section.
//!
//! Each model takes its keys out of its [`Section`] by name and unit, then calls [`Section::finish`], which refuses the
//! rest. So the source file of a model is the only place that lists its keys.

mod discrepancy;
mod gpu;
mod lines;
mod node;
pub mod noise;
mod section;
pub mod topology;
mod variant;

pub use discrepancy::Discrepancy;
pub use lines::lines_of_keys;
pub use node::{Node, Scratch, Work};
pub use noise::{Noise, NoiseModel};
pub use section::{Section, Value, Values};
pub use topology::{AnyTopology, FatTree, Hop, Layout, Placement, Spot, Topology, overlap};
pub use variant::{Changes, Protocol, Scaled};

use hocket_core::{Result, ensure};

/// A machine file, split into its sections; models check the keys within them.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The machine's name.
    pub name: String,
    /// `[network]`: how messages travel.
    pub network: Section,
    /// `[node]`: the ranks' processors.
    pub node: Section,
    /// `[host]`, if the file has it: the time that a message costs its two ranks.
    pub host: Option<Section>,
    /// `[[level]]`: groups of ranks with costs of their own, from the core outwards.
    pub levels: Vec<Section>,
    /// `[noise]`: what delays operations.
    pub noise: Section,
    /// `[gpu]`, if the file has it: the accelerators of a node, for NCCL's tables alone.
    pub gpu: Option<Section>,
    /// The names of the sections within `[protocol]`, whose keys take the place of others, see [`Protocol`].
    pub protocols: Vec<String>,
    /// `[[discrepancy]]`: how far measured times were from simulated ones; the first kind that a call is of counts.
    pub discrepancies: Vec<Discrepancy>,
}

impl Machine {
    /// Reads the text of a machine file; `file` is its name in messages.
    ///
    /// # Errors
    /// Not TOML, no name, no network section, or an unknown section; the message has file, line and key.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        Self::of(&Section::parse(text, file)?, file)
    }

    /// As [`Machine::parse`], of a file in which numbers are left open: see [`Section::parse_skeleton`].
    pub fn parse_skeleton(text: &str, file: &str) -> Result<Self> {
        Self::of(&Section::parse_skeleton(text, file)?, file)
    }

    /// The text of the file with the node of each rank in place of the name of the file of hosts; none if it names none.
    ///
    /// # Errors
    /// A file of hosts that cannot be read.
    pub fn text_with_hosts(&self) -> Result<Option<String>> {
        if self.network.contains("file") {
            return Ok(None); // the hosts are nodes of the network by their names
        }
        let places = topology::placement::places_in_file(&self.network)?;
        Ok(places.map(|places| self.network.text_with("map", &format!("{places:?}"))))
    }

    fn of(root: &Section, file: &str) -> Result<Self> {
        let name = root.text("name")?;
        let network = root.section("network")?;
        let node = root.optional_section("node")?;
        let host = root.section_if_any("host")?;
        let levels = root.sections("level")?;
        let noise = root.optional_section("noise")?;
        let discrepancies = root.sections("discrepancy")?.iter().map(Discrepancy::read).collect::<Result<_>>()?;
        let gpu = root.section_if_any("gpu")?;
        gpu.as_ref().map_or(Ok(()), gpu::check)?;
        let protocols = names_of_protocols(&root.optional_section("protocol")?, &levels)?;
        root.finish()?;
        ensure(!network.is_empty(), || {
            format!("{file}: section [network] is missing, expected its model and parameters")
        })?;
        Ok(Self { name, network, node, host, levels, noise, gpu, protocols, discrepancies })
    }
}

/// The names of the protocols: sections that have values of other sections, and of levels by their names.
fn names_of_protocols(section: &Section, levels: &[Section]) -> Result<Vec<String>> {
    let keys = section.parts().chain(section.values().map(|(key, _)| key));
    let names: Vec<_> = keys.map(str::to_owned).collect();
    for name in &names {
        let protocol = section.optional_section(name)?;
        for key in ["network", "node", "host"] {
            protocol.optional_section(key)?;
        }
        let of_levels = protocol.optional_section("level")?;
        for (_, level) in levels.iter().flat_map(Section::values).filter(|(key, _)| *key == "name") {
            of_levels.optional_section(level)?;
        }
        of_levels.finish()?;
        protocol.finish()?;
    }
    section.finish()?;
    Ok(names)
}

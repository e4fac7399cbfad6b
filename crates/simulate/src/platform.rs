//! Machines, as the engines use them.

use std::borrow::Cow;

use hocket_core::{Error, Nodes, Result};
use hocket_machine::{Machine, Node, Noise, Section};

use crate::network::{Fault, Faults, NetworkModel};

/// Longer times are refused: their squares must be numbers.
const LONGEST_S: f64 = 1e150;

/// A machine as the engines use it: its network model, its processors, and its noise.
#[derive(Clone)]
pub struct Platform {
    /// The machine's name.
    pub name: String,
    /// The network model.
    pub network: NetworkModel,
    /// The ranks' processors.
    pub node: Node,
    /// The noise that delays operations.
    pub noise: Noise,
    /// The ranks of each node, if the machine file has `ranks_per_node`.
    pub nodes: Nodes,
}

impl Platform {
    /// Reads the sections of a machine.
    ///
    /// # Errors
    /// An unknown model, or a key that is missing, wrong or unknown.
    pub fn new(machine: &Machine) -> Result<Self> {
        let node = Node::read(&machine.node)?;
        let network = NetworkModel::read(machine)?;
        machine.network.finish()?;
        machine.node.finish()?;
        machine.host.iter().try_for_each(Section::finish)?;
        let noise = Noise::read(&machine.noise)?;
        let has_nodes = machine.network.contains("ranks_per_node");
        let nodes = if has_nodes { Nodes::Equal(machine.network.count("ranks_per_node")?) } else { Nodes::Unknown };
        Ok(Self { name: machine.name.clone(), network, node, noise, nodes })
    }
}

impl Platform {
    /// The machine with these faults of its links; the same if there are none.
    ///
    /// # Errors
    /// A network without links, or a link, a node or a fault that it cannot have.
    pub fn with_faults(&self, faults: &[Fault]) -> Result<Cow<'_, Self>> {
        if faults.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        Ok(Cow::Owned(Self { network: self.network.with_faults(faults)?, ..self.clone() }))
    }

    /// What these faults do to links: when, to which link, and the part of its bandwidth from then on.
    ///
    /// # Errors
    /// As [`Platform::with_faults`].
    pub fn changes_of_links(&self, faults: &[Fault]) -> Result<Vec<(f64, u32, f64)>> {
        let faulty = self.with_faults(faults)?;
        let of_links = faulty.network.fabric().filter(|fabric| !fabric.faults.is_empty());
        let of_links = of_links.map(|fabric| Faults::new(faults, &fabric.topology)).transpose()?;
        Ok(of_links.map_or_else(Vec::new, |faults| faults.changes()))
    }

    /// Checks that the times are small enough for their mean and their variance, and in nanoseconds.
    pub fn check_times(&self, times_s: impl Iterator<Item = f64>) -> Result<()> {
        if times_s.sum::<f64>() <= LONGEST_S {
            return Ok(());
        }
        Err(Error::new(format!("a time on machine {} exceeds the range of numbers, expected shorter times", self.name)))
    }
}

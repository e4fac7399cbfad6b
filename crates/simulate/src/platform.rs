//! Machines, as the engines use them.

use std::borrow::Cow;

use hocket_core::{Nodes, Result, ensure};
use hocket_machine::{Machine, Node, Noise, Placement, Section};

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
    /// The nodes of the ranks, if the machine file tells.
    pub placement: Option<Placement>,
}

impl Platform {
    /// Reads the sections of a machine.
    pub fn new(machine: &Machine) -> Result<Self> {
        let node = Node::read(&machine.node)?;
        let network = NetworkModel::read(machine)?;
        machine.network.finish()?;
        machine.node.finish()?;
        machine.host.iter().try_for_each(Section::finish)?;
        let noise = Noise::read(&machine.noise)?;
        let placement = match network.fabric() {
            _ if !Placement::is_in(&machine.network) => None,
            Some(fabric) => Some(fabric.placement.clone()),
            None => Some(Placement::read_without_topology(&machine.network)?),
        };
        Ok(Self { name: machine.name.clone(), network, node, noise, placement })
    }

    /// Whether all trials of a call are alike.
    pub fn is_certain(&self) -> bool {
        self.noise.is_quiet() && !self.network.is_random()
    }

    /// The nodes of a call of `ranks` ranks, as algorithms see them.
    ///
    /// # Errors
    /// More ranks than the machine's map lists.
    pub fn nodes(&self, ranks: usize) -> Result<Nodes> {
        self.placement.as_ref().map_or(Ok(Nodes::Unknown), |placement| placement.nodes(ranks))
    }

    /// Checks that the machine has nodes for this many ranks.
    ///
    /// # Errors
    /// More ranks than the network holds, or than the machine's map lists.
    pub fn check_ranks(&self, ranks: usize) -> Result<()> {
        match (self.network.fabric(), &self.placement) {
            (Some(fabric), _) => fabric.check(ranks),
            (None, Some(placement)) => placement.check_listed(ranks),
            (None, None) => Ok(()),
        }
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

    /// The machine for several jobs: its ranks fill the nodes one after the other, unless the machine lists them. A map
    /// that deals ranks to nodes does so in each job.
    pub fn for_jobs(&self) -> Cow<'_, Self> {
        let in_order = self.placement.as_ref().and_then(Placement::filled_in_order);
        in_order.map_or(Cow::Borrowed(self), |placement| Cow::Owned(self.with_placement(&placement)))
    }

    /// The machine with these of its ranks only, in this order.
    pub fn of_ranks(&self, ranks: &[usize]) -> Cow<'_, Self> {
        let fabric = self.network.fabric();
        let placement = fabric.map(|fabric| &fabric.placement).or(self.placement.as_ref());
        match placement.filter(|_| !ranks.iter().copied().eq(0..ranks.len())) {
            None => Cow::Borrowed(self),
            Some(all) => {
                Cow::Owned(self.with_placement(&all.of_some(ranks, fabric.map(|fabric| fabric.topology.nodes()))))
            }
        }
    }

    fn with_placement(&self, placement: &Placement) -> Self {
        let network = self.network.with_placement(placement);
        Self { network, placement: self.placement.as_ref().map(|_| placement.clone()), ..self.clone() }
    }

    /// What these faults do to links: when, to which link, and the part of its bandwidth from then on.
    pub fn changes_of_links(&self, faults: &[Fault]) -> Result<Vec<(f64, u32, f64)>> {
        let faulty = self.with_faults(faults)?;
        let of_links = faulty.network.fabric().filter(|fabric| !fabric.faults.is_empty());
        let of_links = of_links.map(|fabric| Faults::new(faults, &fabric.topology)).transpose()?;
        Ok(of_links.map_or_else(Vec::new, |faults| faults.changes()))
    }

    /// Checks that the times are small enough for their mean and their variance, and in nanoseconds.
    pub fn check_times(&self, times_s: impl Iterator<Item = f64>) -> Result<()> {
        ensure(times_s.sum::<f64>() <= LONGEST_S, || {
            format!("a time on machine {} exceeds the range of numbers, expected shorter times", self.name)
        })
    }
}

//! Messages within a node: `[network.local]`, in all network models.

use hocket_core::Result;
use hocket_machine::Section;

/// Ranks that share nodes, and the costs of messages within a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Local<C> {
    /// `ranks_per_node`, a key of `[network]`: this many successive ranks share a node.
    pub ranks_per_node: usize,
    /// The costs.
    pub costs: C,
}

impl<C> Local<C> {
    /// The section `local` of a network without a topology, if there is one.
    pub(super) fn read(network: &Section, read: impl FnOnce(&Section) -> Result<C>) -> Result<Option<Self>> {
        let Some(costs) = costs(network, read)? else { return Ok(None) };
        Ok(Some(Self { ranks_per_node: network.count_or("ranks_per_node", 1)?, costs }))
    }

    /// As [`super::Network::local_ranks`].
    #[inline]
    pub fn ranks_of(&self, [from, to]: [usize; 2], ranks: usize) -> usize {
        let node = from / self.ranks_per_node;
        if to / self.ranks_per_node == node { self.ranks_per_node.min(ranks - node * self.ranks_per_node) } else { 0 }
    }
}

/// The costs in the section `local` of a network, if there is one.
pub(super) fn costs<C>(network: &Section, read: impl FnOnce(&Section) -> Result<C>) -> Result<Option<C>> {
    let section = network.optional_section("local")?;
    if !network.contains("local") {
        return Ok(None);
    }
    let costs = read(&section)?;
    section.finish()?;
    Ok(Some(costs))
}

/// `memory_bandwidth` of the section `local`: seconds per byte for all ranks of a node together; 0 when absent.
pub(super) fn memory_s_per_byte(section: &Section) -> Result<f64> {
    Ok(section.optional_bytes_per_s("memory_bandwidth")?.map_or(0.0, |rate| 1.0 / rate))
}

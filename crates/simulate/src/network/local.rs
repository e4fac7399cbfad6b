//! Messages within a node: `[network.local]`, in all network models.

use hocket_core::Result;
use hocket_machine::{Placement, Section};

/// Ranks that share nodes, and the costs of messages within a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Local<C> {
    /// The nodes of the ranks.
    pub placement: Placement,
    /// The costs.
    pub costs: C,
}

impl<C> Local<C> {
    /// The section `local` of a network without a topology, if there is one.
    pub(super) fn read(network: &Section, read: impl FnOnce(&Section) -> Result<C>) -> Result<Option<Self>> {
        let Some(costs) = costs(network, read)? else { return Ok(None) };
        Ok(Some(Self { placement: Placement::read_without_topology(network)?, costs }))
    }

    /// As [`super::Network::local_ranks`].
    #[inline]
    pub fn ranks_of(&self, of_message: [usize; 2], ranks: usize) -> usize {
        self.placement.ranks_beside(of_message, ranks)
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

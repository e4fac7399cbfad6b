//! Placements: on which node each rank is.

use std::ops::Range;
use std::sync::Arc;

use hocket_core::{Error, Result};

use crate::Section;

/// Where the ranks are. Keys of `[network]`: `ranks_per_node` (1 when absent): so many successive ranks share a node;
/// `permutation`: a list of the nodes in the order in which ranks are put on them, in the order of their numbers when
/// absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    ranks_per_node: usize,
    order: Option<Arc<[usize]>>,
}

/// More ranks than any machine has.
const MOST_RANKS: usize = u32::MAX as usize;

impl Placement {
    /// One rank per node, in order.
    pub fn linear() -> Self {
        Self { ranks_per_node: 1, order: None }
    }

    /// Reads the keys for a topology of `nodes` nodes.
    ///
    /// # Errors
    /// No ranks per node, or a list that does not name every node once.
    pub fn read(section: &Section, nodes: usize) -> Result<Self> {
        let ranks_per_node = section.count_or("ranks_per_node", 1)?;
        if ranks_per_node > MOST_RANKS / nodes {
            return Err(section.reject("ranks_per_node", "no more than 2^32 - 1 ranks in all"));
        }
        let order = section.optional_numbers("permutation")?;
        if let Some(order) = &order {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..nodes) {
                return Err(section.reject("permutation", &format!("each of the nodes 0 to {} once", nodes - 1)));
            }
        }
        Ok(Self { ranks_per_node, order: order.map(Arc::from) })
    }

    /// Whether rank r is on node r.
    pub fn is_linear(&self) -> bool {
        self.ranks_per_node == 1 && self.order.is_none()
    }

    /// The node of a rank.
    pub fn node_of(&self, rank: usize) -> usize {
        let place = rank / self.ranks_per_node;
        self.order.as_ref().map_or(place, |order| order[place])
    }

    /// The ranks for which each of `nodes` nodes has room.
    pub fn ranks(&self, nodes: usize) -> Vec<Range<usize>> {
        let mut ranks = vec![0..0; nodes];
        for place in 0..nodes {
            let first = place * self.ranks_per_node;
            ranks[self.node_of(first)] = first..first + self.ranks_per_node;
        }
        ranks
    }

    /// Checks that so many ranks have room.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self, ranks: usize, nodes: usize) -> Result<()> {
        let room = nodes * self.ranks_per_node;
        if ranks <= room {
            return Ok(());
        }
        Err(Error::new(format!("ranks: got {ranks}, expected at most {room}, for which the network has room")))
    }
}

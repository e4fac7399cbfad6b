//! Placements: the node of each rank.

use std::ops::Range;
use std::sync::Arc;

use hocket_core::{Error, Result};

use super::Layout;
use crate::Section;
use crate::section::MOST_NODES;

/// The nodes of the ranks. Keys of `[network]`: `ranks_per_node` (default 1): this many successive ranks share a node;
/// `permutation`: the nodes in the order in which ranks fill them (default: ascending).
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    ranks_per_node: usize,
    permutation: Option<Arc<Permutation>>,
}

/// The order in which ranks fill the nodes.
#[derive(Debug, PartialEq)]
struct Permutation {
    /// The node at each place of the order.
    nodes: Vec<usize>,
    /// The place of each node.
    places: Vec<usize>,
}

impl Permutation {
    /// None unless the list has every node exactly once.
    fn new(nodes: Vec<usize>, count: usize) -> Option<Self> {
        let mut places = vec![usize::MAX; count];
        for (place, node) in nodes.iter().enumerate() {
            *places.get_mut(*node)? = place;
        }
        let is_whole = nodes.len() == count && !places.contains(&usize::MAX);
        is_whole.then_some(Self { nodes, places })
    }
}

impl Placement {
    /// One rank per node, in order.
    pub fn linear() -> Self {
        Self { ranks_per_node: 1, permutation: None }
    }

    /// Reads `ranks_per_node` of a network without a topology: its nodes have no end.
    ///
    /// # Errors
    /// A wrong number of ranks per node.
    pub fn without_topology(section: &Section) -> Result<Self> {
        Ok(Self { ranks_per_node: section.count_or("ranks_per_node", 1)?, permutation: None })
    }

    /// Reads the keys for a topology of `nodes` nodes. Its layout is an order of the nodes, too.
    ///
    /// # Errors
    /// A wrong number of ranks per node, a list that does not name every node exactly once, or one beside a layout.
    pub fn read(section: &Section, nodes: usize, layout: Option<&Layout>) -> Result<Self> {
        let ranks_per_node = section.count_or("ranks_per_node", 1)?;
        if ranks_per_node > MOST_NODES / nodes {
            return Err(section.reject("ranks_per_node", "at most 2^26 ranks on all nodes together"));
        }
        let order = match (section.optional_numbers("permutation")?, layout) {
            (Some(_), Some(_)) => return Err(section.reject("permutation", "no such key beside network.layout")),
            (Some(order), None) => order,
            (None, Some(layout)) => layout.nodes(),
            (None, None) => return Ok(Self { ranks_per_node, permutation: None }),
        };
        let expected = format!("each of the nodes 0 to {} once", nodes - 1);
        let is_ascending = order.iter().copied().eq(0..nodes);
        let permutation = Permutation::new(order, nodes).ok_or_else(|| section.reject("permutation", &expected))?;
        Ok(Self { ranks_per_node, permutation: (!is_ascending).then(|| Arc::new(permutation)) })
    }

    /// Whether the node of each rank has its number.
    pub fn is_linear(&self) -> bool {
        *self == Self::linear()
    }

    /// The node of a rank.
    pub fn node_of(&self, rank: usize) -> usize {
        let place = rank / self.ranks_per_node;
        self.permutation.as_ref().map_or(place, |order| order.nodes[place])
    }

    /// The node of a rank, and its place among the ranks there.
    pub fn seat_of(&self, rank: usize) -> (usize, usize) {
        (self.node_of(rank), rank % self.ranks_per_node)
    }

    /// The ranks that a node holds.
    pub fn ranks_on(&self, node: usize) -> Range<usize> {
        let place = self.permutation.as_ref().map_or(node, |order| order.places[node]);
        place * self.ranks_per_node..(place + 1) * self.ranks_per_node
    }

    /// The number of ranks that `nodes` nodes hold.
    pub fn room(&self, nodes: usize) -> usize {
        nodes * self.ranks_per_node
    }

    /// Checks that the nodes hold this many ranks.
    ///
    /// # Errors
    /// More ranks than the nodes hold.
    pub fn check(&self, ranks: usize, nodes: usize) -> Result<()> {
        let room = self.room(nodes);
        if ranks <= room {
            return Ok(());
        }
        Err(Error::new(format!("ranks: got {ranks}, expected at most {room}, the ranks that the network holds")))
    }
}

//! Lower bounds of neighbor_allgather.
//!
//! - Latency: a rank has to hear of all its neighbours.
//! - Bandwidth: a block enters a set of ranks once if any of the members needs it. A rank receives a block from each of
//!   its neighbours: one block, even from a rank that is its neighbour several times.
//!
//! Source: as allgather, with these neighbours.

use hocket_core::demand::Demand;

use crate::shapes::neighborhood::{gathering, sources};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: gathering,
    leaving: |c, contains| {
        let is_for_outside = |rank: &usize| c.neighbors().of(*rank).to.iter().any(|edge| !contains(edge.rank));
        (0..c.ranks).filter(|rank| contains(*rank) && is_for_outside(rank)).map(|rank| c.input_len(rank)).sum()
    },
    sent_elements: |c| (0..c.ranks).map(|rank| sources(c, rank).map(|(_, elements)| elements).sum::<usize>()).sum(),
    combinations: |_| 0,
};

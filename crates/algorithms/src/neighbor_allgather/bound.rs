//! Lower bounds of neighbor_allgather.
//!
//! - Latency: a rank has to hear of all its neighbours.
//! - Bandwidth: a block crosses into a set of ranks once if it is for any of its members; each rank receives a block from each of its
//!   neighbours, once from one that is its neighbour several times.
//!
//! Source: those of allgather, with the neighbours there are.

use hocket_core::demand::Demand;

use crate::shapes::neighborhood::{gathering, sources};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: gathering,
    leaving: |c, within| {
        let is_for_outside = |rank: &usize| c.neighbors().of(*rank).to.iter().any(|edge| !within(edge.rank));
        (0..c.ranks).filter(|rank| within(*rank) && is_for_outside(rank)).map(|rank| c.input_len(rank)).sum()
    },
    carried: |c| (0..c.ranks).map(|rank| sources(c, rank).map(|(_, elements)| elements).sum::<usize>()).sum(),
    combined: |_| 0,
};

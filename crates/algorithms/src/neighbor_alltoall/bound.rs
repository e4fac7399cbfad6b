//! Lower bounds of neighbor_alltoall.
//!
//! - Latency: a rank has to hear of all its neighbours.
//! - Bandwidth: a set of ranks sends the blocks that its members have for neighbours outside.
//!
//! Source: as alltoall, with these neighbours.

use hocket_core::demand::Demand;

use crate::shapes::neighborhood::{elements_to, gathering};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: gathering,
    leaving: |c, contains| {
        (0..c.ranks).filter(|rank| contains(*rank)).map(|rank| elements_to(c, rank, &|to| !contains(to))).sum()
    },
    sent_elements: |c| (0..c.ranks).map(|rank| elements_to(c, rank, &|to| to != rank)).sum(),
    combinations: |_| 0,
};

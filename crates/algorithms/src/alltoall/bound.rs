//! Lower bounds of alltoall.
//!
//! - Latency: every rank has to hear of every other rank.
//! - Bandwidth: a set of ranks sends a block from each member to each rank outside. A single rank sends (P-1) n.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
//! in multiport message-passing systems", IEEE Trans. Parallel and Distributed Systems 8 (1997), section 2 (the index
//! operation on k ports).

use hocket_core::demand::{Demand, Spread, ranks_of_vector};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank(0, ranks_of_vector(c)),
    leaving: |c, contains| {
        let inside = (0..c.ranks).filter(|rank| contains(*rank)).count();
        (inside * (c.ranks - inside)).saturating_mul(c.count(0))
    },
    sent_elements: |c| (c.ranks * (c.ranks - 1)).saturating_mul(c.count(0)),
    combinations: |_| 0,
};

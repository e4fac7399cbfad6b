//! Lower bounds of scan.
//!
//! - Latency: all ranks have to hear of rank 0, and the last rank has to hear of all ranks.
//! - Bandwidth: a vector leaves every set of ranks that has a member before a rank outside.
//! - Computation: every result except the first takes a combination. So some rank makes at least (P-1)/P n of them.
//!
//! Source: as broadcast, since all results depend on rank 0. P-1 results differ from the inputs and from each other.

use hocket_core::demand::{Demand, Spread, is_split, ranks_of_vector};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank(0, ranks_of_vector(c)),
    leaving: |c, contains| {
        let first = (0..c.ranks).find(|rank| contains(*rank));
        let is_awaited = first.is_some_and(|first| (first..c.ranks).any(|rank| !contains(rank)));
        if is_split(c, contains) && is_awaited { c.count(0) } else { 0 }
    },
    sent_elements: |c| (c.ranks - 1) * c.count(0),
    combinations: |c| (c.ranks - 1) * c.count(0),
};

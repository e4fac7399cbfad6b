//! Lower bounds of scan.
//!
//! - Latency: all ranks have to hear of rank 0, and the last one of all.
//! - Bandwidth: the vector leaves every set of ranks that has one before one of the others.
//! - Computation: every result but the first takes a combination, so that some rank makes (P-1)/P n of them.
//!
//! Source: that of broadcast, as all ranks take part of rank 0; P-1 results differ from the inputs and from each other.

use hocket_core::demand::{Demand, Spread, is_split, ranks_of_vector};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank(0, ranks_of_vector(c)),
    leaving: |c, within| {
        let first = (0..c.ranks).find(|rank| within(*rank));
        let is_awaited = first.is_some_and(|first| (first..c.ranks).any(|rank| !within(rank)));
        if is_split(c, within) && is_awaited { c.count(0) } else { 0 }
    },
    carried: |c| (c.ranks - 1) * c.count(0),
    combined: |c| (c.ranks - 1) * c.count(0),
};

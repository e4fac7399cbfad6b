//! Lower bounds of reduce_scatter.
//!
//! - Latency: a rank with a block has to hear of all other ranks; if all ranks have a block, all have to hear of each.
//! - Bandwidth: the combined blocks of all ranks outside leave a set of ranks. A single rank sends (P-1)/P n.
//! - Computation: every element takes P-1 combinations. So some rank makes at least (P-1)/P n of them.
//!
//! Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007).

use hocket_core::demand::{Demand, Spread, blocks_of, is_split};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| match (0..c.ranks).all(|rank| c.count(rank) > 0) {
        true => Spread::from_rank(0, c.ranks),
        false => Spread::to_rank((0..c.ranks).find(|rank| c.count(*rank) > 0)?, c.ranks),
    },
    leaving: |c, contains| if is_split(c, contains) { c.total() - blocks_of(c, contains) } else { 0 },
    sent_elements: |c| c.total().saturating_mul(c.ranks - 1),
    combinations: |c| c.total().saturating_mul(c.ranks - 1),
};

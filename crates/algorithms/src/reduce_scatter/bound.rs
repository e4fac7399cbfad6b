//! Lower bounds of reduce_scatter.
//!
//! - Latency: a rank with a block has to hear of all others; if all have one, all have to hear of each.
//! - Bandwidth: the blocks of all others leave a set of ranks, combined: of a rank by itself (P-1)/P n.
//! - Computation: P-1 combinations of every element, so that some rank makes (P-1)/P n of them.
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
    leaving: |c, within| if is_split(c, within) { c.total() - blocks_of(c, within) } else { 0 },
    carried: |c| c.total().saturating_mul(c.ranks - 1),
    combined: |c| c.total().saturating_mul(c.ranks - 1),
};

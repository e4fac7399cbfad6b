//! Lower bounds of scatter.
//!
//! - Latency: all ranks that get anything have to hear of the root.
//! - Bandwidth: the blocks of all others leave the root.
//!
//! Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007).

use hocket_core::demand::{Demand, Spread, blocks_of};

/// What every algorithm has to do.
pub const DEMAND: Demand = Demand {
    spread: |c| {
        let ranks = (0..c.ranks).filter(|rank| *rank == c.root || c.count(*rank) > 0).count();
        (ranks > 1).then_some(Spread { rank: c.root, ranks, is_gathering: false })
    },
    leaving: |c, within| if within(c.root) { c.total() - blocks_of(c, within) } else { 0 },
    carried: |c| c.total() - c.count(c.root),
    combined: |_| 0,
};

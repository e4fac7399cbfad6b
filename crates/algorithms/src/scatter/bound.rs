//! Lower bounds of scatter.
//!
//! - Latency: all ranks that get data have to hear of the root.
//! - Bandwidth: the root sends the blocks of all other ranks.
//!
//! Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007).

use hocket_core::demand::{Demand, Spread, blocks_of, ranks_of_blocks};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank(c.root, ranks_of_blocks(c)),
    leaving: |c, contains| if contains(c.root) { c.total() - blocks_of(c, contains) } else { 0 },
    sent_elements: |c| c.total() - c.count(c.root),
    combinations: |_| 0,
};

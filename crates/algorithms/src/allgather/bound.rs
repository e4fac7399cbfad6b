//! Lower bounds of allgather.
//!
//! - Latency: all ranks have to hear of a rank with a block.
//! - Bandwidth: a rank receives the blocks of all others, which are (P-1) n bytes.
//!
//! Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007).

use hocket_core::demand::{Demand, Spread, blocks_of, is_split};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank((0..c.ranks).find(|rank| c.count(*rank) > 0)?, c.ranks),
    leaving: |c, contains| if is_split(c, contains) { blocks_of(c, contains) } else { 0 },
    sent_elements: |c| c.total().saturating_mul(c.ranks - 1),
    combinations: |_| 0,
};

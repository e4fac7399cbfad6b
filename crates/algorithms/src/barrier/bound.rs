//! Lower bounds of barrier.
//!
//! - Latency: no rank may leave before it has heard of every other.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
//! in multiport message-passing systems", IEEE Trans. Parallel and Distributed Systems 8 (1997), section 2: in a round
//! what one rank knows reaches k + 1 times as many.

use hocket_core::demand::{Demand, Spread};

/// The demand on every algorithm.
pub const DEMAND: Demand =
    Demand { spread: |c| Spread::from_rank(0, c.ranks), leaving: |_, _| 0, carried: |_| 0, combined: |_| 0 };

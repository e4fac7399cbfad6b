//! Lower bounds of barrier.
//!
//! - Latency: no rank may leave before it has heard of every other rank.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
//! in multiport message-passing systems", IEEE Trans. Parallel and Distributed Systems 8 (1997), section 2: on k ports,
//! a round multiplies the ranks that know something by at most k + 1.

use hocket_core::demand::{Demand, Spread};

/// The demand on every algorithm.
pub const DEMAND: Demand =
    Demand { spread: |c| Spread::from_rank(0, c.ranks), leaving: |_, _| 0, sent_elements: |_| 0, combinations: |_| 0 };

//! Lower bounds of broadcast.
//!
//! - Latency: all ranks have to hear of the root.
//! - Bandwidth: the vector leaves the root, and every set of ranks that contains the root.
//!
//! Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007).

use hocket_core::demand::{Demand, Spread, is_split, ranks_of_vector};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank(c.root, ranks_of_vector(c)),
    leaving: |c, contains| if contains(c.root) && is_split(c, contains) { c.count(0) } else { 0 },
    sent_elements: |c| (c.ranks - 1) * c.count(0),
    combinations: |_| 0,
};

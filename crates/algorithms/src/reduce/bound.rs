//! Lower bounds of reduce.
//!
//! - Latency: the root has to hear of all ranks.
//! - Bandwidth: the combined vector leaves every set of ranks without the root.
//! - Computation: every element takes P-1 combinations. So some rank makes at least (P-1)/P n of them.
//!
//! Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007).

use hocket_core::demand::{Demand, Spread, is_split, ranks_of_vector};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::to_rank(c.root, ranks_of_vector(c)),
    leaving: |c, contains| if !contains(c.root) && is_split(c, contains) { c.count(0) } else { 0 },
    sent_elements: |c| (c.ranks - 1) * c.count(0),
    combinations: |c| (c.ranks - 1) * c.count(0),
};

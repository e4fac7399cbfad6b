//! Lower bounds of allreduce.
//!
//! - Latency: every rank has to hear of every other.
//! - Bandwidth: the vector has to leave every set of ranks, combined. All ranks together send every element 2 (P-1) times:
//!   P-1 messages bring it together, and P-1 more bring the result to all, so that some rank sends 2 (P-1)/P n.
//! - Computation: P-1 combinations of every element, so that some rank makes (P-1)/P n of them.
//!
//! Sources: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007); P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce
//! algorithms for clusters of workstations", J. Parallel and Distributed Computing 69 (2009), for the bandwidth.

use hocket_core::demand::{Demand, Spread, is_split, ranks_of_vector};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank(0, ranks_of_vector(c)),
    leaving: |c, within| if is_split(c, within) { c.count(0) } else { 0 },
    carried: |c| 2 * (c.ranks - 1) * c.count(0),
    combined: |c| (c.ranks - 1) * c.count(0),
};

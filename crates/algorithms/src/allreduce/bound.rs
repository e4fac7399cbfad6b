//! Lower bounds of allreduce.
//!
//! - Latency: every rank has to hear of every other rank.
//! - Bandwidth: the combined vector has to leave every set of ranks. All ranks together send every element 2 (P-1)
//!   times: P-1 messages combine it, and P-1 more messages bring the result to all ranks. So some rank sends at least
//!   2 (P-1)/P n.
//! - Computation: every element takes P-1 combinations. So some rank makes at least (P-1)/P n of them.
//!
//! Sources: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007); P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce
//! algorithms for clusters of workstations", J. Parallel and Distributed Computing 69 (2009), for the bandwidth.

use hocket_core::demand::{Demand, Spread, is_split, ranks_of_vector};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| Spread::from_rank(0, ranks_of_vector(c)),
    leaving: |c, contains| if is_split(c, contains) { c.count(0) } else { 0 },
    sent_elements: |c| 2 * (c.ranks - 1) * c.count(0),
    combinations: |c| (c.ranks - 1) * c.count(0),
};

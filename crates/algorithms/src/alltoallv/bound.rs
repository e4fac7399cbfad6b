//! Lower bounds of alltoallv.
//!
//! - Latency: every rank has to hear of all ranks that have data for it.
//! - Bandwidth: a set of ranks sends the blocks that its members have for ranks outside.
//!
//! Source: as alltoall, with blocks of these sizes.

use hocket_core::Call;
use hocket_core::demand::{Demand, Spread};

/// The demand on every algorithm.
pub const DEMAND: Demand = Demand {
    spread: |c| {
        let sources = |rank: &usize| (0..c.ranks).filter(|to| to != rank && c.pair_count(*rank, *to) > 0).count();
        let most = (0..c.ranks).max_by_key(sources)?;
        Spread::from_rank(most, 1 + sources(&most))
    },
    leaving: |c, contains| between(c, |from, to| contains(from) && !contains(to)),
    sent_elements: |c| between(c, |from, to| from != to),
    combinations: |_| 0,
};

/// Number of elements between the pairs of ranks for which `counts` holds.
fn between(c: &Call, counts: impl Fn(usize, usize) -> bool) -> usize {
    let pairs = (0..c.ranks).flat_map(|from| (0..c.ranks).map(move |to| (from, to)));
    let elements = pairs.filter(|(from, to)| counts(*from, *to)).map(|(from, to)| c.pair_count(from, to));
    elements.fold(0, usize::saturating_add)
}

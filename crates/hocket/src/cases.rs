//! The calls that every algorithm is tried with.

use hocket_core::{Call, Collective, Counts};

/// Rank counts: all small ones, and those around powers of two.
pub fn rank_counts() -> impl Iterator<Item = usize> {
    (1..=17).chain([31, 32, 33])
}

/// Calls with counts that are zero, one, as many as ranks, and more without dividing evenly; with blocks of different
/// sizes where the collective has blocks; at every root.
pub fn calls(collective: Collective, ranks: usize) -> Vec<Call> {
    let counts = if collective == Collective::Barrier { vec![0] } else { vec![0, 1, ranks, 2 * ranks + 1] };
    let mut calls: Vec<_> = counts.into_iter().map(|count| Call::new(collective, ranks, count)).collect();
    if collective.has_blocks() {
        let uneven: Vec<_> = (0..ranks).map(|i| (i * 5 + 2) % 4).collect();
        calls.push(Call { counts: Counts::each(&uneven), ..Call::new(collective, ranks, 0) });
    }
    let roots = if collective.has_root() { ranks } else { 1 };
    calls.iter().flat_map(|call| (0..roots).map(move |root| Call { root, ..call.clone() })).collect()
}

/// The same calls, each also in place.
pub fn calls_also_in_place(collective: Collective, ranks: usize) -> impl Iterator<Item = Call> {
    calls(collective, ranks).into_iter().flat_map(|call| [false, true].map(|in_place| Call { in_place, ..call.clone() }))
}

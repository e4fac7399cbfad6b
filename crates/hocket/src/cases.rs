//! The calls that every algorithm is tried with.

use hocket_algorithms::Entry;
use hocket_algorithms::alltoall::pairwise_exchange::{BARRIER, PAIRING};
use hocket_algorithms::torus::{X, Y, Z};
use hocket_core::{Call, Collective, Counts, Unit};

/// Rank counts: all small ones, and those around powers of two.
pub fn rank_counts() -> impl Iterator<Item = usize> {
    (1..=17).chain([31, 32, 33])
}

/// Up to so many ranks, every root is tried; beyond, the first, the second, the middle and the last.
const MOST_RANKS_WITH_ALL_ROOTS: usize = 33;

fn roots(collective: Collective, ranks: usize) -> impl Iterator<Item = usize> {
    let is_tried = move |root: &usize| match () {
        () if !collective.has_root() => *root == 0,
        () if ranks <= MOST_RANKS_WITH_ALL_ROOTS => true,
        () => [0, 1, ranks / 2, ranks - 1].contains(root),
    };
    (0..ranks).filter(is_tried)
}

/// Calls with counts that are zero, one, as many as ranks, and more without dividing evenly; with blocks of different
/// sizes where the collective has blocks; at every root, or at four of many.
pub fn calls(collective: Collective, ranks: usize) -> Vec<Call> {
    let counts = if collective == Collective::Barrier { vec![0] } else { vec![0, 1, ranks, 2 * ranks + 1] };
    let mut calls: Vec<_> = counts.into_iter().map(|count| Call::new(collective, ranks, count)).collect();
    if collective.has_blocks() {
        let uneven: Vec<_> = (0..ranks).map(|i| (i * 5 + 2) % 4).collect();
        calls.push(Call { counts: Counts::each(&uneven), ..Call::new(collective, ranks, 0) });
    }
    calls.iter().flat_map(|call| roots(collective, ranks).map(move |root| Call { root, ..call.clone() })).collect()
}

/// The same calls, each also in place where that is something else.
pub fn calls_also_in_place(collective: Collective, ranks: usize) -> impl Iterator<Item = Call> {
    let places: &[bool] = match collective {
        Collective::Barrier | Collective::Broadcast => &[false],
        _ => &[false, true],
    };
    let calls = calls(collective, ranks).into_iter();
    calls.flat_map(move |call| places.iter().map(move |in_place| Call { in_place: *in_place, ..call.clone() }))
}

/// The same calls, each also with an operator whose operands must stay in order, where the collective reduces.
pub fn calls_to_verify(collective: Collective, ranks: usize) -> impl Iterator<Item = Call> {
    let operators: &[bool] = if collective.reduces() { &[true, false] } else { &[true] };
    let calls = calls_also_in_place(collective, ranks);
    calls.flat_map(move |call| {
        operators.iter().map(move |commutative| Call { commutative: *commutative, ..call.clone() })
    })
}

/// Tori that algorithms for tori are tried on, besides one near a cube: rings of two, one axis, two and three.
const TORI: [[u64; 3]; 8] = [[2, 1, 3], [1, 3, 2], [1, 1, 9], [2, 3, 2], [4, 1, 3], [2, 2, 4], [1, 2, 8], [2, 4, 4]];

/// Pairings and barriers that pairwise exchange is tried with, besides its defaults.
const EXCHANGES: [[u64; 2]; 3] = [[1, 0], [2, 0], [0, 1]];

/// Values of an algorithm's parameters: the defaults, and where a parameter counts bytes, a few of them only, so that
/// small messages are cut into many segments; for algorithms for tori, those of a few sizes; and for those that choose how
/// ranks are paired, the other pairings, and barriers between steps.
pub fn parameters(entry: &Entry) -> Vec<Vec<(String, u64)>> {
    let in_bytes = entry.about.parameters.iter().filter(|p| p.unit == Unit::Bytes);
    let few: Vec<_> = in_bytes.map(|p| (p.name.to_owned(), p.least.max(3))).collect();
    let is_for_tori = entry.about.parameters.iter().any(|p| p.name == X.name);
    let tori = TORI.iter().filter(|_| is_for_tori).map(|sizes| {
        let sizes = [X, Y, Z].iter().zip(sizes).map(|(axis, size)| (axis.name.to_owned(), *size));
        sizes.chain(few.clone()).collect()
    });
    let has_pairings = entry.about.parameters.iter().any(|p| p.name == PAIRING.name);
    let exchanges = EXCHANGES.iter().filter(|_| has_pairings).map(|values| {
        [PAIRING, BARRIER].iter().zip(values).map(|(parameter, value)| (parameter.name.to_owned(), *value)).collect()
    });
    let segmented = (!few.is_empty()).then(|| few.clone());
    std::iter::once(Vec::new()).chain(segmented).chain(tori).chain(exchanges).collect()
}

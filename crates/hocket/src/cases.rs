//! The calls with which algorithms are tested and verified.

use std::ops::Range;
use std::sync::Arc;

use hocket_algorithms::Entry;
use hocket_core::{Call, Collective, Counts, Neighbors, Pairs, Parameter, Result, Stencil, budget, ensure};

use crate::request::check_root;

/// Rank counts: all small ones, and some around 32.
pub fn rank_counts() -> impl Iterator<Item = usize> {
    (1..=17).chain([31, 32, 33])
}

/// The largest number of ranks that is verified.
const MOST_RANKS_TO_VERIFY: usize = 1 << 16;

/// Up to this many ranks, every root is tried; beyond, the first, the second, the last and another one in turn.
const MOST_RANKS_WITH_ALL_ROOTS: usize = 33;

/// As [`MOST_RANKS_WITH_ALL_ROOTS`], for values of parameters other than the first. The calls that are tried once have
/// at most as many ranks.
const MOST_RANKS_OF_OTHER_VALUES: usize = 17;

/// The distance of successive roots in turn; a prime, so that all ranks have their turn.
const NEXT_ROOT: usize = 131;

/// The roots to try with the call of this number.
fn roots(collective: Collective, ranks: usize, number: usize) -> Vec<usize> {
    match collective.has_root() {
        false => vec![0],
        true if ranks <= MOST_RANKS_WITH_ALL_ROOTS => (0..ranks).collect(),
        true => vec![0, 1, root_in_turn(2..ranks - 1, number), ranks - 1],
    }
}

/// One root of a range, which begins with the middle one.
fn root_in_turn(range: Range<usize>, number: usize) -> usize {
    let ranks = range.len();
    range.start + (ranks / 2 + number * NEXT_ROOT) % ranks
}

/// A restriction of the calls to verify: counts, roots and element sizes to try instead of the usual ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restriction {
    /// This count only; the count of a barrier stays 0.
    pub count: Option<usize>,
    /// This root only.
    pub root: Option<usize>,
    /// The size of elements.
    pub element_bytes: Option<usize>,
    /// One call only, at one root.
    pub is_one: bool,
}

/// The largest number of elements in the buffers of all ranks, if a restriction has a count.
const MOST_ELEMENTS: usize = 1 << 24;

/// The memory per pair of ranks in the two calls with uneven blocks: the offsets of the block at both ranks.
const PAIR_BYTES: f64 = 4.0 * size_of::<usize>() as f64;

impl Restriction {
    /// Checks that the calls are valid, and that there is memory for them.
    ///
    /// # Errors
    /// A root for a collective without, a count that is too large, or more pairs of ranks than there is memory for.
    pub fn check(&self, collective: Collective, ranks: usize) -> Result<()> {
        ensure(ranks != 0 && ranks <= MOST_RANKS_TO_VERIFY, || {
            format!("ranks: got {ranks}, expected 1 to {MOST_RANKS_TO_VERIFY}")
        })?;
        check_root(collective, self.root.unwrap_or(0))?;
        if collective == Collective::Alltoallv {
            budget::check(format_args!("verifying {ranks} ranks"), ranks as f64 * ranks as f64 * PAIR_BYTES)?;
        }
        let elements = |count: usize| {
            let call = Call::new(collective, ranks, count);
            (0..ranks).map(|rank| call.input_len(rank) + call.result_len(rank)).sum::<usize>()
        };
        let fits = |count: usize| count <= MOST_ELEMENTS && elements(count) <= MOST_ELEMENTS;
        ensure(self.count.is_none_or(fits), || {
            let room = format!("expected at most {MOST_ELEMENTS} elements in the buffers of all {ranks} ranks");
            format!("count: got {}, {room}", self.count.unwrap_or(0))
        })
    }

    /// Whether a call is also tried with values of parameters other than the first ones.
    fn takes_other_values(&self, call: &Call) -> bool {
        let is_one_of_few = [0, 1, call.ranks / 2, call.ranks - 1].contains(&call.root);
        let is_small = call.ranks <= MOST_RANKS_OF_OTHER_VALUES;
        self.root.is_some() || is_small || is_one_of_few || call.ranks > MOST_RANKS_WITH_ALL_ROOTS
    }

    /// The calls with the usual counts, at their roots; `turn` is the number of lists before this one.
    fn calls(&self, collective: Collective, ranks: usize, turn: usize) -> Vec<Call> {
        let calls = match self.count {
            Some(count) if collective != Collective::Barrier => vec![Call::new(collective, ranks, count)],
            _ => usual_counts(collective, ranks),
        };
        let element_bytes = self.element_bytes.unwrap_or(1);
        let first = turn * calls.len();
        let at_roots = |(number, call): (usize, Call)| {
            let roots = self.root.map_or_else(|| roots(collective, ranks, first + number), |root| vec![root]);
            roots.into_iter().map(move |root| Call { root, element_bytes, ..call.clone() })
        };
        calls.into_iter().enumerate().flat_map(at_roots).collect()
    }

    /// The calls on which an algorithm is verified: the usual counts with all combinations of values of parameters; and
    /// on few ranks, once each, further counts, and extra values of parameters.
    pub fn to_verify(self, collective: Collective, ranks: usize, values: Values) -> impl Iterator<Item = Call> {
        let combinations = combinations(values.combined);
        let first = combinations[0].clone();
        let long = |parameters| {
            let call = self.count.map(|count| Call::new(collective, ranks, count));
            Call { parameters, ..call.unwrap_or_else(|| long_call(collective, ranks)) }
        };
        let mut single_calls = Vec::new();
        if self.is_one {
            single_calls.push(long(first));
        } else if ranks <= MOST_RANKS_OF_OTHER_VALUES {
            let further = if self.count.is_none() { further_counts(collective, ranks) } else { Vec::new() };
            single_calls.extend(further.into_iter().map(|call| Call { parameters: first.clone(), ..call }));
            single_calls.extend(values.extra.into_iter().map(|(name, value)| {
                let with_value = first.iter().map(|other| if other.0 == name { (name, value) } else { *other });
                long(with_value.collect())
            }));
        }
        let single_calls =
            single_calls.into_iter().enumerate().flat_map(move |(number, call)| self.in_turn(number + ranks, call));
        let combinations = if self.is_one { Vec::new() } else { combinations };
        let usual = combinations.into_iter().enumerate().flat_map(move |(turn, parameters)| {
            let calls = with_operators(also_in_place(self.calls(collective, ranks, turn)));
            let calls = calls.filter(move |call| turn == 0 || self.takes_other_values(call));
            calls.map(move |call| Call { parameters: parameters.clone(), ..call })
        });
        usual.chain(single_calls)
    }

    /// The call at one root in turn, and in place in turn.
    fn in_turn(self, number: usize, call: Call) -> impl Iterator<Item = Call> {
        let root = if call.collective.has_root() { root_in_turn(0..call.ranks, number) } else { 0 };
        let call = Call { root: self.root.unwrap_or(root), element_bytes: self.element_bytes.unwrap_or(1), ..call };
        let in_place = *places(&call).last().expect("a place") && number % 2 == 1;
        with_operators(std::iter::once(Call { in_place, ..call }))
    }
}

/// Values of an algorithm's parameters for its verification.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// For each parameter, the values of which all combinations are tried.
    pub combined: Vec<(&'static str, Vec<u64>)>,
    /// Values that are tried in one call each, with the first value of each other parameter.
    pub extra: Vec<(&'static str, u64)>,
}

/// Counts of zero, one, the number of ranks, and an odd larger one; also uneven blocks if the collective has blocks.
fn usual_counts(collective: Collective, ranks: usize) -> Vec<Call> {
    let counts = if collective == Collective::Barrier { vec![0] } else { vec![0, 1, ranks, 2 * ranks + 1] };
    let mut calls: Vec<_> = counts.into_iter().map(|count| Call::new(collective, ranks, count)).collect();
    if collective.has_blocks() {
        calls.push(with_blocks(collective, ranks, |i, _| (i * 5 + 2) % 4));
    }
    if collective == Collective::Alltoallv {
        let symmetric = |from: usize, to: usize| (from + to + from * to) % 4;
        let to_the_right = |from: usize, to: usize| if to == (from + 1) % ranks { from % 3 + 1 } else { 0 };
        calls.extend([with_blocks(collective, ranks, symmetric), with_blocks(collective, ranks, to_the_right)]);
    }
    if collective.has_neighbors() {
        calls.extend(neighborhoods(collective, ranks));
    }
    calls
}

/// The largest count: one more than a segment of the catalogue, and than a number of 16 bits.
const LARGEST: usize = 65_537;

/// Further counts: one less and one more than the number of ranks, blocks of drawn sizes, and one large block among
/// small ones; on two and three ranks also a large count.
fn further_counts(collective: Collective, ranks: usize) -> Vec<Call> {
    if collective == Collective::Barrier {
        return Vec::new();
    }
    let equal = |count| Call::new(collective, ranks, count);
    let large = matches!(ranks, 2 | 3).then(|| equal(LARGEST));
    let mut calls = vec![equal(ranks - 1), equal(ranks + 1)];
    let largest = pseudorandom(ranks, 0) % ranks;
    let one_large = |at: usize| if at == largest { 4 * ranks + 1 } else { 1 };
    if can_be_uneven(collective) {
        calls.push(long_call(collective, ranks));
        calls.push(with_blocks(collective, ranks, |from, to| one_large((from + to) % ranks)));
    }
    calls.into_iter().chain(large).collect()
}

/// A call with blocks of drawn sizes if the collective has them, else with an odd count larger than the number of ranks.
fn long_call(collective: Collective, ranks: usize) -> Call {
    if !can_be_uneven(collective) {
        return Call::new(collective, ranks, 2 * ranks + 1);
    }
    with_blocks(collective, ranks, |from, to| pseudorandom(ranks, 1 + from * ranks + to) % 8)
}

/// A number that looks random but is the same each time: a step of the generator SplitMix64.
fn pseudorandom(seed: usize, number: usize) -> usize {
    let mixed = |bits: u64, shift: u32, factor: u64| (bits ^ (bits >> shift)).wrapping_mul(factor);
    let bits = ((seed as u64) << 32 | number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = mixed(mixed(bits, 30, 0xbf58_476d_1ce4_e5b9), 27, 0x94d0_49bb_1331_11eb);
    (bits >> 33) as usize
}

/// Whether blocks may have different sizes.
fn can_be_uneven(collective: Collective) -> bool {
    collective.has_blocks() || collective.has_neighbors() || collective == Collective::Alltoallv
}

/// A call whose blocks have `count(from, to)` elements: `from` is a rank; `to` is a rank in alltoallv, the place of a
/// neighbour in a neighbourhood, and else 0.
fn with_blocks(collective: Collective, ranks: usize, count: impl Fn(usize, usize) -> usize) -> Call {
    let counts = if collective == Collective::Alltoallv {
        Counts::Pairs(Arc::new(Pairs::all_pairs(ranks, count)))
    } else if collective.has_neighbors() {
        let sends_same = collective == Collective::NeighborAllgather;
        let [_, plane, _] = stencils(ranks);
        Counts::Neighbors(Arc::new(Neighbors::of_uneven_stencil(&plane, sends_same, count)))
    } else {
        Counts::each(&(0..ranks).map(|i| count(i, 0)).collect::<Vec<_>>())
    };
    Call { counts, ..Call::new(collective, ranks, 0) }
}

/// A line, a plane, and a plane with diagonals, of all ranks.
fn stencils(ranks: usize) -> [Stencil; 3] {
    let short = (2..=ranks).find(|size| ranks.is_multiple_of(*size)).unwrap_or(1);
    let shapes = [
        format!("mesh:{ranks}"),
        format!("mesh:{short}x{}", ranks / short),
        format!("moore:{short}x{}", ranks / short),
    ];
    shapes.map(|text| Stencil::parse(&text, ranks).expect("a stencil"))
}

/// Neighbours on grids of several shapes, with and without diagonals and borders, and on irregular graphs where a rank
/// may have itself or others several times; with equal and uneven blocks.
fn neighborhoods(collective: Collective, ranks: usize) -> Vec<Call> {
    let sends_same = collective == Collective::NeighborAllgather;
    let equal = |count| {
        stencils(ranks)
            .map(|stencil| Call { counts: collective.counts_of(stencil, count), ..Call::new(collective, ranks, 0) })
    };
    let uneven = with_blocks(collective, ranks, |from, place| (from * 3 + place * 5 + 2) % 4);
    let to = |rank: usize| {
        let others = [(rank + 1) % ranks, rank * rank % ranks, (rank + 1) % ranks, rank];
        others[..1 + rank % 4].to_vec()
    };
    let graph = Neighbors::of_graph(ranks, sends_same, to, |from, to| (from + 2 * to) % 4);
    let irregular = Call { counts: Counts::Neighbors(Arc::new(graph)), ..Call::new(collective, ranks, 0) };
    equal(1).into_iter().chain(equal(3)).chain([uneven, irregular]).collect()
}

/// Calls with the usual counts, at every root, or at four of many.
pub fn calls(collective: Collective, ranks: usize) -> Vec<Call> {
    Restriction::default().calls(collective, ranks, 0)
}

/// These calls, each also in place where that differs.
pub fn calls_also_in_place(collective: Collective, ranks: usize) -> impl Iterator<Item = Call> {
    also_in_place(calls(collective, ranks))
}

/// Whether the call can be in place: `in_place` of the calls that differ.
fn places(call: &Call) -> &'static [bool] {
    match call.collective {
        Collective::Barrier | Collective::Broadcast => &[false],
        _ if (Call { in_place: true, ..call.clone() }).check().is_err() => &[false],
        _ => &[false, true],
    }
}

fn also_in_place(calls: Vec<Call>) -> impl Iterator<Item = Call> {
    calls
        .into_iter()
        .flat_map(move |call| places(&call).iter().map(move |in_place| Call { in_place: *in_place, ..call.clone() }))
}

/// Calls with the usual counts, in place and not; if the collective reduces, with both kinds of operators.
pub fn calls_to_verify(collective: Collective, ranks: usize) -> impl Iterator<Item = Call> {
    with_operators(calls_also_in_place(collective, ranks))
}

/// The calls; if the collective reduces, each with a commutative and with a non-commutative operator.
fn with_operators(calls: impl Iterator<Item = Call>) -> impl Iterator<Item = Call> {
    calls.flat_map(|call| {
        let operators: &[bool] = if call.collective.reduces() { &[true, false] } else { &[true] };
        operators.iter().map(move |commutative| Call { commutative: *commutative, ..call.clone() })
    })
}

/// Values of an algorithm's parameters: the defaults, then all other combinations of defaults and `tries`.
pub fn parameters(entry: &Entry) -> Vec<Vec<(String, u64)>> {
    let values = |p: &Parameter| std::iter::once(p.default).chain(p.tries.iter().copied()).collect();
    combinations(entry.about.parameters.iter().map(|p| (p.name.to_owned(), values(p))))
}

/// All combinations of one value per parameter; the first values come first.
pub fn combinations<N: Clone>(parameters: impl IntoIterator<Item = (N, Vec<u64>)>) -> Vec<Vec<(N, u64)>> {
    parameters.into_iter().fold(vec![Vec::new()], |combinations, (name, values)| {
        let with_each = |combination: &Vec<(N, u64)>| {
            values.iter().map(|value| [&combination[..], &[(name.clone(), *value)]].concat()).collect::<Vec<_>>()
        };
        combinations.iter().flat_map(with_each).collect()
    })
}

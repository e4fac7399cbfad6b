//! The calls with which algorithms are tested and verified.

use hocket_algorithms::Entry;
use std::sync::Arc;

use hocket_core::{Call, Collective, Counts, Error, Neighbors, Pairs, Parameter, Result, Stencil, budget};

/// Rank counts: all small ones, and some around 32.
pub fn rank_counts() -> impl Iterator<Item = usize> {
    (1..=17).chain([31, 32, 33])
}

/// Checks that the collective has a root if one is given.
///
/// # Errors
/// A root for a collective without.
pub fn check_root(collective: Collective, root: usize) -> Result<()> {
    if root != 0 && !collective.has_root() {
        return Err(Error::new(format!("root: got {root}, but {collective} has no root")));
    }
    Ok(())
}

/// Up to this many ranks, every root is tried; beyond, the first, the second, the middle and the last.
const MOST_RANKS_WITH_ALL_ROOTS: usize = 33;

/// As [`MOST_RANKS_WITH_ALL_ROOTS`], for values of parameters other than the first.
const MOST_RANKS_OF_OTHER_VALUES: usize = 17;

fn roots(collective: Collective, ranks: usize) -> impl Iterator<Item = usize> {
    let is_tried = move |root: &usize| match collective.has_root() {
        false => *root == 0,
        true => ranks <= MOST_RANKS_WITH_ALL_ROOTS || is_one_of_few(*root, ranks),
    };
    (0..ranks).filter(is_tried)
}

fn is_one_of_few(root: usize, ranks: usize) -> bool {
    [0, 1, ranks / 2, ranks - 1].contains(&root)
}

/// Whether a call belongs to a long sweep: every root up to 9 ranks, else two roots.
pub fn is_for_long_sweeps(call: &Call) -> bool {
    call.ranks <= 9 || call.root < 2
}

/// Counts, roots and element sizes to try instead of the usual ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// This count only; the count of a barrier stays 0.
    pub count: Option<usize>,
    /// This root only.
    pub root: Option<usize>,
    /// The size of elements.
    pub element_bytes: Option<usize>,
}

/// The largest number of elements in the buffers of all ranks, for a wanted count.
const MOST_ELEMENTS: usize = 1 << 24;

/// The memory per pair of ranks in the two calls with uneven blocks: the offsets of the block at both ranks.
const PAIR_BYTES: f64 = 4.0 * size_of::<usize>() as f64;

impl Wanted {
    /// Checks that the calls are valid, and that there is memory for them.
    ///
    /// # Errors
    /// A root for a collective without, a count that is too large, or more pairs of ranks than there is memory for.
    pub fn check(&self, collective: Collective, ranks: usize) -> Result<()> {
        check_root(collective, self.root.unwrap_or(0))?;
        if collective == Collective::Alltoallv {
            budget::check(format_args!("verifying {ranks} ranks"), ranks as f64 * ranks as f64 * PAIR_BYTES)?;
        }
        let elements = |count: usize| {
            let call = Call::new(collective, ranks, count);
            (0..ranks).map(|rank| call.input_len(rank) + call.result_len(rank)).sum::<usize>()
        };
        match self.count {
            Some(count) if count > MOST_ELEMENTS || elements(count) > MOST_ELEMENTS => {
                let room = format!("expected at most {MOST_ELEMENTS} elements in the buffers of all {ranks} ranks");
                Err(Error::new(format!("count: got {count}, {room}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a call is also tried with values of parameters other than the first ones.
    pub fn takes_other_values(&self, call: &Call) -> bool {
        self.root.is_some() || call.ranks <= MOST_RANKS_OF_OTHER_VALUES || is_one_of_few(call.root, call.ranks)
    }

    fn calls(&self, collective: Collective, ranks: usize) -> Vec<Call> {
        let calls = match self.count {
            Some(count) if collective != Collective::Barrier => vec![Call::new(collective, ranks, count)],
            _ => usual_counts(collective, ranks),
        };
        let roots = self.root.map_or_else(|| roots(collective, ranks).collect(), |root| vec![root]);
        let element_bytes = self.element_bytes.unwrap_or(1);
        let at_roots = |call: &Call| {
            let call = Call { element_bytes, ..call.clone() };
            roots.iter().map(move |root| Call { root: *root, ..call.clone() }).collect::<Vec<_>>()
        };
        calls.iter().flat_map(at_roots).collect()
    }
}

/// Counts of zero, one, the number of ranks, and an odd larger one; also uneven blocks if the collective has blocks.
fn usual_counts(collective: Collective, ranks: usize) -> Vec<Call> {
    let counts = if collective == Collective::Barrier { vec![0] } else { vec![0, 1, ranks, 2 * ranks + 1] };
    let mut calls: Vec<_> = counts.into_iter().map(|count| Call::new(collective, ranks, count)).collect();
    if collective.has_blocks() {
        let uneven: Vec<_> = (0..ranks).map(|i| (i * 5 + 2) % 4).collect();
        calls.push(Call { counts: Counts::each(&uneven), ..Call::new(collective, ranks, 0) });
    }
    if collective == Collective::Alltoallv {
        let symmetric = |from: usize, to: usize| (from + to + from * to) % 4;
        let to_the_right = |from: usize, to: usize| if to == (from + 1) % ranks { from % 3 + 1 } else { 0 };
        let uneven = [Pairs::of_all(ranks, symmetric), Pairs::of_all(ranks, to_the_right)];
        let call = |pairs| Call { counts: Counts::Pairs(Arc::new(pairs)), ..Call::new(collective, ranks, 0) };
        calls.extend(uneven.map(call));
    }
    if collective.has_neighbors() {
        calls.extend(neighborhoods(collective, ranks));
    }
    calls
}

/// Neighbours on grids of several shapes, with and without diagonals and borders, and on irregular graphs where a rank
/// may have itself or others several times; with equal and uneven blocks.
fn neighborhoods(collective: Collective, ranks: usize) -> Vec<Call> {
    let sends_same = collective == Collective::NeighborAllgather;
    let short = (2..=ranks).find(|size| ranks.is_multiple_of(*size)).unwrap_or(1);
    let shapes = [
        format!("mesh:{ranks}"),
        format!("mesh:{short}x{}", ranks / short),
        format!("moore:{short}x{}", ranks / short),
    ];
    let stencils = shapes.map(|text| Stencil::parse(&text, ranks).expect("a stencil"));
    let equal = |count| stencils.clone().map(|stencil| collective.counts_of(stencil, count));
    let uneven = Neighbors::of_uneven_stencil(&stencils[1], sends_same, |from, place| (from * 3 + place * 5 + 2) % 4);
    let to = |rank: usize| {
        let others = [(rank + 1) % ranks, rank * rank % ranks, (rank + 1) % ranks, rank];
        others[..1 + rank % 4].to_vec()
    };
    let graph = Neighbors::of_graph(ranks, sends_same, to, |from, to| (from + 2 * to) % 4);
    let counts = [uneven, graph].map(|neighbors| Counts::Neighbors(Arc::new(neighbors)));
    let counts = equal(1).into_iter().chain(equal(3)).chain(counts);
    counts.map(|counts| Call { counts, ..Call::new(collective, ranks, 0) }).collect()
}

/// Calls with the usual counts, at every root, or at four of many.
pub fn calls(collective: Collective, ranks: usize) -> Vec<Call> {
    Wanted::default().calls(collective, ranks)
}

/// These calls, each also in place where that differs.
pub fn calls_also_in_place(collective: Collective, ranks: usize) -> impl Iterator<Item = Call> {
    also_in_place(calls(collective, ranks))
}

fn also_in_place(calls: Vec<Call>) -> impl Iterator<Item = Call> {
    let places = |call: &Call| match call.collective {
        Collective::Barrier | Collective::Broadcast => &[false][..],
        _ if (Call { in_place: true, ..call.clone() }).check().is_err() => &[false],
        _ => &[false, true],
    };
    calls
        .into_iter()
        .flat_map(move |call| places(&call).iter().map(move |in_place| Call { in_place: *in_place, ..call.clone() }))
}

/// The wanted calls, in place and not; if the collective reduces, each also with a non-commutative operator.
pub fn calls_to_verify(collective: Collective, ranks: usize, wanted: Wanted) -> impl Iterator<Item = Call> {
    let operators: &[bool] = if collective.reduces() { &[true, false] } else { &[true] };
    also_in_place(wanted.calls(collective, ranks)).flat_map(move |call| {
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
        let with_each = |taken: &Vec<(N, u64)>| {
            values.iter().map(|value| [&taken[..], &[(name.clone(), *value)]].concat()).collect::<Vec<_>>()
        };
        combinations.iter().flat_map(with_each).collect()
    })
}

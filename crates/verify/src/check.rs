//! Checks of the results of a run.

use std::ops::Range;

use hocket_core::{Call, Collective, Edge};

use crate::expression::{Contribution, Value, Walk};
use crate::finding::{Counterexample, Kind};
use crate::world::Symbolic;

/// The values of all ranks' results.
pub type Results = Vec<Vec<Value>>;

/// Checks the results of `world`, also against the results of the first order of messages of each protocol, kept in `first`.
pub fn results(world: &Symbolic<'_>, first: &mut [Option<Results>; 2]) -> Option<Counterexample> {
    let results: Results = (0..world.call.ranks).map(|rank| world.result(rank)).collect();
    let is_right = first.iter().flatten().any(|earlier| *earlier == results);
    let wrong = if is_right { None } else { wrong_element(world, &results).or_else(|| ranks_differ(world, &results)) };
    wrong.or_else(|| runs_differ(world, results, &mut first[usize::from(world.is_rendezvous)]))
}

fn wrong_element(world: &Symbolic<'_>, results: &Results) -> Option<Counterexample> {
    let is_alike =
        matches!(world.call.collective, Collective::Allreduce | Collective::Allgather | Collective::Broadcast);
    let is_known = |rank: usize, element: usize| rank > 0 && is_alike && results[0][element] == results[rank][element];
    let mut walk = Walk::default();
    let elements = results.iter().enumerate().flat_map(|(rank, values)| (0..values.len()).map(move |at| (rank, at)));
    elements
        .filter(|(rank, element)| !is_known(*rank, *element))
        .find_map(|(rank, element)| wrong_contributions(world, rank, element, results[rank][element], &mut walk))
}

/// The expected contributions to an element: one element of each of some ranks, in rank order.
struct Expectation {
    ranks: Range<u32>,
    element: u32,
}

impl Expectation {
    fn contributions(&self) -> impl Iterator<Item = Contribution> {
        let element = self.element;
        self.ranks.clone().map(move |rank| Contribution { rank, element })
    }
}

/// The expected contributions to an element of the result of `rank`.
fn expected(call: &Call, rank: usize, element: usize) -> Expectation {
    let from_first_ranks =
        |ranks: usize, element: usize| Expectation { ranks: 0..ranks as u32, element: element as u32 };
    let contribution =
        |rank: usize, element: usize| Expectation { ranks: rank as u32..rank as u32 + 1, element: element as u32 };
    match call.collective {
        Collective::Barrier => from_first_ranks(0, 0),
        Collective::Allreduce | Collective::Reduce => from_first_ranks(call.ranks, element),
        Collective::Exscan => from_first_ranks(rank, element),
        Collective::Scan => from_first_ranks(rank + 1, element),
        Collective::ReduceScatter => from_first_ranks(call.ranks, call.offset(rank) + element),
        Collective::Broadcast => contribution(call.root, element),
        Collective::Scatter | Collective::Scatterv => contribution(call.root, call.offset(rank) + element),
        Collective::Allgather | Collective::Gather | Collective::Gatherv => {
            let block = block_with(call, element);
            contribution(block, element - call.offset(block))
        }
        Collective::Alltoallv => {
            let received = |from| call.block_from(call.result_of(rank), rank, from).range();
            let from = (0..call.ranks).find(|from| received(*from).contains(&element)).unwrap_or(0);
            let sent = call.block_to(call.input_of(from), from, rank);
            contribution(from, sent.offset + element - received(from).start)
        }
        Collective::NeighborAllgather | Collective::NeighborAlltoall => {
            let neighbors = call.neighbors();
            let edge = neighbors.of(rank).from.iter().find(|edge| edge.elements.contains(&element));
            let sent = |edge: &Edge| neighbors.of_sender(rank, edge).elements.start + element - edge.elements.start;
            edge.map_or(from_first_ranks(0, 0), |edge| contribution(edge.rank, sent(edge)))
        }
        Collective::Alltoall => {
            let block = block_with(call, element);
            contribution(block, call.offset(rank) + element - call.offset(block))
        }
    }
}

/// The block that contains an element of all blocks in order; the first block if none does.
fn block_with(call: &Call, element: usize) -> usize {
    let (mut first, mut end) = (0, call.ranks);
    while first < end {
        let middle = first.midpoint(end);
        if call.offset(middle + 1) <= element { first = middle + 1 } else { end = middle }
    }
    if first < call.ranks { first } else { 0 }
}

fn wrong_contributions(
    world: &Symbolic<'_>,
    rank: usize,
    element: usize,
    value: Value,
    walk: &mut Walk,
) -> Option<Counterexample> {
    let expectation = expected(world.call, rank, element);
    let arena = &world.arena;
    let got = arena.contributions(value, 2 * expectation.ranks.len() + 1, walk);
    if got.iter().copied().eq(expectation.contributions()) {
        return None;
    }
    got.sort_unstable();
    let is_complete = got.iter().copied().eq(expectation.contributions());
    if is_complete && world.call.commutative {
        return None;
    }
    let expectation: Vec<_> = expectation.contributions().collect();
    let kind = if is_complete { Kind::OperandOrder } else { Kind::WrongResult };
    let span = world.call.result_of(rank).part(element, 1);
    let got_text =
        if value == Value::UNDEFINED { "nothing: it was never written".to_owned() } else { arena.show(value) };
    let mut details = if is_complete { Vec::new() } else { differences(&expectation, got) };
    details.extend(world.last_write(rank, span));
    let expected = show(&expectation) + if is_complete { ", in rank order" } else { "" };
    let counterexample = Counterexample::new(kind, world.is_rendezvous, vec![rank], expected, got_text);
    Some(Counterexample { span: Some(span.to_string()), details, ..counterexample })
}

/// Contributions as text: one element of one rank, or the same element of several ranks.
fn show(contributions: &[Contribution]) -> String {
    match contributions {
        [] => "nothing".to_owned(),
        [one] => format!("element {} of rank {}", one.element, one.rank),
        [first, .., last] => format!("element {} of ranks {} to {}, each once", first.element, first.rank, last.rank),
    }
}

fn differences(expected: &[Contribution], got: &[Contribution]) -> Vec<String> {
    let count = |c: &Contribution| got.iter().filter(|other| *other == c).count();
    let name = |c: &Contribution| format!("element {} of rank {}", c.element, c.rank);
    let missing: Vec<_> = expected.iter().filter(|c| count(c) == 0).map(name).collect();
    let duplicates: Vec<_> = expected.iter().filter(|c| count(c) > 1).map(name).collect();
    let mut foreign: Vec<_> = got.iter().filter(|c| !expected.contains(c)).map(name).collect();
    foreign.dedup();
    [("missing", missing), ("doubled", duplicates), ("foreign", foreign)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", some(&names)))
        .collect()
}

/// The first few of a list.
fn some(names: &[String]) -> String {
    const MOST: usize = 6;
    let text = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST { format!("{text} and {} more", names.len() - MOST) } else { text }
}

fn ranks_differ(world: &Symbolic<'_>, results: &Results) -> Option<Counterexample> {
    let others = results.iter().filter(|_| world.call.collective == Collective::Allreduce).map(|_| &results[0]);
    let pairs = results.iter().zip(others);
    let counterexample = difference(world, Kind::RanksDiffer, pairs, "as on rank 0", "between these ranks")?;
    Some(Counterexample { ranks: vec![counterexample.ranks[0], 0], ..counterexample })
}

fn runs_differ(world: &Symbolic<'_>, results: Results, first: &mut Option<Results>) -> Option<Counterexample> {
    let Some(first) = first else {
        *first = Some(results);
        return None;
    };
    let pairs = results.iter().zip(first.iter());
    difference(world, Kind::RunsDiffer, pairs, "as in another legal order of messages", "from run to run")
}

/// The first element of a rank's result that is combined in another way than in what it is compared with.
fn difference<'a>(
    world: &Symbolic<'_>,
    kind: Kind,
    pairs: impl Iterator<Item = (&'a Vec<Value>, &'a Vec<Value>)>,
    other: &str,
    between: &str,
) -> Option<Counterexample> {
    let element = |(values, others): (&Vec<Value>, &Vec<Value>)| (0..values.len()).find(|i| values[*i] != others[*i]);
    let (rank, values, others, at) =
        pairs.enumerate().find_map(|(rank, pair)| Some((rank, pair.0, pair.1, element(pair)?)))?;
    let expected = format!("{} {other}", world.arena.show(others[at]));
    let got = world.arena.show(values[at]);
    Some(Counterexample {
        span: Some(world.call.result_of(rank).part(at, 1).to_string()),
        details: vec![format!("floating-point results would differ {between}")],
        ..Counterexample::new(kind, world.is_rendezvous, vec![rank], expected, got)
    })
}

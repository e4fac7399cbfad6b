//! Parallel aggregated trees: one binomial tree for each block, rooted at the block's rank. All trees go step by step.
//!
//! Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
//! arXiv 2506.20252 (2025).

use hocket_core::{Call, Domain, Parameter, Rank, Span, Unit};

/// How many blocks may share a message.
pub const AGGREGATE: Parameter = Parameter {
    name: "aggregate",
    unit: Unit::Count,
    default: 64,
    least: 1,
    tries: &[1, 2],
    domain: Domain::Ranks,
    meaning: "most blocks in a message, and in a buffer; a rank sends further blocks in further messages",
};

/// A step of all trees at once. A place is a rank's distance from the root of a tree. A rank whose place is a multiple
/// of twice the step's distance has a child at that distance.
pub struct Step {
    /// The distance of a child from its parent.
    pub distance: usize,
    /// The places of the children of each message.
    pub messages: Vec<Vec<usize>>,
}

/// The steps of a call, from the root of a tree to its leaves: the farthest children first.
pub fn steps(c: &Call) -> impl DoubleEndedIterator<Item = Step> {
    let (ranks, aggregate) = (c.ranks, c.parameter(AGGREGATE.name).try_into().unwrap_or(usize::MAX));
    (0..ranks.next_power_of_two().ilog2()).rev().map(move |bit| {
        let distance = 1 << bit;
        let children: Vec<_> = (distance..ranks).step_by(2 * distance).collect();
        Step { distance, messages: children.chunks(aggregate).map(<[usize]>::to_vec).collect() }
    })
}

/// `each`: the number of messages that a rank sends, one after the other.
pub fn messages(c: &Call) -> Vec<(&'static str, u64)> {
    vec![("each", steps(c).map(|step| step.messages.len() as u64).sum())]
}

/// The blocks of the trees in which this rank is at these places. Each comes with its room; these follow each other in
/// `packed`.
pub fn blocks<'a>(
    r: &Rank<'_>,
    c: &'a Call,
    places: &'a [usize],
    packed: Span,
) -> impl Iterator<Item = (usize, Span)> + 'a {
    let (rank, ranks) = (r.rank(), r.size());
    places.iter().scan(0, move |offset, place| {
        let block = (rank + ranks - place) % ranks;
        let room = packed.part(*offset, c.count(block));
        *offset += room.len;
        Some((block, room))
    })
}

/// Room for the blocks of any message.
pub fn room(r: &Rank<'_>, c: &Call) -> Span {
    let blocks = steps(c).flat_map(|step| step.messages).map(|places| places.len()).max().unwrap_or(0);
    r.scratch(blocks * (0..c.ranks).map(|block| c.count(block)).max().unwrap_or(0))
}

/// The part of this room that the blocks of these places take.
pub fn packed(r: &Rank<'_>, c: &Call, places: &[usize], room: Span) -> Span {
    let count = |place: &usize| c.count((r.rank() + r.size() - place) % r.size());
    room.part(0, places.iter().map(count).sum())
}

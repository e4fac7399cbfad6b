//! Parallel aggregated trees: as many binomial trees as there are ranks, each rooted at another one and a block its own, go step by step.
//!
//! Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252 (2025).

use hocket_core::{Call, Parameter, Rank, Span, Unit};

/// How many blocks share a message.
pub const AGGREGATE: Parameter = Parameter {
    name: "aggregate",
    unit: Unit::Count,
    default: 64,
    least: 1,
    tries: &[1, 2],
    meaning: "most blocks in a message: intermediate buffers hold no more, and what is more goes in further messages",
};

/// A step of all trees at once: ranks at a place that is a multiple of twice the distance have a child at the distance.
pub struct Step {
    /// How far the child is from its parent.
    pub distance: usize,
    /// The places of the children, for each message.
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

/// Messages that a rank sends, one after the other.
pub fn messages(c: &Call) -> Vec<(&'static str, u64)> {
    vec![("each", steps(c).map(|step| step.messages.len() as u64).sum())]
}

/// The blocks of trees in which this rank is at these places, one after the other in `packed`: block and room of each.
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

/// The part of such room that these blocks take.
pub fn packed(r: &Rank<'_>, c: &Call, places: &[usize], room: Span) -> Span {
    let count = |place: &usize| c.count((r.rank() + r.size() - place) % r.size());
    room.part(0, places.iter().map(count).sum())
}

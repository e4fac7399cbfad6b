//! Pipelines along a tree: a rank passes on a segment while it receives later ones.
//!
//! ```text
//! segments in flight    0   take in ─▶ pass on        3   take in ─▶ pass on
//! (up to 3 of them)     1         take in ─▶ pass on        4   ...
//!                       2               take in ─▶ pass on
//! ```
//!
//! A rank receives one segment after the other from each neighbour, so a link carries one segment at a time. The rank
//! may still be sending a few earlier segments, so that no link stands idle while the next send is prepared. Messages
//! of segments that are in flight together have different tags.

use std::collections::VecDeque;

use hocket_core::{Call, Mode, Options, Rank, Side, Source, Span, Tag, Tokens};

use crate::shapes::Segments;

/// The most segments of one tree that a rank passes on at a time. This is also the most segments of each child that
/// wait to be combined. Two would be enough if no message were ever late.
const IN_FLIGHT: usize = 3;

/// The first tag of messages to parents, and to children.
const UP: Tag = 0;
const DOWN: Tag = IN_FLIGHT as Tag;

/// Number of tags of a tree.
pub const TAGS: Tag = 2 * IN_FLIGHT as Tag;

/// A rank's place in a tree.
#[derive(Default)]
pub struct Place {
    /// The parent; none for the root.
    pub parent: Option<usize>,
    /// The children in the order in which their vectors are combined.
    pub children: Vec<usize>,
    /// More children, combined before the others: those that the switch of the node is between.
    pub by_switch: Vec<usize>,
    /// The first tag of the tree's messages. Trees that share edges at the same time need tags of their own.
    pub tag: Tag,
    /// How messages to the parent are sent. A message through a switch is alone on its way to a neighbour.
    pub mode: Mode,
}

impl Place {
    /// The place of a node's rank `own` in the star of its rank `center`, through the switch of the node: all other
    /// ranks are children of the center, in the order after it. `rank` turns these numbers, below `size`, into ranks of
    /// the call. All stars can have the same tag: a message up from one rank to another is only in the star of the
    /// other one.
    pub fn in_star(center: usize, own: usize, size: usize, rank: impl Fn(usize) -> usize) -> Self {
        if own != center {
            return Self { parent: Some(rank(center)), mode: Mode::Switched, ..Self::default() };
        }
        Self { by_switch: (1..size).map(|distance| rank((center + distance) % size)).collect(), ..Self::default() }
    }

    /// All children in the order in which their vectors are combined, with how messages to them are sent.
    fn children(&self) -> impl DoubleEndedIterator<Item = (usize, Mode)> {
        let by_switch = self.by_switch.iter().map(|child| (*child, Mode::Switched));
        by_switch.chain(self.children.iter().map(|child| (*child, Mode::default())))
    }

    /// Whether no rank is below.
    fn is_leaf(&self) -> bool {
        self.children.is_empty() && self.by_switch.is_empty()
    }
}

/// The ranks that get the segments next, with how, and where the segments lie.
struct Onward<'a> {
    to: Vec<(usize, Mode)>,
    segments: &'a Segments,
    direction: Tag,
}

impl<'a> Onward<'a> {
    fn up(place: &Place, segments: &'a Segments) -> Self {
        let to = place.parent.map(|parent| (parent, place.mode)).into_iter().collect();
        Self { to, segments, direction: place.tag + UP }
    }

    /// First to the child that is combined last.
    fn down(place: &Place, segments: &'a Segments) -> Self {
        Self { to: place.children().rev().collect(), segments, direction: place.tag + DOWN }
    }
}

/// Combines the segments of all ranks below this one with its own into `sums`, and sends the sums to the parent. The
/// own segments may lie in `sums`. A rank without children sends its own segments from where they lie.
pub async fn reduce(r: &Rank<'_>, place: &Place, own: &Segments, sums: &Segments) {
    let sums_or_own = if place.is_leaf() { own } else { sums };
    add_up(r, place, own, sums, Onward::up(place, sums_or_own)).await;
}

/// Receives the segments from the parent, and sends them to the children.
pub async fn broadcast(r: &Rank<'_>, place: &Place, segments: &Segments) {
    let take_in = async |index| {
        if let Some(parent) = place.parent {
            receive(r, parent, segments.get(index), place.tag + DOWN, index).await;
        }
    };
    in_flight(r, take_in, Onward::down(place, segments)).await;
}

/// An allreduce of a part of the vector along a tree.
pub async fn allreduce(r: &Rank<'_>, c: &Call, place: &Place, part: impl Fn(Span) -> Span) {
    let (input, result) = (c.input(r), c.result(r));
    let sums = match place.parent {
        None => part(result),
        Some(_) if place.is_leaf() && input != result => part(input),
        Some(_) => r.scratch(part(input).len),
    };
    let own = if place.parent.is_none() || input == result { sums } else { part(input) };
    r.copy(part(input), own).await;
    let segments = |part| Segments::new(c, part);
    reduce_and_broadcast(r, place, &segments(own), &segments(sums), &segments(part(result))).await;
}

/// Reduces the own segments to the root, by way of `sums`. The root sends each segment down as soon as it is reduced.
/// The other ranks receive it in `result`.
pub async fn reduce_and_broadcast(r: &Rank<'_>, place: &Place, own: &Segments, sums: &Segments, result: &Segments) {
    if place.parent.is_some() {
        r.join(reduce(r, place, own, sums), broadcast(r, place, result)).await;
    } else {
        add_up(r, place, own, sums, Onward::down(place, sums)).await;
    }
}

/// The segments of a child that wait to be combined: in room of their own, or where the sums will be.
struct Arrivals<'a> {
    child: usize,
    room: Option<Span>,
    free: Tokens<'a>,
    full: Tokens<'a>,
}

/// Combines the own segments with the children's segments, in the order of the children, and passes on the sums. If the
/// own segments are not in `sums`, the first child's segments are received there, and nothing is copied.
async fn add_up(r: &Rank<'_>, place: &Place, own: &Segments, sums: &Segments, onward: Onward<'_>) {
    let (count, len, is_apart) = (sums.count(), sums.get(0).len, own.get(0) != sums.get(0));
    let room = IN_FLIGHT.min(count);
    let arrivals = |(number, (child, _))| Arrivals {
        child,
        room: (number > 0 || !is_apart).then(|| r.scratch(room * len)),
        free: r.tokens(room),
        full: r.tokens(0),
    };
    let arrivals: Vec<_> = place.children().enumerate().map(arrivals).collect();
    let place_of = |index: usize, from: &Arrivals| {
        let sum = sums.get(index);
        from.room.map_or(sum, |room| room.part(index % IN_FLIGHT * len, sum.len))
    };

    let receive_all = arrivals.iter().map(async |from| {
        for index in 0..count {
            from.free.take().await;
            receive(r, from.child, place_of(index, from), place.tag + UP, index).await;
            from.full.put();
        }
    });
    let combine = async |index| {
        let (own, sum) = (own.get(index), sums.get(index));
        for from in &arrivals {
            from.full.take().await;
            match from.room {
                Some(_) => r.combine(place_of(index, from), sum, Side::Right).await,
                None => r.combine(own, sum, Side::Left).await,
            }
            from.free.put();
        }
    };
    r.join(r.join_all(receive_all), in_flight(r, combine, onward)).await;
}

/// Takes in the segments, one after the other. Passes on each one, while a few earlier ones are still on their way.
async fn in_flight(r: &Rank<'_>, take_in: impl AsyncFn(usize), onward: Onward<'_>) {
    let Onward { to, segments, direction } = onward;
    let is_alone = to.iter().any(|(_, mode)| *mode == Mode::Switched);
    let mut sent = VecDeque::new();
    for index in 0..segments.count() {
        settle(&mut sent, (IN_FLIGHT - 1) * to.len()).await;
        take_in(index).await;
        if is_alone {
            settle(&mut sent, 0).await;
        }
        for (peer, mode) in &to {
            let options = Options { tag: tag(direction, index), mode: *mode, ..Options::default() };
            sent.push_back(r.start(r.send_with(*peer, segments.get(index), options)).await);
        }
    }
    settle(&mut sent, 0).await;
}

/// Waits for the earliest sends, until at most `most` are under way.
async fn settle(sent: &mut VecDeque<impl IntoFuture>, most: usize) {
    while sent.len() > most
        && let Some(earliest) = sent.pop_front()
    {
        earliest.await;
    }
}

async fn receive(r: &Rank<'_>, from: usize, into: Span, direction: Tag, index: usize) {
    r.recv_with(Source::Rank(from as u32), into, tag(direction, index)).await;
}

fn tag(direction: Tag, index: usize) -> Tag {
    direction + (index % IN_FLIGHT) as Tag
}

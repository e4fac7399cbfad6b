//! Segments on their way along a tree: each is passed on while later ones come in.
//!
//! ```text
//! segments in flight    0   take in ─▶ pass on        3   take in ─▶ pass on
//! (up to 3 of them)     1         take in ─▶ pass on        4   ...
//!                       2               take in ─▶ pass on
//! ```
//!
//! A rank takes in one segment after the other from each neighbour, so that its link carries one at a time. It may still
//! be sending a few earlier ones, so that a link need not stand idle while the next send is prepared. Messages of segments
//! that are in flight together differ by their tags.

use hocket_core::{Options, Rank, Received, Side, Source, Span, Tag, Turns};

use crate::pattern::Segments;

/// Segments of one tree that a rank holds at a time: two would do if no message were ever late.
const IN_FLIGHT: usize = 3;

/// The first tag of messages to parents, and to children.
const UP: Tag = 0;
const DOWN: Tag = IN_FLIGHT as Tag;

/// A rank's place in a tree.
pub struct Place {
    /// Where the way to the root leads; none for the root.
    pub parent: Option<usize>,
    /// The children in the order in which their vectors are combined.
    pub children: Vec<usize>,
}

/// Combines the segments of all ranks below this one into its own, and hands the sums to the parent.
pub async fn reduce(r: &impl Rank, place: &Place, segments: &Segments) {
    let sums = Sums::new(r, place, segments);
    in_flight(r, segments.count(), async |index| {
        sums.add_up(index).await;
        if let Some(parent) = place.parent {
            send(r, parent, segments.get(index), UP, index).await;
        }
    })
    .await;
}

/// Takes the segments from the parent, and hands them to the children, to the last in the order of combination first.
pub async fn broadcast(r: &impl Rank, place: &Place, segments: &Segments) {
    let arrivals = r.turns();
    in_flight(r, segments.count(), async |index| {
        if let Some(parent) = place.parent {
            arrivals.take(index, receive(r, parent, segments.get(index), DOWN, index)).await;
        }
        hand_down(r, place, segments, index).await;
    })
    .await;
}

/// Reduces the segments of `partial` to the root, which hands each down as soon as it is reduced; other ranks receive
/// it in `result`.
pub async fn reduce_and_broadcast(r: &impl Rank, place: &Place, partial: &Segments, result: &Segments) {
    if place.parent.is_some() {
        r.join(reduce(r, place, partial), broadcast(r, place, result)).await;
        return;
    }
    let sums = Sums::new(r, place, partial);
    in_flight(r, partial.count(), async |index| {
        sums.add_up(index).await;
        hand_down(r, place, partial, index).await;
    })
    .await;
}

/// Segments of the children, combined into the rank's own.
struct Sums<'a, R: Rank> {
    rank: &'a R,
    place: &'a Place,
    segments: &'a Segments,
    /// For each child, room for its segments in flight, and the order in which they arrive.
    arrivals: Vec<(Span, Turns<'a, R>)>,
    /// Everything is combined in one order, whatever arrives first.
    order: Turns<'a, R>,
}

impl<'a, R: Rank> Sums<'a, R> {
    fn new(rank: &'a R, place: &'a Place, segments: &'a Segments) -> Self {
        let room = IN_FLIGHT.min(segments.count()) * segments.get(0).len;
        let arrivals = place.children.iter().map(|_| (rank.scratch(room), rank.turns())).collect();
        Self { rank, place, segments, arrivals, order: rank.turns() }
    }

    /// Combines segment `index` of all children into the own one.
    async fn add_up(&self, index: usize) {
        match self.arrivals.len() {
            0 => {}
            1 => self.add(index, 0).await,
            count => drop(self.rank.join_all((0..count).map(|child| self.add(index, child))).await),
        }
    }

    /// Combines segment `index` of one child into the own one.
    async fn add(&self, index: usize, number: usize) {
        let (room, turns) = &self.arrivals[number];
        let arrived = || room.part(index % IN_FLIGHT * self.segments.get(0).len, self.segments.get(index).len);
        turns.take(index, receive(self.rank, self.place.children[number], arrived(), UP, index)).await;
        let combine = self.rank.combine(arrived(), self.segments.get(index), Side::Right);
        self.order.take(index * self.arrivals.len() + number, combine).await;
    }
}

/// Works on each of `count` segments, on a few of them side by side.
async fn in_flight(r: &impl Rank, count: usize, work: impl AsyncFn(usize)) {
    let lane = async |lane| {
        let mut index = lane;
        while index < count {
            work(index).await;
            index += IN_FLIGHT;
        }
    };
    r.join_all((0..IN_FLIGHT.min(count)).map(lane)).await;
}

async fn hand_down(r: &impl Rank, place: &Place, segments: &Segments, index: usize) {
    let hand = |child: &usize| send(r, *child, segments.get(index), DOWN, index);
    match place.children.as_slice() {
        [] => {}
        [child] => hand(child).await,
        children => drop(r.join_all(children.iter().rev().map(hand)).await),
    }
}

fn send<R: Rank>(r: &R, to: usize, segment: Span, direction: Tag, index: usize) -> impl Future<Output = ()> {
    let tag = direction + (index % IN_FLIGHT) as Tag;
    r.send_with(to, segment, Options { tag, ..Options::default() })
}

fn receive<R: Rank>(r: &R, from: usize, into: Span, direction: Tag, index: usize) -> impl Future<Output = Received> {
    r.recv_with(Source::Rank(from as u32), into, direction + (index % IN_FLIGHT) as Tag)
}

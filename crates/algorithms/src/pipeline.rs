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

/// Segments of one tree on their way through a rank.
pub struct Flow<'a, R: Rank> {
    rank: &'a R,
    place: &'a Place,
    segments: Segments,
    way: Way,
    /// Of each child whose segments are combined into the rank's own: room for those in flight, and their order.
    arrivals: Vec<(Span, Turns<'a, R>)>,
    /// The order in which segments are combined, whatever arrives first; or in which they come from the parent.
    order: Turns<'a, R>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From the children, combined, to the parent.
    Up,
    /// From the parent to the children.
    Down,
    /// From the children, combined, back to them.
    Over,
}

impl<'a, R: Rank> Flow<'a, R> {
    /// The segments of all ranks below this one are combined into its own, and the sums handed to the parent.
    pub fn up(rank: &'a R, place: &'a Place, segments: Segments) -> Self {
        Self::new(rank, place, segments, Way::Up)
    }

    /// The segments come from the parent and are handed to the children, to the last in the order of combination first.
    pub fn down(rank: &'a R, place: &'a Place, segments: Segments) -> Self {
        Self::new(rank, place, segments, Way::Down)
    }

    /// The segments of all ranks are combined into those of the root, which hands each down as soon as it is complete.
    pub fn over(rank: &'a R, place: &'a Place, segments: Segments) -> Self {
        Self::new(rank, place, segments, Way::Over)
    }

    fn new(rank: &'a R, place: &'a Place, segments: Segments, way: Way) -> Self {
        let children = if way == Way::Down { 0 } else { place.children.len() };
        let room = IN_FLIGHT.min(segments.count()) * segments.get(0).len;
        let arrivals = (0..children).map(|_| (rank.scratch(room), rank.turns())).collect();
        Self { rank, place, segments, way, arrivals, order: rank.turns() }
    }

    /// Takes in segment `index` and passes it on.
    async fn pass(&self, index: usize) {
        match (self.way, self.place.parent) {
            (Way::Down, Some(parent)) => {
                let receive = receive(self.rank, parent, self.segments.get(index), DOWN, index);
                self.order.take(index, receive).await;
            }
            (Way::Down, None) => {}
            _ => self.add_up(index).await,
        }
        match (self.way, self.place.parent) {
            (Way::Up, Some(parent)) => send(self.rank, parent, self.segments.get(index), UP, index).await,
            (Way::Up, None) => {}
            _ => self.hand_down(index).await,
        }
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

    /// Sends segment `index` to all children.
    async fn hand_down(&self, index: usize) {
        let hand = |child: &usize| send(self.rank, *child, self.segments.get(index), DOWN, index);
        match self.place.children.as_slice() {
            [] => {}
            [child] => hand(child).await,
            children => drop(self.rank.join_all(children.iter().rev().map(hand)).await),
        }
    }
}

/// Passes on the segments of all flows, of each a few side by side.
pub async fn run<R: Rank>(r: &R, flows: &[Flow<'_, R>]) {
    let lanes = flows.iter().flat_map(|flow| (0..IN_FLIGHT.min(flow.segments.count())).map(move |lane| (flow, lane)));
    let pass_on = async |(flow, lane): (&Flow<'_, R>, usize)| {
        let mut index = lane;
        while index < flow.segments.count() {
            flow.pass(index).await;
            index += IN_FLIGHT;
        }
    };
    r.join_all(lanes.map(pass_on)).await;
}

fn send<R: Rank>(r: &R, to: usize, segment: Span, direction: Tag, index: usize) -> impl Future<Output = ()> {
    let tag = direction + (index % IN_FLIGHT) as Tag;
    r.send_with(to, segment, Options { tag, ..Options::default() })
}

fn receive<R: Rank>(r: &R, from: usize, into: Span, direction: Tag, index: usize) -> impl Future<Output = Received> {
    r.recv_with(Source::Rank(from as u32), into, direction + (index % IN_FLIGHT) as Tag)
}

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

use hocket_core::{
    Call, Errand, JoinStrands, Mode, Moment, Options, Rank, Side, Source, Span, Step, Strands, Tag, Turn,
};

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

    /// Number of all children.
    fn child_count(&self) -> usize {
        self.by_switch.len() + self.children.len()
    }

    /// A child, in the order in which their vectors are combined, with how messages to it are sent.
    fn child(&self, number: usize) -> (usize, Mode) {
        match self.by_switch.get(number) {
            Some(child) => (*child, Mode::Switched),
            None => (self.children[number - self.by_switch.len()], Mode::default()),
        }
    }

    /// Whether no rank is below.
    fn is_leaf(&self) -> bool {
        self.child_count() == 0
    }

    /// Number of ranks to which segments go next, and whether a switch is between this rank and one of them.
    fn onward(&self, direction: Tag) -> (usize, bool) {
        match direction {
            UP => (self.parent.iter().count(), self.mode == Mode::Switched),
            _ => (self.child_count(), !self.by_switch.is_empty()),
        }
    }

    /// The send of a segment to one of the ranks to which segments go next: to the parent, or first to the child that is
    /// combined last.
    fn send(&self, direction: Tag, index: usize, number: usize, data: Span) -> Step {
        let (to, mode) = match (direction, self.parent) {
            (UP, Some(parent)) => (parent, self.mode),
            _ => self.child(self.child_count() - 1 - number),
        };
        Step::Send { to, data, options: Options { tag: self.tag(direction, index), mode, ..Options::default() } }
    }

    fn receive(&self, direction: Tag, index: usize, from: usize, into: Span) -> Step {
        Step::Recv { from: Source::Rank(from as u32), into, tag: self.tag(direction, index) }
    }

    fn tag(&self, direction: Tag, index: usize) -> Tag {
        self.tag + direction + (index % IN_FLIGHT) as Tag
    }
}

/// Combines the segments of all ranks below this one with its own into `sums`, and sends the sums to the parent. The
/// own segments may lie in `sums`. A rank without children sends its own segments from where they lie.
pub fn reduce<'r>(r: &'r Rank<'_>, place: Place, own: Segments, sums: Segments) -> JoinStrands<'r, Pipe<'r>> {
    r.strands(Pipe::reduce(r, place, own, sums))
}

/// Receives the segments from the parent, and sends them to the children.
pub fn broadcast<'r>(r: &'r Rank<'_>, place: Place, segments: Segments) -> JoinStrands<'r, Pipe<'r>> {
    r.strands(Pipe::broadcast(place, segments))
}

/// An allreduce of a part of the vector along a tree.
pub async fn allreduce(r: &Rank<'_>, c: &Call, place: Place, part: impl Fn(Span) -> Span) {
    let (input, result) = (c.input(r), c.result(r));
    let sums = match place.parent {
        None => part(result),
        Some(_) if place.is_leaf() && input != result => part(input),
        Some(_) => r.scratch(part(input).len),
    };
    let own = if place.parent.is_none() || input == result { sums } else { part(input) };
    r.copy(part(input), own).await;
    let [own, sums, result] = [own, sums, part(result)].map(|part| Segments::new(c, part));
    r.strands(Pipe::reduce_and_broadcast(r, place, own, sums, result)).await;
}

/// What a rank does in one tree, in strands: one for each child, which receives its segments; one that adds them up and
/// passes on the sums; and one that receives the results from the parent and passes them on.
pub struct Pipe<'r> {
    place: Place,
    sums: Option<Sums<'r>>,
    down: Option<Onward<'r>>,
}

impl<'r> Pipe<'r> {
    /// See [`reduce`].
    pub fn reduce(r: &Rank<'_>, place: Place, own: Segments, sums: Segments) -> Self {
        let onward = Onward::new(&place, UP, if place.is_leaf() { own } else { sums });
        Self { sums: Some(Sums::new(r, &place, own, onward)), down: None, place }
    }

    /// See [`broadcast`].
    pub fn broadcast(place: Place, segments: Segments) -> Self {
        Self { sums: None, down: Some(Onward::new(&place, DOWN, segments)), place }
    }

    /// Reduces the own segments to the root, by way of `sums`. The root sends each segment down as soon as it is reduced.
    /// The other ranks receive it in `result`.
    pub fn reduce_and_broadcast(r: &Rank<'_>, place: Place, own: Segments, sums: Segments, result: Segments) -> Self {
        if place.parent.is_some() {
            let down = Some(Onward::new(&place, DOWN, result));
            return Self { down, ..Self::reduce(r, place, own, sums) };
        }
        let sums = Sums::new(r, &place, own, Onward::new(&place, DOWN, sums));
        Self { sums: Some(sums), down: None, place }
    }
}

impl<'r> Strands<'r> for Pipe<'r> {
    fn starts(&self, r: &Rank<'_>) -> Vec<Moment> {
        let (now, are_both) = (r.moment(), self.sums.is_some() && self.down.is_some());
        let start = |branch| if are_both { r.branch_of(now, branch) } else { now };
        let mut starts = Vec::new();
        if let Some(sums) = &self.sums {
            let start = start(0);
            let receiving = r.branch_of(start, 0);
            starts.extend((0..sums.children.len()).map(|child| r.branch_of(receiving, child)));
            starts.extend(self.place.is_leaf().then_some(receiving));
            starts.push(r.branch_of(start, 1));
        }
        starts.extend(self.down.is_some().then(|| start(1)));
        starts
    }

    fn advance(&mut self, number: usize, turn: &mut Turn<'_, 'r>) -> bool {
        let Self { place, sums, down } = self;
        match (sums, down) {
            (Some(sums), _) if number < sums.adder() => sums.receive(turn, place, number),
            (Some(sums), _) if number == sums.adder() => sums.add_up(turn, place),
            (_, Some(down)) => down.pass_on(turn, place, place.parent.iter().count(), |turn, index, _, segment| {
                turn.perform(|| place.receive(DOWN, index, place.parent.unwrap_or(0), segment))
            }),
            _ => true,
        }
    }
}

/// The segments of a child that wait to be combined: in room of their own, or where the sums will be.
struct Arrivals {
    room: Option<Span>,
    received: usize,
    combined: usize,
    /// For each place in the room, when it was filled or freed last.
    moments: [Moment; IN_FLIGHT],
}

impl Arrivals {
    /// The place of a segment of which the sum will be here. All but the last segment have `len` elements.
    fn place(&self, index: usize, sum: Span, len: usize) -> Span {
        self.room.map_or(sum, |room| room.part(index % IN_FLIGHT * len, sum.len))
    }
}

/// Combines the own segments with the children's segments, in the order of the children, and passes on the sums. If the
/// own segments are not where the sums will be, the first child's segments are received there, and nothing is copied.
struct Sums<'r> {
    own: Segments,
    children: Box<[Arrivals]>,
    onward: Onward<'r>,
}

impl<'r> Sums<'r> {
    fn new(r: &Rank<'_>, place: &Place, own: Segments, onward: Onward<'r>) -> Self {
        let (sums, moments) = (onward.segments, [r.moment(); IN_FLIGHT]);
        let is_apart = own.get(0) != sums.get(0);
        let room = |number| (number > 0 || !is_apart).then(|| r.scratch(IN_FLIGHT.min(onward.count) * sums.get(0).len));
        let child = |number| Arrivals { room: room(number), received: 0, combined: 0, moments };
        Self { own, children: (0..place.child_count()).map(child).collect(), onward }
    }

    /// The strand that adds up. A rank without children has a strand before it that ends at once.
    fn adder(&self) -> usize {
        self.children.len().max(1)
    }

    /// Receives the segments of a child, as far as there is room for them.
    fn receive(&mut self, turn: &mut Turn<'_, '_>, place: &Place, number: usize) -> bool {
        let (Onward { segments: sums, count, .. }, adder) = (&self.onward, self.adder());
        let Some(child) = self.children.get_mut(number) else { return true };
        while child.received < *count {
            let index = child.received;
            let ready = (index < child.combined + IN_FLIGHT).then_some(child.moments[index % IN_FLIGHT]);
            let into = || child.place(index, sums.get(index), sums.get(0).len);
            if !turn.perform_after(ready, || place.receive(UP, index, place.child(number).0, into())) {
                return false;
            }
            child.moments[index % IN_FLIGHT] = turn.moment();
            child.received += 1;
            turn.wake(adder);
        }
        true
    }

    /// Adds up the segments, and passes on the sums.
    fn add_up(&mut self, turn: &mut Turn<'_, 'r>, place: &Place) -> bool {
        let Self { own, children, onward } = self;
        let len = onward.segments.get(0).len;
        onward.pass_on(turn, place, children.len(), |turn, index, number, sum| {
            let child = &mut children[number];
            let ready = (index < child.received).then_some(child.moments[index % IN_FLIGHT]);
            let combine = || match child.room {
                Some(_) => Step::Combine { source: child.place(index, sum, len), target: sum, side: Side::Right },
                None => Step::Combine { source: own.get(index), target: sum, side: Side::Left },
            };
            let has_ended = turn.perform_after(ready, combine);
            if has_ended {
                child.moments[index % IN_FLIGHT] = turn.moment();
                child.combined += 1;
                turn.wake(number);
            }
            has_ended
        })
    }
}

/// The segments that a rank passes on, up or down the tree.
struct Onward<'r> {
    segments: Segments,
    count: usize,
    direction: Tag,
    /// The segment whose turn it is, and the number of its steps that have ended: to take it in, then to send it.
    index: usize,
    step: usize,
    /// Sends under way.
    sends: VecDeque<Errand<'r>>,
}

impl<'r> Onward<'r> {
    fn new(place: &Place, direction: Tag, segments: Segments) -> Self {
        let sends = VecDeque::with_capacity(IN_FLIGHT * place.onward(direction).0);
        Self { segments, count: segments.count(), direction, index: 0, step: 0, sends }
    }

    /// Takes in the segments, one after the other, each in so many steps. Passes on each one, while a few earlier ones
    /// are still on their way.
    fn pass_on(
        &mut self,
        turn: &mut Turn<'_, 'r>,
        place: &Place,
        steps: usize,
        mut take_in: impl FnMut(&mut Turn<'_, 'r>, usize, usize, Span) -> bool,
    ) -> bool {
        let (peers, is_alone) = place.onward(self.direction);
        while self.index < self.count && steps + peers > 0 {
            let (index, step) = (self.index, self.step);
            let most = match step {
                _ if step == steps && is_alone => 0,
                0 => (IN_FLIGHT - 1) * peers,
                _ => usize::MAX,
            };
            if !self.settle(turn, place, most) {
                return false;
            }
            let segment = self.segments.get(index);
            if step >= steps {
                self.sends.push_back(turn.start(&place.send(self.direction, index, step - steps, segment)));
            } else if !take_in(turn, index, step, segment) {
                return false;
            }
            (self.index, self.step) = if step + 1 < steps + peers { (index, step + 1) } else { (index + 1, 0) };
        }
        self.settle(turn, place, 0)
    }

    /// Waits for the earliest sends, until at most `most` are under way. Called between the sends of two segments.
    fn settle(&mut self, turn: &Turn<'_, 'r>, place: &Place, most: usize) -> bool {
        while self.sends.len() > most {
            let (peers, direction, segments) = (place.onward(self.direction).0, self.direction, self.segments);
            let number = self.index * peers - self.sends.len();
            let send = || place.send(direction, number / peers, number % peers, segments.get(number / peers));
            if !turn.end(&mut self.sends[0], send) {
                return false;
            }
            self.sends.pop_front();
        }
        true
    }
}

//! The verbs a rank program is written in.

use std::future::{Future, ready};

use crate::combinators::{Branch, First, Join, JoinAll, Started};
use crate::earliest::Earliest;
use crate::tokens::Tokens;
use crate::{Call, Path, Result, Span};

/// Distinguishes messages of one pair of ranks; messages with equal source and tag keep their order, as in MPI.
pub type Tag = u32;

/// Where a receive takes its message from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This rank only.
    Rank(u32),
    /// Any rank: whoever comes first.
    Any,
}

impl Source {
    /// Whether a message from rank `from` is wanted.
    pub fn accepts(self, from: u32) -> bool {
        match self {
            Self::Rank(rank) => rank == from,
            Self::Any => true,
        }
    }
}

/// What a receive got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub source: usize,
    /// Number of elements; at most the length of the receiving span.
    pub len: usize,
}

/// On which side of the target the source stands when the two are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// target = source ∘ target: the source holds contributions of lower ranks.
    Left,
    /// target = target ∘ source: the source holds contributions of higher ranks.
    Right,
}

/// What a send may carry besides its data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Matched by the receive.
    pub tag: Tag,
    /// The sender goes on as soon as its processor is free of the message; the data must not change before it has left.
    pub is_posted: bool,
    /// Done no earlier than its receive has been posted, as a rendezvous, however short it is. Worlds without time take it
    /// for any other message.
    pub is_synchronous: bool,
    /// Packet pacing: idle packet times left between two packets of the message. Only packet networks obey it.
    pub gap_packets: f64,
}

/// The point that a branch of a program has reached: a virtual time, a set of finished operations, or nothing at all.
///
/// [`Join`] and [`First`] start every branch at the moment they were reached, and continue at the later of the
/// branches' moments, or at the earlier.
pub trait Moment: Clone {
    /// The moment at which both have been reached.
    fn later(self, other: Self) -> Self;
    /// Whether this moment is certainly before `other`; ties and incomparable moments are not.
    fn is_before(&self, other: &Self) -> bool;
    /// The moment at which branch `index` of several starts.
    fn branch(self, _index: usize) -> Self {
        self
    }
    /// The moment at which a `join` that was reached at `self` continues, `end` being the latest of its branches' ends.
    fn after_join(self, end: Self) -> Self {
        end
    }
    /// The moment at which the branches of a `first` start.
    fn racing(self) -> Self {
        self
    }
    /// The moment at which a `first` that was reached at `self` continues; it is the same point of the program whichever
    /// branch won.
    fn after_first(self, winner: Self) -> Self {
        self.later(winner)
    }
    /// The earlier moment, at which a `first` continues, and the later one, at which its rest ends; `self` was found to
    /// be the earlier.
    fn decided(self, other: Self) -> (Self, Self) {
        (self, other)
    }
}

impl Moment for () {
    fn later(self, (): ()) {}
    fn is_before(&self, (): &()) -> bool {
        false
    }
}

impl Moment for f64 {
    fn later(self, other: Self) -> Self {
        self.max(other)
    }
    fn is_before(&self, other: &Self) -> bool {
        self < other
    }
}

/// One rank, as its program sees it. Verbs are futures: nothing happens until they are awaited or joined.
///
/// A world implements the required methods; the provided ones are written in terms of them.
pub trait Rank: Sized {
    /// What the world tracks along each branch of the program.
    type Moment: Moment;

    /// This rank's number, `0..size`.
    fn rank(&self) -> usize;
    /// Number of ranks.
    fn size(&self) -> usize;
    /// `len` fresh elements of working memory; their values are undefined.
    fn scratch(&self, len: usize) -> Span;
    /// Whether there is memory for so much scratch; always, in worlds that hold no data.
    ///
    /// # Errors
    /// As [`budget::check`](crate::budget::check).
    fn check_scratch(&self, _len: usize) -> Result<()> {
        Ok(())
    }
    /// Sends `data` to rank `to`; done when the span may be changed again.
    fn send_with(&self, to: usize, data: Span, options: Options) -> impl Future<Output = ()>;
    /// Receives into `into` a message of at most its length.
    fn recv_with(&self, from: Source, into: Span, tag: Tag) -> impl Future<Output = Received>;
    /// Combines `source` into `target`, element by element; `side` says where the source stands.
    fn combine(&self, source: Span, target: Span, side: Side) -> impl Future<Output = ()>;
    /// Copies `source` to `target`, of the same length. Copying a span onto itself is free.
    fn copy(&self, source: Span, target: Span) -> impl Future<Output = ()>;
    /// Computes for `time_s` seconds.
    fn compute(&self, time_s: f64) -> impl Future<Output = ()>;
    /// Opens a circuit to `peer` ahead of the messages to it; done when it is open, or refused: false, and messages get
    /// theirs as they come. Free where the network has no circuits, and then true.
    fn connect(&self, _peer: usize) -> impl Future<Output = bool> {
        ready(true)
    }
    /// Does without the circuit to `peer` from here on; done when it is released. Free where the network has no circuits.
    fn disconnect(&self, _peer: usize) -> impl Future<Output = ()> {
        ready(())
    }
    /// How many circuits a program should open ahead of its messages, the same on all ranks: 0 where circuits come by
    /// themselves. None where there are none.
    fn ports(&self) -> Option<usize> {
        None
    }
    /// The result of this rank is complete, and nothing in it will change: the collective returns to its caller. What
    /// the program does from here on only serves other ranks. A program that does not say it is complete at its end.
    fn complete(&self) {}
    /// The time of the branch that is running, in seconds by the rank's clock; none in a world without one.
    fn time_s(&self) -> Option<f64> {
        None
    }
    /// The moment of the branch that is running.
    fn moment(&self) -> Self::Moment;
    /// Continues the running branch at `moment`.
    fn set_moment(&self, moment: Self::Moment);
    /// The branch that is running. A world that does not know which operation of a rank has ended tells none apart.
    fn path(&self) -> Path {
        Path::WHOLE
    }
    /// From here on `path` is running.
    fn set_path(&self, _path: Path) {}
    /// Whether an operation has ended for which this branch waits, or one further on; else it need not be polled.
    fn can_go_on(&self, _path: Path) -> bool {
        true
    }
    /// What this branch waits for has happened, in another branch.
    fn wake(&self, _path: Path) {}
    /// Whether a `first` can tell its winner, given which of its branches have ended. A world whose ranks do not run
    /// in the order of time has to wait for both.
    fn is_decided(&self, a_ended: bool, b_ended: bool) -> bool {
        a_ended || b_ended
    }
    /// A place where `offers` branches of this rank put the same thing, and others take the earliest.
    fn earliest<T: Clone>(&self, offers: usize) -> Earliest<'_, Self, T> {
        Earliest::new(self, offers)
    }
    /// A place where branches of this rank put tokens and others take them; so many are there from now on.
    fn tokens(&self, count: usize) -> Tokens<'_, Self> {
        Tokens::new(self, count)
    }
    /// The rest of a `first` is dropped; whether its branch had ended all the same. Nothing to do where ranks run in the
    /// order of time.
    fn withdraw_branch(&self, _has_ended: bool) {}

    /// Sends `data` to rank `to`.
    fn send(&self, to: usize, data: Span) -> impl Future<Output = ()> {
        self.send_with(to, data, Options::default())
    }
    /// Receives from rank `from` into `into`.
    fn recv(&self, from: usize, into: Span) -> impl Future<Output = Received> {
        self.recv_with(Source::Rank(from as u32), into, 0)
    }
    /// Receives from whichever rank's message comes first.
    fn recv_any(&self, into: Span) -> impl Future<Output = Received> {
        self.recv_with(Source::Any, into, 0)
    }
    /// Sends to `to` while receiving from `from`.
    fn sendrecv(&self, to: usize, data: Span, from: usize, into: Span) -> impl Future<Output = ((), Received)> {
        self.join(self.send(to, data), self.recv(from, into))
    }
    /// Combines `source`, which came from `peer` and holds its side's contributions, into `target` in rank order.
    fn reduce(&self, peer: usize, source: Span, target: Span) -> impl Future<Output = ()> {
        self.combine(source, target, if peer < self.rank() { Side::Left } else { Side::Right })
    }
    /// Does both, side by side; done when both are.
    fn join<A: Future, B: Future>(&self, a: A, b: B) -> Join<'_, Self, A, B> {
        Join::new(Branch::new(self, a), Branch::new(self, b))
    }
    /// Does all of these side by side; done when all are.
    fn join_all<F: Future>(&self, branches: impl IntoIterator<Item = F>) -> JoinAll<'_, Self, F> {
        JoinAll::new(self, branches)
    }
    /// Starts one verb now and goes on without it: it is issued, whatever comes of what this returns. That is done when the
    /// verb is; when it is dropped, a receive is withdrawn.
    fn start<F: Future>(&self, future: F) -> impl Future<Output = Started<'_, Self, F>> {
        Started::new(self, future)
    }
    /// Starts both; done when the earlier one is. The other goes on when the [`crate::Rest`] is awaited, and is
    /// withdrawn when that is dropped.
    fn first<A: Future, B: Future>(&self, a: A, b: B) -> First<'_, Self, A, B> {
        First::new(self, a, b)
    }
}

/// What every rank does in one collective call.
pub trait Program {
    /// The steps of rank `r` in call `c`.
    fn run(&self, r: &impl Rank, c: &Call) -> impl Future<Output = ()>;
}

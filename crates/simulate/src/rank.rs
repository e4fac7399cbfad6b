//! A rank in virtual time: the verbs, in terms of an engine.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use hocket_core::{Buffer, Options, Path, Rank, Received, Side, Source, Span, Tag};

use crate::Node;
use crate::clock::Clock;
use crate::network::{CircuitCounts, LinkUse};
use crate::trace::{Kind, Record};

/// What an engine says to an operation: done at this time, or known under this slot until it is.
pub enum Progress<T> {
    /// Its outcome is known.
    Done(Arrival<T>),
    /// Its outcome will be in this slot.
    Waits(u32),
}

/// When a receive was done, and what it got.
pub type Arrival<T> = (T, Received);

/// Keeps virtual time for all ranks.
pub trait Clockwork {
    /// What time it is.
    type Clock: Clock;
    /// Whether ranks run in the order of time, so that the first branch to end is the first in time.
    fn is_in_order_of_time(&self) -> bool;
    /// The path of a program: whether its branches are told apart.
    fn program_path(&self) -> Path {
        Path::WHOLE
    }

    /// `rank` sends at `now`.
    fn send(&self, rank: usize, now: Self::Clock, message: &Send) -> Progress<Self::Clock>;
    /// `rank` is ready to receive at `now`.
    fn recv(&self, rank: usize, now: Self::Clock, from: Source, tag: Tag) -> Progress<Self::Clock>;
    /// `rank` is asked at `now` to work for `duration_s`.
    fn work(&self, rank: usize, now: Self::Clock, duration_s: f64) -> Progress<Self::Clock>;
    /// How many circuits a program should open ahead of its messages; none where there are no circuits.
    fn ports(&self) -> Option<usize> {
        None
    }
    /// `rank` connects at `now`, or disconnects, where there are circuits. The outcome has a length of 1 if there is one.
    fn switch(&self, _rank: usize, now: Self::Clock, change: &Switch) -> Progress<Self::Clock> {
        Progress::Done((now, Received { source: change.peer as usize, len: 1 }))
    }
    /// The outcome of an operation that waited, once it is known.
    fn take(&self, slot: u32) -> Option<Arrival<Self::Clock>>;
    /// This branch waits for that outcome.
    fn wait(&self, _slot: u32, _path: Path) {}
    /// What this branch of `rank` waits for has happened, in another branch.
    fn wake(&self, _rank: usize, _path: Path) {}
    /// Whether what this branch of `rank` waits for has happened, or a branch further on.
    fn can_go_on(&self, _rank: usize, _path: Path) -> bool {
        true
    }
    /// A branch that came second has ended, and its program does not want it.
    fn withdraw_ended(&self);
    /// Nobody waits for this operation any more.
    fn withdraw(&self, rank: usize, slot: u32);
}

/// What all ranks of a simulation share, besides the engine.
pub struct Shared {
    pub size: usize,
    pub element_bytes: usize,
    pub node: Node,
    /// How long a posted message occupies its sender, where sends take longer.
    pub post_s: Option<f64>,
    pub messages: Cell<u64>,
    pub message_bytes: Cell<u64>,
    pub trace: Option<RefCell<Vec<Record>>>,
}

impl Shared {
    pub fn new(call: &hocket_core::Call, node: Node, post_s: Option<f64>, options: &crate::Options<'_>) -> Self {
        Self {
            size: call.ranks,
            element_bytes: call.element_bytes,
            node,
            post_s,
            messages: Cell::new(0),
            message_bytes: Cell::new(0),
            trace: options.trace.then(RefCell::default),
        }
    }

    /// What ran, once every rank's program has ended.
    pub fn run<C: Clockwork + ?Sized>(&self, ranks: &[SimulatedRank<'_, C>]) -> Run<C::Clock> {
        let mut trace = self.trace.as_ref().map(RefCell::take).unwrap_or_default();
        Record::sort(&mut trace);
        Run {
            ends: ranks.iter().map(SimulatedRank::end).collect(),
            messages: self.messages.get(),
            message_bytes: self.message_bytes.get(),
            trace,
            links: Vec::new(),
            circuits: None,
        }
    }
}

/// What an engine found.
pub struct Run<T> {
    /// When the result of each rank was complete.
    pub ends: Vec<T>,
    pub messages: u64,
    pub message_bytes: u64,
    pub trace: Vec<Record>,
    /// What each link of the network carried, where messages meet.
    pub links: Vec<LinkUse>,
    /// What happened to circuits, where there are any.
    pub circuits: Option<CircuitCounts>,
}

/// One rank under the engine `C`.
pub struct SimulatedRank<'a, C: Clockwork + ?Sized> {
    rank: usize,
    clock: Cell<C::Clock>,
    path: Cell<Path>,
    completed: Cell<Option<C::Clock>>,
    scratch: Cell<usize>,
    clockwork: &'a C,
    shared: &'a Shared,
}

impl<'a, C: Clockwork + ?Sized> SimulatedRank<'a, C> {
    pub fn all(shared: &'a Shared, clockwork: &'a C, start: C::Clock) -> Vec<Self> {
        let rank = |rank| Self {
            rank,
            clock: Cell::new(start),
            path: Cell::new(clockwork.program_path()),
            completed: Cell::new(None),
            scratch: Cell::new(0),
            clockwork,
            shared,
        };
        (0..shared.size).map(rank).collect()
    }

    /// When the result was complete.
    fn end(&self) -> C::Clock {
        self.completed.get().unwrap_or(self.clock.get())
    }

    fn start<V: Verb>(&self, verb: V) -> Operation<'_, C, V> {
        Operation { rank: self, verb, start: self.clock.get(), slot: NEW }
    }

    fn bytes(&self, len: usize) -> f64 {
        (len * self.shared.element_bytes) as f64
    }
}

/// An operation of a rank: issued when it is first polled, at the clock of its branch.
struct Operation<'a, C: Clockwork + ?Sized, V: Verb> {
    rank: &'a SimulatedRank<'a, C>,
    verb: V,
    start: C::Clock,
    slot: u32,
}

impl<C: Clockwork + ?Sized, V: Verb> Unpin for Operation<'_, C, V> {}

/// Slot of an operation that is not issued yet.
const NEW: u32 = u32::MAX;
/// Slot of an operation that is done.
const DONE: u32 = u32::MAX - 1;

/// What an operation does.
trait Verb: Unpin {
    type Output;
    fn issue<C: Clockwork + ?Sized>(&self, rank: &SimulatedRank<'_, C>, now: C::Clock) -> Progress<C::Clock>;
    fn output(&self, received: Received) -> Self::Output;
    /// Kind, peer, tag and elements, for the trace.
    fn describe(&self, rank: usize, received: Received) -> (Kind, usize, Tag, usize);
}

impl<C: Clockwork + ?Sized, V: Verb> Operation<'_, C, V> {
    /// Issues the operation; its outcome when that is known at once.
    fn issue(&mut self) -> Option<Arrival<C::Clock>> {
        self.start = self.rank.clock.get();
        match self.verb.issue(self.rank, self.start) {
            Progress::Done(arrival) => Some(arrival),
            Progress::Waits(slot) => {
                self.slot = slot;
                None
            }
        }
    }

    fn trace(&self, trace: &RefCell<Vec<Record>>, end_s: f64, received: Received) {
        let (kind, peer, tag, len) = self.verb.describe(self.rank.rank, received);
        let (rank, bytes, start_s) = (self.rank.rank, self.rank.bytes(len), self.start.seconds());
        trace.borrow_mut().push(Record { rank, kind, peer, tag, bytes, start_s, end_s });
    }
}

impl<C: Clockwork + ?Sized, V: Verb> Future for Operation<'_, C, V> {
    type Output = V::Output;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<V::Output> {
        let outcome = if self.slot == NEW { self.issue() } else { self.rank.clockwork.take(self.slot) };
        let Some((end, received)) = outcome else {
            self.rank.clockwork.wait(self.slot, self.rank.path.get());
            return Poll::Pending;
        };
        self.slot = DONE;
        self.rank.clock.set(end.following(self.start));
        if let Some(trace) = &self.rank.shared.trace {
            self.trace(trace, end.seconds(), received);
        }
        Poll::Ready(self.verb.output(received))
    }
}

impl<C: Clockwork + ?Sized, V: Verb> Drop for Operation<'_, C, V> {
    fn drop(&mut self) {
        if self.slot < DONE {
            self.rank.clockwork.withdraw(self.rank.rank, self.slot);
        }
    }
}

/// A message that a rank sends, see [`Options`].
pub struct Send {
    pub to: u32,
    pub tag: Tag,
    pub is_posted: bool,
    pub is_synchronous: bool,
    pub gap_packets: f32,
    /// Number of elements.
    pub len: usize,
}

impl Verb for Send {
    type Output = ();

    fn issue<C: Clockwork + ?Sized>(&self, rank: &SimulatedRank<'_, C>, now: C::Clock) -> Progress<C::Clock> {
        let shared = rank.shared;
        shared.messages.set(shared.messages.get() + 1);
        shared.message_bytes.set(shared.message_bytes.get() + (self.len * shared.element_bytes) as u64);
        let sent = rank.clockwork.send(rank.rank, now, self);
        let Some(post_s) = shared.post_s.filter(|_| self.is_posted) else { return sent };
        if let Progress::Waits(slot) = sent {
            rank.clockwork.withdraw(rank.rank, slot);
        }
        let received = Received { source: rank.rank, len: self.len };
        if post_s > 0.0 { rank.clockwork.work(rank.rank, now, post_s) } else { Progress::Done((now, received)) }
    }

    fn output(&self, _: Received) {}

    fn describe(&self, _: usize, _: Received) -> (Kind, usize, Tag, usize) {
        (Kind::Send, self.to as usize, self.tag, self.len)
    }
}

struct Recv {
    from: Source,
    tag: Tag,
}

impl Verb for Recv {
    type Output = Received;

    fn issue<C: Clockwork + ?Sized>(&self, rank: &SimulatedRank<'_, C>, now: C::Clock) -> Progress<C::Clock> {
        rank.clockwork.recv(rank.rank, now, self.from, self.tag)
    }

    fn output(&self, received: Received) -> Received {
        received
    }

    fn describe(&self, _: usize, received: Received) -> (Kind, usize, Tag, usize) {
        (Kind::Recv, received.source, self.tag, received.len)
    }
}

/// A rank connects to a peer, or disconnects.
pub struct Switch {
    pub peer: u32,
    pub connects: bool,
}

impl Verb for Switch {
    type Output = bool;

    fn issue<C: Clockwork + ?Sized>(&self, rank: &SimulatedRank<'_, C>, now: C::Clock) -> Progress<C::Clock> {
        rank.clockwork.switch(rank.rank, now, self)
    }

    fn output(&self, received: Received) -> bool {
        received.len > 0
    }

    fn describe(&self, _: usize, _: Received) -> (Kind, usize, Tag, usize) {
        (if self.connects { Kind::Connect } else { Kind::Disconnect }, self.peer as usize, 0, 0)
    }
}

struct Work {
    kind: Kind,
    len: usize,
    duration_s: f64,
}

impl Verb for Work {
    type Output = ();

    fn issue<C: Clockwork + ?Sized>(&self, rank: &SimulatedRank<'_, C>, now: C::Clock) -> Progress<C::Clock> {
        if self.duration_s == 0.0 {
            return Progress::Done((now, Received { source: rank.rank, len: 0 }));
        }
        rank.clockwork.work(rank.rank, now, self.duration_s)
    }

    fn output(&self, _: Received) {}

    fn describe(&self, rank: usize, _: Received) -> (Kind, usize, Tag, usize) {
        (self.kind, rank, 0, self.len)
    }
}

impl<C: Clockwork + ?Sized> Rank for SimulatedRank<'_, C> {
    type Moment = C::Clock;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.size
    }

    fn scratch(&self, len: usize) -> Span {
        let offset = self.scratch.get();
        self.scratch.set(offset + len);
        Span { buffer: Buffer::Scratch, offset, len }
    }

    fn send_with(&self, to: usize, data: Span, options: Options) -> impl Future<Output = ()> {
        let Options { tag, is_posted, is_synchronous, gap_packets } = options;
        let gap_packets = gap_packets as f32;
        self.start(Send { to: to as u32, tag, is_posted, is_synchronous, gap_packets, len: data.len })
    }

    fn recv_with(&self, from: Source, _into: Span, tag: Tag) -> impl Future<Output = Received> {
        self.start(Recv { from, tag })
    }

    fn combine(&self, source: Span, _target: Span, _side: Side) -> impl Future<Output = ()> {
        let duration_s = self.bytes(source.len) * self.shared.node.reduce_s_per_byte;
        self.start(Work { kind: Kind::Reduce, len: source.len, duration_s })
    }

    fn copy(&self, source: Span, target: Span) -> impl Future<Output = ()> {
        let is_needed = source != target;
        let duration_s = if is_needed { self.bytes(source.len) * self.shared.node.copy_s_per_byte } else { 0.0 };
        self.start(Work { kind: Kind::Copy, len: source.len, duration_s })
    }

    fn compute(&self, time_s: f64) -> impl Future<Output = ()> {
        self.start(Work { kind: Kind::Compute, len: 0, duration_s: time_s })
    }

    async fn connect(&self, peer: usize) -> bool {
        self.ports().is_none() || self.start(Switch { peer: peer as u32, connects: true }).await
    }

    async fn disconnect(&self, peer: usize) {
        if self.ports().is_some() {
            self.start(Switch { peer: peer as u32, connects: false }).await;
        }
    }

    fn ports(&self) -> Option<usize> {
        self.clockwork.ports()
    }

    fn complete(&self) {
        self.completed.set(Some(self.clock.get()));
    }

    fn time_s(&self) -> Option<f64> {
        Some(self.clock.get().seconds()).filter(|seconds| !seconds.is_nan())
    }

    fn moment(&self) -> C::Clock {
        self.clock.get()
    }

    fn set_moment(&self, moment: C::Clock) {
        self.clock.set(moment);
    }

    fn path(&self) -> Path {
        self.path.get()
    }

    fn set_path(&self, path: Path) {
        self.path.set(path);
    }

    fn can_go_on(&self, path: Path) -> bool {
        self.clockwork.can_go_on(self.rank, path)
    }

    fn wake(&self, path: Path) {
        self.clockwork.wake(self.rank, path);
    }

    fn is_decided(&self, a_ended: bool, b_ended: bool) -> bool {
        if self.clockwork.is_in_order_of_time() { a_ended || b_ended } else { a_ended && b_ended }
    }

    fn withdraw_branch(&self, has_ended: bool) {
        if has_ended {
            self.clockwork.withdraw_ended();
        }
    }
}

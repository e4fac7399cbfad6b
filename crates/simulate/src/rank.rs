//! A rank in virtual time: the verbs, in terms of an engine.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use hocket_core::{Buffer, Options, Rank, Received, Side, Source, Span, Tag};

use crate::trace::{Kind, Record};
use crate::{Node, Outcome};

/// What an engine says to an operation: done at this time, or known under this slot until it is.
pub enum Progress<T> {
    /// Its outcome is known.
    Done(T),
    /// Its outcome will be in this slot.
    Waits(u32),
}

/// When a receive was done, and what it got.
pub type Arrival = (f64, Received);

/// Keeps virtual time for all ranks.
pub trait Clockwork {
    /// Whether ranks run in the order of time, so that the first branch to end is the first in time.
    const IN_ORDER_OF_TIME: bool;

    /// `rank` sends `len` elements of `bytes` bytes together at `now`.
    fn send(&self, rank: usize, now: f64, to: usize, tag: Tag, load: Load) -> Progress<Arrival>;
    /// `rank` is ready to receive at `now`.
    fn recv(&self, rank: usize, now: f64, from: Source, tag: Tag) -> Progress<Arrival>;
    /// `rank` is asked at `now` to work for `duration_s`.
    fn work(&self, rank: usize, now: f64, duration_s: f64) -> Progress<Arrival>;
    /// The outcome of an operation that waited, once it is known.
    fn take(&self, rank: usize, slot: u32) -> Option<Arrival>;
    /// Nobody waits for this operation any more.
    fn withdraw(&self, rank: usize, slot: u32);
}

/// Size of a message.
#[derive(Clone, Copy)]
pub struct Load {
    /// Elements.
    pub len: usize,
    /// Bytes.
    pub bytes: f64,
}

/// What all ranks of a simulation share, besides the engine.
pub struct Shared {
    pub size: usize,
    pub element_bytes: usize,
    pub node: Node,
    pub messages: Cell<u64>,
    pub message_bytes: Cell<u64>,
    pub trace: Option<RefCell<Vec<Record>>>,
}

impl Shared {
    pub fn new(call: &hocket_core::Call, node: Node, options: &crate::Options<'_>) -> Self {
        Self {
            size: call.ranks,
            element_bytes: call.element_bytes,
            node,
            messages: Cell::new(0),
            message_bytes: Cell::new(0),
            trace: options.trace.then(RefCell::default),
        }
    }

    /// The outcome, once every rank's program has ended.
    pub fn outcome<C>(&self, engine: &'static str, ranks: &[SimulatedRank<'_, C>]) -> Outcome {
        let mut trace = self.trace.as_ref().map(RefCell::take).unwrap_or_default();
        Record::sort(&mut trace);
        Outcome {
            engine,
            rank_times_s: ranks.iter().map(|r| r.clock_s.get()).collect(),
            messages: self.messages.get(),
            message_bytes: self.message_bytes.get(),
            trace,
        }
    }
}

/// One rank under the engine `C`.
pub struct SimulatedRank<'a, C> {
    rank: usize,
    clock_s: Cell<f64>,
    scratch: Cell<usize>,
    clockwork: &'a C,
    shared: &'a Shared,
}

impl<'a, C: Clockwork> SimulatedRank<'a, C> {
    pub fn all(shared: &'a Shared, clockwork: &'a C) -> Vec<Self> {
        let rank = |rank| Self { rank, clock_s: Cell::new(0.0), scratch: Cell::new(0), clockwork, shared };
        (0..shared.size).map(rank).collect()
    }

    async fn settle(&self, progress: Progress<Arrival>) -> Arrival {
        let (end_s, received) = match progress {
            Progress::Done(arrival) => arrival,
            Progress::Waits(slot) => Wait { rank: self.rank, clockwork: self.clockwork, slot, is_done: false }.await,
        };
        self.clock_s.set(end_s);
        (end_s, received)
    }

    fn record(&self, kind: Kind, peer: usize, tag: Tag, bytes: f64, start_s: f64, end_s: f64) {
        if let Some(trace) = &self.shared.trace {
            trace.borrow_mut().push(Record { rank: self.rank, kind, peer, tag, bytes, start_s, end_s });
        }
    }

    async fn work(&self, kind: Kind, bytes: f64, duration_s: f64) {
        if duration_s == 0.0 {
            return;
        }
        let start_s = self.clock_s.get();
        let (end_s, _) = self.settle(self.clockwork.work(self.rank, start_s, duration_s)).await;
        self.record(kind, self.rank, 0, bytes, start_s, end_s);
    }

    fn bytes(&self, span: Span) -> f64 {
        (span.len * self.shared.element_bytes) as f64
    }
}

struct Wait<'a, C: Clockwork> {
    rank: usize,
    clockwork: &'a C,
    slot: u32,
    is_done: bool,
}

impl<C: Clockwork> Future for Wait<'_, C> {
    type Output = Arrival;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Arrival> {
        let outcome = self.clockwork.take(self.rank, self.slot);
        self.is_done = outcome.is_some();
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

impl<C: Clockwork> Drop for Wait<'_, C> {
    fn drop(&mut self) {
        if !self.is_done {
            self.clockwork.withdraw(self.rank, self.slot);
        }
    }
}

impl<C: Clockwork> Rank for SimulatedRank<'_, C> {
    type Moment = f64;

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

    async fn send_with(&self, to: usize, data: Span, options: Options) {
        let start_s = self.clock_s.get();
        let load = Load { len: data.len, bytes: self.bytes(data) };
        self.shared.messages.set(self.shared.messages.get() + 1);
        self.shared.message_bytes.set(self.shared.message_bytes.get() + load.bytes as u64);
        let (end_s, _) = self.settle(self.clockwork.send(self.rank, start_s, to, options.tag, load)).await;
        self.record(Kind::Send, to, options.tag, load.bytes, start_s, end_s);
    }

    async fn recv_with(&self, from: Source, _into: Span, tag: Tag) -> Received {
        let start_s = self.clock_s.get();
        let (end_s, received) = self.settle(self.clockwork.recv(self.rank, start_s, from, tag)).await;
        let bytes = (received.len * self.shared.element_bytes) as f64;
        self.record(Kind::Recv, received.source, tag, bytes, start_s, end_s);
        received
    }

    async fn combine(&self, source: Span, _target: Span, _side: Side) {
        let bytes = self.bytes(source);
        self.work(Kind::Reduce, bytes, bytes * self.shared.node.reduce_s_per_byte).await;
    }

    async fn copy(&self, source: Span, target: Span) {
        if source != target {
            let bytes = self.bytes(source);
            self.work(Kind::Copy, bytes, bytes * self.shared.node.copy_s_per_byte).await;
        }
    }

    async fn compute(&self, time_s: f64) {
        self.work(Kind::Compute, 0.0, time_s).await;
    }

    fn moment(&self) -> f64 {
        self.clock_s.get()
    }

    fn set_moment(&self, moment: f64) {
        self.clock_s.set(moment);
    }

    fn is_decided(&self, a_ended: bool, b_ended: bool) -> bool {
        if C::IN_ORDER_OF_TIME { a_ended || b_ended } else { a_ended && b_ended }
    }
}

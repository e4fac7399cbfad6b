//! A rank whose verbs move real bytes, by the functions of a [`Link`].

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use hocket_core::matching::Slots;
use hocket_core::{Options, Path, Rank, Received, Side, Source, Span, Tag, Woken};

use crate::buffers::{Buffers, Layout};
use crate::transport::{ANY_SOURCE, Ended, Failure, Link, Transport};

/// This process's rank in one operation.
pub struct EngineRank {
    rank: usize,
    size: usize,
    commutative: bool,
    transport: Transport,
    user: Cell<*mut c_void>,
    buffers: RefCell<Buffers>,
    /// Room for the left operands that are combined into the right ones.
    spare: Cell<Span>,
    /// Messages under way, and the branches that wait for them.
    messages: RefCell<Slots<Received, Path>>,
    /// How many.
    under_way: Cell<usize>,
    /// Branches that compute.
    computing: Cell<usize>,
    path: Cell<Path>,
    woken: Cell<Woken>,
    failure: Cell<Option<Failure>>,
}

/// Room for operations that have ended, per look.
const ENDED_AT_A_LOOK: usize = 8;

impl EngineRank {
    /// A rank that waits for its first call.
    pub fn new(rank: usize, size: usize, commutative: bool, layout: Layout, transport: Transport) -> Self {
        Self {
            rank,
            size,
            commutative,
            transport,
            user: Cell::new(std::ptr::null_mut()),
            buffers: RefCell::new(Buffers::new(layout)),
            spare: Cell::new(Span::EMPTY),
            messages: RefCell::default(),
            under_way: Cell::new(0),
            computing: Cell::new(0),
            path: Cell::new(Path::ROOT),
            woken: Cell::new(Woken::NONE),
            failure: Cell::new(None),
        }
    }

    /// Makes ready for a call on these buffers.
    pub fn restart(&self, user: *mut c_void, input: *mut u8, result: *mut u8) {
        self.user.set(user);
        self.buffers.borrow_mut().restart(input, result);
        self.spare.set(Span::EMPTY);
        self.path.set(Path::ROOT);
        self.woken.set(Woken::NONE);
    }

    /// Frees memory that the next call would not use again.
    pub fn end(&self) {
        self.buffers.borrow_mut().end();
    }

    /// Whether no message is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.get() == 0
    }

    /// What went wrong.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.get()
    }

    /// The program was polled: nobody is known to be able to go on.
    pub fn polled(&self) {
        self.woken.set(Woken::NONE);
    }

    /// Whether some branch computes; it can go on at any time.
    pub fn is_computing(&self) -> bool {
        self.computing.get() > 0
    }

    /// Takes messages that have ended; whether there were any. Waits for one if it may, and nobody computes.
    pub fn look(&self, may_wait: bool) -> bool {
        let mut room = [Ended::default(); ENDED_AT_A_LOOK];
        let ended = match self.link().test(may_wait && !self.is_computing(), &mut room) {
            Ok(ended) => ended,
            Err(failure) => {
                self.failure.set(Some(failure));
                return false;
            }
        };
        for Ended { slot, source, count } in ended {
            self.under_way.set(self.under_way.get() - 1);
            let received = Received { source: *source as usize, len: *count };
            let waiting = self.messages.borrow_mut().fill(*slot, received);
            waiting.into_iter().for_each(|path| self.wake(path));
        }
        if self.is_computing() {
            self.wake(Path::WHOLE);
        }
        !ended.is_empty()
    }

    /// Starts a message under a number of its own.
    fn start(&self, start: impl FnOnce(u32) -> Result<(), Failure>) -> u32 {
        let slot = self.messages.borrow_mut().open();
        match start(slot) {
            Ok(()) => self.under_way.set(self.under_way.get() + 1),
            Err(failure) => self.failure.set(Some(failure)),
        }
        slot
    }

    async fn ended(&self, slot: u32) -> Received {
        let guard = Abandon { rank: self, slot };
        let received = poll_fn(|_| {
            let mut messages = self.messages.borrow_mut();
            if let Some(received) = messages.take(slot) {
                return Poll::Ready(received);
            }
            messages.wait(slot, self.path.get());
            Poll::Pending
        })
        .await;
        std::mem::forget(guard);
        received
    }

    fn link(&self) -> Link<'_> {
        Link { table: &self.transport, user: self.user.get() }
    }

    fn at(&self, span: Span) -> *mut u8 {
        self.buffers.borrow().at(span)
    }

    fn note(&self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.failure.set(Some(failure));
        }
    }

    /// target = target ∘ source, for an operator whose operands must stay in order.
    fn combine_right(&self, source: Span, target: Span) -> Result<(), Failure> {
        if self.spare.get().len < source.len {
            self.spare.set(self.scratch(source.len));
        }
        let (link, len) = (self.link(), source.len);
        let (source, target, spare) = (self.at(source), self.at(target), self.at(self.spare.get()));
        link.copy(source, spare, len)?;
        link.reduce(target, spare, len)?;
        link.copy(spare, target, len)
    }
}

/// A branch that waited is gone: the message still ends, and nobody is told.
struct Abandon<'a> {
    rank: &'a EngineRank,
    slot: u32,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.rank.messages.borrow_mut().abandon(self.slot);
    }
}

impl Rank for EngineRank {
    type Moment = ();

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn scratch(&self, len: usize) -> Span {
        self.buffers.borrow_mut().scratch(len)
    }

    async fn send_with(&self, to: usize, data: Span, options: Options) {
        let at = self.at(data);
        let slot = self.start(|slot| self.link().send(slot, at, data.len, to, options.tag));
        if options.is_posted {
            self.messages.borrow_mut().abandon(slot);
        } else {
            self.ended(slot).await;
        }
    }

    async fn recv_with(&self, from: Source, into: Span, tag: Tag) -> Received {
        let from = match from {
            Source::Rank(rank) => rank as i32,
            Source::Any => ANY_SOURCE,
        };
        let at = self.at(into);
        let slot = self.start(|slot| self.link().receive(slot, at, into.len, from, tag));
        self.ended(slot).await
    }

    async fn combine(&self, source: Span, target: Span, side: Side) {
        if source.is_empty() {
            return;
        }
        self.note(match side {
            Side::Right if !self.commutative => self.combine_right(source, target),
            _ => self.link().reduce(self.at(source), self.at(target), source.len),
        });
    }

    async fn copy(&self, source: Span, target: Span) {
        if source != target && !source.is_empty() {
            self.note(self.link().copy(self.at(source), self.at(target), source.len));
        }
    }

    async fn compute(&self, time_s: f64) {
        let end = Instant::now() + Duration::from_secs_f64(time_s);
        self.computing.set(self.computing.get() + 1);
        poll_fn(|_| if Instant::now() < end { Poll::Pending } else { Poll::Ready(()) }).await;
        self.computing.set(self.computing.get() - 1);
    }

    fn moment(&self) {}

    fn set_moment(&self, (): ()) {}

    fn path(&self) -> Path {
        self.path.get()
    }

    fn set_path(&self, path: Path) {
        self.path.set(path);
    }

    fn can_go_on(&self, path: Path) -> bool {
        self.woken.get().includes(path)
    }

    fn wake(&self, path: Path) {
        let mut woken = self.woken.get();
        woken.add(path);
        self.woken.set(woken);
    }
}

//! A rank whose verbs move real bytes through the functions of a [`Link`].

use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::replace;
use std::time::{Duration, Instant};

use hocket_core::matching::Slots;
use hocket_core::{
    At, Features, Mode, Moment, Outcome, Path, ProcessWorld, Progress, Received, SharedWorld, Side, Source, Span, Step,
    Tag, Woken, World,
};

use crate::buffers::{Buffers, Layout};
use crate::transport::{ANY_SOURCE, Completion, Failure, HAS_LEFT, Link, Transport};

/// The world of one operation, in which this process is a rank.
pub struct Process {
    rank: usize,
    size: usize,
    /// The rank's part of the operation.
    pub world: RefCell<Messages>,
}

impl Process {
    /// A rank that waits for its first call.
    pub fn new(rank: usize, size: usize, commutative: bool, layout: Layout, transport: Transport) -> Self {
        Self { rank, size, world: RefCell::new(Messages::new(commutative, layout, transport)) }
    }
}

impl ProcessWorld for Process {
    fn shared_world(&self) -> SharedWorld<'_> {
        SharedWorld::new(&self.world, self.size)
    }

    fn rank(&self) -> usize {
        self.rank
    }
}

/// This process's part of one operation: its buffers and its messages under way.
pub struct Messages {
    commutative: bool,
    transport: Transport,
    user: *mut c_void,
    buffers: Buffers,
    /// Working memory for the left operands of a non-commutative operator.
    spare: Span,
    /// Messages under way, and the branches that wait for them.
    slots: Slots<Received, Path>,
    /// Number of messages under way.
    under_way: usize,
    /// The slots of branches that compute, and the times at which they end.
    computing: Vec<(u32, Instant)>,
    woken: Woken,
    woken_again: Woken,
    failure: Option<Failure>,
    /// When the program reported its result as complete.
    complete: Option<Instant>,
}

/// The largest number of ended operations taken at a time.
const ENDED_AT_A_LOOK: usize = 8;

impl Messages {
    fn new(commutative: bool, layout: Layout, transport: Transport) -> Self {
        Self {
            commutative,
            transport,
            user: std::ptr::null_mut(),
            buffers: Buffers::new(layout),
            spare: Span::EMPTY,
            slots: Slots::default(),
            under_way: 0,
            computing: Vec::new(),
            woken: Woken::NONE,
            woken_again: Woken::NONE,
            failure: None,
            complete: None,
        }
    }

    /// Prepares a call on these buffers.
    pub fn restart(&mut self, user: *mut c_void, input: *mut u8, result: *mut u8) {
        self.user = user;
        self.buffers.restart(input, result);
        self.spare = Span::EMPTY;
        self.woken = Woken::NONE;
        self.complete = None;
    }

    /// Frees memory that the next call should not keep.
    pub fn end(&mut self) {
        self.buffers.end();
    }

    /// Whether no message is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// The time since which the result has been complete, if the program has reported it.
    pub fn complete_for(&self) -> Option<Duration> {
        Some(self.complete?.elapsed())
    }

    /// The failure, if there was one.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// The program was polled, so no branch is known to be able to go on.
    pub fn note_poll(&mut self) {
        self.woken = Woken::NONE;
        self.woken_again = Woken::NONE;
    }

    /// Whether some branch computes, and so may go on at any time.
    pub fn is_computing(&self) -> bool {
        !self.computing.is_empty()
    }

    /// Takes ended messages. Returns true if there were any. Waits for one if it `may_wait` and no branch computes.
    pub fn look(&mut self, may_wait: bool) -> bool {
        let mut room = [Completion::default(); ENDED_AT_A_LOOK];
        let may_wait = may_wait && !self.is_computing();
        let completions = match (Link { table: &self.transport, user: self.user }).test(may_wait, &mut room) {
            Ok(completions) => completions,
            Err(failure) => {
                self.failure = Some(failure);
                return false;
            }
        };
        for Completion { slot, source, count } in completions {
            self.under_way -= 1;
            let received = Received { source: *source, len: *count };
            self.slots.fill(*slot, received).into_iter().for_each(|path| self.woken.add(path));
        }
        if !self.computing.is_empty() {
            self.woken.add(Path::WHOLE);
        }
        !completions.is_empty()
    }

    fn link(&self) -> Link<'_> {
        Link { table: &self.transport, user: self.user }
    }

    /// Starts a message under a new slot.
    fn start(&mut self, start: impl FnOnce(&Self, u32) -> Result<(), Failure>) -> u32 {
        let slot = self.slots.open();
        match start(self, slot) {
            Ok(()) => self.under_way += 1,
            Err(HAS_LEFT) => _ = self.slots.fill(slot, Received { source: 0, len: 0 }),
            Err(failure) => self.failure = Some(failure),
        }
        slot
    }

    fn note(&mut self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.failure = Some(failure);
        }
    }

    fn send(&mut self, to: usize, data: Span, tag: Tag) -> u32 {
        self.start(|own, slot| own.link().send(slot, own.buffers.at(data), data.len, to, tag))
    }

    fn receive(&mut self, from: Source, into: Span, tag: Tag) -> u32 {
        let from = match from {
            Source::Rank(rank) => rank as i32,
            Source::Any => ANY_SOURCE,
        };
        self.start(|own, slot| own.link().receive(slot, own.buffers.at(into), into.len, from, tag))
    }

    fn combine(&mut self, source: Span, target: Span, side: Side) {
        let outcome = match side {
            _ if source.is_empty() => Ok(()),
            Side::Right if !self.commutative => self.combine_right(source, target),
            _ => self.link().reduce(self.buffers.at(source), self.buffers.at(target), source.len),
        };
        self.note(outcome);
    }

    /// target = target ∘ source, for a non-commutative operator.
    fn combine_right(&mut self, source: Span, target: Span) -> Result<(), Failure> {
        if self.spare.len < source.len {
            self.spare = self.buffers.scratch(source.len);
        }
        let (link, len) = (self.link(), source.len);
        let [source, target, spare] = [source, target, self.spare].map(|span| self.buffers.at(span));
        link.copy(source, spare, len)?;
        link.reduce(target, spare, len)?;
        link.copy(spare, target, len)
    }

    fn copy(&mut self, source: Span, target: Span) {
        if source != target && !source.is_empty() {
            let outcome = self.link().copy(self.buffers.at(source), self.buffers.at(target), source.len);
            self.note(outcome);
        }
    }

    fn done_progress(&self, at: At) -> Progress {
        Progress::Done((at.now, Received { source: at.rank as u32, len: 1 }))
    }

    fn compute(&mut self, time_s: f64) -> u32 {
        let slot = self.slots.open();
        self.computing.push((slot, Instant::now() + Duration::from_secs_f64(time_s)));
        slot
    }

    /// Ends the computing of this slot when its time has passed.
    fn end_computing(&mut self, slot: u32) {
        if let Some(place) = self.computing.iter().position(|(other, end)| *other == slot && *end <= Instant::now()) {
            self.computing.swap_remove(place);
            self.slots.fill(slot, Received { source: 0, len: 0 });
        }
    }
}

impl World for Messages {
    fn features(&self) -> Features {
        Features { path: Path::ROOT, ..Features::PLAIN }
    }

    /// The process itself resumes its rank when messages have ended.
    fn next(&mut self) -> Option<usize> {
        None
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        let slot = match *step {
            Step::Send { to, data, options } => {
                let slot = self.send(to, data, options.tag);
                if options.mode == Mode::Posted {
                    self.slots.abandon(slot);
                    return self.done_progress(at);
                }
                slot
            }
            Step::Recv { from, into, tag } => self.receive(from, into, tag),
            Step::Compute { time_s } => self.compute(time_s),
            Step::Combine { source, target, side } => {
                self.combine(source, target, side);
                return self.done_progress(at);
            }
            Step::Copy { source, target } => {
                self.copy(source, target);
                return self.done_progress(at);
            }
            Step::Wait { .. } | Step::Connect { .. } | Step::Disconnect { .. } => return self.done_progress(at),
        };
        self.take(at, slot).map_or(Progress::Waits(slot), Progress::Done)
    }

    fn take(&mut self, at: At, ticket: u32) -> Option<Outcome> {
        self.end_computing(ticket);
        Some((at.now, self.slots.take(ticket)?))
    }

    fn wait(&mut self, ticket: u32, path: Path) {
        self.slots.wait(ticket, path);
    }

    fn withdraw(&mut self, _: usize, ticket: u32) {
        self.computing.retain(|(slot, _)| *slot != ticket);
        self.slots.abandon(ticket);
    }

    fn complete(&mut self, _: usize, _: Moment) {
        self.complete = Some(Instant::now());
    }

    fn scratch(&mut self, _: At, len: usize) -> Span {
        self.buffers.scratch(len)
    }

    fn woken(&self, _: usize) -> Option<&Woken> {
        Some(&self.woken)
    }

    fn wake(&mut self, _: usize, path: Path, comes_later: bool) {
        let woken = if comes_later { &mut self.woken } else { &mut self.woken_again };
        woken.add(path);
    }

    fn poll_again(&mut self, _: usize) {
        self.woken = replace(&mut self.woken_again, Woken::NONE);
    }
}

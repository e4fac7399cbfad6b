//! Holding and resuming the programs of all ranks.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// The programs of ranks `0..len`, each resumed by its number. Worlds keep their own queues: wakers are not used.
pub struct Ranks<F> {
    programs: Vec<Option<Pin<Box<F>>>>,
    running: usize,
}

impl<F: Future<Output = ()>> Ranks<F> {
    /// The programs in rank order, none of them started.
    pub fn new(programs: impl IntoIterator<Item = F>) -> Self {
        let programs: Vec<_> = programs.into_iter().map(|p| Some(Box::pin(p))).collect();
        Self { running: programs.len(), programs }
    }

    /// Resumes `rank` until it waits again or ends. Resuming an ended rank does nothing.
    pub fn resume(&mut self, rank: usize) {
        let slot = &mut self.programs[rank];
        let Some(program) = slot else { return };
        if program.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(()) {
            *slot = None;
            self.running -= 1;
        }
    }

    /// Whether every program has ended.
    pub fn all_ended(&self) -> bool {
        self.running == 0
    }

    /// Whether the program of `rank` has ended.
    pub fn has_ended(&self, rank: usize) -> bool {
        self.programs[rank].is_none()
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Whether there are no ranks.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }
}

/// Runs one program whose verbs never wait; `false` when it waits all the same.
pub fn run_to_completion(program: impl Future<Output = ()>) -> bool {
    let mut program = std::pin::pin!(program);
    program.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// The ranks that can go on, first come first served, each queued at most once.
#[derive(Default)]
pub struct ReadyQueue {
    queue: RefCell<VecDeque<u32>>,
    queued: Vec<Cell<bool>>,
}

impl ReadyQueue {
    /// All of `ranks` ranks, in order.
    pub fn all(ranks: usize) -> Self {
        Self { queue: RefCell::new((0..ranks as u32).collect()), queued: vec![Cell::new(true); ranks] }
    }

    /// `rank` can go on.
    pub fn push(&self, rank: usize) {
        if !self.queued[rank].replace(true) {
            self.queue.borrow_mut().push_back(rank as u32);
        }
    }

    /// The next rank to resume.
    pub fn pop(&self) -> Option<usize> {
        let rank = self.queue.borrow_mut().pop_front()? as usize;
        self.queued[rank].set(false);
        Some(rank)
    }
}

//! `turns`: what several branches of a rank do one after the other, in an order that is not that of time.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;

use crate::Path;
use crate::rank::{Moment, Rank};

/// Something that only one branch of a rank does at a time, in the order of their numbers: see [`Rank::turns`].
pub struct Turns<'r, R: Rank> {
    rank: &'r R,
    next: Cell<usize>,
    free: RefCell<R::Moment>,
    /// What all branches that wait for their turns have in common.
    waiting: Cell<Option<Path>>,
    waker: OnceCell<Waker>,
}

impl<'r, R: Rank> Turns<'r, R> {
    pub(crate) fn new(rank: &'r R) -> Self {
        let free = RefCell::new(rank.moment());
        Self { rank, next: Cell::new(0), free, waiting: Cell::new(None), waker: OnceCell::new() }
    }

    /// Does `work` when all numbers from 0 to below `number` have had their turn, and been done.
    pub fn take<F: Future>(&self, number: usize, work: F) -> Turn<'_, 'r, R, F> {
        Turn { turns: self, number, has_begun: false, work }
    }

    /// The branch that is running waits for its turn.
    fn wait(&self, waker: &Waker) {
        let here = self.rank.path();
        self.waiting.set(Some(self.waiting.get().map_or(here, |others| others.common(here))));
        self.waker.get_or_init(|| waker.clone());
    }

    /// It is the turn of `number`, at the moment of the branch that is running.
    fn begin(&self, number: usize) {
        self.free.replace(self.rank.moment());
        self.next.set(number);
        if let Some(path) = self.waiting.take() {
            self.rank.wake(path);
            self.waker.get().into_iter().for_each(Waker::wake_by_ref);
        }
    }
}

pin_project! {
    /// Future of [`Turns::take`].
    pub struct Turn<'t, 'r, R: Rank, F> {
        turns: &'t Turns<'r, R>,
        number: usize,
        has_begun: bool,
        #[pin]
        work: F,
    }
}

impl<R: Rank, F: Future> Future for Turn<'_, '_, R, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let turns = *this.turns;
        if !*this.has_begun {
            if turns.next.get() != *this.number {
                turns.wait(cx.waker());
                return Poll::Pending;
            }
            *this.has_begun = true;
            let free = turns.free.borrow().clone();
            turns.rank.set_moment(turns.rank.moment().after_first(free));
        }
        let polled = this.work.poll(cx);
        if polled.is_ready() {
            turns.begin(*this.number + 1);
        }
        polled
    }
}

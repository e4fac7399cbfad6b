//! `turns`: what several branches of a rank do one after the other, in an order that is not that of time.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::Path;
use crate::rank::{Moment, Rank};

/// Something that only one branch of a rank does at a time, in the order of their numbers: see [`Rank::turns`].
pub struct Turns<'r, R: Rank> {
    rank: &'r R,
    next: Cell<usize>,
    free: RefCell<R::Moment>,
    /// Numbers that wait for their turns, and where.
    waiting: RefCell<Vec<(usize, Path)>>,
    waker: RefCell<Option<Waker>>,
}

impl<'r, R: Rank> Turns<'r, R> {
    pub(crate) fn new(rank: &'r R) -> Self {
        Self { rank, next: Cell::new(0), free: RefCell::new(rank.moment()), waiting: RefCell::default(), waker: RefCell::default() }
    }

    /// Does `work` when all numbers from 0 to below `number` have had their turn, and been done.
    pub async fn take<F: Future>(&self, number: usize, work: F) -> F::Output {
        poll_fn(|cx| {
            if self.next.get() == number {
                return Poll::Ready(());
            }
            self.wait(number, cx.waker());
            Poll::Pending
        })
        .await;
        let free = self.free.borrow().clone();
        self.rank.set_moment(self.rank.moment().after_first(free));
        let output = work.await;
        self.free.replace(self.rank.moment());
        self.next.set(number + 1);
        self.call(number + 1);
        output
    }

    /// The branch that is running waits for its turn.
    fn wait(&self, number: usize, waker: &Waker) {
        let waiting = &mut *self.waiting.borrow_mut();
        waiting.retain(|(other, _)| *other != number);
        waiting.push((number, self.rank.path()));
        self.waker.borrow_mut().get_or_insert_with(|| waker.clone());
    }

    /// Wakes the branch that waits for this turn.
    fn call(&self, number: usize) {
        let waiting = &mut *self.waiting.borrow_mut();
        let Some(place) = waiting.iter().position(|(other, _)| *other == number) else { return };
        self.rank.wake(waiting.swap_remove(place).1);
        self.waker.borrow().iter().for_each(Waker::wake_by_ref);
    }
}

//! `tokens`: what a branch of a rank has done, and another waits for, again and again.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::Path;
use crate::rank::{Moment, Rank};

/// What some branches of a rank put and others take, in the order in which it was put: see [`Rank::tokens`].
pub struct Tokens<'r, R: Rank> {
    rank: &'r R,
    /// When each was put.
    put: RefCell<VecDeque<R::Moment>>,
    /// What all branches that wait have in common, and how to wake them.
    waiting: Cell<Option<Path>>,
    waker: OnceCell<Waker>,
}

impl<'r, R: Rank> Tokens<'r, R> {
    pub(crate) fn new(rank: &'r R, count: usize) -> Self {
        let put = RefCell::new((0..count).map(|_| rank.moment()).collect());
        Self { rank, put, waiting: Cell::new(None), waker: OnceCell::new() }
    }

    /// Puts one, as of the moment of the branch that is running.
    pub fn put(&self) {
        self.put.borrow_mut().push_back(self.rank.moment());
        if let Some(path) = self.waiting.take() {
            self.rank.wake(path);
            self.waker.get().into_iter().for_each(Waker::wake_by_ref);
        }
    }

    /// Takes one, as soon as there is one.
    pub async fn take(&self) {
        let put = poll_fn(|cx| match self.put.borrow_mut().pop_front() {
            Some(moment) => Poll::Ready(moment),
            None => {
                let here = self.rank.path();
                self.waiting.set(Some(self.waiting.get().map_or(here, |others| others.common(here))));
                self.waker.get_or_init(|| cx.waker().clone());
                Poll::Pending
            }
        })
        .await;
        self.rank.set_moment(self.rank.moment().after_first(put));
    }
}

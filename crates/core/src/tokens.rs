//! `tokens`: what a branch of a rank has done, and another waits for, again and again.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::rank::{Moment, Rank};

/// What some branches of a rank put and others take, in the order in which it was put: see [`Rank::tokens`].
pub struct Tokens<'r, R: Rank> {
    rank: &'r R,
    /// When each was put.
    put: RefCell<VecDeque<R::Moment>>,
    waiting: RefCell<Option<Waker>>,
}

impl<'r, R: Rank> Tokens<'r, R> {
    pub(crate) fn new(rank: &'r R, count: usize) -> Self {
        Self { rank, put: RefCell::new((0..count).map(|_| rank.moment()).collect()), waiting: RefCell::default() }
    }

    /// Puts one, as of the moment of the branch that is running.
    pub fn put(&self) {
        self.put.borrow_mut().push_back(self.rank.moment());
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Takes one, as soon as there is one.
    pub async fn take(&self) {
        let put = poll_fn(|cx| match self.put.borrow_mut().pop_front() {
            Some(moment) => Poll::Ready(moment),
            None => {
                self.waiting.borrow_mut().get_or_insert_with(|| cx.waker().clone());
                Poll::Pending
            }
        })
        .await;
        self.rank.set_moment(self.rank.moment().after_first(put));
    }
}

//! `tokens`: one branch of a rank reports completions that another waits for, again and again.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::rank::Rank;
use crate::{Moment, Path};

impl Rank<'_> {
    /// A place where branches of this rank put tokens and others take them; `count` tokens are there at the start.
    pub fn tokens(&self, count: usize) -> Tokens<'_> {
        Tokens::new(self, count)
    }
}

/// Tokens that some branches of a rank put and others take, in the order in which they were put: see [`Rank::tokens`].
pub struct Tokens<'r> {
    rank: &'r Rank<'r>,
    /// The moment at which the first token was put, and those of the tokens behind it. Most often there is one at most, which
    /// then needs no memory elsewhere.
    first: Cell<Option<Moment>>,
    behind: RefCell<VecDeque<Moment>>,
    /// The common path of all branches that wait, and the waker for them.
    waiting: Cell<Option<Path>>,
    waker: OnceCell<Waker>,
}

impl<'r> Tokens<'r> {
    fn new(rank: &'r Rank<'r>, count: usize) -> Self {
        let first = Cell::new((count > 0).then(|| rank.moment()));
        let behind = RefCell::new((1..count).map(|_| rank.moment()).collect());
        Self { rank, first, behind, waiting: Cell::new(None), waker: OnceCell::new() }
    }

    /// Puts one, as of the moment of the branch that is running.
    pub fn put(&self) {
        let now = self.rank.moment();
        match self.first.get() {
            None => self.first.set(Some(now)),
            Some(_) => self.behind.borrow_mut().push_back(now),
        }
        if let Some(path) = self.waiting.take() {
            self.rank.wake(path);
            self.waker.get().into_iter().for_each(Waker::wake_by_ref);
        }
    }

    /// Takes one, as soon as there is one.
    pub async fn take(&self) {
        let put = poll_fn(|cx| match self.first.get() {
            Some(moment) => {
                self.first.set(self.behind.borrow_mut().pop_front());
                Poll::Ready(moment)
            }
            None => {
                let here = self.rank.path();
                self.waiting.set(Some(self.waiting.get().map_or(here, |others| others.common(here))));
                self.waker.get_or_init(|| cx.waker().clone());
                Poll::Pending
            }
        })
        .await;
        self.rank.set_moment(self.rank.after_first(self.rank.moment(), put));
    }
}

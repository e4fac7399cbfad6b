//! `tokens`: one branch of a rank repeatedly reports completions for which another waits.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::rank::Rank;
use crate::{Moment, Path};

impl Rank<'_> {
    /// A place where branches of this rank put tokens and others take them; it starts with `count` tokens.
    pub fn tokens(&self, count: usize) -> Tokens<'_> {
        Tokens::new(self, count)
    }
}

/// Tokens that some branches of a rank put and others take, in the order in which they were put: see [`Rank::tokens`].
pub struct Tokens<'r> {
    rank: &'r Rank<'r>,
    /// The moments of tokens: the first, and those behind it. Mostly there is at most one, which needs no allocation.
    first: Cell<Option<Moment>>,
    behind: RefCell<VecDeque<Moment>>,
    /// The common path of all waiting branches, and their waker.
    waiting: Cell<Option<Path>>,
    waker: OnceCell<Waker>,
}

impl<'r> Tokens<'r> {
    fn new(rank: &'r Rank<'r>, count: usize) -> Self {
        let first = Cell::new((count > 0).then(|| rank.moment()));
        let behind = RefCell::new((1..count).map(|_| rank.moment()).collect());
        Self { rank, first, behind, waiting: Cell::new(None), waker: OnceCell::new() }
    }

    /// Puts a token, at the moment of the running branch.
    pub fn put(&self) {
        let now = self.rank.moment();
        match self.first.get() {
            None => self.first.set(Some(now)),
            Some(_) => self.behind.borrow_mut().push_back(now),
        }
        if let (Some(path), Some(waker)) = (self.waiting.take(), self.waker.get()) {
            self.rank.wake(path, path.comes_after(self.rank.path()), waker);
        }
    }

    /// Takes a token as soon as there is one.
    pub async fn take(&self) {
        let put = poll_fn(|cx| match self.first.get() {
            Some(moment) => {
                self.first.set(self.behind.borrow_mut().pop_front());
                Poll::Ready(moment)
            }
            None => {
                let own_path = self.rank.path().or_whole();
                self.waiting.set(Some(self.waiting.get().map_or(own_path, |others| others.common(own_path))));
                self.waker.get_or_init(|| cx.waker().clone());
                Poll::Pending
            }
        })
        .await;
        self.rank.set_moment(self.rank.after_first(self.rank.moment(), put));
    }
}

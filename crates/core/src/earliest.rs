//! `earliest`: like `first`, for a result that several branches offer and for which several branches wait.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use crate::rank::Rank;
use crate::{Moment, Path};

impl Rank<'_> {
    /// A place where `offers` branches of this rank offer the same value and others take the earliest offer.
    pub fn earliest<T: Clone>(&self, offers: usize) -> Earliest<'_, T> {
        Earliest::new(self, offers)
    }
}

/// A place where branches of one rank offer the same value, and others wait for the earliest: see [`Rank::earliest`].
pub struct Earliest<'r, T> {
    rank: &'r Rank<'r>,
    open_offers: Cell<usize>,
    best: RefCell<Option<(Moment, T)>>,
    /// The common path of the waiting branches, and their waker.
    waiting: RefCell<Option<(Path, Waker)>>,
}

impl<'r, T: Clone> Earliest<'r, T> {
    fn new(rank: &'r Rank<'r>, offers: usize) -> Self {
        rank.set_moment(rank.racing(rank.moment()));
        Self { rank, open_offers: Cell::new(offers), best: RefCell::new(None), waiting: RefCell::default() }
    }

    /// Offers `value`, at the moment of the running branch.
    pub fn offer(&self, value: T) {
        let now = self.rank.moment();
        let mut best = self.best.borrow_mut();
        *best = Some(match best.take() {
            None => (now, value),
            Some((other, _)) if self.rank.is_before(now, other) => (self.rank.settle_first(now, other).0, value),
            Some((other, earlier)) => (self.rank.settle_first(other, now).0, earlier),
        });
        self.open_offers.set(self.open_offers.get() - 1);
        if let Some((path, waker)) = self.waiting.take() {
            self.rank.wake(path, path.comes_after(self.rank.path()), &waker);
        }
    }

    /// Waits for the earliest offer.
    pub async fn wait(&self) -> T {
        let (moment, value) = poll_fn(|cx| match &*self.best.borrow() {
            Some(best) if self.rank.is_decided(true, self.open_offers.get() == 0) => Poll::Ready(best.clone()),
            _ => {
                self.add(self.rank.path().or_whole(), cx.waker());
                Poll::Pending
            }
        })
        .await;
        self.rank.set_moment(self.rank.after_first(self.rank.moment(), moment));
        value
    }

    /// Adds this branch to the waiting branches.
    fn add(&self, path: Path, waker: &Waker) {
        let waiting = &mut *self.waiting.borrow_mut();
        let (all, _) = waiting.get_or_insert_with(|| (path, waker.clone()));
        if *all != path {
            *all = Path::WHOLE;
        }
    }
}

//! `join`, `start` and `first`: several branches of one rank, each at its own moment.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::executor::nth;
use crate::rank::{Moment, Rank};

pin_project! {
    /// One branch: runs its future at the branch's own moment and leaves the rank's moment as it was.
    pub struct Branch<'r, R: Rank, F: Future> {
        rank: &'r R,
        moment: Option<R::Moment>,
        output: Option<F::Output>,
        #[pin]
        future: F,
    }
}

impl<'r, R: Rank, F: Future> Branch<'r, R, F> {
    /// A branch that starts at the moment of its first poll.
    pub(crate) fn new(rank: &'r R, future: F) -> Self {
        Self { rank, moment: None, output: None, future }
    }

    /// Goes on with the branch if it can; whether it has ended. Starts as branch `index` of `count` at `start` when it is
    /// polled for the first time.
    fn advance(
        mut self: Pin<&mut Self>,
        start: &R::Moment,
        (index, count): (usize, usize),
        cx: &mut Context<'_>,
    ) -> bool {
        let (rank, here) = (self.rank, self.rank.path());
        let path = here.branch(index, count);
        if self.output.is_none() && (self.moment.is_none() || rank.can_go_on(path)) {
            rank.set_path(path);
            self.as_mut().poll(start, index, cx);
            rank.set_path(here);
        }
        self.output.is_some()
    }

    fn poll(self: Pin<&mut Self>, start: &R::Moment, index: usize, cx: &mut Context<'_>) {
        let this = self.project();
        this.rank.set_moment(this.moment.take().unwrap_or_else(|| start.clone().branch(index)));
        if let Poll::Ready(output) = this.future.poll(cx) {
            *this.output = Some(output);
        }
        *this.moment = Some(this.rank.moment());
    }

    /// Goes on with the branch of a `first`, which may be handed on to another branch.
    fn advance_as_a_whole(mut self: Pin<&mut Self>, start: &R::Moment, index: usize, cx: &mut Context<'_>) -> bool {
        let (rank, here) = (self.rank, self.rank.path());
        if self.output.is_none() {
            rank.set_path(here.as_a_whole());
            self.as_mut().poll(start, index, cx);
            rank.set_path(here);
        }
        self.output.is_some()
    }

    fn end(&self) -> &R::Moment {
        self.moment.as_ref().expect("asked for once the branch has ended")
    }

    /// This branch of a `first` came before `other`: the rank, which was at `now`, goes on at its end.
    fn win<G: Future>(self: Pin<&mut Self>, other: Pin<&mut Branch<'r, R, G>>, now: R::Moment) -> F::Output {
        let rank = self.rank;
        let other = other.project();
        let (output, mut end) = self.take();
        if other.output.is_some() {
            let (first, last) = end.decided(other.moment.take().expect("a branch that has ended has a moment"));
            end = first;
            *other.moment = Some(last);
        }
        rank.set_moment(now.after_first(end));
        output
    }

    fn take(self: Pin<&mut Self>) -> (F::Output, R::Moment) {
        let this = self.project();
        let ended = "taken once, after the branch has ended";
        (this.output.take().expect(ended), this.moment.take().expect(ended))
    }
}

pin_project! {
    /// Future of [`Rank::join`].
    pub struct Join<'r, R: Rank, A: Future, B: Future> {
        #[pin]
        a: Branch<'r, R, A>,
        #[pin]
        b: Branch<'r, R, B>,
    }
}

impl<'r, R: Rank, A: Future, B: Future> Join<'r, R, A, B> {
    pub(crate) fn new(a: Branch<'r, R, A>, b: Branch<'r, R, B>) -> Self {
        Self { a, b }
    }
}

impl<R: Rank, A: Future, B: Future> Future for Join<'_, R, A, B> {
    type Output = (A::Output, B::Output);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let rank = this.a.rank;
        let start = rank.moment();
        let a_ended = this.a.as_mut().advance(&start, (0, 2), cx);
        let b_ended = this.b.as_mut().advance(&start, (1, 2), cx);
        if !(a_ended && b_ended) {
            rank.set_moment(start);
            return Poll::Pending;
        }
        let (a, a_moment) = this.a.take();
        let (b, b_moment) = this.b.take();
        rank.set_moment(start.after_join(a_moment.later(b_moment)));
        Poll::Ready((a, b))
    }
}

/// Future of [`Rank::start`].
pub struct Started<'r, R: Rank, F: Future> {
    branch: Pin<Box<Branch<'r, R, F>>>,
}

impl<'r, R: Rank, F: Future> Started<'r, R, F> {
    /// The rank goes on at once, at the next place of its program.
    pub(crate) async fn new(rank: &'r R, future: F) -> Self {
        let (now, mut started) = (rank.moment(), Self { branch: Box::pin(Branch::new(rank, future)) });
        poll_fn(|cx| Poll::Ready(started.advance(cx))).await;
        rank.set_moment(now.clone().after_first(now));
        started
    }

    /// Goes on; whether it has ended. The rank stays where it is.
    fn advance(&mut self, cx: &mut Context<'_>) -> bool {
        let (rank, now) = (self.branch.rank, self.branch.rank.moment());
        let has_ended = self.branch.as_mut().advance_as_a_whole(&now, 0, cx);
        rank.set_moment(now);
        has_ended
    }
}

impl<R: Rank, F: Future> Future for Started<'_, R, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if !self.advance(cx) {
            return Poll::Pending;
        }
        let rank = self.branch.rank;
        let (output, end) = self.branch.as_mut().take();
        rank.set_moment(rank.moment().later(end));
        Poll::Ready(output)
    }
}

/// Future of [`Rank::join_all`]; its output is in the order of the branches.
pub struct JoinAll<'r, R: Rank, F: Future> {
    rank: &'r R,
    branches: Pin<Box<[Branch<'r, R, F>]>>,
    has_begun: bool,
    /// How many branches at the beginning have ended, and how many at all.
    first: usize,
    ended: usize,
}

impl<'r, R: Rank, F: Future> JoinAll<'r, R, F> {
    pub(crate) fn new(rank: &'r R, branches: impl IntoIterator<Item = F>) -> Self {
        let branches: Box<[_]> = branches.into_iter().map(|f| Branch::new(rank, f)).collect();
        Self { rank, branches: Box::into_pin(branches), has_begun: false, first: 0, ended: 0 }
    }

    /// Goes on with all branches that can; whether all have ended.
    fn advance(&mut self, start: &R::Moment, cx: &mut Context<'_>) -> bool {
        let (here, count) = (self.rank.path(), self.branches.len());
        let tells_apart = self.has_begun && here.has_branches();
        for index in self.first..count {
            if tells_apart && !self.rank.can_go_on(here.branch(index, count)) {
                continue;
            }
            let branch = nth(self.branches.as_mut(), index);
            let has_ended = branch.output.is_none() && branch.advance(start, (index, count), cx);
            self.ended += usize::from(has_ended);
        }
        self.has_begun = true;
        while self.branches.get(self.first).is_some_and(|branch| branch.output.is_some()) {
            self.first += 1;
        }
        self.ended == count
    }

    /// The outputs, and the latest end if there are any.
    fn take(&mut self) -> (Vec<F::Output>, Option<R::Moment>) {
        let mut end: Option<R::Moment> = None;
        let take = |index| {
            let (output, moment) = nth(self.branches.as_mut(), index).take();
            end = Some(end.take().map_or(moment.clone(), |end| end.later(moment)));
            output
        };
        let outputs = (0..self.ended).map(take).collect();
        (outputs, end)
    }
}

impl<R: Rank, F: Future> Unpin for JoinAll<'_, R, F> {}

impl<R: Rank, F: Future> Future for JoinAll<'_, R, F> {
    type Output = Vec<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let start = this.rank.moment();
        if !this.advance(&start, cx) {
            this.rank.set_moment(start);
            return Poll::Pending;
        }
        let (outputs, end) = this.take();
        this.rank.set_moment(match end {
            Some(end) => start.after_join(end),
            None => start,
        });
        Poll::Ready(outputs)
    }
}

/// A branch that can be handed on.
type Boxed<'r, R, F> = Pin<Box<Branch<'r, R, F>>>;

/// Which branch of a [`Rank::first`] came first, with its output.
pub enum Winner<A, B> {
    /// The first argument; also when both came at the same moment.
    A(A),
    /// The second argument.
    B(B),
}

/// The branch that a [`Rank::first`] did not wait for. Await it to let it finish; drop it to withdraw it.
pub enum Rest<'r, R: Rank, A: Future, B: Future> {
    /// The first argument still runs.
    A(Boxed<'r, R, A>),
    /// The second argument still runs.
    B(Boxed<'r, R, B>),
}

impl<R: Rank, A: Future, B: Future> Drop for Rest<'_, R, A, B> {
    fn drop(&mut self) {
        match self {
            Rest::A(branch) => branch.rank.withdraw_branch(branch.output.is_some()),
            Rest::B(branch) => branch.rank.withdraw_branch(branch.output.is_some()),
        }
    }
}

impl<R: Rank, A: Future, B: Future> Future for Rest<'_, R, A, B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.get_mut() {
            Rest::A(branch) => poll_rest(branch.as_mut(), cx),
            Rest::B(branch) => poll_rest(branch.as_mut(), cx),
        }
    }
}

fn poll_rest<R: Rank, F: Future>(mut branch: Pin<&mut Branch<'_, R, F>>, cx: &mut Context<'_>) -> Poll<()> {
    let rank = branch.rank;
    let now = rank.moment();
    let ended = branch.as_mut().advance_as_a_whole(&now, 0, cx);
    if ended {
        rank.set_moment(now.later(branch.take().1));
        return Poll::Ready(());
    }
    rank.set_moment(now);
    Poll::Pending
}

/// Future of [`Rank::first`].
pub struct First<'r, R: Rank, A: Future, B: Future> {
    rank: &'r R,
    branches: Option<(Boxed<'r, R, A>, Boxed<'r, R, B>)>,
}

impl<'r, R: Rank, A: Future, B: Future> First<'r, R, A, B> {
    pub(crate) fn new(rank: &'r R, a: A, b: B) -> Self {
        Self { rank, branches: Some((Box::pin(Branch::new(rank, a)), Box::pin(Branch::new(rank, b)))) }
    }
}

impl<R: Rank, A: Future, B: Future> Unpin for First<'_, R, A, B> {}

impl<'r, R: Rank, A: Future, B: Future> Future for First<'r, R, A, B> {
    type Output = (Winner<A::Output, B::Output>, Rest<'r, R, A, B>);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let rank = this.rank;
        let (mut a, mut b) = this.branches.take().expect("polled after the end");
        let now = rank.moment();
        let start = now.clone().racing();
        let a_ended = a.as_mut().advance_as_a_whole(&start, 0, cx);
        let b_ended = b.as_mut().advance_as_a_whole(&start, 1, cx);
        if !rank.is_decided(a_ended, b_ended) {
            this.branches = Some((a, b));
            rank.set_moment(now);
            return Poll::Pending;
        }
        let b_is_first = b_ended && (!a_ended || b.end().is_before(a.end()));
        if b_is_first {
            let output = b.as_mut().win(a.as_mut(), now);
            return Poll::Ready((Winner::B(output), Rest::A(a)));
        }
        let output = a.as_mut().win(b.as_mut(), now);
        Poll::Ready((Winner::A(output), Rest::B(b)))
    }
}

//! `join`, `start` and `first`: several branches of one rank, each at its own moment.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::Moment;
use crate::Span;
use crate::executor::nth;
use crate::rank::{Operation, Rank};
use crate::step::Received;

impl Rank<'_> {
    /// Sends to `to` while receiving from `from`.
    #[inline]
    pub fn sendrecv(
        &self,
        to: usize,
        data: Span,
        from: usize,
        into: Span,
    ) -> Join<'_, Operation<'_, ()>, Operation<'_, Received>> {
        self.join(self.send(to, data), self.recv(from, into))
    }

    /// Runs both side by side; done when both are done.
    #[inline]
    pub fn join<A: Future, B: Future>(&self, a: A, b: B) -> Join<'_, A, B> {
        Join { a: Branch::new(self, a), b: Branch::new(self, b) }
    }

    /// Runs all of these side by side; done when all are done.
    pub fn join_all<F: Future>(&self, branches: impl IntoIterator<Item = F>) -> JoinAll<'_, F> {
        JoinAll::new(self, branches)
    }

    /// Starts one verb now and continues without waiting for it. The verb is issued even if the returned future is
    /// never awaited; that future is done when the verb is. When the future is dropped, a receive is withdrawn.
    pub fn start<F: Future>(&self, future: F) -> impl Future<Output = Started<'_, F>> {
        Started::new(self, future)
    }

    /// Starts both; done when the earlier one is done. The other continues when the [`Rest`] is awaited, and is
    /// withdrawn when the [`Rest`] is dropped.
    pub fn first<A: Future, B: Future>(&self, a: A, b: B) -> First<'_, A, B> {
        First::new(self, a, b)
    }
}

pin_project! {
    /// One branch: runs its future at the branch's own moment and leaves the rank's moment as it was.
    pub struct Branch<'r, F: Future> {
        rank: &'r Rank<'r>,
        moment: Moment,
        has_begun: bool,
        output: Option<F::Output>,
        #[pin]
        future: F,
    }
}

impl<'r, F: Future> Branch<'r, F> {
    /// A branch that starts at the moment of its first poll.
    #[inline]
    fn new(rank: &'r Rank<'r>, future: F) -> Self {
        Self { rank, moment: Moment::default(), has_begun: false, output: None, future }
    }

    /// Continues the branch if it can go on. Returns true if the branch has ended. At its first poll, the branch starts
    /// at `start` as branch `index` of `count`.
    #[inline(always)]
    fn advance(mut self: Pin<&mut Self>, start: Moment, (index, count): (usize, usize), cx: &mut Context<'_>) -> bool {
        if self.output.is_some() {
            return true;
        }
        let (rank, here) = (self.rank, self.rank.path());
        if !here.has_branches() {
            self.as_mut().poll(start, index, cx);
            return self.output.is_some();
        }
        let path = here.branch(index, count);
        if !self.has_begun || rank.can_go_on(path) {
            rank.set_path(path);
            self.as_mut().poll(start, index, cx);
            rank.set_path(here);
        }
        self.output.is_some()
    }

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, start: Moment, index: usize, cx: &mut Context<'_>) {
        let this = self.project();
        let rank = *this.rank;
        if !std::mem::replace(this.has_begun, true) {
            *this.moment = rank.branch_of(start, index);
        }
        if let Poll::Ready(output) = rank.poll_at(this.moment, this.future, cx) {
            *this.output = Some(output);
        }
    }

    /// Continues the branch of a `first`, which may be handed on to another branch.
    fn advance_as_a_whole(mut self: Pin<&mut Self>, start: Moment, index: usize, cx: &mut Context<'_>) -> bool {
        let (rank, here) = (self.rank, self.rank.path());
        if self.output.is_none() {
            rank.set_path(here.as_a_whole());
            self.as_mut().poll(start, index, cx);
            rank.set_path(here);
        }
        self.output.is_some()
    }

    /// This branch of a `first` came before `other`: the rank, which was at `now`, continues at the end of this branch.
    fn win<G: Future>(self: Pin<&mut Self>, other: Pin<&mut Branch<'r, G>>, now: Moment) -> F::Output {
        let rank = self.rank;
        let other = other.project();
        let (output, mut end) = self.take();
        if other.output.is_some() {
            (end, *other.moment) = rank.decided(end, *other.moment);
        }
        rank.set_moment(rank.after_first(now, end));
        output
    }

    fn take(self: Pin<&mut Self>) -> (F::Output, Moment) {
        let this = self.project();
        (this.output.take().expect("taken once, after the branch has ended"), *this.moment)
    }
}

pin_project! {
    /// Future of [`Rank::join`].
    pub struct Join<'r, A: Future, B: Future> {
        #[pin]
        a: Branch<'r, A>,
        #[pin]
        b: Branch<'r, B>,
    }
}

impl<A: Future, B: Future> Future for Join<'_, A, B> {
    type Output = (A::Output, B::Output);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let rank = this.a.rank;
        let start = rank.moment();
        let a_ended = this.a.as_mut().advance(start, (0, 2), cx);
        let b_ended = this.b.as_mut().advance(start, (1, 2), cx);
        if !(a_ended && b_ended) {
            rank.set_moment(start);
            return Poll::Pending;
        }
        let (a, a_moment) = this.a.take();
        let (b, b_moment) = this.b.take();
        rank.set_moment(rank.after_join(start, rank.later(a_moment, b_moment)));
        Poll::Ready((a, b))
    }
}

/// Future of [`Rank::start`].
pub struct Started<'r, F: Future> {
    branch: Pin<Box<Branch<'r, F>>>,
}

impl<'r, F: Future> Started<'r, F> {
    /// The rank goes on at once, at the next place of its program.
    async fn new(rank: &'r Rank<'r>, future: F) -> Self {
        let (now, mut started) = (rank.moment(), Self { branch: Box::pin(Branch::new(rank, future)) });
        poll_fn(|cx| Poll::Ready(started.advance(cx))).await;
        rank.set_moment(rank.after_first(now, now));
        started
    }

    /// Continues the branch. Returns true if the branch has ended. The rank stays at its moment.
    fn advance(&mut self, cx: &mut Context<'_>) -> bool {
        let (rank, now) = (self.branch.rank, self.branch.rank.moment());
        let has_ended = self.branch.as_mut().advance_as_a_whole(now, 0, cx);
        rank.set_moment(now);
        has_ended
    }
}

impl<F: Future> Future for Started<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if !self.advance(cx) {
            return Poll::Pending;
        }
        let rank = self.branch.rank;
        let (output, end) = self.branch.as_mut().take();
        rank.set_moment(rank.later(rank.moment(), end));
        Poll::Ready(output)
    }
}

/// Future of [`Rank::join_all`]; its output is in the order of the branches.
pub struct JoinAll<'r, F: Future> {
    rank: &'r Rank<'r>,
    branches: Pin<Box<[Branch<'r, F>]>>,
    has_begun: bool,
    /// Number of branches that have ended: those before the first one that has not, and all.
    first: usize,
    ended: usize,
}

impl<'r, F: Future> JoinAll<'r, F> {
    fn new(rank: &'r Rank<'r>, branches: impl IntoIterator<Item = F>) -> Self {
        let branches: Box<[_]> = branches.into_iter().map(|f| Branch::new(rank, f)).collect();
        Self { rank, branches: Box::into_pin(branches), has_begun: false, first: 0, ended: 0 }
    }

    /// Continues all branches that can go on. Returns true if all have ended.
    fn advance(&mut self, start: Moment, cx: &mut Context<'_>) -> bool {
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
    fn take(&mut self) -> (Vec<F::Output>, Option<Moment>) {
        let (rank, mut end) = (self.rank, None);
        let take = |index| {
            let (output, moment) = nth(self.branches.as_mut(), index).take();
            end = Some(end.map_or(moment, |end| rank.later(end, moment)));
            output
        };
        let outputs = (0..self.ended).map(take).collect();
        (outputs, end)
    }
}

impl<F: Future> Unpin for JoinAll<'_, F> {}

impl<F: Future> Future for JoinAll<'_, F> {
    type Output = Vec<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let start = this.rank.moment();
        if !this.advance(start, cx) {
            this.rank.set_moment(start);
            return Poll::Pending;
        }
        let (outputs, end) = this.take();
        this.rank.set_moment(match end {
            Some(end) => this.rank.after_join(start, end),
            None => start,
        });
        Poll::Ready(outputs)
    }
}

/// A branch that can be handed on.
type Boxed<'r, F> = Pin<Box<Branch<'r, F>>>;

/// Which branch of a [`Rank::first`] came first, with its output.
pub enum Winner<A, B> {
    /// The first argument; also when both came at the same moment.
    A(A),
    /// The second argument.
    B(B),
}

/// The branch that a [`Rank::first`] did not wait for. Await it to let it finish; drop it to withdraw it.
pub enum Rest<'r, A: Future, B: Future> {
    /// The first argument still runs.
    A(Boxed<'r, A>),
    /// The second argument still runs.
    B(Boxed<'r, B>),
}

impl<A: Future, B: Future> Drop for Rest<'_, A, B> {
    fn drop(&mut self) {
        match self {
            Rest::A(branch) => drop_rest(branch),
            Rest::B(branch) => drop_rest(branch),
        }
    }
}

impl<A: Future, B: Future> Future for Rest<'_, A, B> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.get_mut() {
            Rest::A(branch) => poll_rest(branch.as_mut(), cx),
            Rest::B(branch) => poll_rest(branch.as_mut(), cx),
        }
    }
}

fn drop_rest<F: Future>(branch: &Boxed<'_, F>) {
    if branch.output.is_some() {
        branch.rank.drop_ended();
    }
}

fn poll_rest<F: Future>(mut branch: Pin<&mut Branch<'_, F>>, cx: &mut Context<'_>) -> Poll<()> {
    let rank = branch.rank;
    let now = rank.moment();
    let ended = branch.as_mut().advance_as_a_whole(now, 0, cx);
    if ended {
        rank.set_moment(rank.later(now, branch.take().1));
        return Poll::Ready(());
    }
    rank.set_moment(now);
    Poll::Pending
}

/// Future of [`Rank::first`].
pub struct First<'r, A: Future, B: Future> {
    rank: &'r Rank<'r>,
    branches: Option<(Boxed<'r, A>, Boxed<'r, B>)>,
}

impl<'r, A: Future, B: Future> First<'r, A, B> {
    fn new(rank: &'r Rank<'r>, a: A, b: B) -> Self {
        Self { rank, branches: Some((Box::pin(Branch::new(rank, a)), Box::pin(Branch::new(rank, b)))) }
    }
}

impl<A: Future, B: Future> Unpin for First<'_, A, B> {}

impl<'r, A: Future, B: Future> Future for First<'r, A, B> {
    type Output = (Winner<A::Output, B::Output>, Rest<'r, A, B>);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let rank = this.rank;
        let (mut a, mut b) = this.branches.take().expect("polled after the end");
        let now = rank.moment();
        let start = rank.racing(now);
        let a_ended = a.as_mut().advance_as_a_whole(start, 0, cx);
        let b_ended = b.as_mut().advance_as_a_whole(start, 1, cx);
        if !rank.is_decided(a_ended, b_ended) {
            this.branches = Some((a, b));
            rank.set_moment(now);
            return Poll::Pending;
        }
        let b_is_first = b_ended && (!a_ended || rank.is_before(b.moment, a.moment));
        if b_is_first {
            let output = b.as_mut().win(a.as_mut(), now);
            return Poll::Ready((Winner::B(output), Rest::A(a)));
        }
        let output = a.as_mut().win(b.as_mut(), now);
        Poll::Ready((Winner::A(output), Rest::B(b)))
    }
}

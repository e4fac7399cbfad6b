//! `join`, `start` and `first`: several branches of one rank, each at its own moment.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::executor::nth;
use crate::rank::Rank;
use crate::{Moment, Path};

impl Rank<'_> {
    /// Runs both side by side; done when both are done.
    #[inline]
    pub fn join<A: Future, B: Future>(&self, a: A, b: B) -> Join<'_, A, B> {
        Join { rank: self, a: Branch::new(a), b: Branch::new(b) }
    }

    /// Runs both side by side, as far as they are given; done when both are done.
    #[inline]
    pub fn join_optional<A, B>(&self, a: Option<A>, b: Option<B>) -> Join<'_, OptionalVerb<A>, OptionalVerb<B>>
    where
        A: Future + Unpin,
        B: Future + Unpin,
    {
        self.join(OptionalVerb(a), OptionalVerb(b))
    }

    /// Runs all of these side by side; done when all are done.
    pub fn join_all<F: Future>(&self, branches: impl IntoIterator<Item = F>) -> JoinAll<'_, F> {
        let branches: Box<[_]> = branches.into_iter().map(Branch::new).collect();
        JoinAll { rank: self, branches: Box::into_pin(branches), has_begun: false, first: 0, ended_branches: 0 }
    }

    /// Runs all of these side by side, as [`Rank::join_all`] does; none may wait for a later one. In a world that does
    /// not run ranks in the order of time, each begins when the one before has ended, so that only one takes memory.
    pub async fn join_in_turn<F: Future<Output = ()>>(&self, branches: impl ExactSizeIterator<Item = F>) {
        if self.runs_in_order_of_time() {
            self.join_all(branches).await;
            return;
        }
        let (start, count, mut end) = (self.moment(), branches.len(), None);
        for (index, branch) in branches.enumerate() {
            let mut branch = pin!(Branch::new(branch));
            poll_fn(|cx| {
                let has_ended = branch.as_mut().advance(self, start, (index, count), cx);
                self.set_moment(start);
                if has_ended { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            let ((), moment) = branch.take();
            end = Some(end.map_or(moment, |end| self.later(end, moment)));
        }
        self.set_moment(end.map_or(start, |end| self.after_join(start, end)));
    }

    /// Starts one verb now and continues without waiting for it. Awaiting the outer future issues the verb; awaiting
    /// the inner one waits until the verb is done. Dropping the inner one withdraws a receive.
    pub fn start<F: Future>(&self, future: F) -> impl Future<Output = StartedBranch<'_, F>> {
        StartedBranch::new(self, future)
    }

    /// Starts both; done when the earlier one is done. Await the [`Rest`] to let the other finish; drop it to withdraw
    /// it.
    pub fn first<A: Future, B: Future>(&self, a: A, b: B) -> First<'_, A, B> {
        First { rank: self, branches: Some((Box::pin(Branch::new(a)), Box::pin(Branch::new(b)))) }
    }
}

pin_project! {
    /// One branch: runs its future at the branch's own moment and leaves the rank's moment as it was.
    pub struct Branch<F: Future> {
        state: Option<BranchState<F::Output>>,
        #[pin]
        future: F,
    }
}

/// A branch that has begun: the moment that it has reached, and its output once it has ended.
struct BranchState<O> {
    moment: Moment,
    output: Option<O>,
}

impl<F: Future> Branch<F> {
    /// A branch that starts at the moment of its first poll.
    #[inline]
    fn new(future: F) -> Self {
        Self { state: None, future }
    }

    /// The moment at which the branch has ended, if it has.
    #[inline]
    fn end(&self) -> Option<Moment> {
        self.state.as_ref().filter(|state| state.output.is_some()).map(|state| state.moment)
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.end().is_some()
    }

    /// Starts the branch at `start`, as number `index` of `count`, or continues it if it can go on. Returns true at its
    /// end.
    #[inline(always)]
    fn advance(
        self: Pin<&mut Self>,
        rank: &Rank<'_>,
        start: Moment,
        (index, count): (usize, usize),
        cx: &mut Context<'_>,
    ) -> bool {
        let own_path = rank.path();
        if !own_path.has_branches() {
            return self.poll(rank, start, index, cx);
        }
        let path = own_path.branch(index, count);
        if self.state.is_some() && !rank.can_go_on(path) {
            return self.has_ended();
        }
        self.advance_along(path, rank, start, index, cx)
    }

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, rank: &Rank<'_>, start: Moment, index: usize, cx: &mut Context<'_>) -> bool {
        let this = self.project();
        let state =
            this.state.get_or_insert_with(|| BranchState { moment: rank.branch_of(start, index), output: None });
        if state.output.is_none()
            && let Poll::Ready(output) = rank.poll_at(&mut state.moment, this.future, cx)
        {
            state.output = Some(output);
        }
        state.output.is_some()
    }

    /// Continues a branch that may be handed on to another branch, such as a branch of a `first`.
    fn advance_as_a_whole(
        self: Pin<&mut Self>,
        rank: &Rank<'_>,
        start: Moment,
        index: usize,
        cx: &mut Context<'_>,
    ) -> bool {
        self.advance_along(rank.path().as_a_whole(), rank, start, index, cx)
    }

    /// Starts the branch, or continues it, on this path.
    #[inline(always)]
    fn advance_along(
        self: Pin<&mut Self>,
        path: Path,
        rank: &Rank<'_>,
        start: Moment,
        index: usize,
        cx: &mut Context<'_>,
    ) -> bool {
        let own_path = rank.path();
        rank.set_path(path);
        let has_ended = self.poll(rank, start, index, cx);
        rank.set_path(own_path);
        has_ended
    }

    /// This branch of a `first` came before `other`: the rank, so far at `now`, continues at the end of this branch.
    fn win<G: Future>(self: Pin<&mut Self>, rank: &Rank<'_>, other: Pin<&mut Branch<G>>, now: Moment) -> F::Output {
        let (output, mut end) = self.take();
        if let Some(BranchState { moment, output: Some(_) }) = other.project().state {
            (end, *moment) = rank.settle_first(end, *moment);
        }
        rank.set_moment(rank.after_first(now, end));
        output
    }

    #[inline(always)]
    fn take(self: Pin<&mut Self>) -> (F::Output, Moment) {
        let state = self.project().state.as_mut();
        state
            .and_then(|state| Some((state.output.take()?, state.moment)))
            .expect("taken once, after the branch has ended")
    }
}

pin_project! {
    /// Future of [`Rank::join`].
    pub struct Join<'r, A: Future, B: Future> {
        rank: &'r Rank<'r>,
        #[pin]
        a: Branch<A>,
        #[pin]
        b: Branch<B>,
    }
}

impl<A: Future, B: Future> Future for Join<'_, A, B> {
    type Output = (A::Output, B::Output);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let rank = *this.rank;
        let start = rank.moment();
        let a_ended = this.a.as_mut().advance(rank, start, (0, 2), cx);
        let b_ended = this.b.as_mut().advance(rank, start, (1, 2), cx);
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

/// A branch of [`Rank::join_optional`].
pub struct OptionalVerb<F>(Option<F>);

impl<F: Future + Unpin> Future for OptionalVerb<F> {
    type Output = Option<F::Output>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().map_or(Poll::Ready(None), |verb| Pin::new(verb).poll(cx).map(Some))
    }
}

/// Future of [`Rank::start`].
pub struct StartedBranch<'r, F: Future> {
    rank: &'r Rank<'r>,
    branch: BoxedBranch<F>,
}

impl<'r, F: Future> StartedBranch<'r, F> {
    /// Starts the branch; the rank continues at once, at the next place of its program.
    async fn new(rank: &'r Rank<'r>, future: F) -> Self {
        let (now, mut handle) = (rank.moment(), Self { rank, branch: Box::pin(Branch::new(future)) });
        poll_fn(|cx| Poll::Ready(handle.advance(Path::NONE, cx))).await;
        rank.set_moment(rank.after_first(now, now));
        handle
    }

    /// Continues the branch, for which the branch of this path waits. Returns true if it has ended. The rank stays at its
    /// moment.
    fn advance(&mut self, path: Path, cx: &mut Context<'_>) -> bool {
        let now = self.rank.moment();
        let has_ended = self.branch.as_mut().advance_along(path, self.rank, now, 0, cx);
        self.rank.set_moment(now);
        has_ended
    }
}

impl<F: Future> Future for StartedBranch<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let path = self.rank.path().as_a_whole();
        if !self.advance(path, cx) {
            return Poll::Pending;
        }
        let (output, end) = self.branch.as_mut().take();
        self.rank.set_moment(self.rank.later(self.rank.moment(), end));
        Poll::Ready(output)
    }
}

/// Future of [`Rank::join_all`]. The outputs are in the order of the branches.
pub struct JoinAll<'r, F: Future> {
    rank: &'r Rank<'r>,
    branches: Pin<Box<[Branch<F>]>>,
    has_begun: bool,
    /// Number of branches before the first one that has not ended, and of all branches that have ended.
    first: usize,
    ended_branches: usize,
}

impl<F: Future> JoinAll<'_, F> {
    /// Continues all branches that can go on. Returns true if all have ended.
    fn advance(&mut self, start: Moment, cx: &mut Context<'_>) -> bool {
        let (own_path, count) = (self.rank.path(), self.branches.len());
        let tells_apart = self.has_begun && own_path.has_branches();
        let next = |from| if tells_apart { self.rank.next_to_go_on(own_path, from, count) } else { from };
        let mut index = next(self.first);
        while index < count {
            let branch = nth(self.branches.as_mut(), index);
            if !branch.has_ended() && branch.advance_along(own_path.branch(index, count), self.rank, start, index, cx) {
                self.ended_branches += 1;
                while self.branches.get(self.first).is_some_and(Branch::has_ended) {
                    self.first += 1;
                }
            }
            index = next(index + 1);
        }
        self.has_begun = true;
        self.ended_branches == count
    }

    /// The outputs, and the latest end; none without branches.
    fn take(&mut self) -> (Vec<F::Output>, Option<Moment>) {
        let (rank, mut end) = (self.rank, None);
        let take = |index| {
            let (output, moment) = nth(self.branches.as_mut(), index).take();
            end = Some(end.map_or(moment, |end| rank.later(end, moment)));
            output
        };
        let outputs = (0..self.ended_branches).map(take).collect();
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
        this.rank.set_moment(end.map_or(start, |end| this.rank.after_join(start, end)));
        Poll::Ready(outputs)
    }
}

/// A branch that can be handed on to another branch.
type BoxedBranch<F> = Pin<Box<Branch<F>>>;

/// Which branch of a [`Rank::first`] came first, with its output.
pub enum Winner<A, B> {
    /// The first argument; also when both came at the same moment.
    A(A),
    /// The second argument.
    B(B),
}

/// The branch that a [`Rank::first`] did not wait for. Await it to let it finish; drop it to withdraw it.
pub struct Rest<'r, A: Future, B: Future> {
    rank: &'r Rank<'r>,
    branch: Loser<A, B>,
}

enum Loser<A: Future, B: Future> {
    A(BoxedBranch<A>),
    B(BoxedBranch<B>),
}

impl<A: Future, B: Future> Drop for Rest<'_, A, B> {
    fn drop(&mut self) {
        let has_ended = match &self.branch {
            Loser::A(branch) => branch.has_ended(),
            Loser::B(branch) => branch.has_ended(),
        };
        if has_ended {
            self.rank.drop_ended();
        }
    }
}

impl<A: Future, B: Future> Future for Rest<'_, A, B> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let rank = self.rank;
        match &mut self.branch {
            Loser::A(branch) => poll_rest(rank, branch.as_mut(), cx),
            Loser::B(branch) => poll_rest(rank, branch.as_mut(), cx),
        }
    }
}

fn poll_rest<F: Future>(rank: &Rank<'_>, mut branch: Pin<&mut Branch<F>>, cx: &mut Context<'_>) -> Poll<()> {
    let now = rank.moment();
    let has_ended = branch.as_mut().advance_as_a_whole(rank, now, 0, cx);
    if has_ended {
        rank.set_moment(rank.later(now, branch.take().1));
        return Poll::Ready(());
    }
    rank.set_moment(now);
    Poll::Pending
}

/// Future of [`Rank::first`].
pub struct First<'r, A: Future, B: Future> {
    rank: &'r Rank<'r>,
    branches: Option<(BoxedBranch<A>, BoxedBranch<B>)>,
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
        let a_ended = a.as_mut().advance_as_a_whole(rank, start, 0, cx);
        let b_ended = b.as_mut().advance_as_a_whole(rank, start, 1, cx);
        if !rank.is_decided(a_ended, b_ended) {
            this.branches = Some((a, b));
            rank.set_moment(now);
            return Poll::Pending;
        }
        let b_is_first = b.end().is_some_and(|b| a.end().is_none_or(|a| rank.is_before(b, a)));
        if b_is_first {
            let output = b.as_mut().win(rank, a.as_mut(), now);
            return Poll::Ready((Winner::B(output), Rest { rank, branch: Loser::A(a) }));
        }
        let output = a.as_mut().win(rank, b.as_mut(), now);
        Poll::Ready((Winner::A(output), Rest { rank, branch: Loser::B(b) }))
    }
}

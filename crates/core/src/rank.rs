//! One rank, as its program sees it.

use std::cell::RefMut;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::rank_state::{Arena, Pair, RankState, RankStates, SharedWorld, StepState};
use crate::step::{Failure, Received, SendRecv, Step};
use crate::world::{At, World};
use crate::{Moment, Moments, Path, Result, Span};

/// A rank as a program sees it that runs as a part of the rank's own program: for example as a member of a group.
pub trait View {
    /// The rank, as the surrounding program sees it.
    fn below(&self) -> &Rank<'_>;
    /// The rank's number.
    fn rank(&self) -> usize {
        self.below().rank()
    }
    /// Number of ranks.
    fn size(&self) -> usize {
        self.below().size()
    }
    /// The step that the rank below performs for a step of this rank. None if there is nothing to do: the step is done
    /// at once, and a circuit then counts as open.
    fn step(&self, step: Step) -> Option<Step> {
        Some(step)
    }
    /// The result of a step, converted from the result that the rank below got.
    fn received(&self, _step: &Step, received: Received) -> Received {
        received
    }
    /// As [`Rank::scratch`].
    fn scratch(&self, len: usize) -> Span {
        self.below().scratch(len)
    }
    /// As [`Rank::circuits`].
    fn circuits(&self) -> Option<usize> {
        self.below().circuits()
    }
    /// The program says that its result is complete.
    fn complete(&self) {}
}

/// One rank, as its program sees it. Verbs are futures: nothing happens until they are awaited or joined.
#[derive(Clone, Copy)]
pub struct Rank<'r> {
    rank_state: &'r RankState<'r>,
    view: Option<&'r dyn View>,
}

impl<'r> Rank<'r> {
    /// The rank in this state.
    pub fn new(rank_state: &'r RankState<'r>) -> Self {
        Self { rank_state, view: None }
    }

    /// The rank of `view`, as seen by a program that runs through `view`.
    pub fn through(view: &'r dyn View) -> Self {
        Self { rank_state: view.below().rank_state, view: Some(view) }
    }

    /// This rank's number, `0..size`.
    #[inline]
    pub fn rank(&self) -> usize {
        self.view.map_or(self.rank_state.rank.get(), |view| view.rank())
    }

    /// Number of ranks.
    #[inline]
    pub fn size(&self) -> usize {
        self.view.map_or(self.shared_world().size, |view| view.size())
    }

    /// `len` fresh elements of working memory; their values are undefined.
    pub fn scratch(&self, len: usize) -> Span {
        match self.view {
            Some(view) => view.scratch(len),
            None => self.world().scratch(At { rank: self.rank_state.rank.get(), now: self.moment() }, len),
        }
    }

    /// Checks that there is memory for `len` elements of scratch. Worlds that hold no data always have enough.
    pub fn check_scratch(&self, len: usize) -> Result<()> {
        self.world().check_scratch(len)
    }

    /// Number of circuits that a program should open ahead of its messages, the same on all ranks; 0 where circuits
    /// come by themselves. None in a network without circuits.
    pub fn circuits(&self) -> Option<usize> {
        self.view.map_or(self.shared_world().features.circuits, |view| view.circuits())
    }

    /// The result of this rank is complete and stays unchanged: the collective returns to its caller, who may change
    /// input and result. From here on the program only serves other ranks, from scratch. A program that never calls
    /// this function is complete at its end.
    pub fn complete(&self) {
        match self.view {
            Some(view) => view.complete(),
            None => self.world().complete(self.rank_state.rank.get(), self.moment()),
        }
    }

    /// The program has failed for this reason and never goes on.
    pub fn fail(&self, why: &Failure) {
        self.world().fail(self.rank_state.rank.get(), why);
    }

    /// The next step is at this place of the program: its file and line.
    pub fn locate(&self, place: &'static str) {
        self.world().locate(self.rank_state.rank.get(), place);
    }

    /// The rank has reached this mark, counted from 0. A simulation reports when the last rank reaches it
    /// (`Ends::marks_s`). Marks of programs within a view are ignored.
    pub fn mark(&self, number: u16) {
        if self.view.is_none() {
            self.world().mark(self.rank_state.rank.get(), number, self.moment());
        }
    }

    /// The time that a simulation reports for this rank begins now, as if a benchmark read its clock here.
    pub fn start_timer(&self) {
        self.world().start_timer(self.rank_state.rank.get(), self.moment());
    }

    /// The next message of this rank to each peer costs as much as the first one.
    pub fn forget_peers(&self) {
        self.world().forget_peers(self.rank_state.rank.get());
    }

    /// The program will depend on the lengths of messages ([`Received::len`]), and says so before it receives the first
    /// one: recording its schedule then takes several passes.
    pub fn reads_lengths(&self) {
        match self.view {
            Some(view) => view.below().reads_lengths(),
            None => self.world().reads_lengths(self.rank_state.rank.get()),
        }
    }

    /// The time of the running branch in seconds, by the rank's clock; none in a world without time.
    pub fn time_s(&self) -> Option<f64> {
        self.world().time_s(self.moment())
    }

    #[inline]
    fn shared_world(&self) -> &'r SharedWorld<'r> {
        self.rank_state.world
    }

    fn world(&self) -> RefMut<'r, dyn World + 'r> {
        self.shared_world().host.world()
    }

    #[inline(always)]
    pub(crate) fn issue(&self, step: &Step) -> StepState {
        match self.view {
            None => self.shared_world().host.issue(self.rank_state, step),
            Some(view) => self.issue_through(view, step),
        }
    }

    #[inline(always)]
    pub(crate) fn issue_both(&self, exchange: &SendRecv, pair: &mut Pair) {
        match self.view {
            None => self.shared_world().host.issue_both(self.rank_state, exchange, pair),
            Some(view) => self.issue_both_through(view, [exchange.send(), exchange.recv()], pair),
        }
    }

    fn issue_both_through(&self, view: &dyn View, steps: [Step; 2], pair: &mut Pair) {
        let Pair { states, moments, received } = pair;
        for ((state, moment), step) in states.iter_mut().zip(moments).zip(steps) {
            self.set_moment(*moment);
            *state = self.issue_through(view, &step);
            *moment = self.moment();
        }
        *received = self.received();
    }

    fn issue_through(&self, view: &dyn View, step: &Step) -> StepState {
        let Some(below) = view.step(*step) else {
            self.shared_world().received.set(Received { source: self.rank() as u32, len: 1 });
            return StepState::Done;
        };
        self.convert_received(view, step, view.below().issue(&below))
    }

    #[inline(always)]
    pub(crate) fn take(&self, step: impl Fn() -> Step, ticket: u32) -> StepState {
        match self.view {
            None => self.shared_world().host.take(self.rank_state, ticket),
            Some(view) => self.take_through(view, &step(), ticket),
        }
    }

    /// Issues a step again after the outcome of `ticket`.
    pub(crate) fn issue_after(&self, step: &Step, ticket: u32) -> StepState {
        match self.shared_world().host.take(self.rank_state, ticket) {
            StepState::Done => self.issue(step),
            _ => StepState::After(ticket),
        }
    }

    fn take_through(&self, view: &dyn View, step: &Step, ticket: u32) -> StepState {
        let below = view.below();
        let state = match below.view {
            None => below.shared_world().host.take(below.rank_state, ticket),
            Some(_) => view.step(*step).map_or(StepState::Waits(ticket), |step| below.take(|| step, ticket)),
        };
        self.convert_received(view, step, state)
    }

    /// Converts the result that the rank below got to the result that `view` gives.
    fn convert_received(&self, view: &dyn View, step: &Step, state: StepState) -> StepState {
        if let StepState::Done = state {
            let received = &self.shared_world().received;
            received.set(view.received(step, received.get()));
        }
        state
    }

    /// The result of the step that was done last.
    #[inline]
    pub(crate) fn received(&self) -> Received {
        self.shared_world().received.get()
    }

    #[inline(always)]
    pub(crate) fn wait(&self, ticket: u32) {
        if self.tells_branches_apart() && self.path() != Path::NONE {
            self.world().wait(ticket, self.path());
        }
    }

    /// Whether the world knows which branch can go on.
    #[inline]
    pub(crate) fn tells_branches_apart(&self) -> bool {
        self.shared_world().features.path.has_branches()
    }

    pub(crate) fn withdraw(&self, ticket: u32) {
        self.world().withdraw(self.rank_state.rank.get(), ticket);
    }

    // Facts about the running branch, for combinators.

    /// The moment that the running branch has reached.
    #[inline]
    pub fn moment(&self) -> Moment {
        self.rank_state.moment.get()
    }

    #[inline]
    pub(crate) fn set_moment(&self, moment: Moment) {
        self.rank_state.moment.set(moment);
    }

    #[inline]
    pub(crate) fn path(&self) -> Path {
        self.rank_state.path.get()
    }

    #[inline]
    pub(crate) fn set_path(&self, path: Path) {
        self.rank_state.path.set(path);
    }

    /// Polls a branch at its own moment, and sets `moment` to the moment that the branch has reached.
    #[inline(always)]
    pub(crate) fn poll_at<F: Future + ?Sized>(
        &self,
        moment: &mut Moment,
        future: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        self.set_moment(*moment);
        let output = future.poll(cx);
        *moment = self.moment();
        output
    }

    #[inline]
    pub(crate) fn can_go_on(&self, path: Path) -> bool {
        self.shared_world().host.can_go_on(self.rank_state.rank.get(), path)
    }

    #[inline]
    pub(crate) fn next_to_go_on(&self, parent: Path, from: usize, count: usize) -> usize {
        self.shared_world().host.next_to_go_on(self.rank_state.rank.get(), parent, from, count)
    }

    /// The running branch caused the event for which the branches of `path` wait. They can go on when their turn comes:
    /// in this poll of the program if it `comes_later`, or else in another one, for which the waker asks.
    pub(crate) fn wake(&self, path: Path, comes_later: bool, waker: &Waker) {
        self.world().wake(self.rank_state.rank.get(), path, comes_later);
        if !comes_later {
            waker.wake_by_ref();
        }
    }

    /// Whether the winner of a `first` is known, given which of its branches have ended.
    pub(crate) fn is_decided(&self, a_ended: bool, b_ended: bool) -> bool {
        self.world().race(self.rank_state.rank.get());
        if self.runs_in_order_of_time() { a_ended || b_ended } else { a_ended && b_ended }
    }

    /// Whether ranks run in the order of time, so that the first branch to end is the earlier one.
    pub(crate) fn runs_in_order_of_time(&self) -> bool {
        !self.shared_world().features.first_waits_for_both
    }

    pub(crate) fn drop_ended(&self) {
        self.world().drop_ended(self.rank_state.rank.get());
    }

    #[inline]
    fn ordered<T>(&self, by_time: impl FnOnce() -> T, by_world: impl FnOnce(&mut dyn Moments) -> T) -> T {
        if self.shared_world().features.has_moments { by_world(self.world().moments()) } else { by_time() }
    }

    #[inline]
    pub(crate) fn later(&self, one: Moment, other: Moment) -> Moment {
        self.ordered(|| one.later(other), |order| order.later(one, other))
    }

    pub(crate) fn is_before(&self, one: Moment, other: Moment) -> bool {
        self.ordered(|| one.time_s() < other.time_s(), |order| order.is_before(one, other))
    }

    /// The moment at which branch `index` of several starts, if they begin at `start`.
    #[inline]
    pub fn branch_of(&self, start: Moment, index: usize) -> Moment {
        self.ordered(|| start.branch(index), |order| order.branch(start, index))
    }

    #[inline]
    pub(crate) fn after_join(&self, start: Moment, end: Moment) -> Moment {
        self.ordered(|| end, |order| order.after_join(start, end))
    }

    pub(crate) fn racing(&self, now: Moment) -> Moment {
        self.ordered(|| now, |order| order.racing(now))
    }

    pub(crate) fn after_first(&self, now: Moment, winner: Moment) -> Moment {
        self.ordered(|| now.after_first(winner), |order| order.after_first(now, winner))
    }

    pub(crate) fn settle_first(&self, earlier: Moment, later: Moment) -> (Moment, Moment) {
        self.ordered(|| (earlier, later), |order| order.settle_first(earlier, later))
    }
}

/// The ranks in their states.
pub struct Ranks<'r> {
    rank_states: &'r RankStates<'r>,
    blocks: Arena<Rank<'r>>,
}

impl<'r> Ranks<'r> {
    /// All ranks, none of which has begun.
    pub fn new(rank_states: &'r RankStates<'r>) -> Self {
        Self { rank_states, blocks: Arena::new(rank_states.size()) }
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.rank_states.size()
    }

    /// `rank` takes the state at this place, at the beginning of its program.
    #[inline]
    pub(crate) fn begin_rank(&'r self, place: usize, rank: usize) -> &'r Rank<'r> {
        self.rank_states.get(place).begin(rank);
        self.blocks.get(place, |place| Rank::new(self.rank_states.get(place)))
    }

    /// As [`World::poll_again`].
    pub(crate) fn poll_again(&self, rank: usize) {
        self.rank_states.poll_again(rank);
    }

    /// The moment that the rank in this state has reached.
    #[inline]
    pub(crate) fn moment(&self, place: usize) -> Moment {
        self.rank_states.get(place).moment()
    }
}

//! `strands`: sequences of verbs of one rank, side by side in a single future and told apart by numbers.
//!
//! They do what branches of a `join` do. A branch keeps a future with all its verbs; a strand keeps only its moment and
//! the verb that is under way, and what it does next follows from counters.

use std::future::Future;
use std::iter::once;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::rank::Rank;
use crate::step::Step;
use crate::verbs::Verb;
use crate::{Moment, Path};

/// Sequences of verbs of one rank, with what they share.
pub trait Strands<'r> {
    /// The moments at which they start, if they begin now.
    fn starts(&self, rank: &Rank<'_>) -> Vec<Moment>;
    /// Continues one of them until it waits or ends. Returns true at its end.
    fn advance(&mut self, number: usize, turn: &mut Turn<'_, 'r>) -> bool;
}

impl Rank<'_> {
    /// Begins strands; done when all have ended.
    pub fn strands<'r, S: Strands<'r>>(&'r self, strands: S) -> JoinStrands<'r, S> {
        JoinStrands::new(self, once(strands), |now, _| now)
    }

    /// Begins several groups of strands, each in a branch, in which the iterator makes it; done when all have ended.
    pub fn join_strands<'r, S: Strands<'r>>(&'r self, groups: impl ExactSizeIterator<Item = S>) -> JoinStrands<'r, S> {
        JoinStrands::new(self, groups, |now, index| self.branch_of(now, index))
    }
}

/// Future of [`Rank::strands`] and [`Rank::join_strands`].
pub struct JoinStrands<'r, S> {
    rank: &'r Rank<'r>,
    states: Box<[StrandState<'r>]>,
    /// Each group, and the number of its first strand among all.
    groups: Box<[(usize, S)]>,
    /// Number of strands that have not ended.
    running: usize,
    has_begun: bool,
    are_branches: bool,
}

struct StrandState<'r> {
    moment: Moment,
    verb: Verb<'r>,
    group: u32,
    has_ended: bool,
    /// Whether the strand waits for another one.
    is_idle: bool,
}

impl<'r, S: Strands<'r>> JoinStrands<'r, S> {
    fn new(
        rank: &'r Rank<'_>,
        mut groups: impl ExactSizeIterator<Item = S>,
        start: impl Fn(Moment, usize) -> Moment,
    ) -> Self {
        let (now, count, mut states) = (rank.moment(), groups.len(), Vec::new());
        let begin = |index| {
            rank.set_moment(start(now, index));
            let (first, strands) = (states.len(), groups.next()?);
            let (group, verb) = (index as u32, || Verb::new(rank));
            let state = |moment| StrandState { moment, verb: verb(), group, has_ended: false, is_idle: false };
            states.extend(strands.starts(rank).into_iter().map(state));
            Some((first, strands))
        };
        let groups = (0..count).filter_map(begin).collect();
        rank.set_moment(now);
        let are_branches = states.iter().any(|state| state.moment.words() != now.words());
        Self { rank, running: states.len(), states: states.into(), groups, has_begun: false, are_branches }
    }

    /// Continues all strands that can go on.
    fn advance(&mut self, own_path: Path, waker: &Waker) {
        let (rank, count) = (self.rank, self.states.len());
        let tells_apart = self.has_begun && own_path.has_branches();
        let next = |from| if tells_apart { rank.next_to_go_on(own_path, from, count) } else { from };
        let mut number = next(0);
        while let Some(state) = self.states.get(number) {
            if !state.has_ended && !state.is_idle {
                rank.set_path(own_path.branch(number, count));
                rank.set_moment(state.moment);
                let (first, strands) = &mut self.groups[state.group as usize];
                let mut turn = Turn { rank, states: &mut self.states, first: *first, number, own_path, waker };
                let has_ended = strands.advance(number - *first, &mut turn);
                let state = &mut self.states[number];
                (state.has_ended, state.moment) = (has_ended, rank.moment());
                self.running -= usize::from(has_ended);
            }
            number = next(number + 1);
        }
        self.has_begun = true;
    }
}

impl<S> Unpin for JoinStrands<'_, S> {}

impl<'r, S: Strands<'r>> Future for JoinStrands<'r, S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let (rank, start, path) = (this.rank, this.rank.moment(), this.rank.path());
        this.advance(path, cx.waker());
        rank.set_path(path);
        if this.running > 0 {
            rank.set_moment(start);
            return Poll::Pending;
        }
        let ends = this.states.iter().map(|state| state.moment);
        let end = ends.reduce(|end, other| rank.later(end, other)).unwrap_or(start);
        rank.set_moment(if this.are_branches { rank.after_join(start, end) } else { end });
        Poll::Ready(())
    }
}

/// The turn of a strand to go on.
pub struct Turn<'a, 'r> {
    rank: &'r Rank<'r>,
    states: &'a mut [StrandState<'r>],
    /// The number of the first strand of the group, and of this strand.
    first: usize,
    number: usize,
    own_path: Path,
    waker: &'a Waker,
}

impl<'r> Turn<'_, 'r> {
    /// The moment that the strand has reached.
    pub fn moment(&self) -> Moment {
        self.rank.moment()
    }

    /// Performs a step. Returns false if the strand waits for it: then the strand asks again at its next turn.
    #[inline]
    pub fn perform(&mut self, step: impl Fn() -> Step) -> bool {
        self.states[self.number].verb.perform(step)
    }

    /// Performs a step after another strand has reached this moment. If it has not, returns false, and the strand has no
    /// turn until the other one wakes it.
    #[inline]
    pub fn perform_after(&mut self, other: Option<Moment>, step: impl Fn() -> Step) -> bool {
        let state = &mut self.states[self.number];
        if state.verb.is_new() {
            let Some(moment) = other else {
                state.is_idle = true;
                return false;
            };
            self.rank.set_moment(self.rank.after_first(self.rank.moment(), moment));
        }
        state.verb.perform(step)
    }

    /// This strand of the group may go on, if it waits for another one.
    #[inline]
    pub fn wake(&mut self, number: usize) {
        let number = self.first + number;
        if std::mem::take(&mut self.states[number].is_idle) {
            let path = self.own_path.branch(number, self.states.len());
            self.rank.wake(path, number > self.number, self.waker);
        }
    }

    /// Starts a step, as [`Rank::start`].
    #[inline]
    pub fn start(&self, step: &Step) -> Errand<'r> {
        let now = self.rank.moment();
        let mut errand = Errand { verb: Verb::new(self.rank), moment: self.rank.branch_of(now, 0) };
        errand.advance(|| *step);
        self.rank.set_moment(self.rank.after_first(now, now));
        errand
    }

    /// Waits for the end of a step, as [`Self::perform`].
    #[inline]
    pub fn end(&self, errand: &mut Errand<'_>, step: impl Fn() -> Step) -> bool {
        let now = self.rank.moment();
        let is_done = errand.verb.is_done() || errand.advance(step);
        self.rank.set_moment(if is_done { self.rank.later(now, errand.moment) } else { now });
        if !is_done {
            errand.verb.wait();
        }
        is_done
    }
}

/// A step that is under way while its strand goes on, and the moment that it has reached.
pub struct Errand<'r> {
    verb: Verb<'r>,
    moment: Moment,
}

impl Errand<'_> {
    #[inline]
    fn advance(&mut self, step: impl Fn() -> Step) -> bool {
        let rank = self.verb.rank;
        rank.set_moment(self.moment);
        let is_done = self.verb.advance(step);
        self.moment = rank.moment();
        is_done
    }
}

//! The verbs a rank program is written in.

use std::cell::{Cell, RefCell, RefMut};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::step::{Options, Received, Side, Source, Step, Tag};
use crate::world::{At, Features, Outcome, Progress, World};
use crate::{Moment, Moments, Path, Result, Span};

/// A world as shared by all its ranks. A step that is done moves the rank's seat to its moment, and leaves its result on
/// the ground: an answer is then no more than a word.
trait Host {
    fn issue(&self, seat: &Seat<'_>, step: &Step) -> Answer;
    fn take(&self, seat: &Seat<'_>, ticket: u32) -> bool;
    fn world(&self) -> RefMut<'_, dyn World + '_>;
}

/// As [`Progress`], without the outcome.
enum Answer {
    Done,
    Waits(u32),
    Never,
}

impl<W: World> Host for RefCell<W> {
    fn issue(&self, seat: &Seat<'_>, step: &Step) -> Answer {
        match self.borrow_mut().issue(seat.at(), step) {
            Progress::Done(outcome) => {
                seat.leave(outcome);
                Answer::Done
            }
            Progress::Waits(ticket) => Answer::Waits(ticket),
            Progress::Never => Answer::Never,
        }
    }

    fn take(&self, seat: &Seat<'_>, ticket: u32) -> bool {
        let outcome = self.borrow_mut().take(seat.at(), ticket);
        outcome.map(|outcome| seat.leave(outcome)).is_some()
    }

    fn world(&self) -> RefMut<'_, dyn World + '_> {
        RefMut::map(self.borrow_mut(), |world| world as &mut (dyn World + '_))
    }
}

/// A world and the facts that its ranks know of it.
pub struct Ground<'w> {
    host: &'w (dyn Host + 'w),
    features: Features,
    size: usize,
    /// The result of the step that was done last.
    received: Cell<Received>,
}

impl<'w> Ground<'w> {
    /// Of `size` ranks.
    pub fn new<W: World + 'w>(world: &'w RefCell<W>, size: usize) -> Self {
        let features = world.borrow().features();
        Self { host: world, features, size, received: Cell::new(Received { source: 0, len: 0 }) }
    }
}

/// One rank's place in its world: its progress.
pub struct Seat<'w> {
    ground: &'w Ground<'w>,
    rank: usize,
    moment: Cell<Moment>,
    path: Cell<Path>,
}

impl<'w> Seat<'w> {
    /// `rank`, at the beginning of its program.
    pub fn new(ground: &'w Ground<'w>, rank: usize) -> Self {
        Self { ground, rank, moment: Cell::default(), path: Cell::new(ground.features.path) }
    }

    /// The moment that the running branch has reached.
    pub fn moment(&self) -> Moment {
        self.moment.get()
    }

    #[inline(always)]
    fn at(&self) -> At {
        At { rank: self.rank, now: self.moment.get() }
    }

    #[inline(always)]
    fn leave(&self, (moment, received): Outcome) {
        self.moment.set(moment);
        self.ground.received.set(received);
    }
}

/// A rank as seen by another program that runs as a part of the rank's own program: for example as a member of a group.
pub trait View {
    /// The rank, as the program around sees it.
    fn below(&self) -> &Rank<'_>;
    /// The rank's number.
    fn rank(&self) -> usize {
        self.below().rank()
    }
    /// Number of ranks.
    fn size(&self) -> usize {
        self.below().size()
    }
    /// The step that the rank below performs for a step, which waits while that one waits. None if there is nothing to
    /// do; a circuit then counts as open.
    fn step(&self, step: Step) -> Option<Step> {
        Some(step)
    }
    /// The result of a step, from the result that the rank below got for it.
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
    seat: &'r Seat<'r>,
    view: Option<&'r dyn View>,
}

impl<'r> Rank<'r> {
    /// The rank of this seat.
    pub fn new(seat: &'r Seat<'r>) -> Self {
        Self { seat, view: None }
    }

    /// The rank of `view`, as seen by a program that runs through `view`.
    pub fn through(view: &'r dyn View) -> Self {
        Self { seat: view.below().seat, view: Some(view) }
    }

    /// This rank's number, `0..size`.
    #[inline]
    pub fn rank(&self) -> usize {
        self.view.map_or(self.seat.rank, |view| view.rank())
    }

    /// Number of ranks.
    #[inline]
    pub fn size(&self) -> usize {
        self.view.map_or(self.ground().size, |view| view.size())
    }

    /// `len` fresh elements of working memory; their values are undefined.
    pub fn scratch(&self, len: usize) -> Span {
        match self.view {
            Some(view) => view.scratch(len),
            None => self.world().scratch(self.seat.rank, len),
        }
    }

    /// Checks that there is memory for `len` elements of scratch. Worlds that hold no data always have enough.
    ///
    /// # Errors
    /// As [`budget::check`](crate::budget::check).
    pub fn check_scratch(&self, len: usize) -> Result<()> {
        self.world().check_scratch(len)
    }

    /// Number of circuits that a program should open ahead of its messages, the same on all ranks: 0 where circuits
    /// come by themselves. None where there are no circuits.
    pub fn circuits(&self) -> Option<usize> {
        self.view.map_or(self.ground().features.circuits, |view| view.circuits())
    }

    /// The result of this rank is complete, and will not change: the collective returns to its caller. From here on the
    /// program only serves other ranks. A program that never calls this function is complete at its end.
    pub fn complete(&self) {
        match self.view {
            Some(view) => view.complete(),
            None => self.world().complete(self.seat.rank, self.moment()),
        }
    }

    /// The time of the branch that is running, in seconds by the rank's clock; none in a world without one.
    pub fn time_s(&self) -> Option<f64> {
        self.world().time_s(self.moment())
    }

    /// Sends `data` to rank `to`; done when the span may be changed again.
    #[inline]
    pub fn send_with(&self, to: usize, data: Span, options: Options) -> Operation<'_, ()> {
        self.operation(Step::Send { to, data, options })
    }

    /// Receives into `into` a message of at most its length.
    #[inline]
    pub fn recv_with(&self, from: Source, into: Span, tag: Tag) -> Operation<'_, Received> {
        self.operation(Step::Recv { from, into, tag })
    }

    /// Combines `source` into `target`, element by element; `side` says where the source stands.
    #[inline]
    pub fn combine(&self, source: Span, target: Span, side: Side) -> Operation<'_, ()> {
        self.operation(Step::Combine { source, target, side })
    }

    /// Copies `source` to `target`, of the same length. Copying a span onto itself is free.
    #[inline]
    pub fn copy(&self, source: Span, target: Span) -> Operation<'_, ()> {
        self.operation(Step::Copy { source, target })
    }

    /// Computes for `time_s` seconds.
    #[inline]
    pub fn compute(&self, time_s: f64) -> Operation<'_, ()> {
        self.operation(Step::Compute { time_s })
    }

    /// Opens a circuit to `peer` ahead of the messages to it; done when the circuit is open (true) or refused (false:
    /// messages then get circuits as they come). Free where the network has no circuits, and then true.
    #[inline]
    pub fn connect(&self, peer: usize) -> Operation<'_, bool> {
        self.operation(Step::Connect { peer })
    }

    /// Gives up the circuit to `peer`; done when the circuit is released. Free where the network has no circuits.
    #[inline]
    pub fn disconnect(&self, peer: usize) -> Operation<'_, ()> {
        self.operation(Step::Disconnect { peer })
    }

    /// Sends `data` to rank `to`.
    #[inline]
    pub fn send(&self, to: usize, data: Span) -> Operation<'_, ()> {
        self.send_with(to, data, Options::default())
    }

    /// Receives from rank `from` into `into`.
    #[inline]
    pub fn recv(&self, from: usize, into: Span) -> Operation<'_, Received> {
        self.recv_with(Source::Rank(from as u32), into, 0)
    }

    /// Receives from whichever rank's message comes first.
    #[inline]
    pub fn recv_any(&self, into: Span) -> Operation<'_, Received> {
        self.recv_with(Source::Any, into, 0)
    }

    /// Combines `source`, which came from `peer` and holds its side's contributions, into `target` in rank order.
    #[inline]
    pub fn reduce(&self, peer: usize, source: Span, target: Span) -> Operation<'_, ()> {
        self.combine(source, target, if peer < self.rank() { Side::Left } else { Side::Right })
    }

    #[inline]
    fn operation<O: Output>(&self, step: Step) -> Operation<'_, O> {
        Operation { rank: self, step, state: State::New, output: PhantomData }
    }

    #[inline]
    fn ground(&self) -> &'r Ground<'r> {
        self.seat.ground
    }

    fn world(&self) -> RefMut<'r, dyn World + 'r> {
        self.ground().host.world()
    }

    #[inline(always)]
    fn issue(&self, step: &Step) -> Answer {
        match self.view {
            None => self.ground().host.issue(self.seat, step),
            Some(view) => self.issue_through(view, step),
        }
    }

    fn issue_through(&self, view: &dyn View, step: &Step) -> Answer {
        let Some(below) = view.step(*step) else {
            self.ground().received.set(Received { source: self.rank() as u32, len: 1 });
            return Answer::Done;
        };
        let answer = view.below().issue(&below);
        if matches!(answer, Answer::Done) {
            self.see_through(view, step);
        }
        answer
    }

    #[inline(always)]
    fn take(&self, step: &Step, ticket: u32) -> bool {
        match self.view {
            None => self.ground().host.take(self.seat, ticket),
            Some(view) => self.take_through(view, step, ticket),
        }
    }

    fn take_through(&self, view: &dyn View, step: &Step, ticket: u32) -> bool {
        let below = view.below();
        let is_done = match below.view {
            None => below.ground().host.take(below.seat, ticket),
            Some(_) => view.step(*step).is_some_and(|step| below.take(&step, ticket)),
        };
        if is_done {
            self.see_through(view, step);
        }
        is_done
    }

    /// The result that the rank below got for a step becomes that of `view`.
    fn see_through(&self, view: &dyn View, step: &Step) {
        let received = &self.ground().received;
        received.set(view.received(step, received.get()));
    }

    // The facts about the running branch that combinators need.

    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        self.seat.moment.get()
    }

    #[inline]
    pub(crate) fn set_moment(&self, moment: Moment) {
        self.seat.moment.set(moment);
    }

    #[inline]
    pub(crate) fn path(&self) -> Path {
        self.seat.path.get()
    }

    #[inline]
    pub(crate) fn set_path(&self, path: Path) {
        self.seat.path.set(path);
    }

    /// Polls a branch at its own moment, which becomes the one that the branch has reached.
    #[inline(always)]
    pub(crate) fn poll_at<F: Future + ?Sized>(
        &self,
        moment: &mut Moment,
        future: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        self.set_moment(*moment);
        let polled = future.poll(cx);
        *moment = self.moment();
        polled
    }

    pub(crate) fn can_go_on(&self, path: Path) -> bool {
        self.world().can_go_on(self.seat.rank, path)
    }

    pub(crate) fn wake(&self, path: Path) {
        self.world().wake(self.seat.rank, path);
    }

    /// Whether a `first` can tell its winner, given which of its branches have ended.
    pub(crate) fn is_decided(&self, a_ended: bool, b_ended: bool) -> bool {
        self.world().race(self.seat.rank);
        if self.ground().features.first_waits_for_both { a_ended && b_ended } else { a_ended || b_ended }
    }

    pub(crate) fn drop_ended(&self) {
        self.world().drop_ended(self.seat.rank);
    }

    #[inline]
    fn ordered<T>(&self, by_time: impl FnOnce() -> T, by_world: impl FnOnce(&mut dyn Moments) -> T) -> T {
        if self.ground().features.has_moments { by_world(self.world().moments()) } else { by_time() }
    }

    #[inline]
    pub(crate) fn later(&self, one: Moment, other: Moment) -> Moment {
        self.ordered(|| one.later(other), |order| order.later(one, other))
    }

    pub(crate) fn is_before(&self, one: Moment, other: Moment) -> bool {
        self.ordered(|| one.time_s() < other.time_s(), |order| order.is_before(one, other))
    }

    #[inline]
    pub(crate) fn branch_of(&self, start: Moment, index: usize) -> Moment {
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

    pub(crate) fn decided(&self, earlier: Moment, later: Moment) -> (Moment, Moment) {
        self.ordered(|| (earlier, later), |order| order.decided(earlier, later))
    }
}

/// The value that a verb gives its program.
pub trait Output {
    /// Makes the value from the result of the step.
    fn of(received: Received) -> Self;
}

impl Output for () {
    fn of(_: Received) {}
}

impl Output for bool {
    fn of(received: Received) -> Self {
        received.len > 0
    }
}

impl Output for Received {
    fn of(received: Received) -> Self {
        received
    }
}

/// A verb under way: issued when it is first polled, at the moment of its branch, and withdrawn when it is dropped before
/// it is done.
pub struct Operation<'r, O> {
    rank: &'r Rank<'r>,
    step: Step,
    state: State,
    output: PhantomData<fn() -> O>,
}

#[derive(Clone, Copy)]
#[repr(u32)]
enum State {
    New,
    Waits(u32),
    Never,
    Done,
}

impl<O: Output> Future for Operation<'_, O> {
    type Output = O;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<O> {
        match self.state {
            State::New => match self.rank.issue(&self.step) {
                Answer::Done => {}
                Answer::Waits(ticket) => return self.wait(ticket),
                Answer::Never => {
                    self.state = State::Never;
                    return Poll::Pending;
                }
            },
            State::Waits(ticket) => {
                if !self.rank.take(&self.step, ticket) {
                    return self.wait(ticket);
                }
            }
            State::Never | State::Done => return Poll::Pending,
        }
        self.state = State::Done;
        Poll::Ready(O::of(self.rank.ground().received.get()))
    }
}

impl<O> Operation<'_, O> {
    #[inline(always)]
    fn wait(&mut self, ticket: u32) -> Poll<O> {
        self.state = State::Waits(ticket);
        let path = self.rank.path();
        if self.rank.ground().features.path.has_branches() {
            self.rank.world().wait(ticket, path);
        }
        Poll::Pending
    }
}

impl<O> Drop for Operation<'_, O> {
    fn drop(&mut self) {
        if let State::Waits(ticket) = self.state {
            self.rank.world().withdraw(self.rank.seat.rank, ticket);
        }
    }
}

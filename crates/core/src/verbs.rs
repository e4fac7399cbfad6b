//! The verbs of rank programs, and their futures.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::rank::Rank;
use crate::rank_state::{Pair, StepState};
use crate::step::{Options, Received, SendRecv, Side, Source, Step, Tag};
use crate::{Moment, Span};

impl Rank<'_> {
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

    /// Combines `source` into `target` element by element; the source stands on this side of the target.
    /// The two must not overlap.
    #[inline]
    pub fn combine(&self, source: Span, target: Span, side: Side) -> Operation<'_, ()> {
        self.operation(Step::Combine { source, target, side })
    }

    /// Copies `source` to `target`, of the same length, without overlap. Copying a span onto itself is free.
    #[inline]
    pub fn copy(&self, source: Span, target: Span) -> Operation<'_, ()> {
        self.operation(Step::Copy { source, target })
    }

    /// Computes for `time_s` seconds.
    #[inline]
    pub fn compute(&self, time_s: f64) -> Operation<'_, ()> {
        self.operation(Step::Compute { time_s })
    }

    /// Waits until `until_s` seconds after the common start, without using the processor. Worlds without time do not
    /// wait.
    #[inline]
    pub fn wait_until(&self, until_s: f64) -> Operation<'_, ()> {
        self.operation(Step::Wait { until_s })
    }

    /// Opens a circuit to `peer` ahead of the messages to it. Returns true if the circuit is open or the network has
    /// none, false if it is refused: messages then request circuits as they come.
    #[inline]
    pub fn connect(&self, peer: usize) -> Operation<'_, bool> {
        self.operation(Step::Connect { peer })
    }

    /// Releases the circuit to `peer`; done when it is released. Free where the network has no circuits.
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

    /// Sends to `to` while receiving from `from`.
    #[inline]
    pub fn sendrecv(&self, to: usize, data: Span, from: usize, into: Span) -> Exchange<'_> {
        self.sendrecv_with((to, data), (from, into), 0)
    }

    /// As [`Rank::sendrecv`], with this tag for both messages.
    #[inline]
    pub fn sendrecv_with(&self, to: (usize, Span), from: (usize, Span), tag: Tag) -> Exchange<'_> {
        Exchange { rank: self, exchange: SendRecv::new(to, from, tag), state: None }
    }

    /// Receives the first message that arrives from any rank.
    #[inline]
    pub fn recv_any(&self, into: Span) -> Operation<'_, Received> {
        self.recv_with(Source::Any, into, 0)
    }

    /// Combines `source`, with contributions from the side of rank `peer`, into `target` in rank order.
    #[inline]
    pub fn reduce(&self, peer: usize, source: Span, target: Span) -> Operation<'_, ()> {
        self.combine(source, target, if peer < self.rank() { Side::Left } else { Side::Right })
    }

    /// Performs a step. Programs use the verbs.
    #[inline]
    pub fn operation<O>(&self, step: Step) -> Operation<'_, O> {
        Operation { verb: Verb::new(self), step, output: PhantomData }
    }
}

/// The value that a verb gives its program.
pub trait Output {
    /// Converts the result of the step.
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

/// A verb under way, without its step: whoever continues it makes the step again. Dropping withdraws it.
pub(crate) struct Verb<'r> {
    pub rank: &'r Rank<'r>,
    state: StepState,
}

impl<'r> Verb<'r> {
    pub fn new(rank: &'r Rank<'r>) -> Self {
        Self { rank, state: StepState::New }
    }

    pub fn is_new(&self) -> bool {
        matches!(self.state, StepState::New)
    }

    pub fn is_done(&self) -> bool {
        matches!(self.state, StepState::Done)
    }

    /// Issues the step, or takes its outcome. Returns true if the step is done now.
    #[inline(always)]
    pub fn advance(&mut self, step: impl Fn() -> Step) -> bool {
        self.state = match self.state {
            StepState::New => self.rank.issue(&step()),
            StepState::Waits(ticket) => self.rank.take(step, ticket),
            StepState::After(ticket) => self.rank.issue_after(&step(), ticket),
            StepState::Never | StepState::Done => return false,
        };
        self.is_done()
    }

    /// As [`Self::advance`] for the running branch, which waits for the outcome. After its end, the verb is new again.
    #[inline(always)]
    pub fn perform(&mut self, step: impl Fn() -> Step) -> bool {
        let is_done = self.advance(step);
        if is_done {
            self.state = StepState::New;
        }
        self.wait();
        is_done
    }

    /// The running branch waits for the verb.
    #[inline(always)]
    pub fn wait(&self) {
        self.state.wait(self.rank);
    }
}

impl Drop for Verb<'_> {
    #[inline]
    fn drop(&mut self) {
        self.state.withdraw(self.rank);
    }
}

/// A verb that branches await. The first poll issues its step, at the moment of its branch.
pub struct Operation<'r, O> {
    verb: Verb<'r>,
    step: Step,
    output: PhantomData<fn() -> O>,
}

impl StepState {
    /// Tells the world which branch waits for the step, if the world tells branches apart.
    #[inline(always)]
    fn wait(self, rank: &Rank<'_>) {
        if let Self::Waits(ticket) | Self::After(ticket) = self {
            rank.wait(ticket);
        }
    }

    /// Withdraws the step if it waits.
    #[inline]
    fn withdraw(self, rank: &Rank<'_>) {
        if let Self::Waits(ticket) | Self::After(ticket) = self {
            rank.withdraw(ticket);
        }
    }
}

impl<O: Output> Future for Operation<'_, O> {
    type Output = O;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<O> {
        let Self { verb, step, .. } = &mut *self;
        if verb.advance(|| *step) {
            return Poll::Ready(O::of(verb.rank.received()));
        }
        verb.wait();
        Poll::Pending
    }
}

/// Future of [`Rank::sendrecv`]: a send and a receive, equivalent to a `join` of the two but faster.
pub struct Exchange<'r> {
    rank: &'r Rank<'r>,
    exchange: SendRecv,
    state: Option<Pair>,
}

impl Pair {
    #[inline(always)]
    fn at(start: Moment, rank: &Rank<'_>) -> Self {
        let moments = [rank.branch_of(start, 0), rank.branch_of(start, 1)];
        Self { states: [StepState::New; 2], moments, received: Received { source: 0, len: 0 } }
    }

    /// Takes the outcomes that are there.
    #[inline(always)]
    fn take(&mut self, rank: &Rank<'_>, exchange: &SendRecv) {
        for branch in 0..2 {
            let state = self.states[branch];
            let (StepState::Waits(ticket) | StepState::After(ticket)) = state else { continue };
            rank.set_moment(self.moments[branch]);
            let step = || if branch == 0 { exchange.send() } else { exchange.recv() };
            self.states[branch] = match state {
                StepState::After(_) => rank.issue_after(&step(), ticket),
                _ => rank.take(step, ticket),
            };
            self.moments[branch] = rank.moment();
            if let (1, StepState::Done) = (branch, self.states[branch]) {
                self.received = rank.received();
            }
        }
    }

    /// Whether an outcome is missing. The branch waits for one of them, the receive's first, so that it goes on once,
    /// usually when both are there.
    #[inline(always)]
    fn waits(&self, rank: &Rank<'_>) -> bool {
        let missing = self.states.into_iter().rev().find(|state| !matches!(state, StepState::Done));
        missing.inspect(|state| state.wait(rank)).is_some()
    }
}

impl Future for Exchange<'_> {
    type Output = Received;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Received> {
        let Self { rank, exchange, state } = &mut *self;
        let start = rank.moment();
        let state = match state {
            None => {
                let state = state.insert(Pair::at(start, rank));
                rank.issue_both(exchange, state);
                state
            }
            Some(state) => {
                state.take(rank, exchange);
                state
            }
        };
        if state.waits(rank) {
            rank.set_moment(start);
            return Poll::Pending;
        }
        let [sent, received] = state.moments;
        rank.set_moment(rank.after_join(start, rank.later(sent, received)));
        Poll::Ready(state.received)
    }
}

impl Drop for Exchange<'_> {
    #[inline]
    fn drop(&mut self) {
        for state in self.state.iter().flat_map(|state| state.states) {
            state.withdraw(self.rank);
        }
    }
}

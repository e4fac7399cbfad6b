//! Whose turn it is: the next rank that can go on, or else the next event.

use std::mem::take;

use hocket_core::{Error, Received};

use super::Events;
use super::agenda::{ADVANCING, Action, COMPLETING, DECIDING};
use crate::in_time::Clockwork;
use crate::network::Network;

/// Number of events, and of ranks and messages that begin, between two calls of `is_interrupted`.
const EVENTS_PER_LOOK: u64 = 1 << 18;

impl<N: Network> Events<'_, N> {
    /// Whether the simulation continues; checks from time to time if the user wants to stop.
    pub(super) fn goes_on(&mut self) -> bool {
        let looks = (self.steps + self.messages_issued) / EVENTS_PER_LOOK;
        if looks > self.looks {
            self.looks = looks;
            if (self.is_interrupted)() {
                self.failure = Some(Error::interruption());
            }
        }
        self.failure.is_none()
    }

    /// Applies the next event, on the agenda or in the network, and others of its kind and time. Returns false if there is
    /// none.
    #[inline(always)]
    pub(super) fn happen_next(&mut self) -> bool {
        if self.agenda.first_kind().is_none() {
            let first_s = self.agenda.first_s();
            if first_s < self.network_s
                && let Some(action) = self.agenda.advance_to_only()
            {
                self.happen_alone(action);
                return true;
            }
            if first_s.is_infinite() && self.network_s.is_infinite() && self.agenda.is_empty() {
                return false;
            }
            self.agenda.advance_to(first_s.min(self.network_s), &self.messages);
        }
        let first_kind = self.agenda.first_kind();
        if self.network_acts_now() && first_kind.is_none_or(|kind| kind > ADVANCING) {
            self.advance();
        } else if let Some(kind) = first_kind {
            self.happen_all(kind);
        }
        true
    }

    /// Whether the network has an event now. Times that overflowed to infinity count as no event.
    #[inline(always)]
    fn network_acts_now(&self) -> bool {
        self.network_s == self.agenda.now_s() && self.network_s.is_finite()
    }

    /// The next rank that can go on, unless an event comes before.
    #[inline(always)]
    pub(super) fn next_ready(&mut self) -> Option<usize> {
        if self.is_completing {
            if self.network_acts_now() || self.agenda.first_kind().is_some_and(|kind| kind <= COMPLETING) {
                return None;
            }
            self.is_completing = false;
        }
        let place = self.ready.pop()?;
        Some(self.agenda.shuffle().map_or(place, |shuffle| shuffle.rank_at(place)))
    }

    /// The next rank whose program has not begun.
    #[inline(always)]
    pub(super) fn next_to_begin(&mut self) -> Option<usize> {
        let ranks = self.nodes.len();
        if self.started_ranks == ranks {
            return None;
        }
        let rank_at = |place| self.agenda.shuffle().map_or(place, |shuffle| shuffle.rank_at(place));
        let place = (self.started_ranks..ranks).find(|place| self.runs(rank_at(*place)));
        let rank = place.map(rank_at);
        self.started_ranks = place.map_or(ranks, |place| place + 1);
        self.steps += u64::from(rank.is_some());
        rank
    }

    /// Applies the only event of its time, and others of its kind that follow from it.
    #[inline(always)]
    fn happen_alone(&mut self, action: Action) {
        let kind = action.kind();
        self.steps += 1;
        self.is_crowded = self.agenda.is_made_now(None);
        self.happen(action);
        if kind != DECIDING && self.agenda.first_kind() == Some(kind) {
            return self.happen_all(kind);
        }
        self.is_completing &= kind != COMPLETING;
    }

    /// Applies all present events of this kind, before any event or rank that follows from them.
    fn happen_all(&mut self, kind: usize) {
        let mut happening = take(&mut self.happening);
        loop {
            self.agenda.take(kind, &mut happening);
            self.steps += happening.len() as u64;
            self.is_crowded = self.agenda.is_made_now(happening.last());
            happening.drain(..).for_each(|(_, action)| self.happen(action));
            if kind == DECIDING || self.agenda.first_kind() != Some(kind) {
                break;
            }
        }
        self.happening = happening;
        self.is_completing &= kind != COMPLETING;
    }

    /// Applies the effects of one event.
    fn happen(&mut self, action: Action) {
        let now_s = self.agenda.now_s();
        match action {
            Action::Leave { message } => self.leave(message),
            Action::Ask { message } => self.ask(message, now_s),
            Action::Pass { message } => self.pass(message),
            Action::Complete { rank, slot } => self.complete(rank, slot, Received { source: rank, len: 0 }),
            Action::Receive { message } => self.receive(message),
            Action::Sent { message } => self.leave_port(message, now_s),
            Action::Free { rank } => self.depart_next(rank),
            Action::Inject { message } => self.inject_granted(message, now_s),
            Action::TakeIn { message } => self.take_in(message),
            Action::Arrive { message } => self.arrive(message, now_s),
            Action::Deliver { message, .. } => self.deliver(message),
            Action::Probe { rank } => self.match_arrived(rank as usize, now_s),
            Action::Decide => self.decide(now_s),
        }
    }
}

//! Messages cross a network with contention, and programs ask for its circuits.

use std::mem::take;

use super::Events;
use hocket_core::Received;

use super::agenda::Action;
use super::messages::Message;
use crate::clock::Occupation;
use crate::network::{CircuitCounts, Flight, Milestone, Network, OnDemand, Parcel, Passing};

/// The largest number of successive network events before the agenda is checked.
const ADVANCES_AT_ONCE: u64 = 1 << 10;

impl<N: Network> Events<'_, N> {
    /// A message enters the network.
    #[inline(always)]
    pub(super) fn leave(&mut self, id: u32) {
        let Message { from, to, parcel: Parcel { bytes, .. }, gap_packets, left_s, .. } = *self.messages.get(id);
        let ranks = [from, to];
        let [from, to] = self.nodes_of(ranks);
        let Some(traffic) = &mut self.traffic else { return };
        if let Some(occupancy) = &mut self.occupancy {
            let message = self.messages.get_mut(id);
            [message.first_s, message.passed_s] = occupancy.leave(Passing { ranks, bytes, within: None }, left_s);
        }
        traffic.inject(left_s, Flight { id, from, to, ranks, bytes, gap_packets: f64::from(gap_packets) });
        self.look_at_network();
        self.decide_later(left_s);
    }

    /// Notes the time of the network's next event, after something has changed there.
    #[inline(always)]
    pub(super) fn look_at_network(&mut self) {
        self.network_s = self.traffic.as_ref().map_or(f64::INFINITY, |traffic| traffic.next_s());
    }

    /// Advances the network to its next event, and further while its events concern no rank.
    pub(super) fn advance(&mut self) {
        let mut progress = take(&mut self.progress);
        if let Some(traffic) = &mut self.traffic {
            let most = if self.circuits.is_none() { ADVANCES_AT_ONCE } else { 1 };
            for _ in 0..most {
                self.agenda.advance_to(traffic.next_s(), &self.messages);
                traffic.advance(&mut progress);
                self.steps += 1;
                if !progress.is_empty() || traffic.next_s() >= self.agenda.first_s() {
                    break;
                }
            }
        }
        self.look_at_network();
        self.report(progress);
        self.decide_later(self.agenda.now_s());
    }

    /// Applies the milestones that the network reports.
    pub(super) fn report(&mut self, mut progress: Vec<(u32, Milestone)>) {
        for (id, milestone) in progress.drain(..) {
            match milestone {
                Milestone::Sent => self.is_sent(id),
                Milestone::Arrives(at_s) => self.will_arrive(id, at_s),
                Milestone::Answered(is_open) => {
                    let Message { from, to, sender_slot, .. } = *self.messages.get(id);
                    self.messages.remove(id);
                    if let Some(slot) = sender_slot {
                        self.complete(from, slot, Received { source: to, len: is_open.into() });
                    }
                }
            }
        }
        self.progress = progress;
    }

    /// The last byte of a message has left.
    #[inline(always)]
    fn is_sent(&mut self, id: u32) {
        let Message { from, len, passed_s, sender_slot, .. } = *self.messages.get(id);
        self.messages.release(id);
        match sender_slot {
            Some(slot) if passed_s > self.agenda.now_s() => self.at(passed_s, Action::Complete { rank: from, slot }),
            Some(slot) => self.complete(from, slot, Received { source: from, len }),
            None => (),
        }
    }

    /// The network has carried a message by `carried_s`.
    #[inline(always)]
    fn will_arrive(&mut self, id: u32, carried_s: f64) {
        let own_s = if self.has_interfaces { self.last_byte_s(id, carried_s) } else { carried_s };
        let there_s = self.passed_at_receiver_s(id, own_s);
        let Message { from, to, position, left_s, .. } = *self.messages.get(id);
        let occupation = Occupation::transfer(from as usize, position, to as usize, there_s - left_s);
        let arrival_s = self.trial.delayed_s(occupation, left_s, there_s);
        let is_taken_in = self.has_interfaces || self.occupancy.is_some();
        self.messages.get_mut(id).arrival_s = arrival_s;
        let taking_in = Action::TakeIn { message: id };
        self.at(arrival_s, if is_taken_in { taking_in } else { Action::Arrive { message: id } });
    }

    /// When the last byte of a message is at its receiver, if the network has carried it by `carried_s`: later if the
    /// interfaces need longer for its bytes, or if it is the first message to its receiver.
    #[inline(always)]
    fn last_byte_s(&mut self, id: u32, carried_s: f64) -> f64 {
        let Message { from, to, parcel, left_s, .. } = *self.messages.get(id);
        let [gap_s, meeting_s] =
            self.fabric.map_or([0.0; 2], |fabric| [fabric.host.gap_s(parcel), fabric.host.meeting_s(parcel)]);
        if gap_s == 0.0 {
            return carried_s + meeting_s;
        }
        carried_s.max(left_s + self.way_s([from, to], parcel) + gap_s) + meeting_s
    }

    /// When the last byte of a message is at its receiver, if it arrives there at `arrival_s` by itself: later if what its
    /// sender shares holds it up.
    #[inline(always)]
    fn passed_at_receiver_s(&mut self, id: u32, arrival_s: f64) -> f64 {
        let Some(shared_network) = self.network.shared_network().filter(|_| self.occupancy.is_some()) else {
            return arrival_s;
        };
        let Message { from, to, parcel, .. } = *self.messages.get(id);
        let route_s = shared_network.latency_s(self.nodes_of([from, to]));
        let burst_s = shared_network.burst_s(parcel.bytes);
        let message = self.messages.get_mut(id);
        let there_s = arrival_s.max(message.passed_s + route_s);
        let first_s = burst_s.map_or(f64::NEG_INFINITY, |s| there_s - s.max(message.passed_s - message.first_s));
        message.first_s = first_s.max(message.first_s + route_s);
        there_s
    }

    /// Applies `act` to the circuits of the network, if it has any.
    pub(super) fn with_circuits<T>(&mut self, act: impl FnOnce(&mut dyn OnDemand) -> T) -> Option<T> {
        let answer = self.traffic.as_mut().and_then(|traffic| traffic.circuits().map(act));
        self.look_at_network();
        answer
    }

    /// The counts of circuit events.
    pub(super) fn circuit_counts(&mut self) -> Option<CircuitCounts> {
        self.with_circuits(|circuits| circuits.counts())
    }

    /// Schedules the assignment of circuits and ports after all other events of the present time.
    #[inline(always)]
    pub(super) fn decide_later(&mut self, now_s: f64) {
        if !self.is_deciding && self.is_undecided() {
            self.is_deciding = true;
            self.at(now_s, Action::Decide);
        }
    }

    fn is_undecided(&mut self) -> bool {
        let has_circuits = self.circuits.is_some();
        self.queues.as_ref().is_some_and(|queues| queues.is_undecided())
            || has_circuits && self.with_circuits(|circuits| circuits.is_undecided()) == Some(true)
    }

    /// Assigns circuits and ports.
    pub(super) fn decide(&mut self, now_s: f64) {
        self.is_deciding = false;
        if let Some(queues) = &mut self.queues {
            let mut starting = take(&mut self.starting);
            queues.decide(&mut starting);
            starting.drain(..).for_each(|id| self.start(id, now_s));
            self.starting = starting;
            return;
        }
        let mut progress = take(&mut self.progress);
        self.with_circuits(|circuits| circuits.decide(now_s, &mut progress));
        self.report(progress);
        self.decide_later(now_s);
    }

    /// Without further events but changes of the network, lets a rank that waits for a circuit continue without it.
    pub(super) fn give_way(&mut self) -> bool {
        let now_s = self.agenda.now_s();
        if self.circuits.is_none() || self.agenda.first_s().is_finite() {
            return false;
        }
        let has_refused = self.with_circuits(|circuits| circuits.give_way(now_s)) == Some(true);
        if has_refused {
            self.decide(now_s);
        }
        has_refused
    }
}

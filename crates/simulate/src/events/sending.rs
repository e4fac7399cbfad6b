//! A message leaves its sender: at once, through ports, or through its sender's interface.

use hocket_core::Received;

use super::Events;
use super::agenda::{Action, LEAVING};
use super::messages::{Message, Stage};
use crate::clock::{Occupation, PlacedTime, Timing};
use crate::network::{Departure, Network, Passing, SEND};
use crate::ports::Asking;

impl<N: Network> Events<'_, N> {
    /// A message leaves its sender at `now_s` or as soon after as it can.
    #[inline(always)]
    pub(super) fn inject(&mut self, id: u32, now_s: f64) {
        let message = self.messages.get(id);
        let (from, parcel) = (message.from as usize, message.parcel);
        let is_followed = self.occupancy.is_some() && !N::NODE_HAS_STATE;
        if self.queues.is_some() && !parcel.is_on_node() || is_followed {
            return self.ask_as_processor_runs(id, now_s);
        }
        if let Some(free) = self.network.free_to_send(&mut self.nodes[from], parcel) {
            return self.inject_by_interface(id, now_s, free.time_s);
        }
        let departure = self.departure(id, now_s);
        if N::MESSAGES_MEET {
            return self.send_off(id, departure.start.time_s);
        }
        let arrival_s = self.leave_alone(id, &departure).time_s;
        let message = self.messages.get_mut(id);
        (message.stage, message.time_s) = (Stage::Here, arrival_s);
    }

    /// The sender's processor does its part of a message that is ready at `now_s`.
    #[inline(always)]
    fn departure(&mut self, id: u32, now_s: f64) -> Departure<PlacedTime> {
        let begin = self.begin_of_send(id, now_s);
        let Message { from, parcel, .. } = *self.messages.get(id);
        self.network.inject(&mut self.nodes[from as usize], begin, parcel)
    }

    /// When the processor of a sender begins its part of a message that is ready at `now_s`.
    #[inline(always)]
    fn begin_of_send(&mut self, id: u32, now_s: f64) -> PlacedTime {
        let Message { from, position, parcel, .. } = *self.messages.get(id);
        self.begin_work(from, position, now_s, |network| network.processing_s(SEND, parcel))
    }

    /// When the processor of `rank` begins its part of a message, which takes `length_s` and is ready at `now_s`.
    #[inline(always)]
    pub(super) fn begin_work(
        &mut self,
        rank: u32,
        position: u64,
        now_s: f64,
        length_s: impl FnOnce(&N) -> f64,
    ) -> PlacedTime {
        let now = PlacedTime::at(now_s);
        if !self.trial.interrupts() {
            return now;
        }
        let free = self.network.free_to_work(&mut self.nodes[rank as usize], now);
        self.trial.begin(Occupation::work(rank as usize, position, length_s(self.network)), free)
    }

    /// A message leaves that meets no others: an event tells its sender when it is done. Returns when it arrives.
    #[inline(always)]
    fn leave_alone(&mut self, id: u32, departure: &Departure<PlacedTime>) -> PlacedTime {
        let Message { from, to, position, sender_slot, .. } = *self.messages.get(id);
        self.messages.release(id);
        if let Some(slot) = sender_slot {
            self.at(departure.sender_done.time_s, Action::Complete { rank: from, slot });
        }
        let occupation = Occupation::transfer(from as usize, position, to as usize, departure.transfer_s);
        self.trial.pass(occupation, departure.start)
    }

    /// A message that could leave its sender at `now_s` asks for ports once the processor runs.
    fn ask_as_processor_runs(&mut self, id: u32, now_s: f64) {
        let begin_s = self.begin_of_send(id, now_s).time_s;
        if begin_s > now_s {
            self.at(begin_s, Action::Ask { message: id });
        } else {
            self.ask(id, now_s);
        }
    }

    /// A message asks for ports, and starts at once if it needs none.
    pub(super) fn ask(&mut self, id: u32, now_s: f64) {
        let Message { from, to, number, parcel, .. } = *self.messages.get(id);
        let [from_node, to_node] = [from, to].map(|rank| self.holder_of_ports(rank));
        if let Some(queues) = self.queues.as_mut().filter(|_| !parcel.is_on_node()) {
            queues.ask(Asking { from: from_node, to: to_node, order: (from, number), id });
            self.decide_later(now_s);
        } else {
            self.start(id, now_s);
        }
    }

    /// A message that has its ports starts.
    pub(super) fn start(&mut self, id: u32, now_s: f64) {
        let Message { from, to, position, parcel, sender_slot, .. } = *self.messages.get(id);
        let departure = self.network.inject(&mut self.nodes[from as usize], PlacedTime::at(now_s), parcel);
        let (sent_s, sender_done_s) = (now_s + departure.transfer_s, departure.sender_done.time_s);
        if sender_done_s != sent_s {
            self.messages.get_mut(id).sender_slot = None;
            if let Some(slot) = sender_slot {
                self.at(sender_done_s, Action::Complete { rank: from, slot });
            }
        }
        let occupation = Occupation::transfer(from as usize, position, to as usize, departure.transfer_s);
        let arrival_s = self.trial.pass(occupation, departure.start).time_s;
        if self.occupancy.is_some() {
            self.messages.get_mut(id).left_s = sent_s;
            return self.pass_later(id, &departure, arrival_s);
        }
        self.at(sent_s, Action::Sent { message: id });
        self.at(arrival_s, Action::Arrive { message: id });
    }

    /// A message has left its sender, and releases its sending port.
    pub(super) fn leave_port(&mut self, id: u32, now_s: f64) {
        let Message { from, len, parcel, sender_slot, .. } = *self.messages.get(id);
        self.messages.release(id);
        if let Some(slot) = sender_slot {
            self.complete(from, slot, Received { source: from, len });
        }
        let node = self.holder_of_ports(from);
        if let Some(queues) = self.queues.as_mut().filter(|_| !parcel.is_on_node()) {
            queues.sent(node);
            self.decide_later(now_s);
        }
    }

    /// A message will pass what ranks share, in its turn among the messages that start then.
    fn pass_later(&mut self, id: u32, departure: &Departure<PlacedTime>, arrival_s: f64) {
        let message = self.messages.get_mut(id);
        (message.arrival_s, message.latency_s) = (arrival_s, departure.latency_s);
        self.at(departure.start.time_s, Action::Pass { message: id });
    }

    /// A message starts to pass what ranks share.
    pub(super) fn pass(&mut self, id: u32) {
        let Message { from, to, parcel, left_s, arrival_s, latency_s, .. } = *self.messages.get(id);
        let now_s = self.agenda.now_s();
        let Some(occupancy) = &mut self.occupancy else { return };
        let [first_s, passed_s] = occupancy.leave(Passing::new([from, to], parcel), now_s);
        let delay_s = (passed_s + latency_s - arrival_s).max(0.0);
        self.messages.get_mut(id).first_s = first_s + latency_s;
        if !N::NODE_HAS_STATE {
            self.at(left_s + delay_s, Action::Sent { message: id });
        }
        let arrival = PlacedTime::at(arrival_s + delay_s);
        let head = self.network.head(PlacedTime::at(now_s), arrival, parcel);
        self.messages.get_mut(id).arrival_s = arrival.time_s;
        self.at(head.time_s, Action::TakeIn { message: id });
    }

    /// A message leaves its sender at `now_s`, or waits for the interface, which is free at `free_s`.
    fn inject_by_interface(&mut self, id: u32, now_s: f64, free_s: f64) {
        let from = self.messages.get(id).from;
        let waiting = &mut self.interfaces[from as usize];
        if free_s <= now_s && waiting.is_empty() {
            return self.depart(id, now_s);
        }
        waiting.push_back(id);
        if waiting.len() == 1 {
            self.at(free_s, Action::Free { rank: from });
        }
    }

    /// The first message that waits for the interface of `rank` leaves.
    pub(super) fn depart_next(&mut self, rank: u32) {
        let Some(id) = self.interfaces[rank as usize].pop_front() else { return };
        self.depart(id, self.agenda.now_s());
        if let Some(next) = self.interfaces[rank as usize].front() {
            let free = self.network.free_to_send(&mut self.nodes[rank as usize], self.messages.get(*next).parcel);
            self.at(free.map_or(self.agenda.now_s(), |free| free.time_s), Action::Free { rank });
        }
    }

    /// A message that has its sender's interface leaves as soon as the processor can send it.
    #[inline(always)]
    fn depart(&mut self, id: u32, now_s: f64) {
        let departure = self.departure(id, now_s);
        let parcel = self.messages.get(id).parcel;
        if N::MESSAGES_MEET && parcel.within.is_none() {
            return self.send_off(id, departure.start.time_s);
        }
        let arrival = self.leave_alone(id, &departure);
        if self.occupancy.is_some() {
            return self.pass_later(id, &departure, arrival.time_s);
        }
        let head = self.network.head(departure.start, arrival, parcel);
        self.messages.get_mut(id).arrival_s = arrival.time_s;
        self.at(head.time_s, Action::TakeIn { message: id });
    }

    /// A message enters a network with contention when its sender's processor is done, at `left_s`.
    #[inline(always)]
    fn send_off(&mut self, id: u32, left_s: f64) {
        let message = self.messages.get_mut(id);
        let from = message.from;
        message.left_s = left_s;
        if message.is_posted
            && let Some(slot) = message.sender_slot.take()
        {
            self.at(left_s, Action::Complete { rank: from, slot });
        }
        // Messages that leave now precede all other events.
        let is_next = self.leaves_at_once && self.running.is_some() && left_s == self.agenda.now_s();
        if self.leaves_early || is_next && self.agenda.first_kind() != Some(LEAVING) {
            self.leave(id);
        } else {
            self.at(left_s, Action::Leave { message: id });
        }
    }

    /// The node that holds the ports of a rank, by its number among those of the job.
    #[inline(always)]
    pub(super) fn holder_of_ports(&self, rank: u32) -> u32 {
        self.shared_ports.map_or(rank, |placement| placement.place_of(rank as usize, self.nodes.len()) as u32)
    }
}

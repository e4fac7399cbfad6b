//! A message meets its receive, arrives and is delivered.

use std::collections::HashSet;

use hocket_core::{Received, Source, Tag};

use super::Events;
use super::agenda::{ARRIVING, Action};
use super::messages::{Message, Stage};
use crate::clock::PlacedTime;
use crate::network::{Network, Parcel, Passing, RECEIVE};

impl<N: Network> Events<'_, N> {
    /// Binds a message to its receive, at the time `now_s` of the later of the two.
    #[inline(always)]
    pub(super) fn bind(&mut self, now_s: f64, slot: u32, id: u32) {
        self.messages.get_mut(id).receiver_slot = Some(slot);
        let Message { from, to, stage, time_s, .. } = *self.messages.get(id);
        let met_s = now_s.max(time_s);
        match stage {
            Stage::Here => {
                let [_, rank] = self.image([from, to]);
                self.at(met_s, Action::Deliver { rank, message: id });
            }
            Stage::UnderWay => (),
            Stage::Requested => {
                let granted_s = self.granted_s(id, met_s);
                self.at(granted_s, Action::Inject { message: id });
            }
        }
    }

    /// When the sender of a rendezvous learns that its request met its receive at `met_s`.
    #[inline(always)]
    fn granted_s(&mut self, id: u32, met_s: f64) -> f64 {
        let Message { from, to, parcel, .. } = *self.messages.get(id);
        self.network.grant(met_s, parcel) + self.way_s([to, from], parcel)
    }

    /// The latency of a message's route, in seconds, if requests and answers lack it.
    #[inline(always)]
    pub(super) fn way_s(&mut self, ranks: [u32; 2], parcel: Parcel) -> f64 {
        if !self.has_interfaces {
            return 0.0;
        }
        let Self { network, nodes, ways_s, .. } = self;
        *ways_s.get(ranks, |way_s| *way_s = network.way_s(ranks.map(|rank| rank as usize), nodes.len(), parcel))
    }

    /// A rendezvous leaves its sender, and its receive waits for it.
    pub(super) fn inject_granted(&mut self, id: u32, now_s: f64) {
        self.messages.get_mut(id).stage = Stage::UnderWay;
        self.messages.get_mut(id).time_s = f64::INFINITY;
        self.inject(id, now_s);
        if let Some(slot) = self.messages.get(id).receiver_slot {
            self.bind(now_s, slot, id);
        }
    }

    /// The receiver's interface takes a message in.
    #[inline(always)]
    pub(super) fn take_in(&mut self, id: u32) {
        let Message { from, to, parcel, first_s, arrival_s, .. } = *self.messages.get(id);
        let arrival_s = match &mut self.occupancy {
            Some(occupancy) => arrival_s.max(occupancy.reach(Passing::new([from, to], parcel), first_s)),
            None => arrival_s,
        };
        if arrival_s > self.agenda.now_s() && !N::NODE_HAS_STATE {
            return self.at(arrival_s, Action::Arrive { message: id });
        }
        let intake = self.network.take_in(&mut self.nodes[to as usize], PlacedTime::at(arrival_s), parcel);
        self.arrive(id, intake.time_s);
    }

    /// A message arrives at `now_s`: it is delivered if its receive is posted, else it waits.
    #[inline(always)]
    pub(super) fn arrive(&mut self, id: u32, now_s: f64) {
        let message = self.messages.get_mut(id);
        (message.stage, message.time_s) = (Stage::Here, now_s);
        let Message { from, to, parcel, receiver_slot, .. } = *message;
        let [_, to] = self.image([from, to]);
        if self.queues.is_some() {
            self.leave_receiving_port(to, parcel, now_s);
        }
        if receiver_slot.is_none() {
            if self.has_taken_from_any && self.mailboxes.is_waiting(to as usize) {
                self.at(now_s, Action::Probe { rank: to });
            }
            return;
        }
        // Nothing between the arrival and the delivery can be about the receiver's processor.
        if now_s == self.agenda.now_s() && !self.is_crowded && self.agenda.has_none(ARRIVING) {
            self.deliver(id);
        } else {
            self.at(now_s, Action::Deliver { rank: to, message: id });
        }
    }

    /// A message that has arrived releases its receiving port.
    fn leave_receiving_port(&mut self, to: u32, parcel: Parcel, now_s: f64) {
        let node = self.holder_of_ports(to);
        if let Some(queues) = self.queues.as_mut().filter(|_| !parcel.is_on_node()) {
            queues.received(node);
            self.decide_later(now_s);
        }
    }

    /// A message has arrived, and its receive is posted.
    #[inline(always)]
    pub(super) fn deliver(&mut self, id: u32) {
        let now_s = self.agenda.now_s();
        let Message { from, to, parcel, receiver_slot, .. } = *self.messages.get(id);
        let Some(slot) = receiver_slot else { return };
        let [_, rank] = self.image([from, to]);
        let position = self.receive_positions.get(slot as usize).copied().unwrap_or_default();
        let begin = self.begin_work(rank, position, now_s, |network| network.processing_s(RECEIVE, parcel));
        let end_s = self.network.accept(&mut self.nodes[rank as usize], begin, parcel).time_s;
        if end_s == now_s {
            self.receive(id);
        } else {
            self.at(end_s, Action::Receive { message: id });
        }
    }

    /// The receive of a message is done.
    #[inline(always)]
    pub(super) fn receive(&mut self, id: u32) {
        let Message { from, to, len, receiver_slot, .. } = *self.messages.get(id);
        self.messages.release(id);
        let Some(slot) = receiver_slot else { return };
        let [source, rank] = self.image([from, to]);
        self.complete(rank, slot, Received { source, len });
    }

    /// An operation of `rank` is done now.
    #[inline(always)]
    pub(super) fn complete(&mut self, rank: u32, slot: u32, received: Received) {
        let waiting = self.outcomes.fill(slot, (PlacedTime::at(self.agenda.now_s()), received));
        if let Some(path) = waiting {
            self.woken[rank as usize].add(path);
            let place = self.agenda.shuffle().map_or(rank as usize, |shuffle| shuffle.place_of(rank as usize));
            self.ready.push(place);
            self.is_completing = true;
        }
    }

    /// Whether a receive from any source waits at `rank`.
    pub(super) fn takes_from_any(&self, rank: usize) -> bool {
        self.mailboxes.waiting_receives(rank).iter().any(|(source, _)| *source == Source::Any)
    }

    /// The arrival time and the sender of the earliest message that a receive from `source` with `tag` may take; of
    /// several, that of the lowest rank. Of each sender only the message sent first is considered, even if another one
    /// arrives before it.
    pub(super) fn earliest(&self, rank: usize, source: Source, tag: Tag) -> Option<(f64, u32)> {
        let mut senders = HashSet::new();
        let waiting = self.mailboxes.unexpected(rank).filter(|(from, sent, _)| *sent == tag && source.accepts(*from));
        let firsts = waiting.filter(|(from, ..)| senders.insert(*from));
        let arrivals = firsts.map(|(from, _, id)| (self.messages.get(*id).time_s, from));
        arrivals.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
    }

    /// Gives arrived messages to the receives of `rank`, the earliest posted receive first: to each the earliest
    /// arrival that does not overtake another message of its sender. Tries again at the next arrival.
    pub(super) fn match_arrived(&mut self, rank: usize, now_s: f64) {
        let mut has_matched = false;
        loop {
            let (message_key, next_s) = self.receivable_message(rank, now_s);
            let Some((from, tag)) = message_key else {
                // A receive whose message another receive has taken needs another probe.
                if has_matched && next_s.is_finite() {
                    self.at(next_s, Action::Probe { rank: rank as u32 });
                }
                return;
            };
            let message = self.mailboxes.take_message(rank, Source::Rank(from), tag);
            let slot = self.mailboxes.take_receive(rank, from, tag);
            if let (Some((_, id)), Some(slot)) = (message, slot) {
                self.bind(now_s, slot, id);
                has_matched = true;
            }
        }
    }

    /// The sender and tag of a message that `rank` may receive now, and the earliest arrival time checked.
    fn receivable_message(&self, rank: usize, now_s: f64) -> (Option<(u32, Tag)>, f64) {
        let mut next_s = f64::INFINITY;
        let message_key = self.mailboxes.waiting_receives(rank).into_iter().find_map(|(source, tag)| {
            let (arrival_s, from) = self.earliest(rank, source, tag)?;
            next_s = next_s.min(arrival_s);
            (arrival_s <= now_s).then_some((from, tag))
        });
        (message_key, next_s)
    }
}

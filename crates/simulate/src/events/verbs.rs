//! What a program's verbs do in the events engine.

use std::mem::replace;

use hocket_core::{Error, Features, Mode, Moment, Path, Received, Source, Tag, Woken};

use super::Events;
use super::agenda::Action;
use super::messages::{Message, Stage};
use crate::clock::{Clock, Occupation, PlacedTime, Timing};
use crate::in_time::{Arrival, Clockwork, Connection, Sending, StepStatus};
use crate::network::{Ask, Network, Parcel};

impl<N: Network> Clockwork for Events<'_, N> {
    type Clock = PlacedTime;

    fn features(&self) -> Features {
        Features { path: Path::ROOT, circuits: self.circuits, ..Features::PLAIN }
    }

    #[inline(always)]
    fn runs(&self, rank: usize) -> bool {
        self.symmetry.is_none_or(|symmetry| symmetry.is_representative(rank))
    }

    fn next(&mut self, until_s: f64) -> Option<usize> {
        if let Some(rank) = self.running.take() {
            self.woken[rank] = Woken::NONE;
            self.woken_again = Woken::NONE;
        }
        while self.goes_on() {
            if self.agenda.now_s() > until_s {
                self.end_late(false);
                return None;
            }
            self.running = self.next_to_begin().or_else(|| self.next_ready());
            if self.running.is_some() {
                return self.running;
            }
            if self.give_way() {
                continue;
            }
            if !self.happen_next() {
                return None;
            }
        }
        None
    }

    fn conclude(&mut self, waiting: Option<usize>) {
        if self.failure.is_none() {
            let stuck = self.traffic.as_ref().and_then(|traffic| traffic.stuck()).map(Error::new);
            self.failure = stuck.or_else(|| waiting.map(|rank| self.deadlock(rank)));
        }
    }

    fn end_late(&mut self, _: bool) {
        self.failure.get_or_insert_with(Error::lateness);
    }

    fn time(&self, moment: Moment) -> PlacedTime {
        self.trial.time(moment)
    }

    fn after(&self, start: Moment, end: PlacedTime) -> Moment {
        self.trial.after(start, end)
    }

    fn send(&mut self, rank: usize, now: PlacedTime, sending: &Sending) -> StepStatus<PlacedTime> {
        let Sending { to, tag, mode, gap_packets, len } = *sending;
        let slot = self.outcomes.open();
        let (from, number) = (rank as u32, self.messages_issued);
        self.messages_issued += 1;
        let is_new = self.peers.meet(from, to);
        let parcel = Parcel { is_new, ..self.parcel([from, to], len, mode == Mode::Switched) };
        let (position, is_posted) = (now.position(), mode == Mode::Posted);
        let message = Message::new([from, to], len, parcel, slot);
        let id = self.messages.add(Message { position, number, gap_packets, is_posted, ..message });
        if mode != Mode::Synchronous && self.network.is_eager(parcel) {
            self.inject(id, now.time_s);
        } else {
            self.request(id, now.time_s);
        }
        self.match_sent(id, tag, now.time_s);
        StepStatus::Waits(slot)
    }

    fn recv(&mut self, rank: usize, now: PlacedTime, from: Source, tag: Tag) -> StepStatus<PlacedTime> {
        let (position, now_s) = (now.position(), now.time_s);
        let slot = self.outcomes.open();
        if self.trial.interrupts() {
            let slots = self.receive_positions.len().max(slot as usize + 1);
            self.receive_positions.resize(slots, 0);
            self.receive_positions[slot as usize] = position;
        }
        if from == Source::Any || (self.has_taken_from_any && self.takes_from_any(rank)) {
            self.has_taken_from_any = true;
            self.mailboxes.wait(rank, from, tag, slot);
            let next = self.earliest(rank, from, tag).filter(|(arrival_s, _)| arrival_s.is_finite());
            if let Some((arrival_s, _)) = next {
                self.at(arrival_s.max(now_s), Action::Probe { rank: rank as u32 });
            }
            return StepStatus::Waits(slot);
        }
        match self.mailboxes.take_message(rank, from, tag) {
            Some((_, id)) => self.bind(now_s, slot, id),
            None => self.mailboxes.wait(rank, from, tag, slot),
        }
        StepStatus::Waits(slot)
    }

    fn wait_until(&mut self, rank: usize, now: PlacedTime, until_s: f64) -> StepStatus<PlacedTime> {
        if until_s <= now.time_s {
            return StepStatus::Done((now, Received { source: rank as u32, len: 0 }));
        }
        let (slot, rank) = (self.outcomes.open(), rank as u32);
        self.at(until_s, Action::Complete { rank, slot });
        StepStatus::Waits(slot)
    }

    fn work(&mut self, rank: usize, now: PlacedTime, duration_s: f64) -> StepStatus<PlacedTime> {
        let slot = self.outcomes.open();
        let occupation = Occupation::work(rank, now.position(), duration_s);
        let trial = self.trial;
        let end = self.network.work(&mut self.nodes[rank], now, |start| trial.pass(occupation, start));
        let rank = rank as u32;
        self.at(end.time_s, Action::Complete { rank, slot });
        StepStatus::Waits(slot)
    }

    fn switch(&mut self, rank: usize, now: PlacedTime, connection: Connection) -> StepStatus<PlacedTime> {
        let Connection { peer, connects } = connection;
        let (slot, ranks) = (self.outcomes.open(), [rank as u32, peer]);
        let id = self.messages.add(Message::new(ranks, 0, self.parcel(ranks, 0, false), slot));
        let ask = Ask { id, ranks, nodes: self.nodes_of(ranks) };
        self.with_circuits(|circuits| match connects {
            true => circuits.connect(now.time_s, ask),
            false => circuits.disconnect(now.time_s, ask),
        });
        self.decide_later(now.time_s);
        StepStatus::Waits(slot)
    }

    fn take(&mut self, slot: u32) -> Option<Arrival<PlacedTime>> {
        self.outcomes.take(slot)
    }

    fn wait(&mut self, slot: u32, path: Path) {
        self.outcomes.wait(slot, path);
    }

    fn wake(&mut self, rank: usize, path: Path, comes_later: bool) {
        let woken = if comes_later { &mut self.woken[rank] } else { &mut self.woken_again };
        woken.add(path);
    }

    fn poll_again(&mut self, rank: usize) {
        self.woken[rank] = replace(&mut self.woken_again, Woken::NONE);
    }

    #[inline]
    fn woken(&self, rank: usize) -> Option<&Woken> {
        Some(&self.woken[rank])
    }

    fn forget_peers(&mut self, rank: usize) {
        self.peers.forget(rank as u32);
    }

    fn withdraw(&mut self, rank: usize, slot: u32) {
        self.outcomes.abandon(slot);
        self.mailboxes.withdraw(rank, |posted| *posted == slot);
    }
}

impl<N: Network> Events<'_, N> {
    /// A rendezvous asks for its receive.
    fn request(&mut self, id: u32, now_s: f64) {
        let Message { from, to, is_posted, parcel, sender_slot, .. } = *self.messages.get(id);
        if let Some(slot) = sender_slot.filter(|_| is_posted) {
            self.messages.get_mut(id).sender_slot = Some(self.post(from, slot, now_s));
        }
        let time_s = self.network.request(now_s, parcel) + self.way_s([from, to], parcel);
        let message = self.messages.get_mut(id);
        (message.stage, message.time_s) = (Stage::Requested, time_s);
        // The request is the first message to the peer.
        message.parcel.is_new = false;
    }

    /// The sender of a rendezvous continues without it. Returns a slot whose outcome is discarded.
    fn post(&mut self, rank: u32, slot: u32, now_s: f64) -> u32 {
        self.at(now_s, Action::Complete { rank, slot });
        let nobodys = self.outcomes.open();
        self.outcomes.abandon(nobodys);
        nobodys
    }

    /// A message that was sent at `now_s` meets its receive, or waits for it.
    #[inline(always)]
    fn match_sent(&mut self, id: u32, tag: Tag, now_s: f64) {
        let Message { from, to, time_s, .. } = *self.messages.get(id);
        let [from, rank] = self.image([from, to]);
        let to = rank as usize;
        let may_wait = self.has_taken_from_any && (self.takes_from_any(to) || self.mailboxes.is_between(to, from, tag));
        if may_wait && time_s.is_finite() {
            self.at(time_s, Action::Probe { rank });
        }
        let receive = if may_wait { None } else { self.mailboxes.take_receive(to, from, tag) };
        match receive {
            Some(slot) => self.bind(now_s, slot, id),
            None => self.mailboxes.hold(to, from, tag, id),
        }
    }
}

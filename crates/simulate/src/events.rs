//! The events engine: all ranks in the order of time, driven by a queue of events.
//!
//! Events are ordered by (time, kind, sequence number), so a run is reproducible; a rank is resumed once for all its
//! operations that are done at one time. A message is bound to its receive in the
//! order in which it was sent when the receive names its source, and in the order of arrival when it takes any.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{Call, Error, Program, Ranks, ReadyRanks, Received, Result, Source, Tag};

use crate::clock::{Clock, Passage, Placed, Timing, Trial};
use crate::network::{Departure, Network};
use crate::rank::{Arrival, Clockwork, Progress, Run, Shared, SimulatedRank};
use crate::{Node, Options, interrupted};

/// Events between two looks at whether the user wants to stop.
const EVENTS_PER_LOOK: u64 = 1 << 18;

pub fn run<N: Network>(
    program: &impl Program,
    call: &Call,
    network: &N,
    trial: &Trial<'_>,
    node: Node,
    options: Options<'_>,
) -> Result<Run<Placed>> {
    let shared = Shared::new(call, node, network.post_s(), &options);
    let events = Events {
        network,
        trial,
        nodes: (0..call.ranks).map(|_| RefCell::new(network.idle(trial.start()))).collect(),
        element_bytes: call.element_bytes,
        mailboxes: RefCell::new(Mailboxes::new(call.ranks)),
        outcomes: RefCell::default(),
        queue: RefCell::default(),
        sequence: Cell::new(0),
        ready: ReadyRanks::none(call.ranks),
    };
    let ranks = SimulatedRank::all(&shared, &events, trial.start());
    let mut programs = Ranks::new(ranks.iter().map(|r| program.run(r, call)));
    for rank in 0..call.ranks {
        programs.resume(rank);
    }
    while let Some(event) = events.next() {
        events.happen(&event);
        if !events.has_another_like(&event) {
            while let Some(rank) = events.ready.pop() {
                programs.resume(rank);
            }
        }
        if event.sequence % EVENTS_PER_LOOK == 0 && (options.is_interrupted)() {
            return Err(interrupted());
        }
    }
    match (0..call.ranks).find(|rank| !programs.has_ended(*rank)) {
        Some(rank) => Err(events.deadlock(rank)),
        None => Ok(shared.run(&ranks)),
    }
}

/// Something that happens at a time.
struct Event {
    time_s: f64,
    sequence: u64,
    action: Action,
}

enum Action {
    /// An operation of `rank` is done.
    Complete { rank: usize, slot: u32, received: Received },
    /// A granted rendezvous leaves its sender.
    Inject { from: usize, position: u64, sender_slot: u32, to: usize, receiver_slot: u32, len: usize },
    /// A message that met its receive is there.
    Deliver { rank: usize, slot: u32, received: Received },
    /// A message is there that receives from any source may take.
    Probe { rank: usize },
}

impl Action {
    /// Of events at one time, those that let a rank go on come before messages.
    fn kind(&self) -> u8 {
        match self {
            Self::Complete { .. } | Self::Inject { .. } => 0,
            Self::Deliver { .. } | Self::Probe { .. } => 1,
        }
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let kinds = self.action.kind().cmp(&other.action.kind());
        self.time_s.total_cmp(&other.time_s).then(kinds).then(self.sequence.cmp(&other.sequence))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

/// A message that no receive is bound to yet.
struct Message {
    len: usize,
    /// When it arrives; for a rendezvous, when its request does.
    time_s: f64,
    /// Where in the sender's program it was sent.
    position: u64,
    rendezvous: Option<u32>,
}

fn takes_from_any(mailboxes: &Mailboxes<Message, u32>, rank: usize) -> bool {
    mailboxes.posted(rank).any(|(source, ..)| *source == Source::Any)
}

/// Whether a receive waits at `rank` for an earlier message of this sender and tag, which is on its way.
fn is_preceded(mailboxes: &Mailboxes<Message, u32>, rank: usize, from: u32, tag: Tag) -> bool {
    mailboxes.posted(rank).any(|(source, wanted, _)| *wanted == tag && source.accepts(from))
        && mailboxes.unexpected(rank).any(|(sender, sent, _)| *sender == from && *sent == tag)
}

/// When the earliest message arrives that a receive from `source` with `tag` may take, and its sender: of messages of one
/// sender it is the one sent first, though another may arrive before.
fn earliest(mailboxes: &Mailboxes<Message, u32>, rank: usize, source: Source, tag: Tag) -> Option<(f64, u32)> {
    let mut senders = HashSet::new();
    let held = mailboxes.unexpected(rank).filter(|(from, sent, _)| *sent == tag && source.accepts(*from));
    let firsts = held.filter(|(from, ..)| senders.insert(*from));
    firsts.map(|(from, _, message)| (message.time_s, *from)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Sources and tags of receives, each once: where one finds no message the next of its kind does not, either.
fn distinct<'a>(posted: impl Iterator<Item = &'a (Source, Tag, u32)>) -> impl Iterator<Item = (Source, Tag)> {
    let mut seen = Vec::new();
    posted.map(|(source, tag, _)| (*source, *tag)).filter(move |kind| {
        let is_new = !seen.contains(kind);
        seen.extend(is_new.then_some(*kind));
        is_new
    })
}

struct Events<'a, N: Network> {
    network: &'a N,
    trial: &'a Trial<'a>,
    nodes: Vec<RefCell<N::Node<Placed>>>,
    element_bytes: usize,
    mailboxes: RefCell<Mailboxes<Message, u32>>,
    outcomes: RefCell<Slots<Arrival<Placed>>>,
    queue: RefCell<BinaryHeap<Reverse<Event>>>,
    sequence: Cell<u64>,
    ready: ReadyRanks,
}

impl<N: Network> Events<'_, N> {
    fn bytes(&self, len: usize) -> f64 {
        (len * self.element_bytes) as f64
    }

    fn at(&self, time_s: f64, action: Action) {
        let sequence = self.sequence.get();
        self.sequence.set(sequence + 1);
        self.queue.borrow_mut().push(Reverse(Event { time_s, sequence, action }));
    }

    fn next(&self) -> Option<Event> {
        self.queue.borrow_mut().pop().map(|Reverse(event)| event)
    }

    /// Whether the next event is of the same time and kind.
    fn has_another_like(&self, event: &Event) -> bool {
        let queue = self.queue.borrow();
        let next = queue.peek().map(|Reverse(next)| (next.time_s, next.action.kind()));
        next == Some((event.time_s, event.action.kind()))
    }

    /// Lets an event happen.
    fn happen(&self, event: &Event) {
        match event.action {
            Action::Complete { rank, slot, received } => {
                self.outcomes.borrow_mut().fill(slot, (Placed::at(event.time_s), received));
                self.ready.push(rank);
            }
            Action::Inject { from, position, sender_slot, to, receiver_slot, len } => {
                let received = Received { source: from, len };
                let departure = self.inject(from, event.time_s, len);
                self.at(departure.sender_done.time_s, Action::Complete { rank: from, slot: sender_slot, received });
                let deliver = Action::Deliver { rank: to, slot: receiver_slot, received };
                self.at(self.arrival_s(&departure, from, position, to), deliver);
            }
            Action::Deliver { rank, slot, received } => {
                let node = &mut self.nodes[rank].borrow_mut();
                let end = self.network.accept(node, Placed::at(event.time_s), self.bytes(received.len));
                self.at(end.time_s, Action::Complete { rank, slot, received });
            }
            Action::Probe { rank } => self.match_arrived(rank, event.time_s),
        }
    }

    /// A message leaves `rank` at `now_s` or as soon after as it can.
    fn inject(&self, rank: usize, now_s: f64, len: usize) -> Departure<Placed> {
        self.network.inject(&mut self.nodes[rank].borrow_mut(), Placed::at(now_s), self.bytes(len))
    }

    /// When a message that left `sender` is at its receiver.
    fn arrival_s(&self, departure: &Departure<Placed>, sender: usize, position: u64, receiver: usize) -> f64 {
        let passage = Passage::transfer(sender, position, receiver, departure.transfer_s);
        self.trial.pass(passage, departure.start).time_s
    }

    /// Binds a message to its receive at `now`, when the later of the two became known.
    fn bind(&self, now: f64, from: usize, to: usize, receiver_slot: u32, message: &Message) {
        let Message { len, time_s, position, rendezvous } = *message;
        let met_s = now.max(time_s);
        match rendezvous {
            None => {
                let received = Received { source: from, len };
                self.at(met_s, Action::Deliver { rank: to, slot: receiver_slot, received });
            }
            Some(sender_slot) => {
                let inject = Action::Inject { from, position, sender_slot, to, receiver_slot, len };
                self.at(self.network.grant(met_s), inject);
            }
        }
    }

    /// Gives messages that have arrived to the receives of `rank`, the earliest posted receive first, and to each the
    /// earliest arrival that does not overtake another message of its sender. Looks again when the next one arrives.
    fn match_arrived(&self, rank: usize, now: f64) {
        let mailboxes = &mut *self.mailboxes.borrow_mut();
        let mut has_matched = false;
        loop {
            let mut next_s = f64::INFINITY;
            let found = distinct(mailboxes.posted(rank)).find_map(|(source, tag)| {
                let (arrival_s, from) = earliest(mailboxes, rank, source, tag)?;
                next_s = next_s.min(arrival_s);
                (arrival_s <= now).then_some((from, tag))
            });
            let Some((from, tag)) = found else {
                // A receive that was to take what another has taken would else never be looked at again.
                if has_matched && next_s.is_finite() {
                    self.at(next_s, Action::Probe { rank });
                }
                return;
            };
            let message = mailboxes.take_message(rank, Source::Rank(from), tag);
            let slot = mailboxes.take_receive(rank, from, tag);
            if let (Some((_, message)), Some(slot)) = (message, slot) {
                self.bind(now, from as usize, rank, slot, &message);
                has_matched = true;
            }
        }
    }

    fn deadlock(&self, rank: usize) -> Error {
        let what = match self.mailboxes.borrow().posted(rank).next() {
            Some((Source::Rank(from), tag, _)) => format!("a message from rank {from} (tag {tag})"),
            Some((Source::Any, tag, _)) => format!("a message from any rank (tag {tag})"),
            None => "its send to be received".to_owned(),
        };
        Error::new(format!("deadlock: rank {rank} waits for ever for {what}"))
    }
}

impl<N: Network> Clockwork for Events<'_, N> {
    type Clock = Placed;
    const IN_ORDER_OF_TIME: bool = true;

    fn send(&self, rank: usize, now: Placed, to: usize, tag: Tag, len: usize) -> Progress<Placed> {
        let slot = self.outcomes.borrow_mut().open();
        let position = now.position();
        let now = now.time_s;
        let (time_s, rendezvous) = if self.network.is_eager(self.bytes(len)) {
            let departure = self.inject(rank, now, len);
            let received = Received { source: rank, len };
            self.at(departure.sender_done.time_s, Action::Complete { rank, slot, received });
            (self.arrival_s(&departure, rank, position, to), None)
        } else {
            (self.network.request(now), Some(slot))
        };
        let message = Message { len, time_s, position, rendezvous };
        let mailboxes = &mut *self.mailboxes.borrow_mut();
        if takes_from_any(mailboxes, to) || is_preceded(mailboxes, to, rank as u32, tag) {
            mailboxes.hold(to, rank as u32, tag, message);
            self.at(time_s, Action::Probe { rank: to });
            return Progress::Waits(slot);
        }
        match mailboxes.take_receive(to, rank as u32, tag) {
            Some(receiver_slot) => self.bind(now, rank, to, receiver_slot, &message),
            None => mailboxes.hold(to, rank as u32, tag, message),
        }
        Progress::Waits(slot)
    }

    fn recv(&self, rank: usize, now: Placed, from: Source, tag: Tag) -> Progress<Placed> {
        let now = now.time_s;
        let slot = self.outcomes.borrow_mut().open();
        let mailboxes = &mut *self.mailboxes.borrow_mut();
        if from == Source::Any || takes_from_any(mailboxes, rank) {
            mailboxes.wait(rank, from, tag, slot);
            if let Some((arrival_s, _)) = earliest(mailboxes, rank, from, tag) {
                self.at(arrival_s.max(now), Action::Probe { rank });
            }
            return Progress::Waits(slot);
        }
        match mailboxes.take_message(rank, from, tag) {
            Some((source, message)) => self.bind(now, source as usize, rank, slot, &message),
            None => mailboxes.wait(rank, from, tag, slot),
        }
        Progress::Waits(slot)
    }

    fn work(&self, rank: usize, now: Placed, duration_s: f64) -> Progress<Placed> {
        let slot = self.outcomes.borrow_mut().open();
        let passage = Passage::work(rank, now.position(), duration_s);
        let node = &mut self.nodes[rank].borrow_mut();
        let end = self.network.work(node, now, |start| self.trial.pass(passage, start));
        self.at(end.time_s, Action::Complete { rank, slot, received: Received { source: rank, len: 0 } });
        Progress::Waits(slot)
    }

    fn take(&self, slot: u32) -> Option<Arrival<Placed>> {
        self.outcomes.borrow_mut().take(slot)
    }

    fn withdraw_ended(&self) {}

    fn withdraw(&self, rank: usize, slot: u32) {
        self.outcomes.borrow_mut().abandon(slot);
        self.mailboxes.borrow_mut().withdraw(rank, |posted| *posted == slot);
    }
}

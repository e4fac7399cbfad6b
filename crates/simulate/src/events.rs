//! The events engine: all ranks in the order of time, driven by a queue of events.
//!
//! Events are ordered by (time, kind, sequence number), so a run is reproducible; a rank is resumed once for all its
//! operations that are done at one time. A message is bound to its receive in the
//! order in which it was sent when the receive names its source, and in the order of arrival when it takes any.
//! Where messages meet in the network, it keeps a time of its own: what happens there at a time comes after the messages
//! that leave then, and before all else; who gets which circuit, or port, is decided when all else at that time has happened.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{Call, Error, Path, Program, Ranks, ReadyRanks, Received, Result, Source, Tag, Woken, check_ranks};

use crate::clock::{Clock, Passage, Placed, Timing, Trial};
use crate::network::{Ask, CircuitCounts, Flight, LinkUse, Milestone, Network, Switching, Traffic};
use crate::ports::{Asking, Queues};
use crate::rank::{Arrival, Clockwork, Progress, Run, Send, Shared, SimulatedRank, Switch};
use crate::timetable::{self, Timetable};
use crate::{Node, Options, interrupted};

/// Events, or ranks and messages that begin, between two looks at whether the user wants to stop.
const EVENTS_PER_LOOK: u64 = 1 << 18;

/// What ranks see of the engine: whatever the network is, programs are compiled for it once.
type Engine<'a> = dyn Clockwork<Clock = Placed> + 'a;

pub fn run<N: Network>(
    program: &impl Program,
    call: &Call,
    network: &N,
    trial: &Trial<'_>,
    node: Node,
    options: Options<'_>,
) -> Result<Run<Placed>> {
    if let Some(shared) = network.shared() {
        shared.fabric().check(call.ranks)?;
    }
    let kept_bytes = size_of::<RefCell<N::Node<Placed>>>() + size_of::<SimulatedRank<'_, Engine<'_>>>();
    check_ranks::<&SimulatedRank<'_, Engine<'_>>, _>(call.ranks, kept_bytes, |r| program.run(r, call))?;
    let shared = Shared::new(call, node, network.post_s(), &options);
    let events = Events {
        network,
        traffic: network.shared().map(|shared| RefCell::new(shared.traffic())),
        flights: RefCell::default(),
        trial,
        nodes: (0..call.ranks).map(|_| RefCell::new(network.idle(trial.start()))).collect(),
        element_bytes: call.element_bytes,
        mailboxes: RefCell::new(Mailboxes::new(call.ranks)),
        outcomes: RefCell::default(),
        woken: vec![Cell::new(Woken::NONE); call.ranks],
        queue: RefCell::new(Timetable::new()),
        sequence: Cell::new(0),
        has_taken_from_any: Cell::new(false),
        ready: ReadyRanks::none(call.ranks),
        progress: Cell::default(),
        ports: Cell::default(),
        queues: network.ports().map(|ports| RefCell::new(Queues::new(call.ranks, ports))),
        issued: Cell::new(0),
        starting: Cell::default(),
        is_deciding: Cell::default(),
    };
    events.look_for_circuits();
    let engine: &Engine<'_> = &events;
    let ranks = SimulatedRank::all(&shared, engine, trial.start());
    let mut programs = Ranks::new(ranks.iter().map(|r| program.run(r, call)));
    let mut latest_look = 0;
    for rank in 0..call.ranks {
        programs.resume(rank);
        let begun = rank as u64 + shared.messages.get();
        if begun - latest_look >= EVENTS_PER_LOOK {
            latest_look = begun;
            if (options.is_interrupted)() {
                return Err(interrupted());
            }
        }
    }
    let (mut steps, mut now_s) = (0_u64, 0.0);
    while let Some(event) = events.next().or_else(|| events.give_way(now_s)) {
        now_s = event.time_s;
        events.happen(&event);
        if !events.has_another_like(&event) {
            while let Some(rank) = events.ready.pop() {
                programs.resume(rank);
                events.woken[rank].set(Woken::NONE);
            }
        }
        steps += 1;
        if steps.is_multiple_of(EVENTS_PER_LOOK) && (options.is_interrupted)() {
            return Err(interrupted());
        }
    }
    match (0..call.ranks).find(|rank| !programs.has_ended(*rank)) {
        Some(rank) => Err(events.deadlock(rank)),
        None => Ok(Run { links: events.links(), circuits: events.circuit_counts(), ..shared.run(&ranks) }),
    }
}

/// Something that happens at a time.
type Event = timetable::Event<Action>;

/// Bits of an event's key below its kind: its sequence number.
const SEQUENCE_BITS: u32 = 61;

enum Action {
    /// A message leaves its node, and meets others on its way.
    Leave { flight: u32 },
    /// Something happens in the network.
    Advance,
    /// Such a message is there.
    Arrive { flight: u32 },
    /// An operation of `rank` is done.
    Complete { rank: u32, slot: u32, from: u32, len: usize },
    /// A granted rendezvous leaves its sender.
    Inject { flight: u32 },
    /// A message has left its sender.
    Sent { flight: u32 },
    /// A message that met its receive is there.
    Deliver { rank: u32, slot: u32, from: u32, len: usize },
    /// A message is there that receives from any source may take.
    Probe { rank: u32 },
    /// Who gets which circuit, or port, is decided.
    Decide,
}

impl Action {
    /// Of events at one time, those that let a rank go on come before messages.
    fn kind(&self) -> u64 {
        match self {
            Self::Leave { .. } => 0,
            Self::Advance => 1,
            Self::Complete { .. } | Self::Inject { .. } | Self::Sent { .. } => 2,
            Self::Arrive { .. } | Self::Deliver { .. } | Self::Probe { .. } => 3,
            Self::Decide => 4,
        }
    }
}

/// What is known of a message before it leaves.
#[derive(Clone, Copy)]
struct Envelope {
    from: u32,
    to: u32,
    len: usize,
    /// Where in the sender's program it was sent.
    position: u64,
    /// How many messages were issued before, by all ranks.
    number: u64,
    gap_packets: f32,
    is_posted: bool,
}

/// A message on its way through a network in which it meets others, there or at a port.
#[derive(Clone, Copy)]
struct Flying {
    envelope: Envelope,
    left_s: f64,
    sender_slot: Option<u32>,
    receiver_slot: Option<u32>,
    /// Where it waits for its receive.
    place: Option<u32>,
    /// Of sent and arrived, how many it is not: either may come first.
    milestones_left: u8,
}

impl Flying {
    fn new(envelope: Envelope, left_s: f64, sender_slot: Option<u32>, receiver_slot: Option<u32>) -> Self {
        Self { envelope, left_s, sender_slot, receiver_slot, place: None, milestones_left: 2 }
    }
}

/// A message that no receive is bound to yet.
struct Message {
    envelope: Envelope,
    /// When it arrives, infinite as long as nobody knows; for a rendezvous, when its request does.
    time_s: f64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its arrival is known.
    Known,
    /// It is on its way and will say when it is there.
    Flying(u32),
    /// It waits for its receive, and this slot of its sender for it.
    Rendezvous(u32),
}

fn takes_from_any(mailboxes: &Mailboxes<Message, u32>, rank: usize) -> bool {
    mailboxes.posted(rank).any(|(source, ..)| *source == Source::Any)
}

/// Whether a receive waits at `rank` for an earlier message of this sender and tag, which is on its way.
fn is_preceded(mailboxes: &Mailboxes<Message, u32>, rank: usize, from: u32, tag: Tag) -> bool {
    mailboxes.posted(rank).any(|(source, wanted, _)| *wanted == tag && source.accepts(from))
        && mailboxes.unexpected(rank).any(|(sender, sent, _)| sender == from && sent == tag)
}

/// When the earliest message arrives that a receive from `source` with `tag` may take, and its sender: of messages of one
/// sender it is the one sent first, though another may arrive before.
fn earliest(mailboxes: &Mailboxes<Message, u32>, rank: usize, source: Source, tag: Tag) -> Option<(f64, u32)> {
    let mut senders = HashSet::new();
    let held = mailboxes.unexpected(rank).filter(|(from, sent, _)| *sent == tag && source.accepts(*from));
    let firsts = held.filter(|(from, ..)| senders.insert(*from));
    firsts.map(|(from, _, message)| (message.time_s, from)).min_by(|a, b| a.0.total_cmp(&b.0))
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
    traffic: Option<RefCell<Box<dyn Traffic + 'a>>>,
    flights: RefCell<Flights>,
    trial: &'a Trial<'a>,
    nodes: Vec<RefCell<N::Node<Placed>>>,
    element_bytes: usize,
    mailboxes: RefCell<Mailboxes<Message, u32>>,
    outcomes: RefCell<Slots<Arrival<Placed>, Path>>,
    /// Of each rank, the branches that can go on.
    woken: Vec<Cell<Woken>>,
    queue: RefCell<Timetable<Action>>,
    sequence: Cell<u64>,
    /// Whether there has ever been a receive from any source.
    has_taken_from_any: Cell<bool>,
    ready: ReadyRanks,
    /// Room for what the network reports.
    progress: Cell<Vec<(u32, Milestone)>>,
    /// Whether the network has circuits, and how many programs should open ahead.
    ports: Cell<Option<usize>>,
    /// Messages that wait for ports, where these are limited.
    queues: Option<RefCell<Queues>>,
    /// Messages issued so far.
    issued: Cell<u64>,
    /// Room for the messages that get their ports.
    starting: Cell<Vec<u32>>,
    /// Whether who gets which circuit, or port, will be decided at this time.
    is_deciding: Cell<bool>,
}

/// Messages on their way, by number.
#[derive(Default)]
struct Flights {
    flying: Vec<Option<Flying>>,
    free: Vec<u32>,
}

impl Flights {
    fn add(&mut self, flying: Flying) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.flying.push(None);
            (self.flying.len() - 1) as u32
        });
        self.flying[number as usize] = Some(flying);
        number
    }

    fn get(&self, number: u32) -> &Flying {
        self.flying[number as usize].as_ref().expect(ON_ITS_WAY)
    }

    fn get_mut(&mut self, number: u32) -> &mut Flying {
        self.flying[number as usize].as_mut().expect(ON_ITS_WAY)
    }

    /// The message has been sent, or has arrived; after both its number serves for another.
    fn pass(&mut self, number: u32) -> Flying {
        let flying = self.get_mut(number);
        flying.milestones_left -= 1;
        let passed = *flying;
        if passed.milestones_left == 0 {
            self.remove(number);
        }
        passed
    }

    fn remove(&mut self, number: u32) -> Flying {
        self.free.push(number);
        self.flying[number as usize].take().expect(ON_ITS_WAY)
    }
}

const ON_ITS_WAY: &str = "asked for as long as it is on its way";

impl<N: Network> Events<'_, N> {
    fn bytes(&self, len: usize) -> f64 {
        (len * self.element_bytes) as f64
    }

    fn at(&self, time_s: f64, action: Action) {
        let sequence = self.sequence.get();
        self.sequence.set(sequence + 1);
        let key = action.kind() << SEQUENCE_BITS | sequence;
        self.queue.borrow_mut().push(Event { time_s, key, what: action });
    }

    /// What happens next: in the queue, or in the network.
    fn next(&self) -> Option<Event> {
        let queue = &mut *self.queue.borrow_mut();
        let time_s = self.traffic.as_ref().map_or(f64::INFINITY, |traffic| traffic.borrow().next_s());
        let advance = Event { time_s, key: Action::Advance.kind() << SEQUENCE_BITS, what: Action::Advance };
        let is_first = time_s < queue.first_s() || queue.first_key_at(time_s).is_some_and(|key| advance.key < key);
        if is_first && time_s.is_finite() { Some(advance) } else { queue.pop_until(f64::INFINITY) }
    }

    /// Whether the next event is of the same time and kind.
    fn has_another_like(&self, event: &Event) -> bool {
        let next = self.queue.borrow_mut().first_key_at(event.time_s);
        next.is_some_and(|key| key >> SEQUENCE_BITS == event.what.kind())
    }

    /// Lets an event happen.
    fn happen(&self, event: &Event) {
        match event.what {
            Action::Complete { rank, slot, from, len } => self.complete(event.time_s, rank, slot, (from, len)),
            Action::Leave { flight } => self.leave(flight, event.time_s),
            Action::Advance => self.advance(event.time_s),
            Action::Arrive { flight } => self.arrive(flight, event.time_s),
            Action::Sent { flight } => self.leave_port(flight, event.time_s),
            Action::Inject { flight } => self.inject_granted(flight, event.time_s),
            Action::Deliver { rank, slot, from, len } => {
                let node = &mut self.nodes[rank as usize].borrow_mut();
                let end = self.network.accept(node, Placed::at(event.time_s), self.bytes(len));
                self.at(end.time_s, Action::Complete { rank, slot, from, len });
            }
            Action::Probe { rank } => self.match_arrived(rank as usize, event.time_s),
            Action::Decide => self.decide(event.time_s),
        }
    }

    /// An operation of `rank` is done.
    fn complete(&self, now_s: f64, rank: u32, slot: u32, (from, len): (u32, usize)) {
        let received = Received { source: from as usize, len };
        let waiting = self.outcomes.borrow_mut().fill(slot, (Placed::at(now_s), received));
        waiting.into_iter().for_each(|path| self.wake(rank as usize, path));
        self.ready.push(rank as usize);
    }

    /// A message that could leave its sender at `now_s` asks for ports.
    fn ask(&self, queues: &RefCell<Queues>, now_s: f64, sender_slot: u32, envelope: Envelope) -> Message {
        let Envelope { from, to, number, .. } = envelope;
        let flight = self.flights.borrow_mut().add(Flying::new(envelope, now_s, Some(sender_slot), None));
        queues.borrow_mut().ask(Asking { from, to, number, flight });
        self.decide_later(now_s);
        Message { envelope, time_s: f64::INFINITY, state: State::Flying(flight) }
    }

    /// A message that has its ports starts.
    fn start(&self, flight: u32, now_s: f64) {
        let Flying { envelope: Envelope { from, to, len, position, .. }, sender_slot, .. } =
            *self.flights.borrow().get(flight);
        let departure = {
            let node = &mut self.nodes[from as usize].borrow_mut();
            self.network.inject(node, Placed::at(now_s), self.bytes(len))
        };
        let (sent_s, sender_done_s) = (now_s + departure.transfer_s, departure.sender_done.time_s);
        if sender_done_s != sent_s {
            self.flights.borrow_mut().get_mut(flight).sender_slot = None;
            if let Some(slot) = sender_slot {
                self.at(sender_done_s, Action::Complete { rank: from, slot, from, len });
            }
        }
        self.at(sent_s, Action::Sent { flight });
        let passage = Passage::transfer(from as usize, position, to as usize, departure.transfer_s);
        self.at(self.trial.pass(passage, departure.start).time_s, Action::Arrive { flight });
    }

    /// A message has left its sender, and lets its sending port go.
    fn leave_port(&self, flight: u32, now_s: f64) {
        let Flying { envelope: Envelope { from, len, .. }, sender_slot, .. } = self.flights.borrow_mut().pass(flight);
        if let Some(slot) = sender_slot {
            self.complete(now_s, from, slot, (from, len));
        }
        if let Some(queues) = &self.queues {
            queues.borrow_mut().sent(from);
            self.decide_later(now_s);
        }
    }

    /// A message leaves its sender at `now_s` or as soon after as it can.
    fn inject(&self, now_s: f64, sender_slot: u32, envelope: Envelope) -> Message {
        if let Some(queues) = &self.queues {
            return self.ask(queues, now_s, sender_slot, envelope);
        }
        let Envelope { from, to, len, position, is_posted, .. } = envelope;
        let departure = {
            let node = &mut self.nodes[from as usize].borrow_mut();
            self.network.inject(node, Placed::at(now_s), self.bytes(len))
        };
        let complete = Action::Complete { rank: from, slot: sender_slot, from, len };
        if self.traffic.is_none() {
            self.at(departure.sender_done.time_s, complete);
            let passage = Passage::transfer(from as usize, position, to as usize, departure.transfer_s);
            let time_s = self.trial.pass(passage, departure.start).time_s;
            return Message { envelope, time_s, state: State::Known };
        }
        let left_s = self.delayed_departure_s(&envelope, departure.start.time_s);
        if is_posted {
            self.at(left_s, complete);
        }
        let sender_slot = (!is_posted).then_some(sender_slot);
        let flight = self.flights.borrow_mut().add(Flying::new(envelope, left_s, sender_slot, None));
        self.at(left_s, Action::Leave { flight });
        Message { envelope, time_s: f64::INFINITY, state: State::Flying(flight) }
    }

    /// When the processor is done with a message that would leave at `left_s` without noise: what it does for the message is
    /// work, which noise delays.
    fn delayed_departure_s(&self, envelope: &Envelope, left_s: f64) -> f64 {
        let latency_s = self.network.shared().map_or(0.0, |shared| shared.fabric().software_latency_s);
        let work = Passage::work(envelope.from as usize, envelope.position, latency_s);
        let end_s = self.trial.delayed_s(work, left_s - latency_s, left_s);
        let node = &mut self.nodes[envelope.from as usize].borrow_mut();
        self.network.work(node, Placed::at(end_s), |end| end).time_s
    }

    /// The sender of a rendezvous goes on without it; where its end is thrown away.
    fn post(&self, rank: usize, slot: u32, now_s: f64, len: usize) -> u32 {
        self.at(now_s, Action::Complete { rank: rank as u32, slot, from: rank as u32, len });
        let mut outcomes = self.outcomes.borrow_mut();
        let nobodys = outcomes.open();
        outcomes.abandon(nobodys);
        nobodys
    }

    /// A rendezvous leaves its sender, and its receive waits for it.
    fn inject_granted(&self, flight: u32, now_s: f64) {
        let Flying { envelope, sender_slot, receiver_slot, .. } = self.flights.borrow_mut().remove(flight);
        if let (Some(sender_slot), Some(receiver_slot)) = (sender_slot, receiver_slot) {
            let sent = self.inject(now_s, sender_slot, envelope);
            self.bind(now_s, receiver_slot, &sent);
        }
    }

    /// A message enters the network, where it meets others.
    fn leave(&self, flight: u32, now_s: f64) {
        let Envelope { from, to, len, gap_packets, .. } = self.flights.borrow().get(flight).envelope;
        let (Some(traffic), Some(shared)) = (&self.traffic, self.network.shared()) else { return };
        let [from, to] = [from, to].map(|rank| shared.fabric().placement.node_of(rank as usize));
        let gap_packets = f64::from(gap_packets);
        traffic.borrow_mut().inject(now_s, Flight { id: flight, from, to, bytes: self.bytes(len), gap_packets });
        self.decide_later(now_s);
    }

    /// Lets happen what happens next in the network.
    fn advance(&self, now_s: f64) {
        let mut progress = self.progress.take();
        if let Some(traffic) = &self.traffic {
            traffic.borrow_mut().advance(&mut progress);
        }
        self.report(now_s, progress);
        self.decide_later(now_s);
    }

    /// Tells ranks what happened in the network.
    fn report(&self, now_s: f64, mut progress: Vec<(u32, Milestone)>) {
        for (flight, milestone) in progress.drain(..) {
            match milestone {
                Milestone::Sent => {
                    let Flying { envelope: Envelope { from, len, .. }, sender_slot, .. } =
                        self.flights.borrow_mut().pass(flight);
                    if let Some(slot) = sender_slot {
                        self.at(now_s, Action::Complete { rank: from, slot, from, len });
                    }
                }
                Milestone::Arrived => {
                    let Flying { envelope, left_s, .. } = *self.flights.borrow().get(flight);
                    let Envelope { from, to, position, .. } = envelope;
                    let passage = Passage::transfer(from as usize, position, to as usize, now_s - left_s);
                    self.at(self.trial.delayed_s(passage, left_s, now_s), Action::Arrive { flight });
                }
                Milestone::Answered(is_open) => {
                    let Flying { envelope, sender_slot, .. } = self.flights.borrow_mut().remove(flight);
                    let Envelope { from: rank, to, .. } = envelope;
                    if let Some(slot) = sender_slot {
                        self.at(now_s, Action::Complete { rank, slot, from: to, len: is_open.into() });
                    }
                }
            }
        }
        self.progress.set(progress);
    }

    /// Finds out whether the network has circuits.
    fn look_for_circuits(&self) {
        self.ports.set(self.with_circuits(|circuits| circuits.ports()));
    }

    /// Does something with the circuits of the network, if it has any.
    fn with_circuits<T>(&self, act: impl FnOnce(&mut dyn Switching) -> T) -> Option<T> {
        self.traffic.as_ref().and_then(|traffic| traffic.borrow_mut().circuits().map(act))
    }

    /// What happened to circuits.
    fn circuit_counts(&self) -> Option<CircuitCounts> {
        self.with_circuits(|circuits| circuits.counts())
    }

    /// Has who gets which circuit, or port, decided when all else at this time has happened.
    fn decide_later(&self, now_s: f64) {
        if !self.is_deciding.get() && self.is_undecided() {
            self.is_deciding.set(true);
            self.at(now_s, Action::Decide);
        }
    }

    fn is_undecided(&self) -> bool {
        let has_circuits = self.ports.get().is_some();
        self.queues.as_ref().is_some_and(|queues| queues.borrow().is_undecided())
            || has_circuits && self.with_circuits(|circuits| circuits.is_undecided()) == Some(true)
    }

    fn decide(&self, now_s: f64) {
        self.is_deciding.set(false);
        if let Some(queues) = &self.queues {
            let mut starting = self.starting.take();
            queues.borrow_mut().decide(&mut starting);
            starting.drain(..).for_each(|flight| self.start(flight, now_s));
            self.starting.set(starting);
            return;
        }
        let mut progress = self.progress.take();
        self.with_circuits(|circuits| circuits.decide(now_s, &mut progress));
        self.report(now_s, progress);
        self.decide_later(now_s);
    }

    /// Nothing will happen any more: somebody who waits for a circuit goes on without.
    fn give_way(&self, time_s: f64) -> Option<Event> {
        self.with_circuits(|circuits| circuits.give_way(time_s)).filter(|has_refused| *has_refused)?;
        Some(Event { time_s, key: Action::Decide.kind() << SEQUENCE_BITS, what: Action::Decide })
    }

    /// A message that met others is there: it is delivered if its receive is there, and else waits for it.
    fn arrive(&self, flight: u32, now_s: f64) {
        let Flying { envelope, receiver_slot, place, .. } = self.flights.borrow_mut().pass(flight);
        let Envelope { from, to, len, .. } = envelope;
        if let Some(queues) = &self.queues {
            queues.borrow_mut().received(to);
            self.decide_later(now_s);
        }
        if let Some(slot) = receiver_slot {
            return self.at(now_s, Action::Deliver { rank: to, slot, from, len });
        }
        let mailboxes = &mut *self.mailboxes.borrow_mut();
        if let Some(message) = place.and_then(|place| mailboxes.held(place)) {
            (message.time_s, message.state) = (now_s, State::Known);
        }
        if self.has_taken_from_any.get() && mailboxes.posted(to as usize).next().is_some() {
            self.at(now_s, Action::Probe { rank: to });
        }
    }

    /// What each link carried.
    fn links(&self) -> Vec<LinkUse> {
        self.traffic.as_ref().map(|traffic| traffic.borrow().links()).unwrap_or_default()
    }

    /// Binds a message to its receive at `now`, when the later of the two became known.
    fn bind(&self, now: f64, receiver_slot: u32, message: &Message) {
        let Message { envelope, time_s, state } = *message;
        let Envelope { from, to, len, .. } = envelope;
        match state {
            State::Known => {
                self.at(now.max(time_s), Action::Deliver { rank: to, slot: receiver_slot, from, len });
            }
            State::Flying(flight) => self.flights.borrow_mut().get_mut(flight).receiver_slot = Some(receiver_slot),
            State::Rendezvous(sender_slot) => {
                let (sender_slot, receiver_slot) = (Some(sender_slot), Some(receiver_slot));
                let granted = Flying::new(envelope, f64::NAN, sender_slot, receiver_slot);
                let flight = self.flights.borrow_mut().add(granted);
                self.at(self.network.grant(now.max(time_s)), Action::Inject { flight });
            }
        }
    }

    /// The message waits for a receive.
    fn hold(&self, mailboxes: &mut Mailboxes<Message, u32>, tag: Tag, message: Message) {
        let (Envelope { from, to, .. }, state) = (message.envelope, message.state);
        let place = mailboxes.hold(to as usize, from, tag, message);
        if let State::Flying(flight) = state {
            self.flights.borrow_mut().get_mut(flight).place = Some(place);
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
                    self.at(next_s, Action::Probe { rank: rank as u32 });
                }
                return;
            };
            let message = mailboxes.take_message(rank, Source::Rank(from), tag);
            let slot = mailboxes.take_receive(rank, from, tag);
            if let (Some((_, message)), Some(slot)) = (message, slot) {
                self.bind(now, slot, &message);
                has_matched = true;
            }
        }
    }

    fn deadlock(&self, rank: usize) -> Error {
        if let Some(circle) = self.traffic.as_ref().and_then(|traffic| traffic.borrow().deadlock()) {
            return Error::new(circle);
        }
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

    fn is_in_order_of_time(&self) -> bool {
        true
    }

    fn program_path(&self) -> Path {
        Path::ROOT
    }

    fn send(&self, rank: usize, now: Placed, message: &Send) -> Progress<Placed> {
        let Send { to, tag, is_posted, is_synchronous, gap_packets, len } = *message;
        let slot = self.outcomes.borrow_mut().open();
        let (from, number) = (rank as u32, self.issued.replace(self.issued.get() + 1));
        let envelope = Envelope { from, to, len, position: now.position(), number, gap_packets, is_posted };
        let now = now.time_s;
        let message = if !is_synchronous && self.network.is_eager(self.bytes(len)) {
            self.inject(now, slot, envelope)
        } else {
            let sender_slot = if is_posted { self.post(rank, slot, now, len) } else { slot };
            Message { envelope, time_s: self.network.request(now), state: State::Rendezvous(sender_slot) }
        };
        let mailboxes = &mut *self.mailboxes.borrow_mut();
        let to = to as usize;
        let may_wait = self.has_taken_from_any.get()
            && (takes_from_any(mailboxes, to) || is_preceded(mailboxes, to, rank as u32, tag));
        if may_wait {
            if message.time_s.is_finite() {
                self.at(message.time_s, Action::Probe { rank: to as u32 });
            }
            self.hold(mailboxes, tag, message);
            return Progress::Waits(slot);
        }
        match mailboxes.take_receive(to, rank as u32, tag) {
            Some(receiver_slot) => self.bind(now, receiver_slot, &message),
            None => self.hold(mailboxes, tag, message),
        }
        Progress::Waits(slot)
    }

    fn recv(&self, rank: usize, now: Placed, from: Source, tag: Tag) -> Progress<Placed> {
        let now = now.time_s;
        let slot = self.outcomes.borrow_mut().open();
        let mailboxes = &mut *self.mailboxes.borrow_mut();
        if from == Source::Any || (self.has_taken_from_any.get() && takes_from_any(mailboxes, rank)) {
            self.has_taken_from_any.set(true);
            mailboxes.wait(rank, from, tag, slot);
            let next = earliest(mailboxes, rank, from, tag).filter(|(arrival_s, _)| arrival_s.is_finite());
            if let Some((arrival_s, _)) = next {
                self.at(arrival_s.max(now), Action::Probe { rank: rank as u32 });
            }
            return Progress::Waits(slot);
        }
        match mailboxes.take_message(rank, from, tag) {
            Some((_, message)) => self.bind(now, slot, &message),
            None => mailboxes.wait(rank, from, tag, slot),
        }
        Progress::Waits(slot)
    }

    fn work(&self, rank: usize, now: Placed, duration_s: f64) -> Progress<Placed> {
        let slot = self.outcomes.borrow_mut().open();
        let passage = Passage::work(rank, now.position(), duration_s);
        let node = &mut self.nodes[rank].borrow_mut();
        let end = self.network.work(node, now, |start| self.trial.pass(passage, start));
        let rank = rank as u32;
        self.at(end.time_s, Action::Complete { rank, slot, from: rank, len: 0 });
        Progress::Waits(slot)
    }

    fn ports(&self) -> Option<usize> {
        self.ports.get()
    }

    fn switch(&self, rank: usize, now: Placed, change: &Switch) -> Progress<Placed> {
        let Switch { peer, connects } = *change;
        let slot = self.outcomes.borrow_mut().open();
        let (rank, position) = (rank as u32, now.position());
        let envelope =
            Envelope { from: rank, to: peer, len: 0, position, number: 0, gap_packets: 0.0, is_posted: false };
        let id = self.flights.borrow_mut().add(Flying::new(envelope, now.time_s, Some(slot), None));
        let placement = self.network.shared().map(|shared| &shared.fabric().placement);
        let nodes = [rank, peer].map(|rank| placement.map_or(0, |placement| placement.node_of(rank as usize)));
        let ask = Ask { id, ranks: [rank, peer], nodes };
        self.with_circuits(|circuits| match connects {
            true => circuits.connect(now.time_s, ask),
            false => circuits.disconnect(now.time_s, ask),
        });
        self.decide_later(now.time_s);
        Progress::Waits(slot)
    }

    fn take(&self, slot: u32) -> Option<Arrival<Placed>> {
        self.outcomes.borrow_mut().take(slot)
    }

    fn wait(&self, slot: u32, path: Path) {
        self.outcomes.borrow_mut().wait(slot, path);
    }

    fn wake(&self, rank: usize, path: Path) {
        let mut woken = self.woken[rank].get();
        woken.add(path);
        self.woken[rank].set(woken);
    }

    fn can_go_on(&self, rank: usize, path: Path) -> bool {
        self.woken[rank].get().includes(path)
    }

    fn withdraw_ended(&self) {}

    fn withdraw(&self, rank: usize, slot: u32) {
        self.outcomes.borrow_mut().abandon(slot);
        self.mailboxes.borrow_mut().withdraw(rank, |posted| *posted == slot);
    }
}

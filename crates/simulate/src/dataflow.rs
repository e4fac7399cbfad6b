//! The dataflow engine: every rank runs ahead on its own clock, and messages carry their arrival times.
//!
//! It applies when times are independent of the order in which ranks are resumed: every receive names its source; each
//! rank issues its sends in the order of time, and likewise its receives; on a network whose nodes keep state (a busy
//! processor), all its operations. Otherwise it reports a failure, and the events engine takes over.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{
    AnyProgram, Call, Error, Features, Mode, Moment, Moments, Position, ReadyRanks, Received, Source, Symmetry, Tag,
    check_ranks,
};
use hocket_machine::Node;
use rustc_hash::FxHashMap;

use crate::clock::{Clock, Occupation, Timing};
use crate::in_time::{Arrival, Clockwork, InTime, Outcome, Sending, StepStatus, Timers, kept_bytes};
use crate::network::{Departure, Network, NodeTimes, Parcel, RECEIVE, SEND};
use crate::options::{Failure, Options, bytes};
use crate::peers::Peers;
use crate::ports::Usage;

/// The condition that is checked to prove that messages are matched in the order of time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each rank issues its sends in the order of time, and likewise its receives: stricter than necessary, but cheap.
    OfRanks,
    /// Each pair's messages with one tag are issued in the order of time.
    OfPairs,
}

/// How to run a program.
#[derive(Clone, Copy)]
pub struct How {
    pub order: Order,
    /// A symmetry of the program and the machine: only its representatives run.
    pub symmetry: Option<Symmetry>,
}

impl How {
    /// The ranks up to the last one that runs.
    fn ranks(self, call: &Call) -> usize {
        self.symmetry.map_or(call.ranks, Symmetry::ranks_to_keep)
    }
}

/// Number of operations between two calls of `is_interrupted`.
const OPERATIONS_PER_LOOK: u32 = 1 << 20;

pub fn run<N: Network, T: Timing>(
    program: &dyn AnyProgram,
    call: &Call,
    network: &N,
    timing: T,
    node: &Node,
    how: How,
    options: Options<'_>,
) -> Result<(Timers<T::Clock>, Outcome), Failure> {
    if N::MESSAGES_MEET {
        return Err(Failure::Inapplicable("messages share links of the network".to_owned()));
    }
    let ranks = how.ranks(call);
    check_size::<N, T>(program, call, network, ranks).map_err(Failure::Other)?;
    let dataflow = Dataflow::new(call, network, timing, how, options);
    let world = InTime::new(call, ranks, dataflow, node, network.post_s(), &options);
    let engine = if how.symmetry.is_some() { "symmetry" } else { "dataflow" };
    let (dataflow, timers, outcome) = hocket_core::run(program, call, world).into_outcome(engine);
    match dataflow.refusal {
        Some(failure) => Err(failure),
        None => Ok((timers, outcome.for_all_ranks(call.ranks, how.symmetry))),
    }
}

/// Refuses a call if there is no memory for the state of the `ranks` that run.
///
/// # Errors
/// More ranks than the memory holds.
pub fn check_size<N: Network, T: Timing>(
    program: &dyn AnyProgram,
    call: &Call,
    network: &N,
    ranks: usize,
) -> Result<(), Error> {
    let ports_bytes = 2 * network.ports().unwrap_or(0) * size_of::<T::Clock>();
    let bytes_of_a_rank =
        size_of::<StateOf<N, T>>() + ports_bytes + Mail::<T::Clock>::BYTES_OF_A_RANK + kept_bytes::<T::Clock>();
    check_ranks(program, call, ranks, bytes_of_a_rank)
}

/// A message that waits at its receiver.
struct Pending<C> {
    len: usize,
    /// The time at which the message, or the request of a rendezvous, leaves.
    start: C,
    /// The time at which the message, or the request of a rendezvous, arrives.
    time: C,
    /// The slot of the sender of a rendezvous.
    rendezvous: Option<u32>,
    is_switched: bool,
}

struct PostedReceive<C> {
    slot: u32,
    time: C,
}

/// A message that met its receive while the receiving rank was running: it is accepted when the rank waits.
struct DeferredMessage<C> {
    slot: u32,
    posted: C,
    travel: Travel<C>,
    received: Received,
}

/// The times at which a message leaves and at which its last byte arrives.
#[derive(Clone, Copy)]
struct Travel<C> {
    start: C,
    arrival: C,
    is_switched: bool,
}

struct NodeState<B> {
    busy: B,
    sends: Latest,
    receives: Latest,
}

/// The latest times of events at a node.
#[derive(Clone, Copy)]
struct NodeEvents<C> {
    /// When a send was issued, and in which resumption of its rank.
    issue: Option<(C, u32)>,
    /// When an operation was ready for the processor, and in which resumption; [`ARRIVAL`] for a message that arrived,
    /// [`WAITING_SEND`] for a send that waited for the interface.
    ready: Option<(C, u32)>,
    /// When the first byte of a message arrived, or the receiving interface was held up.
    head: Option<C>,
}

impl<C> Default for NodeEvents<C> {
    fn default() -> Self {
        Self { issue: None, ready: None, head: None }
    }
}

/// In place of a resumption.
const ARRIVAL: u32 = 0;
/// In place of a resumption: at one time, such a send comes before operations that are issued then.
const WAITING_SEND: u32 = 1;

/// Whether an operation is after an earlier one. At one time, the order is known only within one resumption, and until
/// another branch goes on ([`Dataflow::resumes`]).
fn is_in_order<C: Clock>(time: C, resume: u32, earlier: Option<(C, u32)>) -> bool {
    earlier.is_none_or(|(latest, latest_resume)| match time.order(latest) {
        // Of clocks without a value, the later one may be at the same time.
        Some(Ordering::Greater) => {
            (resume == WAITING_SEND) == (latest_resume == WAITING_SEND) || time.comes_after(latest, false)
        }
        Some(Ordering::Equal) => resume == latest_resume,
        Some(Ordering::Less) | None => time.comes_after(latest, false),
    })
}

/// The latest send, or receive, of a rank: when it was issued, its peer and its tag.
#[derive(Clone, Copy)]
struct Latest {
    time_s: f64,
    peer: u32,
    tag: Tag,
}

impl Latest {
    const NONE: Self = Self { time_s: f64::NEG_INFINITY, peer: 0, tag: 0 };
}

/// Peers and tags of the sends, or receives, that a rank issued at one time.
#[derive(Default)]
struct Simultaneous {
    time_s: f64,
    peers: HashSet<(u32, Tag)>,
}

/// For each rank, peer, tag and direction, when the latest message was issued: the first entries of a rank in a list,
/// which is fast to search, further ones in a table.
struct Pairs<I> {
    first: Vec<Vec<(u64, I)>>,
    others: FxHashMap<(usize, u64), I>,
}

/// The largest length of a list, and the entries by which it grows: the lists take much of the memory.
const MOST_LISTED: usize = 128;
const LISTED_AT_A_TIME: usize = 16;

impl<I: Copy> Pairs<I> {
    fn new(ranks: usize) -> Self {
        Self { first: (0..ranks).map(|_| Vec::new()).collect(), others: FxHashMap::default() }
    }

    /// Notes the time. Returns the previous one.
    fn replace(&mut self, rank: usize, direction: Direction, peer: u32, tag: Tag, issue: I) -> Option<I> {
        let key = u64::from(peer) << 33 | u64::from(tag) << 1 | direction as u64;
        let list = &mut self.first[rank];
        if let Some((_, latest)) = list.iter_mut().find(|(other, _)| *other == key) {
            return Some(std::mem::replace(latest, issue));
        }
        if list.len() < MOST_LISTED {
            if list.len() == list.capacity() {
                list.reserve_exact(LISTED_AT_A_TIME);
            }
            list.push((key, issue));
            return None;
        }
        self.others.insert((rank, key), issue)
    }
}

/// The earlier messages of ranks, to check their order.
enum EarlierMessages<I> {
    /// Under [`Order::OfRanks`], where times are numbers: [`NodeState`] has the latest.
    InStates,
    /// Under [`Order::OfRanks`], where times are symbols: the latest send and the latest receive of each rank.
    Latest(Vec<[Option<I>; 2]>),
    /// Under [`Order::OfPairs`].
    OfPairs(Pairs<I>),
}

type Mail<C> = Mailboxes<Pending<C>, PostedReceive<C>>;

type StateOf<N, T> = NodeState<<N as Network>::Node<<T as Timing>::Clock>>;

pub struct Dataflow<'a, N: Network, T: Timing> {
    network: &'a N,
    timing: T,
    ranks: Vec<StateOf<N, T>>,
    /// The latest events of each node, if nodes keep state.
    node_events: Vec<NodeEvents<T::Clock>>,
    /// Ranks of the call, also those that do not run.
    size: usize,
    symmetry: Option<Symmetry>,
    mailboxes: Mail<T::Clock>,
    outcomes: Slots<Arrival<T::Clock>>,
    ready: ReadyRanks,
    element_bytes: usize,
    running: usize,
    deferred_message: Option<DeferredMessage<T::Clock>>,
    refusal: Option<Failure>,
    /// Whether the user has stopped the run.
    has_stopped: bool,
    /// Number of resumptions of ranks; and of branches that went on after another one had run ahead: it had begun several
    /// steps at one time, between which events lets other branches go on.
    resumes: u32,
    /// The latest step of the running rank, and whether its branch has run ahead; only if nodes keep state.
    latest_step: Option<(T::Clock, Position)>,
    has_run_ahead: bool,
    operations: u32,
    is_interrupted: &'a dyn Fn() -> bool,
    simultaneous: HashMap<(Direction, usize), Simultaneous>,
    earlier_messages: EarlierMessages<<T::Clock as Clock>::Issue>,
    peers: Peers,
    /// The use of ports, to detect messages that would wait for one.
    sending: Usage<T::Clock>,
    receiving: Usage<T::Clock>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Send,
    Receive,
}

const COMPETING: &str = "branches of one rank compete for its processor";
const OUT_OF_ORDER: &str = "branches of one rank start their messages out of time order";
const SHARING: &str = "ranks of a node share cards, or what is in a level";
const WAITING_FOR_PORTS: &str = "a node may send or receive more messages at a time than it has ports";

impl<'a, N: Network, T: Timing> Dataflow<'a, N, T> {
    pub fn new(call: &Call, network: &'a N, timing: T, how: How, options: Options<'a>) -> Self {
        let (start, ranks) = (timing.start(), how.ranks(call));
        let idle = |_| NodeState { busy: NodeTimes::idle(start), sends: Latest::NONE, receives: Latest::NONE };
        let has_shared_ports = network.ports().is_some() && network.shared_ports().is_some();
        let why = network.resources().map(|_| SHARING).or(has_shared_ports.then_some(WAITING_FOR_PORTS));
        Self {
            network,
            ranks: (0..ranks).map(idle).collect(),
            node_events: vec![NodeEvents::default(); if N::NODE_HAS_STATE { ranks } else { 0 }],
            size: call.ranks,
            symmetry: how.symmetry,
            mailboxes: Mailboxes::new(ranks),
            outcomes: Slots::default(),
            ready: ReadyRanks::lazy(ranks),
            element_bytes: call.element_bytes,
            running: usize::MAX,
            deferred_message: None,
            refusal: why.map(|why| Failure::Inapplicable(why.to_owned())),
            has_stopped: false,
            resumes: 0,
            latest_step: None,
            has_run_ahead: false,
            operations: 0,
            is_interrupted: options.is_interrupted,
            simultaneous: HashMap::new(),
            earlier_messages: match how.order {
                Order::OfPairs => EarlierMessages::OfPairs(Pairs::new(ranks)),
                Order::OfRanks if T::HAS_MOMENTS => EarlierMessages::Latest(vec![[None; 2]; ranks]),
                Order::OfRanks => EarlierMessages::InStates,
            },
            peers: Peers::new(network.knows_peers()),
            sending: Usage::new(ranks, network.ports(), start),
            receiving: Usage::new(ranks, network.ports(), start),
            timing,
        }
    }

    #[inline(always)]
    fn parcel(&self, ranks: [usize; 2], len: usize, is_switched: bool) -> Parcel {
        Parcel::new(bytes(len, self.element_bytes), self.network.within(ranks, self.size), is_switched)
    }

    fn refuse(&mut self, why: &str) {
        self.fail(Failure::Inapplicable(why.to_owned()));
    }

    fn fail(&mut self, failure: Failure) {
        self.refusal.get_or_insert(failure);
    }

    /// Counts an operation. Returns false if the user has stopped the run: the operation then waits for ever, since
    /// only its own operations can stop a rank that runs ahead without end.
    #[inline(always)]
    fn goes_on(&mut self) -> bool {
        self.operations = self.operations.wrapping_add(1);
        if self.operations.is_multiple_of(OPERATIONS_PER_LOOK) && (self.is_interrupted)() {
            self.has_stopped = true;
            self.refusal = Some(Failure::Other(Error::interruption()));
        }
        !self.has_stopped
    }

    fn resume(&mut self) {
        self.resumes = self.resumes.wrapping_add(1).max(WAITING_SEND + 1);
        self.has_run_ahead = false;
    }

    /// Notes that the running rank issues at `time` a send that is ready at `ready`. Checks the order of sends.
    fn meet_send(&mut self, rank: usize, time: T::Clock, ready: T::Clock, holds_receiving: bool) {
        if N::NODE_HAS_STATE {
            let earlier = self.node_events[rank].issue.replace((time, self.resumes));
            if !is_in_order(time, self.resumes, earlier) {
                self.refuse(COMPETING);
            }
            let has_waited = !ready.is_at(time);
            self.meet_ready(rank, ready, if has_waited { WAITING_SEND } else { self.resumes });
            if holds_receiving {
                self.meet_interface(rank, ready);
            }
        }
    }

    /// Notes an operation that is ready at `time`. If nodes keep state, it must come last.
    fn meet_ready(&mut self, rank: usize, time: T::Clock, resumption: u32) {
        if N::NODE_HAS_STATE {
            let earlier = self.node_events[rank].ready.replace((time, resumption));
            if !is_in_order(time, resumption, earlier) {
                self.refuse(COMPETING);
            }
        }
    }

    /// Notes a message that arrives at `time`: after operations issued at that time, before all others.
    fn meet_arrived(&mut self, rank: usize, time: T::Clock) {
        if N::NODE_HAS_STATE {
            let earlier = self.node_events[rank].ready.replace((time, ARRIVAL));
            if earlier.is_some_and(|(latest, _)| !time.comes_after(latest, true)) {
                self.refuse(COMPETING);
            }
        }
    }

    /// Notes that the receiving interface meets a message at `time`, or is held up from then on: later than all before.
    fn meet_interface(&mut self, rank: usize, time: T::Clock) {
        let earlier = self.node_events[rank].head.replace(time);
        if earlier.is_some_and(|latest| !time.comes_after(latest, false)) {
            self.refuse("messages reach a rank in an order that differs from the order of its receives");
        }
    }

    /// The interface takes in a message. Returns the time at which it has the whole message.
    fn take_in(&mut self, rank: usize, Travel { start, arrival, .. }: Travel<T::Clock>, message: Parcel) -> T::Clock {
        if N::NODE_HAS_STATE {
            self.meet_interface(rank, self.network.head(start, arrival, message));
        }
        self.network.take_in(&mut self.ranks[rank].busy, arrival, message)
    }

    /// Notes a send or receive of `rank`. Messages are matched in the order of issue, which must be the order of time;
    /// two messages issued at one time must differ in peer or tag.
    #[inline(always)]
    fn keep_order(&mut self, rank: usize, direction: Direction, time: T::Clock, peer: u32, tag: Tag) {
        let is_later =
            |earlier: Option<<T::Clock as Clock>::Issue>| earlier.is_none_or(|earlier| time.is_issued_after(earlier));
        match &mut self.earlier_messages {
            EarlierMessages::InStates => (),
            EarlierMessages::Latest(latest) => {
                if !is_later(latest[rank][direction as usize].replace(time.issue())) {
                    self.fail(Failure::Unordered(OUT_OF_ORDER.to_owned()));
                }
                return;
            }
            EarlierMessages::OfPairs(pairs) => {
                if !is_later(pairs.replace(rank, direction, peer, tag, time.issue())) {
                    self.refuse("the order of messages with the same two ranks and tag depends on timing");
                }
                return;
            }
        }
        let state = &mut self.ranks[rank];
        let latest = match direction {
            Direction::Send => &mut state.sends,
            Direction::Receive => &mut state.receives,
        };
        let time_s = time.seconds();
        let is_no_later = time_s <= latest.time_s;
        let earlier = (latest.time_s, latest.peer, latest.tag);
        (latest.time_s, latest.peer, latest.tag) = (time_s, peer, tag);
        if is_no_later {
            self.check_order((direction, rank), earlier, (time_s, peer, tag));
        }
    }

    /// Checks two messages of one rank, the second of which is issued no later than the first.
    #[cold]
    fn check_order(
        &mut self,
        whose: (Direction, usize),
        (latest_s, latest_peer, latest_tag): (f64, u32, Tag),
        (time_s, peer, tag): (f64, u32, Tag),
    ) {
        if time_s < latest_s {
            return self.fail(Failure::Unordered(OUT_OF_ORDER.to_owned()));
        }
        let group = self.simultaneous.entry(whose).or_default();
        if group.time_s != time_s || group.peers.is_empty() {
            *group = Simultaneous { time_s, peers: HashSet::from([(latest_peer, latest_tag)]) };
        }
        if !group.peers.insert((peer, tag)) {
            self.fail(Failure::Unordered("messages with the same two ranks and tag start at the same time".to_owned()));
        }
    }

    /// Receives a message for the receive that `rank` posted at `posted`. Returns the time at which that is done.
    fn accept(&mut self, rank: usize, posted: T::Clock, travel: Travel<T::Clock>, received: Received) -> T::Clock {
        let message = self.parcel([received.source as usize, rank], received.len, travel.is_switched);
        let ready = self.take_in(rank, travel, message).max(posted);
        self.meet_arrived(rank, ready);
        let begin = self.begin_work(rank, ready, posted.position(), self.network.processing_s(RECEIVE, message));
        self.network.accept(&mut self.ranks[rank].busy, begin, message)
    }

    /// When the processor of `rank` begins its part of a message, which takes `length_s` and can begin at `ready`.
    #[inline(always)]
    fn begin_work(&mut self, rank: usize, ready: T::Clock, position: u64, length_s: f64) -> T::Clock {
        if !self.timing.interrupts() {
            return ready;
        }
        let free = self.network.free_to_work(&mut self.ranks[rank].busy, ready);
        self.timing.begin(Occupation::work(rank, position, length_s), free)
    }

    /// The time at which a message arrives at its receiver.
    fn arrival(&self, departure: &Departure<T::Clock>, sender: usize, position: u64, receiver: usize) -> T::Clock {
        self.timing.pass(Occupation::transfer(sender, position, receiver, departure.transfer_s), departure.start)
    }

    fn accept_deferred(&mut self, rank: usize) {
        if let Some(deferred_message) = self.deferred_message.take() {
            self.finish(rank, deferred_message);
        }
    }

    fn finish(&mut self, rank: usize, DeferredMessage { slot, posted, travel, received }: DeferredMessage<T::Clock>) {
        let end = self.accept(rank, posted, travel, received);
        self.outcomes.fill(slot, (end, received));
        self.ready.push(rank);
    }

    /// Both sides of a rendezvous are ready: the message leaves.
    fn transfer(&mut self, sender: usize, request: T::Clock, posted: T::Clock, message: Parcel) -> Departure<T::Clock> {
        let ready = self.network.grant(request.max(posted), message);
        let start = self.begin_work(sender, ready, request.position(), self.network.processing_s(SEND, message));
        let departure = self.network.inject(&mut self.ranks[sender].busy, start, message);
        self.hold_sending(sender, request, &departure);
        departure
    }

    /// Notes that a message holds a sending port of `rank`; it starts no earlier than `earliest`.
    #[inline(always)]
    fn hold_sending(&mut self, rank: usize, earliest: T::Clock, departure: &Departure<T::Clock>) {
        let Departure { start, transfer_s, .. } = *departure;
        if !self.sending.hold(rank, earliest, start, || start.plus(transfer_s)) {
            self.refuse(WAITING_FOR_PORTS);
        }
    }

    /// Notes that a message holds a receiving port of `rank`; it starts no earlier than `earliest`.
    #[inline(always)]
    fn hold_receiving(&mut self, rank: usize, earliest: T::Clock, start: T::Clock, arrival: T::Clock) {
        if !self.receiving.hold(rank, earliest, start, || arrival) {
            self.refuse(WAITING_FOR_PORTS);
        }
    }

    /// Refuses messages without receive that hold a receiving port or an interface, since that time is not noted.
    fn check_unreceived(&mut self) {
        let (mailboxes, ranks) = (&self.mailboxes, self.ranks.len());
        let is_sent = |(_, _, message): (u32, Tag, &Pending<T::Clock>)| message.rendezvous.is_none();
        let has_receivers = N::NODE_HAS_STATE || self.network.ports().is_some();
        if has_receivers && (0..ranks).any(|rank| mailboxes.unexpected(rank).any(is_sent)) {
            self.refuse("a message that no rank receives occupies a port or an interface of its target");
        }
    }

    /// A message meets the receive that waited for it.
    fn deliver(&mut self, rank: usize, posted: &PostedReceive<T::Clock>, travel: Travel<T::Clock>, received: Received) {
        let deferred_message = DeferredMessage { slot: posted.slot, posted: posted.time, travel, received };
        if N::NODE_HAS_STATE && rank == self.running {
            self.deferred_message = Some(deferred_message);
        } else {
            self.finish(rank, deferred_message);
        }
    }

    /// Whether the rank that is running already waits for a message.
    fn is_receiving(&self, rank: usize) -> bool {
        self.deferred_message.is_some() || self.mailboxes.is_waiting(rank)
    }
}

impl<N: Network, T: Timing> Clockwork for Dataflow<'_, N, T> {
    type Clock = T::Clock;

    fn features(&self) -> Features {
        Features { first_waits_for_both: true, has_moments: T::HAS_MOMENTS, ..Features::PLAIN }
    }

    fn runs(&self, rank: usize) -> bool {
        self.symmetry.is_none_or(|symmetry| symmetry.is_representative(rank))
    }

    fn next(&mut self, _: f64) -> Option<usize> {
        let last = std::mem::replace(&mut self.running, usize::MAX);
        if N::NODE_HAS_STATE {
            self.accept_deferred(last);
        }
        if self.refusal.is_some() {
            return None;
        }
        let Self { ready, symmetry, .. } = self;
        let runs = |rank: &usize| symmetry.is_none_or(|symmetry| symmetry.is_representative(*rank));
        self.running = std::iter::from_fn(|| ready.pop()).find(runs)?;
        self.latest_step = None;
        self.resume();
        Some(self.running)
    }

    fn conclude(&mut self, waiting: Option<usize>) {
        self.check_unreceived();
        if waiting.is_some() {
            self.refuse("a rank, or a branch that lost a first, waits for ever");
        }
    }

    fn end_late(&mut self, has_raced: bool) {
        if has_raced {
            self.refuse("the losing branch of a first may be later than the deadline");
        } else {
            self.fail(Failure::Other(Error::lateness()));
        }
    }

    #[inline]
    fn time(&self, moment: Moment) -> T::Clock {
        self.timing.time(moment)
    }

    #[inline]
    fn after(&self, start: Moment, end: T::Clock) -> Moment {
        self.timing.after(start, end)
    }

    fn moments(&mut self) -> &mut dyn Moments {
        self.timing.moments()
    }

    #[inline(always)]
    fn begin(&mut self, now: Moment) {
        if N::NODE_HAS_STATE {
            let (time, place) = (self.timing.time(now), self.timing.place(now));
            match self.latest_step.replace((time, place)) {
                Some((latest, earlier)) if earlier.next() == place => {
                    self.has_run_ahead |= time.is_at(latest);
                }
                _ if self.has_run_ahead => self.resume(),
                _ => (),
            }
        }
    }

    #[inline(always)]
    fn send(&mut self, rank: usize, now: T::Clock, message: &Sending) -> StepStatus<T::Clock> {
        let Sending { to, tag, len, mode, .. } = *message;
        let to = to as usize;
        if !self.goes_on() {
            return StepStatus::Never;
        }
        self.keep_order(rank, Direction::Send, now, to as u32, tag);
        let is_new = self.peers.meet(rank as u32, to as u32);
        let is_switched = mode == Mode::Switched;
        let parcel = Parcel { is_new, ..self.parcel([rank, to], len, is_switched) };
        let [from, to] = self.symmetry.map_or([rank, to], |symmetry| symmetry.image([rank, to], self.size));
        let (from, received) = (from as u32, Received { source: from as u32, len });
        let is_eager = mode != Mode::Synchronous && self.network.is_eager(parcel);
        if !is_eager && N::NODE_HAS_STATE {
            self.refuse("a rendezvous occupies the sender's processor at a time that depends on the receiver");
        }
        let posted = self.mailboxes.take_receive(to, from, tag);
        if !is_eager && posted.is_none() {
            let slot = self.outcomes.open();
            let request = self.network.request(now, parcel);
            let message = Pending { len, start: request, time: request, rendezvous: Some(slot), is_switched };
            self.mailboxes.hold(to, from, tag, message);
            self.ready.call(to);
            return StepStatus::Waits(slot);
        }
        let departure = match &posted {
            Some(posted) if !is_eager => self.transfer(rank, self.network.request(now, parcel), posted.time, parcel),
            _ => {
                let ready =
                    self.network.free_to_send(&mut self.ranks[rank].busy, parcel).map_or(now, |free| now.max(free));
                self.meet_send(rank, now, ready, self.network.holds_receiving(parcel));
                let ready = self.begin_work(rank, ready, now.position(), self.network.processing_s(SEND, parcel));
                let departure = self.network.inject(&mut self.ranks[rank].busy, ready, parcel);
                self.hold_sending(rank, ready, &departure);
                departure
            }
        };
        let arrival = self.arrival(&departure, rank, now.position(), to);
        match posted {
            Some(posted) => {
                let earliest = if is_eager { departure.start } else { posted.time };
                self.hold_receiving(to, earliest, departure.start, arrival);
                self.deliver(to, &posted, Travel { start: departure.start, arrival, is_switched }, received);
            }
            None => {
                let message = Pending { len, start: departure.start, time: arrival, rendezvous: None, is_switched };
                self.mailboxes.hold(to, from, tag, message);
                self.ready.call(to);
            }
        }
        StepStatus::Done((departure.sender_done, received))
    }

    #[inline(always)]
    fn recv(&mut self, rank: usize, now: T::Clock, from: Source, tag: Tag) -> StepStatus<T::Clock> {
        if !self.goes_on() {
            return StepStatus::Never;
        }
        let Source::Rank(peer) = from else {
            self.refuse("a receive takes its message from any source");
            return StepStatus::Never;
        };
        self.keep_order(rank, Direction::Receive, now, peer, tag);
        if N::NODE_HAS_STATE && self.is_receiving(rank) {
            self.refuse("a rank receives several messages at a time");
        }
        let waiting_message = self.mailboxes.take_message(rank, from, tag);
        let Some((source, message)) = waiting_message else {
            let slot = self.outcomes.open();
            self.mailboxes.wait(rank, from, tag, PostedReceive { slot, time: now });
            return StepStatus::Waits(slot);
        };
        let received = Received { source, len: message.len };
        let (earliest, start, arrival) = match message.rendezvous {
            None => (message.start, message.start, message.time),
            Some(slot) => {
                let parcel = self.parcel([source as usize, rank], message.len, message.is_switched);
                let sender = self.symmetry.map_or(source as usize, |symmetry| symmetry.representative(source as usize));
                let departure = self.transfer(sender, message.time, now, parcel);
                self.outcomes.fill(slot, (departure.sender_done, received));
                self.ready.push(sender);
                (now, departure.start, self.arrival(&departure, sender, message.time.position(), rank))
            }
        };
        self.hold_receiving(rank, earliest, start, arrival);
        let travel = Travel { start, arrival, is_switched: message.is_switched };
        if N::NODE_HAS_STATE {
            let slot = self.outcomes.open();
            self.deferred_message = Some(DeferredMessage { slot, posted: now, travel, received });
            return StepStatus::Waits(slot);
        }
        StepStatus::Done((self.accept(rank, now, travel, received), received))
    }

    #[inline(always)]
    fn wait_until(&mut self, rank: usize, now: T::Clock, until_s: f64) -> StepStatus<T::Clock> {
        let end = now.max(self.timing.start().plus(until_s));
        StepStatus::Done((end, Received { source: rank as u32, len: 0 }))
    }

    fn work(&mut self, rank: usize, now: T::Clock, duration_s: f64) -> StepStatus<T::Clock> {
        if !self.goes_on() {
            return StepStatus::Never;
        }
        self.meet_ready(rank, now, self.resumes);
        let occupation = Occupation::work(rank, now.position(), duration_s);
        let timing = &self.timing;
        let end = self.network.work(&mut self.ranks[rank].busy, now, |start| timing.pass(occupation, start));
        StepStatus::Done((end, Received { source: rank as u32, len: 0 }))
    }

    #[inline(always)]
    fn take(&mut self, slot: u32) -> Option<Arrival<T::Clock>> {
        self.outcomes.take(slot)
    }

    fn forget_peers(&mut self, rank: usize) {
        self.peers.forget(rank as u32);
    }

    fn drop_ended(&mut self) {
        self.refuse("the losing branch of a first is dropped, and its operations have to be undone");
    }

    fn withdraw(&mut self, rank: usize, slot: u32) {
        self.outcomes.abandon(slot);
        self.mailboxes.withdraw(rank, |posted| posted.slot == slot);
    }
}

//! The dataflow engine: every rank runs ahead on its own clock, and messages carry their arrival times. No event queue.
//!
//! It applies when the order in which ranks are resumed cannot change a time: every receive names its source, each rank
//! issues its sends in the order of their times, and so its receives; and on a network whose nodes remember something (a
//! busy processor), all its operations. When that fails the engine says so, and the events engine takes over.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{Call, Error, Program, Ranks, ReadyRanks, Received, Source, Tag, check_ranks};
use rustc_hash::FxHashMap;

use crate::clock::{Clock, Passage, Timing};
use crate::network::{Departure, Network};
use crate::ports::Usage;
use crate::rank::{Arrival, Clockwork, Progress, Run, Send, Shared, SimulatedRank};
use crate::{Node, Options, interrupted};

/// Why there is no outcome.
pub enum Failure {
    /// The engine does not apply, for this reason.
    Inapplicable(String),
    /// A rank's messages are not issued in the order of time, for this reason; those of each pair of ranks may be.
    Unordered(String),
    /// Another engine would not do better.
    Other(Error),
}

impl Failure {
    pub fn into_error(self) -> Error {
        match self {
            Self::Inapplicable(why) | Self::Unordered(why) => {
                Error::new(format!("the dataflow engine does not apply: {why}"))
            }
            Self::Other(error) => error,
        }
    }
}

/// What is watched so that messages are matched in the order of time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// That a rank starts all its sends in that order, and so its receives: more than is needed, and soon done.
    OfRanks,
    /// That those of one pair with one tag are started in that order.
    OfPairs,
}

/// Operations between two looks at whether the user wants to stop.
const OPERATIONS_PER_LOOK: u32 = 1 << 20;

pub fn run<N: Network, T: Timing>(
    program: &impl Program,
    call: &Call,
    network: &N,
    timing: &T,
    node: Node,
    order: Order,
    options: Options<'_>,
) -> Result<Run<T::Clock>, Failure> {
    if N::MESSAGES_MEET {
        return Err(Failure::Inapplicable("messages meet each other in the network".to_owned()));
    }
    run_apart(program, call, network, timing, node, order, options)
}

fn run_apart<N: Network, T: Timing>(
    program: &impl Program,
    call: &Call,
    network: &N,
    timing: &T,
    node: Node,
    order: Order,
    options: Options<'_>,
) -> Result<Run<T::Clock>, Failure> {
    let kept_bytes = size_of::<RefCell<StateOf<N, T>>>() + size_of::<SimulatedRank<'_, Dataflow<'_, N, T>>>();
    let program_of = |r| program.run(r, call);
    check_ranks::<&SimulatedRank<'_, Dataflow<'_, N, T>>, _>(call.ranks, kept_bytes, program_of)
        .map_err(Failure::Other)?;
    let shared = Shared::new(call, node, network.post_s(), &options);
    let dataflow = Dataflow {
        network,
        timing,
        ranks: (0..call.ranks).map(|_| RefCell::new(State::new(network.idle(timing.start())))).collect(),
        mailboxes: RefCell::new(Mailboxes::new(call.ranks)),
        outcomes: RefCell::default(),
        ready: ReadyRanks::all(call.ranks),
        element_bytes: call.element_bytes,
        running: Cell::new(usize::MAX),
        deferred: RefCell::new(None),
        refusal: RefCell::new(None),
        is_refused: Cell::new(false),
        resumes: Cell::new(0),
        operations: Cell::new(0),
        is_interrupted: options.is_interrupted,
        has_stopped: Cell::new(false),
        simultaneous: RefCell::default(),
        pairs: (order == Order::OfPairs).then(|| RefCell::new(Pairs::new(call.ranks))),
        sending: RefCell::new(Usage::new(call.ranks, network.ports(), timing.start())),
        receiving: RefCell::new(Usage::new(call.ranks, network.ports(), timing.start())),
    };
    let ranks = SimulatedRank::all(&shared, &dataflow, timing.start());
    let mut programs = Ranks::new(ranks.iter().map(|r| program.run(r, call)));
    while let Some(rank) = dataflow.ready.pop() {
        dataflow.running.set(rank);
        dataflow.resumes.set(dataflow.resumes.get().wrapping_add(1).max(1));
        programs.resume(rank);
        dataflow.running.set(usize::MAX);
        if N::NODE_HAS_STATE {
            dataflow.accept_deferred(rank);
        }
        if dataflow.has_stopped.get() {
            return Err(Failure::Other(interrupted()));
        }
        if dataflow.is_refused.get() {
            break;
        }
    }
    dataflow.check_unreceived(call.ranks);
    if let Some(failure) = dataflow.refusal.take() {
        return Err(failure);
    }
    if !programs.all_ended() {
        return Err(Failure::Inapplicable("some ranks wait for ever, or a branch that lost".to_owned()));
    }
    Ok(shared.run(&ranks))
}

/// A message that waits at its receiver.
struct Message<C> {
    len: usize,
    /// When it leaves; for a rendezvous, when its request does.
    start: C,
    /// When it arrives; for a rendezvous, when its request does.
    time: C,
    /// The slot of a sender that waits for the receive.
    rendezvous: Option<u32>,
}

struct Posted<C> {
    slot: u32,
    time: C,
}

/// A message that met its receive while the rank was running: it is accepted once the rank waits.
struct Deferred<C> {
    slot: u32,
    ready: C,
    received: Received,
}

struct State<B, C> {
    busy: B,
    /// When the node met its latest operation, and in which resumption it was issued; 0 for an arrived message.
    latest: Option<(C, u32)>,
    sends: Option<Latest<C>>,
    receives: Option<Latest<C>>,
}

/// The latest send, or receive, of a rank: when it was issued, its peer and its tag.
#[derive(Clone, Copy)]
struct Latest<C> {
    time: C,
    peer: u32,
    tag: Tag,
}

impl<B, C> State<B, C> {
    fn new(busy: B) -> Self {
        Self { busy, latest: None, sends: None, receives: None }
    }
}

/// Peers and tags of the sends, or receives, that a rank issued at one time.
#[derive(Default)]
struct Simultaneous {
    time_s: f64,
    peers: HashSet<(u32, Tag)>,
}

/// When the latest send to, or receive from, each peer with each tag was issued: the first ones of a rank in a list of its
/// own, where they are soon found, the others in a table.
struct Pairs<C> {
    first: Vec<Vec<(u64, C)>>,
    others: FxHashMap<(usize, u64), C>,
}

/// Entries of a list of first pairs.
const MOST_LISTED: usize = 64;

impl<C: Copy> Pairs<C> {
    fn new(ranks: usize) -> Self {
        Self { first: (0..ranks).map(|_| Vec::new()).collect(), others: FxHashMap::default() }
    }

    /// Notes the time, and returns that of the one before.
    fn replace(&mut self, rank: usize, direction: Direction, peer: u32, tag: Tag, time: C) -> Option<C> {
        let key = u64::from(peer) << 33 | u64::from(tag) << 1 | direction as u64;
        let list = &mut self.first[rank];
        if let Some((_, latest)) = list.iter_mut().find(|(known, _)| *known == key) {
            return Some(std::mem::replace(latest, time));
        }
        if list.len() < MOST_LISTED {
            list.push((key, time));
            return None;
        }
        self.others.insert((rank, key), time)
    }
}

type Mail<C> = Mailboxes<Message<C>, Posted<C>>;

type StateOf<N, T> = State<<N as Network>::Node<<T as Timing>::Clock>, <T as Timing>::Clock>;

struct Dataflow<'a, N: Network, T: Timing> {
    network: &'a N,
    timing: &'a T,
    ranks: Vec<RefCell<StateOf<N, T>>>,
    mailboxes: RefCell<Mail<T::Clock>>,
    outcomes: RefCell<Slots<Arrival<T::Clock>>>,
    ready: ReadyRanks,
    element_bytes: usize,
    running: Cell<usize>,
    deferred: RefCell<Option<Deferred<T::Clock>>>,
    refusal: RefCell<Option<Failure>>,
    is_refused: Cell<bool>,
    resumes: Cell<u32>,
    operations: Cell<u32>,
    is_interrupted: &'a dyn Fn() -> bool,
    has_stopped: Cell<bool>,
    simultaneous: RefCell<HashMap<(Direction, usize), Simultaneous>>,
    /// Under [`Order::OfPairs`]: the latest message of each pair with each tag.
    pairs: Option<RefCell<Pairs<T::Clock>>>,
    /// Whether messages have to wait for ports.
    sending: RefCell<Usage<T::Clock>>,
    receiving: RefCell<Usage<T::Clock>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Send,
    Receive,
}

const COMPETING: &str = "branches of one rank compete for its processor";
const WAITING_FOR_PORTS: &str = "a node may have more messages to send or to receive at a time than ports";

impl<N: Network, T: Timing> Dataflow<'_, N, T> {
    fn bytes(&self, len: usize) -> f64 {
        (len * self.element_bytes) as f64
    }

    fn refuse(&self, why: &str) {
        self.fail(Failure::Inapplicable(why.to_owned()));
    }

    fn fail(&self, failure: Failure) {
        self.is_refused.set(true);
        self.refusal.borrow_mut().get_or_insert(failure);
    }

    /// Counts an operation; whether it is to happen. Once the user wants to stop none does, and each waits for ever: a rank
    /// may run ahead without end, and nothing but its own operations can hold it up.
    #[inline(always)]
    fn goes_on(&self) -> bool {
        let operations = self.operations.get().wrapping_add(1);
        self.operations.set(operations);
        if operations.is_multiple_of(OPERATIONS_PER_LOOK) && !self.has_stopped.get() {
            self.has_stopped.set((self.is_interrupted)());
        }
        !self.has_stopped.get()
    }

    fn never(&self) -> Progress<T::Clock> {
        Progress::Waits(self.outcomes.borrow_mut().open())
    }

    /// Notes that the node meets an operation that the running rank issues at `time`. Where the node remembers
    /// something it must come after all others; those of one time must come from one resumption.
    fn meet_issued(&self, state: &mut StateOf<N, T>, time: T::Clock) {
        if N::NODE_HAS_STATE {
            let resume = self.resumes.get();
            let is_after = state.latest.is_none_or(|(latest, latest_resume)| match time.order(latest) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => resume == latest_resume,
                Some(Ordering::Less) | None => false,
            });
            if !is_after {
                self.refuse(COMPETING);
            }
            state.latest = Some((time, resume));
        }
    }

    /// Notes that the node meets an arrived message at `time`, after what was issued at that time and before all else.
    fn meet_arrived(&self, state: &mut StateOf<N, T>, time: T::Clock) {
        if N::NODE_HAS_STATE {
            if state.latest.is_some_and(|(latest, _)| time.order(latest).is_none_or(Ordering::is_lt)) {
                self.refuse(COMPETING);
            }
            state.latest = Some((time, 0));
        }
    }

    /// Notes a send or receive of `rank`. Messages are matched in the order in which they are issued, which must be
    /// that of time; and at one time there must not be two with the same peer and tag.
    #[inline]
    fn keep_order(&self, rank: usize, direction: Direction, time: T::Clock, peer: u32, tag: Tag) {
        if let Some(pairs) = &self.pairs {
            let earlier = pairs.borrow_mut().replace(rank, direction, peer, tag, time);
            if earlier.is_some_and(|earlier| !time.is_issued_after(earlier)) {
                self.refuse("the order of messages of one pair with one tag depends on timing");
            }
            return;
        }
        let state = &mut *self.ranks[rank].borrow_mut();
        let latest = match direction {
            Direction::Send => &mut state.sends,
            Direction::Receive => &mut state.receives,
        };
        if let Some(latest) = latest
            && time.seconds() <= latest.time.seconds()
        {
            self.check_order((direction, rank), *latest, Latest { time, peer, tag });
        }
        *latest = Some(Latest { time, peer, tag });
    }

    #[cold]
    fn check_order(&self, whose: (Direction, usize), latest: Latest<T::Clock>, now: Latest<T::Clock>) {
        let (time_s, latest_s) = (now.time.seconds(), latest.time.seconds());
        if time_s < latest_s {
            let why = "branches of one rank do not start their messages in the order of time";
            return self.fail(Failure::Unordered(why.to_owned()));
        }
        let simultaneous = &mut *self.simultaneous.borrow_mut();
        let known = simultaneous.entry(whose).or_default();
        if known.time_s != time_s || known.peers.is_empty() {
            *known = Simultaneous { time_s, peers: HashSet::from([(latest.peer, latest.tag)]) };
        }
        if !known.peers.insert((now.peer, now.tag)) {
            self.fail(Failure::Unordered("messages of one pair with one tag start at the same time".to_owned()));
        }
    }

    /// A message that is at `rank` and asked for at `ready` is received: when that is done.
    fn accept(&self, rank: usize, ready: T::Clock, len: usize) -> T::Clock {
        let state = &mut *self.ranks[rank].borrow_mut();
        self.meet_arrived(state, ready);
        self.network.accept(&mut state.busy, ready, self.bytes(len))
    }

    /// When a message that left `sender` is at its receiver.
    fn arrival(&self, departure: &Departure<T::Clock>, sender: usize, position: u64, receiver: usize) -> T::Clock {
        self.timing.pass(Passage::transfer(sender, position, receiver, departure.transfer_s), departure.start)
    }

    fn accept_deferred(&self, rank: usize) {
        let deferred = self.deferred.take();
        if let Some(Deferred { slot, ready, received }) = deferred {
            self.finish(rank, slot, ready, received);
        }
    }

    fn finish(&self, rank: usize, slot: u32, ready: T::Clock, received: Received) {
        let end = self.accept(rank, ready, received.len);
        self.outcomes.borrow_mut().fill(slot, (end, received));
        self.ready.push(rank);
    }

    /// Both sides of a rendezvous are there: the message leaves.
    fn transfer(&self, sender: usize, request: T::Clock, posted: T::Clock, len: usize) -> Departure<T::Clock> {
        let start = self.network.grant(request.max(posted));
        let departure = self.network.inject(&mut self.ranks[sender].borrow_mut().busy, start, self.bytes(len));
        self.hold_sending(sender, request, &departure);
        departure
    }

    /// Notes that a message, which starts no earlier than `issued`, holds a sending port of `rank`.
    #[inline(always)]
    fn hold_sending(&self, rank: usize, issued: T::Clock, departure: &Departure<T::Clock>) {
        let Departure { start, transfer_s, .. } = *departure;
        if !self.sending.borrow_mut().hold(rank, issued, start, || start.plus(transfer_s)) {
            self.refuse(WAITING_FOR_PORTS);
        }
    }

    /// Notes that a message, which starts no earlier than `issued`, holds a receiving port of `rank`.
    #[inline(always)]
    fn hold_receiving(&self, rank: usize, issued: T::Clock, start: T::Clock, arrival: T::Clock) {
        if !self.receiving.borrow_mut().hold(rank, issued, start, || arrival) {
            self.refuse(WAITING_FOR_PORTS);
        }
    }

    /// A message that no rank receives holds a receiving port, too, at a time that is not noted.
    fn check_unreceived(&self, ranks: usize) {
        let mailboxes = &*self.mailboxes.borrow();
        let is_sent = |(_, _, message): (u32, Tag, &Message<T::Clock>)| message.rendezvous.is_none();
        if self.network.ports().is_some() && (0..ranks).any(|rank| mailboxes.unexpected(rank).any(is_sent)) {
            self.refuse(WAITING_FOR_PORTS);
        }
    }

    /// A message meets the receive that waited for it.
    fn deliver(&self, rank: usize, posted: &Posted<T::Clock>, arrival: T::Clock, received: Received) {
        let ready = arrival.max(posted.time);
        if N::NODE_HAS_STATE && rank == self.running.get() {
            *self.deferred.borrow_mut() = Some(Deferred { slot: posted.slot, ready, received });
        } else {
            self.finish(rank, posted.slot, ready, received);
        }
    }

    /// Whether the rank that is running already waits for a message.
    fn is_receiving(&self, rank: usize) -> bool {
        self.deferred.borrow().is_some() || self.mailboxes.borrow().posted(rank).next().is_some()
    }
}

impl<N: Network, T: Timing> Clockwork for Dataflow<'_, N, T> {
    type Clock = T::Clock;

    fn is_in_order_of_time(&self) -> bool {
        false
    }

    fn send(&self, rank: usize, now: T::Clock, message: &Send) -> Progress<T::Clock> {
        let Send { to, tag, len, is_synchronous, .. } = *message;
        let to = to as usize;
        if !self.goes_on() {
            return self.never();
        }
        self.keep_order(rank, Direction::Send, now, to as u32, tag);
        let received = Received { source: rank, len };
        let is_eager = !is_synchronous && self.network.is_eager(self.bytes(len));
        if !is_eager && N::NODE_HAS_STATE {
            self.refuse("a rendezvous occupies the sender's processor at a time that the receiver decides");
        }
        let posted = self.mailboxes.borrow_mut().take_receive(to, rank as u32, tag);
        if !is_eager && posted.is_none() {
            let slot = self.outcomes.borrow_mut().open();
            let request = self.network.request(now);
            let message = Message { len, start: request, time: request, rendezvous: Some(slot) };
            self.mailboxes.borrow_mut().hold(to, rank as u32, tag, message);
            return Progress::Waits(slot);
        }
        let departure = match &posted {
            Some(posted) if !is_eager => self.transfer(rank, self.network.request(now), posted.time, len),
            _ => {
                let state = &mut *self.ranks[rank].borrow_mut();
                self.meet_issued(state, now);
                let departure = self.network.inject(&mut state.busy, now, self.bytes(len));
                self.hold_sending(rank, now, &departure);
                departure
            }
        };
        let arrival = self.arrival(&departure, rank, now.position(), to);
        match posted {
            Some(posted) => {
                let issued = if is_eager { departure.start } else { posted.time };
                self.hold_receiving(to, issued, departure.start, arrival);
                self.deliver(to, &posted, arrival, received);
            }
            None => {
                let message = Message { len, start: departure.start, time: arrival, rendezvous: None };
                self.mailboxes.borrow_mut().hold(to, rank as u32, tag, message);
            }
        }
        Progress::Done((departure.sender_done, received))
    }

    fn recv(&self, rank: usize, now: T::Clock, from: Source, tag: Tag) -> Progress<T::Clock> {
        if !self.goes_on() {
            return self.never();
        }
        let Source::Rank(peer) = from else {
            self.refuse("a receive takes its message from any source");
            return self.never();
        };
        self.keep_order(rank, Direction::Receive, now, peer, tag);
        if N::NODE_HAS_STATE && self.is_receiving(rank) {
            self.refuse("a rank receives several messages at a time");
        }
        let found = self.mailboxes.borrow_mut().take_message(rank, from, tag);
        let Some((source, message)) = found else {
            let slot = self.outcomes.borrow_mut().open();
            self.mailboxes.borrow_mut().wait(rank, from, tag, Posted { slot, time: now });
            return Progress::Waits(slot);
        };
        let received = Received { source: source as usize, len: message.len };
        let (issued, start, arrival) = match message.rendezvous {
            None => (message.start, message.start, message.time),
            Some(slot) => {
                let departure = self.transfer(received.source, message.time, now, message.len);
                let done = (departure.sender_done, received);
                self.outcomes.borrow_mut().fill(slot, done);
                self.ready.push(received.source);
                (now, departure.start, self.arrival(&departure, received.source, message.time.position(), rank))
            }
        };
        self.hold_receiving(rank, issued, start, arrival);
        let ready = arrival.max(now);
        if N::NODE_HAS_STATE {
            let slot = self.outcomes.borrow_mut().open();
            *self.deferred.borrow_mut() = Some(Deferred { slot, ready, received });
            return Progress::Waits(slot);
        }
        Progress::Done((self.accept(rank, ready, message.len), received))
    }

    fn work(&self, rank: usize, now: T::Clock, duration_s: f64) -> Progress<T::Clock> {
        if !self.goes_on() {
            return self.never();
        }
        let state = &mut *self.ranks[rank].borrow_mut();
        self.meet_issued(state, now);
        let passage = Passage::work(rank, now.position(), duration_s);
        let end = self.network.work(&mut state.busy, now, |start| self.timing.pass(passage, start));
        Progress::Done((end, Received { source: rank, len: 0 }))
    }

    fn take(&self, slot: u32) -> Option<Arrival<T::Clock>> {
        self.outcomes.borrow_mut().take(slot)
    }

    fn withdraw_ended(&self) {
        self.refuse("the later branch of a first is dropped, and what it did must not have happened");
    }

    fn withdraw(&self, rank: usize, slot: u32) {
        self.outcomes.borrow_mut().abandon(slot);
        self.mailboxes.borrow_mut().withdraw(rank, |posted| posted.slot == slot);
    }
}

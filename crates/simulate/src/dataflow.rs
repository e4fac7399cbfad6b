//! The dataflow engine: every rank runs ahead on its own clock, and messages carry their arrival times. No event queue.
//!
//! It applies when the order in which ranks are resumed cannot change a time: every receive names its source, each rank
//! issues its sends in the order of their times, and so its receives; and on a network whose nodes remember something (a
//! busy processor), all its operations. When that fails the engine says so, and the events engine takes over.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{Call, Error, Program, Ranks, ReadyRanks, Received, Source, Tag};

use crate::network::Network;
use crate::rank::{Arrival, Clockwork, Progress, Shared, SimulatedRank};
use crate::{Node, Options, Outcome, interrupted};

/// Why there is no outcome.
pub enum Failure {
    /// The engine does not apply, for this reason.
    Inapplicable(String),
    /// Another engine would not do better.
    Other(Error),
}

impl Failure {
    pub fn into_error(self) -> Error {
        match self {
            Self::Inapplicable(why) => Error::new(format!("the dataflow engine does not apply: {why}")),
            Self::Other(error) => error,
        }
    }
}

/// Resumptions between two looks at whether the user wants to stop.
const RESUMES_PER_LOOK: u32 = 1 << 20;

pub fn run<N: Network>(
    program: &impl Program,
    call: &Call,
    network: &N,
    node: Node,
    options: Options<'_>,
) -> Result<Outcome, Failure> {
    let shared = Shared::new(call, node, &options);
    let dataflow = Dataflow {
        network,
        ranks: (0..call.ranks).map(|_| RefCell::default()).collect(),
        mailboxes: RefCell::new(Mailboxes::new(call.ranks)),
        outcomes: RefCell::default(),
        ready: ReadyRanks::all(call.ranks),
        element_bytes: call.element_bytes,
        running: Cell::new(usize::MAX),
        deferred: RefCell::new(None),
        refusal: RefCell::new(None),
        is_refused: Cell::new(false),
        resumes: Cell::new(0),
        simultaneous: RefCell::default(),
    };
    let ranks = SimulatedRank::all(&shared, &dataflow);
    let mut programs = Ranks::new(ranks.iter().map(|r| program.run(r, call)));
    while let Some(rank) = dataflow.ready.pop() {
        dataflow.running.set(rank);
        dataflow.resumes.set(dataflow.resumes.get().wrapping_add(1).max(1));
        programs.resume(rank);
        dataflow.running.set(usize::MAX);
        if N::NODE_HAS_STATE {
            dataflow.accept_deferred(rank);
        }
        if dataflow.is_refused.get() {
            break;
        }
        if dataflow.resumes.get().is_multiple_of(RESUMES_PER_LOOK) && (options.is_interrupted)() {
            return Err(Failure::Other(interrupted()));
        }
    }
    if let Some(why) = dataflow.refusal.take() {
        return Err(Failure::Inapplicable(why));
    }
    if !programs.all_ended() {
        return Err(Failure::Inapplicable("some ranks wait for ever, or a branch that lost".to_owned()));
    }
    Ok(shared.outcome("dataflow", &ranks))
}

/// A message that waits at its receiver.
struct Message {
    len: usize,
    /// When it arrives; for a rendezvous, when its request does.
    time_s: f64,
    /// The slot of a sender that waits for the receive.
    rendezvous: Option<u32>,
}

struct Posted {
    slot: u32,
    time_s: f64,
}

/// A message that met its receive while the rank was running: it is accepted once the rank waits.
struct Deferred {
    slot: u32,
    ready_s: f64,
    received: Received,
}

struct State<B> {
    busy: B,
    /// When the node met its latest operation, and in which resumption it was issued.
    latest_s: f64,
    latest_resume: u32,
    sends: Latest,
    receives: Latest,
}

/// The latest send, or receive, of a rank: when it was issued, its peer and its tag.
#[derive(Clone, Copy)]
struct Latest {
    time_s: f64,
    peer: u32,
    tag: Tag,
}

impl<B: Default> Default for State<B> {
    fn default() -> Self {
        let none = Latest { time_s: f64::NEG_INFINITY, peer: 0, tag: 0 };
        Self { busy: B::default(), latest_s: f64::NEG_INFINITY, latest_resume: 0, sends: none, receives: none }
    }
}

/// Peers and tags of the sends, or receives, that a rank issued at one time.
#[derive(Default)]
struct Simultaneous {
    time_s: f64,
    peers: HashSet<(u32, Tag)>,
}

struct Dataflow<'a, N: Network> {
    network: &'a N,
    ranks: Vec<RefCell<State<N::Node>>>,
    mailboxes: RefCell<Mailboxes<Message, Posted>>,
    outcomes: RefCell<Slots<Arrival>>,
    ready: ReadyRanks,
    element_bytes: usize,
    running: Cell<usize>,
    deferred: RefCell<Option<Deferred>>,
    refusal: RefCell<Option<String>>,
    is_refused: Cell<bool>,
    resumes: Cell<u32>,
    simultaneous: RefCell<HashMap<(Direction, usize), Simultaneous>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Send,
    Receive,
}

impl<N: Network> Dataflow<'_, N> {
    fn bytes(&self, len: usize) -> f64 {
        (len * self.element_bytes) as f64
    }

    fn refuse(&self, why: &str) {
        self.is_refused.set(true);
        self.refusal.borrow_mut().get_or_insert_with(|| why.to_owned());
    }

    /// Notes that the node meets an operation that the running rank issues at `time_s`. Where the node remembers
    /// something it must come after all others; those of one time must come from one resumption.
    fn meet_issued(&self, state: &mut State<N::Node>, time_s: f64) {
        let resume = self.resumes.get();
        if N::NODE_HAS_STATE {
            if time_s < state.latest_s || (time_s == state.latest_s && resume != state.latest_resume) {
                self.refuse("branches of one rank compete for its processor");
            }
            (state.latest_s, state.latest_resume) = (time_s, resume);
        }
    }

    /// Notes that the node meets an arrived message at `time_s`, after what was issued at that time and before all else.
    fn meet_arrived(&self, state: &mut State<N::Node>, time_s: f64) {
        if N::NODE_HAS_STATE {
            if time_s < state.latest_s {
                self.refuse("branches of one rank compete for its processor");
            }
            (state.latest_s, state.latest_resume) = (time_s, 0);
        }
    }

    /// Notes a send or receive of `rank`. Messages are matched in the order in which they are issued, which must be
    /// that of time; and at one time there must not be two with the same peer and tag.
    #[inline]
    fn keep_order(&self, rank: usize, direction: Direction, time_s: f64, peer: u32, tag: Tag) {
        let state = &mut *self.ranks[rank].borrow_mut();
        let latest = match direction {
            Direction::Send => &mut state.sends,
            Direction::Receive => &mut state.receives,
        };
        if time_s <= latest.time_s {
            self.check_order((direction, rank), *latest, Latest { time_s, peer, tag });
        }
        (latest.time_s, latest.peer, latest.tag) = (time_s, peer, tag);
    }

    #[cold]
    fn check_order(&self, whose: (Direction, usize), latest: Latest, now: Latest) {
        if now.time_s < latest.time_s {
            return self.refuse("branches of one rank do not start their messages in the order of time");
        }
        let simultaneous = &mut *self.simultaneous.borrow_mut();
        let known = simultaneous.entry(whose).or_default();
        if known.time_s != now.time_s || known.peers.is_empty() {
            *known = Simultaneous { time_s: now.time_s, peers: HashSet::from([(latest.peer, latest.tag)]) };
        }
        if !known.peers.insert((now.peer, now.tag)) {
            self.refuse("messages of one pair with one tag start at the same time");
        }
    }

    /// A message that is at `rank` and asked for at `ready_s` is received: when that is done.
    fn accept(&self, rank: usize, ready_s: f64, len: usize) -> f64 {
        let state = &mut *self.ranks[rank].borrow_mut();
        self.meet_arrived(state, ready_s);
        self.network.accept(&mut state.busy, ready_s, self.bytes(len))
    }

    fn accept_deferred(&self, rank: usize) {
        let deferred = self.deferred.take();
        if let Some(Deferred { slot, ready_s, received }) = deferred {
            self.finish(rank, slot, ready_s, received);
        }
    }

    fn finish(&self, rank: usize, slot: u32, ready_s: f64, received: Received) {
        let end_s = self.accept(rank, ready_s, received.len);
        self.outcomes.borrow_mut().fill(slot, (end_s, received));
        self.ready.push(rank);
    }

    /// Both sides of a rendezvous are there: when the sender is free, and when the message has arrived.
    fn transfer(&self, sender: usize, request_s: f64, posted_s: f64, len: usize) -> crate::network::Departure {
        let start_s = self.network.grant(request_s.max(posted_s));
        self.network.inject(&mut self.ranks[sender].borrow_mut().busy, start_s, self.bytes(len))
    }

    /// A message meets the receive that waited for it.
    fn deliver(&self, rank: usize, posted: &Posted, arrival_s: f64, received: Received) {
        let ready_s = arrival_s.max(posted.time_s);
        if N::NODE_HAS_STATE && rank == self.running.get() {
            *self.deferred.borrow_mut() = Some(Deferred { slot: posted.slot, ready_s, received });
        } else {
            self.finish(rank, posted.slot, ready_s, received);
        }
    }

    /// Whether the rank that is running already waits for a message.
    fn is_receiving(&self, rank: usize) -> bool {
        self.deferred.borrow().is_some() || self.mailboxes.borrow().posted(rank).next().is_some()
    }
}

impl<N: Network> Clockwork for Dataflow<'_, N> {
    const IN_ORDER_OF_TIME: bool = false;

    fn send(&self, rank: usize, now: f64, to: usize, tag: Tag, len: usize) -> Progress {
        self.keep_order(rank, Direction::Send, now, to as u32, tag);
        let received = Received { source: rank, len };
        let is_eager = self.network.is_eager(self.bytes(len));
        if !is_eager && N::NODE_HAS_STATE {
            self.refuse("a rendezvous occupies the sender's processor at a time that the receiver decides");
        }
        let posted = self.mailboxes.borrow_mut().take_receive(to, rank as u32, tag);
        if !is_eager && posted.is_none() {
            let slot = self.outcomes.borrow_mut().open();
            let time_s = self.network.request(now);
            let message = Message { len, time_s, rendezvous: Some(slot) };
            self.mailboxes.borrow_mut().hold(to, rank as u32, tag, message);
            return Progress::Waits(slot);
        }
        let departure = match &posted {
            Some(posted) if !is_eager => self.transfer(rank, self.network.request(now), posted.time_s, len),
            _ => {
                let state = &mut *self.ranks[rank].borrow_mut();
                self.meet_issued(state, now);
                self.network.inject(&mut state.busy, now, self.bytes(len))
            }
        };
        match posted {
            Some(posted) => self.deliver(to, &posted, departure.arrival, received),
            None => {
                let message = Message { len, time_s: departure.arrival, rendezvous: None };
                self.mailboxes.borrow_mut().hold(to, rank as u32, tag, message);
            }
        }
        Progress::Done((departure.sender_done, received))
    }

    fn recv(&self, rank: usize, now: f64, from: Source, tag: Tag) -> Progress {
        let Source::Rank(peer) = from else {
            self.refuse("a receive takes its message from any source");
            return Progress::Waits(self.outcomes.borrow_mut().open());
        };
        self.keep_order(rank, Direction::Receive, now, peer, tag);
        if N::NODE_HAS_STATE && self.is_receiving(rank) {
            self.refuse("a rank receives several messages at a time");
        }
        let found = self.mailboxes.borrow_mut().take_message(rank, from, tag);
        let Some((source, message)) = found else {
            let slot = self.outcomes.borrow_mut().open();
            self.mailboxes.borrow_mut().wait(rank, from, tag, Posted { slot, time_s: now });
            return Progress::Waits(slot);
        };
        let received = Received { source: source as usize, len: message.len };
        let arrival_s = match message.rendezvous {
            None => message.time_s,
            Some(slot) => {
                let departure = self.transfer(received.source, message.time_s, now, message.len);
                let done = (departure.sender_done, received);
                self.outcomes.borrow_mut().fill(slot, done);
                self.ready.push(received.source);
                departure.arrival
            }
        };
        let ready_s = arrival_s.max(now);
        if N::NODE_HAS_STATE {
            let slot = self.outcomes.borrow_mut().open();
            *self.deferred.borrow_mut() = Some(Deferred { slot, ready_s, received });
            return Progress::Waits(slot);
        }
        Progress::Done((self.accept(rank, ready_s, message.len), received))
    }

    fn work(&self, rank: usize, now: f64, duration_s: f64) -> Progress {
        let state = &mut *self.ranks[rank].borrow_mut();
        self.meet_issued(state, now);
        let end_s = self.network.work(&mut state.busy, now, duration_s);
        Progress::Done((end_s, Received { source: rank, len: 0 }))
    }

    fn take(&self, slot: u32) -> Option<Arrival> {
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

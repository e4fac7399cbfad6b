//! The dataflow engine: every rank runs ahead on its own clock, and messages carry their arrival times. No event queue.
//!
//! It applies when the order in which ranks are resumed cannot change a time: every receive names its source, and on a
//! network whose nodes remember something (a busy processor), each rank's operations are met in the order of their times.
//! When that fails the engine says so, and the events engine takes over.

use std::cell::{Cell, RefCell};

use hocket_core::matching::{Mailbox, Slots};
use hocket_core::{Call, Error, Program, Ranks, ReadyQueue, Received, Source, Tag};

use crate::network::Network;
use crate::rank::{Arrival, Clockwork, Load, Progress, Shared, SimulatedRank};
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
        ready: ReadyQueue::all(call.ranks),
        running: Cell::new(usize::MAX),
        refusal: RefCell::new(None),
        is_refused: Cell::new(false),
    };
    let ranks = SimulatedRank::all(&shared, &dataflow);
    let mut programs = Ranks::new(ranks.iter().map(|r| program.run(r, call)));
    let mut resumes = 0;
    while let Some(rank) = dataflow.ready.pop() {
        dataflow.running.set(rank);
        programs.resume(rank);
        dataflow.running.set(usize::MAX);
        if N::NODE_HAS_STATE {
            dataflow.accept_deferred(rank);
        }
        resumes += 1;
        if dataflow.is_refused.get() {
            break;
        }
        if resumes % RESUMES_PER_LOOK == 0 && (options.is_interrupted)() {
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
    bytes: f64,
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
    bytes: f64,
    received: Received,
}

struct State<B> {
    mailbox: Mailbox<Message, Posted>,
    outcomes: Slots<Arrival>,
    busy: B,
    /// Time of the latest operation that the node met.
    latest_s: f64,
    deferred: Option<Deferred>,
}

impl<B: Default> Default for State<B> {
    fn default() -> Self {
        Self {
            mailbox: Mailbox::default(),
            outcomes: Slots::default(),
            busy: B::default(),
            latest_s: 0.0,
            deferred: None,
        }
    }
}

struct Dataflow<'a, N: Network> {
    network: &'a N,
    ranks: Vec<RefCell<State<N::Node>>>,
    ready: ReadyQueue,
    running: Cell<usize>,
    refusal: RefCell<Option<String>>,
    is_refused: Cell<bool>,
}

impl<N: Network> Dataflow<'_, N> {
    fn refuse(&self, why: &str) {
        self.is_refused.set(true);
        self.refusal.borrow_mut().get_or_insert_with(|| why.to_owned());
    }

    /// Notes that the node meets an operation at `time_s`, which must not be before the latest one.
    fn meet(&self, state: &mut State<N::Node>, time_s: f64) {
        if N::NODE_HAS_STATE {
            if time_s < state.latest_s {
                self.refuse("branches of one rank compete for its processor");
            }
            state.latest_s = time_s;
        }
    }

    /// A message that is at `rank` and asked for at `ready_s` is received: when that is done.
    fn accept(&self, rank: usize, ready_s: f64, bytes: f64) -> f64 {
        let state = &mut *self.ranks[rank].borrow_mut();
        self.meet(state, ready_s);
        self.network.accept(&mut state.busy, ready_s, bytes)
    }

    fn accept_deferred(&self, rank: usize) {
        let deferred = self.ranks[rank].borrow_mut().deferred.take();
        if let Some(Deferred { slot, ready_s, bytes, received }) = deferred {
            self.finish(rank, slot, ready_s, bytes, received);
        }
    }

    fn finish(&self, rank: usize, slot: u32, ready_s: f64, bytes: f64, received: Received) {
        let end_s = self.accept(rank, ready_s, bytes);
        self.ranks[rank].borrow_mut().outcomes.fill(slot, (end_s, received));
        self.ready.push(rank);
    }

    /// Both sides of a rendezvous are there: when the sender is free, and when the message has arrived.
    fn transfer(&self, sender: usize, request_s: f64, posted_s: f64, bytes: f64) -> crate::network::Departure {
        let start_s = self.network.grant(request_s.max(posted_s));
        self.network.inject(&mut self.ranks[sender].borrow_mut().busy, start_s, bytes)
    }

    /// A message meets the receive that waited for it.
    fn deliver(&self, rank: usize, posted: &Posted, arrival_s: f64, bytes: f64, received: Received) {
        let ready_s = arrival_s.max(posted.time_s);
        if N::NODE_HAS_STATE && rank == self.running.get() {
            self.defer(rank, Deferred { slot: posted.slot, ready_s, bytes, received });
        } else {
            self.finish(rank, posted.slot, ready_s, bytes, received);
        }
    }

    fn defer(&self, rank: usize, deferred: Deferred) {
        if self.ranks[rank].borrow_mut().deferred.replace(deferred).is_some() {
            self.refuse("a rank receives several messages at a time");
        }
    }
}

impl<N: Network> Clockwork for Dataflow<'_, N> {
    const IN_ORDER_OF_TIME: bool = false;

    fn send(&self, rank: usize, now: f64, to: usize, tag: Tag, load: Load) -> Progress<Arrival> {
        let received = Received { source: rank, len: load.len };
        let is_eager = self.network.is_eager(load.bytes);
        if !is_eager && N::NODE_HAS_STATE {
            self.refuse("a rendezvous occupies the sender's processor at a time that the receiver decides");
        }
        let posted = self.ranks[to].borrow_mut().mailbox.take_receive(rank as u32, tag);
        if !is_eager && posted.is_none() {
            let slot = self.ranks[rank].borrow_mut().outcomes.open();
            let time_s = self.network.request(now);
            let message = Message { len: load.len, bytes: load.bytes, time_s, rendezvous: Some(slot) };
            self.ranks[to].borrow_mut().mailbox.hold(rank as u32, tag, message);
            return Progress::Waits(slot);
        }
        let departure = match &posted {
            Some(posted) if !is_eager => self.transfer(rank, self.network.request(now), posted.time_s, load.bytes),
            _ => {
                let state = &mut *self.ranks[rank].borrow_mut();
                self.meet(state, now);
                self.network.inject(&mut state.busy, now, load.bytes)
            }
        };
        match posted {
            Some(posted) => self.deliver(to, &posted, departure.arrival, load.bytes, received),
            None => {
                let message =
                    Message { len: load.len, bytes: load.bytes, time_s: departure.arrival, rendezvous: None };
                self.ranks[to].borrow_mut().mailbox.hold(rank as u32, tag, message);
            }
        }
        Progress::Done((departure.sender_done, received))
    }

    fn recv(&self, rank: usize, now: f64, from: Source, tag: Tag) -> Progress<Arrival> {
        if from == Source::Any {
            self.refuse("a receive takes its message from any source");
        }
        let found = self.ranks[rank].borrow_mut().mailbox.take_message(from, tag);
        let Some((source, message)) = found else {
            let state = &mut *self.ranks[rank].borrow_mut();
            if N::NODE_HAS_STATE && !state.mailbox.posted().is_empty() {
                self.refuse("a rank receives several messages at a time");
            }
            let slot = state.outcomes.open();
            state.mailbox.wait(from, tag, Posted { slot, time_s: now });
            return Progress::Waits(slot);
        };
        let received = Received { source: source as usize, len: message.len };
        let arrival_s = match message.rendezvous {
            None => message.time_s,
            Some(slot) => {
                let departure = self.transfer(received.source, message.time_s, now, message.bytes);
                let done = (departure.sender_done, received);
                self.ranks[received.source].borrow_mut().outcomes.fill(slot, done);
                self.ready.push(received.source);
                departure.arrival
            }
        };
        let ready_s = arrival_s.max(now);
        if N::NODE_HAS_STATE {
            let slot = self.ranks[rank].borrow_mut().outcomes.open();
            self.defer(rank, Deferred { slot, ready_s, bytes: message.bytes, received });
            return Progress::Waits(slot);
        }
        Progress::Done((self.accept(rank, ready_s, message.bytes), received))
    }

    fn work(&self, rank: usize, now: f64, duration_s: f64) -> Progress<Arrival> {
        let state = &mut *self.ranks[rank].borrow_mut();
        self.meet(state, now);
        let end_s = self.network.work(&mut state.busy, now, duration_s);
        Progress::Done((end_s, Received { source: rank, len: 0 }))
    }

    fn take(&self, rank: usize, slot: u32) -> Option<Arrival> {
        self.ranks[rank].borrow_mut().outcomes.take(slot)
    }

    fn withdraw(&self, rank: usize, slot: u32) {
        let state = &mut *self.ranks[rank].borrow_mut();
        state.outcomes.abandon(slot);
        state.mailbox.withdraw(|posted| posted.slot == slot);
    }
}

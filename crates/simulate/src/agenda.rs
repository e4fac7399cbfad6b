//! The future events of the events engine, in their order: by time, kind, and place.

use std::collections::VecDeque;

use crate::flights::Envelope;
use crate::shuffle::Shuffle;
use crate::timetable::{Event, Timetable};

/// Bits of an event's key below its kind, for its place.
const PLACE_BITS: u32 = 61;

/// The place of an event in which messages of several ranks can meet, among such events of one time: by sender, in the
/// order of sending. It does not depend on when, and at which rank, the event was made. Other events come before.
fn place_of(envelope: &Envelope) -> u64 {
    const NUMBER_BITS: u32 = 34;
    1 << (PLACE_BITS - 1) | u64::from(envelope.from) << NUMBER_BITS | envelope.number & ((1 << NUMBER_BITS) - 1)
}

/// What happens in an event.
pub enum Action {
    /// A message leaves its node for a network with contention.
    Leave { flight: u32 },
    /// The processor has done its part of a message, which asks for ports.
    Ask { flight: u32 },
    /// A message starts to pass what ranks share. Without that it arrives at `arrival_s`; of this, `latency_s` follows.
    Pass { flight: u32, arrival_s: f64, latency_s: f64 },
    /// The network has an event.
    Advance,
    /// A message that left by [`Action::Leave`] or through ports has arrived.
    Arrive { flight: u32 },
    /// An operation of `rank` is done.
    Complete { rank: u32, slot: u32, from: u32, len: usize },
    /// A granted rendezvous leaves its sender.
    Inject { flight: u32 },
    /// A message has left its sender.
    Sent { flight: u32 },
    /// The interface of `rank` is free for the next waiting message.
    Free { rank: u32 },
    /// The first byte of a message reaches the receiver's interface now; its last byte arrives at `arrival_s`.
    TakeIn { flight: u32, arrival_s: f64 },
    /// A message that is bound to its receive has arrived.
    Deliver { rank: u32, slot: u32, from: u32, len: usize, is_switched: bool },
    /// A message that a receive from any source may take has arrived.
    Probe { rank: u32 },
    /// Circuits and ports are assigned.
    Decide,
}

impl Action {
    /// The order of events at one time: those that let a rank continue come before arrivals.
    #[inline]
    pub fn kind(&self) -> u64 {
        match self {
            Self::Leave { .. } | Self::Ask { .. } | Self::Pass { .. } => LEAVING,
            Self::Advance => ADVANCING,
            Self::Complete { .. } | Self::Sent { .. } | Self::Free { .. } => COMPLETING,
            Self::Inject { .. } => GRANTING,
            Self::TakeIn { .. } | Self::Arrive { .. } | Self::Deliver { .. } | Self::Probe { .. } => ARRIVING,
            Self::Decide => DECIDING,
        }
    }
}

impl Action {
    /// The rank, or else the message, that an event concerns.
    fn subject(&self) -> u32 {
        match self {
            Self::Complete { rank, .. } | Self::Deliver { rank, .. } | Self::Free { rank } | Self::Probe { rank } => {
                *rank
            }
            Self::Leave { flight }
            | Self::Ask { flight }
            | Self::Arrive { flight }
            | Self::Inject { flight }
            | Self::Sent { flight }
            | Self::Pass { flight, .. }
            | Self::TakeIn { flight, .. } => *flight,
            Self::Advance | Self::Decide => 0,
        }
    }
}

pub const LEAVING: u64 = 0;
pub const ADVANCING: u64 = 1;
pub const COMPLETING: u64 = 2;
const GRANTING: u64 = 3;
const ARRIVING: u64 = 4;
pub const DECIDING: u64 = 5;
const KINDS: usize = 6;

/// The future events in their order.
pub struct Agenda {
    pub now_s: f64,
    /// Another order of events that are made in turn.
    shuffle: Option<Box<Shuffle>>,
    /// Events of the present time that were added since it came, by kind.
    present_events: [VecDeque<Action>; KINDS],
    /// A bit for each kind that has such events.
    kinds_present: u8,
    /// The other events.
    queue: Timetable<Action>,
    sequence: u64,
}

impl Agenda {
    pub fn new(shuffle: Option<Box<Shuffle>>) -> Self {
        Self {
            now_s: 0.0,
            shuffle,
            present_events: Default::default(),
            kinds_present: 0,
            queue: Timetable::new(),
            sequence: 0,
        }
    }

    /// The other order in which ranks and events are looked at, if a test wants one.
    #[inline(always)]
    pub fn shuffle(&self) -> Option<&Shuffle> {
        self.shuffle.as_deref()
    }

    #[inline(always)]
    pub fn at(&mut self, time_s: f64, action: Action) {
        let kind = action.kind();
        if let Some(shuffle) = &self.shuffle {
            self.sequence += 1;
            let place = shuffle.place_of_event(action.subject(), self.sequence, PLACE_BITS - 1);
            return self.push(time_s, place, action);
        }
        if time_s == self.now_s {
            self.present_events[kind as usize].push_back(action);
            self.kinds_present |= 1 << kind;
            return;
        }
        self.sequence += 1;
        self.push(time_s, self.sequence, action);
    }

    /// Adds an event in which this message can meet messages of other ranks.
    #[inline(always)]
    pub fn at_of(&mut self, time_s: f64, envelope: &Envelope, action: Action) {
        self.push(time_s, place_of(envelope), action);
    }

    #[inline(always)]
    fn push(&mut self, time_s: f64, place: u64, action: Action) {
        self.queue.push(Event { time_s, key: action.kind() << PLACE_BITS | place, what: action });
    }

    /// The kind of the next event, if it is at the present time.
    #[inline]
    pub fn first_kind(&mut self) -> Option<u64> {
        self.first_kind_at(self.now_s)
    }

    /// The kind of the next event, if it is at `time_s` and no event is earlier.
    #[inline]
    pub fn first_kind_at(&mut self, time_s: f64) -> Option<u64> {
        let queue_kind = self.queue.first_key_at(time_s).map(|key| key >> PLACE_BITS);
        let present_kind = (self.kinds_present != 0).then(|| self.kinds_present.trailing_zeros().into());
        queue_kind.into_iter().chain(present_kind).min()
    }

    /// The time of the next event; infinite when there is none.
    #[inline]
    pub fn first_s(&self) -> f64 {
        if self.kinds_present != 0 { self.now_s } else { self.queue.first_s() }
    }

    /// Takes the next event, and advances to its time.
    pub fn pop(&mut self) -> Option<Action> {
        if let Some(kind) = self.first_kind() {
            return self.pop_kind(kind);
        }
        let event = self.queue.pop_until(f64::INFINITY)?;
        self.now_s = event.time_s;
        Some(event.what)
    }

    /// Takes the next event, which is of this kind and due now; events added before that time came are first.
    #[inline]
    pub fn pop_kind(&mut self, kind: u64) -> Option<Action> {
        if self.queue.first_key_at(self.now_s).is_some_and(|key| key >> PLACE_BITS == kind) {
            return self.queue.pop_until(self.now_s).map(|event| event.what);
        }
        let present_events = &mut self.present_events[kind as usize];
        let action = present_events.pop_front();
        if present_events.is_empty() {
            self.kinds_present &= !(1 << kind);
        }
        action
    }
}

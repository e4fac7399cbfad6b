//! The future events of the events engine, in their order: by time, kind, and place.

use std::mem::swap;

use super::messages::Message;
use crate::later::Later;
use crate::shuffle::Shuffle;

/// Bits of an event's place among those of its time and kind.
const PLACE_BITS: u32 = 61;
/// The place of an event that is made in its turn, without a shuffle: before its time, or at its time.
const MADE_BEFORE: u64 = 0;
const MADE_NOW: u64 = 1 << PLACE_BITS;

/// The place of an event in which messages of several ranks can meet, among such events of one time: by sender, in the
/// order of sending. It does not depend on when, and at which rank, the event was made. Other events come before.
fn place_of(message: &Message) -> u64 {
    const NUMBER_BITS: u32 = 34;
    1 << (PLACE_BITS - 1) | u64::from(message.from) << NUMBER_BITS | message.number & ((1 << NUMBER_BITS) - 1)
}

/// What happens in an event.
#[derive(Clone, Copy)]
pub enum Action {
    /// A message leaves its node for a network with contention.
    Leave { message: u32 },
    /// The processor has done its part of a message, which asks for ports.
    Ask { message: u32 },
    /// A message starts to pass what ranks share. Without that it arrives at `arrival_s`; of this, `latency_s` follows.
    Pass { message: u32, arrival_s: f64, latency_s: f64 },
    /// A message that left by [`Action::Leave`] or through ports has arrived.
    Arrive { message: u32 },
    /// An operation of `rank` is done.
    Complete { rank: u32, slot: u32, from: u32, len: usize },
    /// A granted rendezvous leaves its sender.
    Inject { message: u32 },
    /// A message has left its sender.
    Sent { message: u32 },
    /// The interface of `rank` is free for the next waiting message.
    Free { rank: u32 },
    /// The first byte of a message reaches the receiver's interface now; its last byte arrives at `arrival_s`.
    TakeIn { message: u32, arrival_s: f64 },
    /// A message that is bound to its receive has arrived.
    Deliver { rank: u32, message: u32 },
    /// A message that a receive from any source may take has arrived.
    Probe { rank: u32 },
    /// Circuits and ports are assigned.
    Decide,
}

impl Action {
    /// The order of events at one time: those that let a rank continue come before arrivals.
    #[inline]
    pub fn kind(&self) -> usize {
        match self {
            Self::Leave { .. } | Self::Ask { .. } | Self::Pass { .. } => LEAVING,
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
            Self::Leave { message }
            | Self::Ask { message }
            | Self::Arrive { message }
            | Self::Inject { message }
            | Self::Sent { message }
            | Self::Pass { message, .. }
            | Self::TakeIn { message, .. } => *message,
            Self::Decide => 0,
        }
    }
}

pub const LEAVING: usize = 0;
/// The network has an event. Such events are not on the agenda.
pub const ADVANCING: usize = 1;
pub const COMPLETING: usize = 2;
const GRANTING: usize = 3;
pub const ARRIVING: usize = 4;
pub const DECIDING: usize = 5;
const KINDS: usize = 6;

/// The events of one kind at the present time.
#[derive(Default)]
struct List {
    /// With their places; events of one place in the order in which they were made.
    events: Vec<(u64, Action)>,
    is_unsorted: bool,
}

impl List {
    #[inline(always)]
    fn push(&mut self, place: u64, action: Action) {
        self.is_unsorted |= self.events.last().is_some_and(|last| last.0 > place);
        self.events.push((place, action));
    }
}

/// The future events in their order.
pub struct Agenda {
    now_s: f64,
    /// Another order of events that are made in turn.
    shuffle: Option<Box<Shuffle>>,
    /// The events of the present time, by kind, and a bit for each kind that has some.
    present: [List; KINDS],
    kinds: u8,
    later: Later<(u64, Action)>,
    /// Number of events made in turn under a shuffle.
    sequence: u64,
}

impl Agenda {
    pub fn new(shuffle: Option<Box<Shuffle>>) -> Self {
        Self { now_s: 0.0, shuffle, present: Default::default(), kinds: 0, later: Later::new(), sequence: 0 }
    }

    /// The other order in which ranks and events are looked at, if a test wants one.
    #[inline(always)]
    pub fn shuffle(&self) -> Option<&Shuffle> {
        self.shuffle.as_deref()
    }

    /// The present time.
    #[inline(always)]
    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    /// Adds an event, no earlier than the present time.
    #[inline(always)]
    pub fn at(&mut self, time_s: f64, action: Action) {
        let place = match &self.shuffle {
            Some(shuffle) => {
                self.sequence += 1;
                shuffle.place_of_event(action.subject(), self.sequence, PLACE_BITS - 1)
            }
            None if time_s == self.now_s => MADE_NOW,
            None => MADE_BEFORE,
        };
        self.add(time_s, place, action);
    }

    /// Adds an event in which this message can meet messages of other ranks.
    #[inline(always)]
    pub fn at_of(&mut self, time_s: f64, message: &Message, action: Action) {
        self.add(time_s, place_of(message), action);
    }

    #[inline(always)]
    fn add(&mut self, time_s: f64, place: u64, action: Action) {
        if time_s == self.now_s {
            let kind = action.kind();
            self.present[kind].push(place, action);
            self.kinds |= 1 << kind;
        } else {
            self.later.push(time_s, (place, action));
        }
    }

    /// The kind of the next event, if it is at the present time.
    #[inline(always)]
    pub fn first_kind(&self) -> Option<usize> {
        (self.kinds != 0).then(|| self.kinds.trailing_zeros() as usize)
    }

    /// Whether there is no present event of this kind.
    #[inline(always)]
    pub fn has_none(&self, kind: usize) -> bool {
        self.kinds & 1 << kind == 0
    }

    /// Whether an event was made at the present time, or its place does not tell.
    #[inline(always)]
    pub fn is_made_now(&self, event: Option<&(u64, Action)>) -> bool {
        self.shuffle.is_some() || event.is_some_and(|event| event.0 == MADE_NOW)
    }

    /// The time of the next event; infinite when there is none.
    #[inline(always)]
    pub fn first_s(&self) -> f64 {
        if self.kinds != 0 { self.now_s } else { self.later.first_s() }
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.kinds == 0 && self.later.is_empty()
    }

    /// Goes on to the next event, if it is the only one of its time, and takes it. No event is present.
    #[inline(always)]
    pub fn advance_to_only(&mut self) -> Option<Action> {
        let time_s = self.later.first_s();
        let (_, action) = self.later.take_only()?;
        self.now_s = time_s;
        Some(action)
    }

    /// Makes this the present time, which is not after the next event.
    #[inline(always)]
    pub fn advance_to(&mut self, time_s: f64) {
        self.now_s = time_s;
        if self.later.first_s() == time_s {
            let Self { present, kinds, .. } = self;
            self.later.take_first(|(place, action)| {
                let kind = action.kind();
                present[kind].push(place, action);
                *kinds |= 1 << kind;
            });
        }
    }

    /// Takes all present events of a kind, in their order; `events` is empty before.
    #[inline]
    pub fn take(&mut self, kind: usize, events: &mut Vec<(u64, Action)>) {
        let list = &mut self.present[kind];
        if std::mem::take(&mut list.is_unsorted) {
            list.events.sort_by_key(|event| event.0);
        }
        swap(&mut list.events, events);
        self.kinds &= !(1 << kind);
    }
}

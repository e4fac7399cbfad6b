//! The future events of the events engine, in their order: by time, kind, and place.

use std::mem::{swap, take};

use super::messages::{Message, Messages};
use crate::later::Later;
use crate::shuffle::Shuffle;

/// Bits of an event's place among those of its time and kind.
const PLACE_BITS: u32 = 61;
/// The place of events that were made before their time, in their order; and of those that were made at their time. Under a
/// shuffle, they have other places below those of messages.
const EARLY: u64 = 0;
const LATE: u64 = 1 << PLACE_BITS;

/// The place of an event of a message, between these: by sender, in the order of sending.
fn place_of(message: &Message) -> u64 {
    const NUMBER_BITS: u32 = 34;
    1 << (PLACE_BITS - 1) | u64::from(message.from) << NUMBER_BITS | message.number & ((1 << NUMBER_BITS) - 1)
}

/// What happens in an event.
#[derive(Clone, Copy)]
pub enum Action {
    /// A message leaves its node for a network with contention.
    Leave { message: u32 },
    /// A message starts to pass what ranks share.
    Pass { message: u32 },
    /// The processor has done its part of a message, which asks for ports.
    Ask { message: u32 },
    /// An operation of `rank` is done.
    Complete { rank: u32, slot: u32 },
    /// The receive of a message is done.
    Receive { message: u32 },
    /// A message has left its sender.
    Sent { message: u32 },
    /// The interface of `rank` is free for the next waiting message.
    Free { rank: u32 },
    /// A granted rendezvous leaves its sender.
    Inject { message: u32 },
    /// The first byte of a message reaches the receiver's interface now.
    TakeIn { message: u32 },
    /// A message that left by [`Action::Leave`] or through ports has arrived.
    Arrive { message: u32 },
    /// A message that is bound to its receive, at `rank`, has arrived.
    Deliver { rank: u32, message: u32 },
    /// A message that a receive from any source may take has arrived.
    Probe { rank: u32 },
    /// Circuits and ports are assigned.
    Decide,
}

/// What an event concerns, which decides its place among events of its time and kind.
enum Subject {
    /// A message that can meet messages of other ranks: the order does not depend on when, and at which rank, the event was
    /// made.
    Message(u32),
    /// A rank, or a message that meets none: events come in the order in which they were made.
    Rank(u32),
}

impl Action {
    /// The order of events at one time: those that let a rank continue come before arrivals.
    #[inline(always)]
    pub fn kind(&self) -> usize {
        match self {
            Self::Leave { .. } | Self::Ask { .. } | Self::Pass { .. } => LEAVING,
            Self::Complete { .. } | Self::Receive { .. } | Self::Sent { .. } | Self::Free { .. } => COMPLETING,
            Self::Inject { .. } => GRANTING,
            Self::TakeIn { .. } | Self::Arrive { .. } | Self::Deliver { .. } | Self::Probe { .. } => ARRIVING,
            Self::Decide => DECIDING,
        }
    }

    #[inline(always)]
    fn subject(&self) -> Subject {
        match *self {
            Self::Leave { message }
            | Self::Pass { message }
            | Self::Inject { message }
            | Self::TakeIn { message }
            | Self::Arrive { message } => Subject::Message(message),
            Self::Complete { rank, .. } | Self::Deliver { rank, .. } | Self::Free { rank } | Self::Probe { rank } => {
                Subject::Rank(rank)
            }
            Self::Ask { message } | Self::Sent { message } | Self::Receive { message } => Subject::Rank(message),
            Self::Decide => Subject::Rank(0),
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

/// The events of the present time.
struct Present {
    /// By kind, and a bit for each kind that has some.
    lists: [List; KINDS],
    kinds: u8,
    /// Another order of events that are made in turn, and their number so far.
    shuffle: Option<Box<Shuffle>>,
    sequence: u64,
}

impl Present {
    /// Adds an event of this time. `turn` is [`LATE`] if the event was made at this time, else [`EARLY`].
    #[inline(always)]
    fn add(&mut self, action: Action, turn: u64, messages: &Messages) {
        let place = match (action.subject(), &self.shuffle) {
            (Subject::Message(id), _) => place_of(messages.get(id)),
            (Subject::Rank(_), None) => turn,
            (Subject::Rank(rank), Some(shuffle)) => {
                self.sequence += 1;
                shuffle.place_of_event(rank, self.sequence, PLACE_BITS - 1)
            }
        };
        let kind = action.kind();
        self.lists[kind].push(place, action);
        self.kinds |= 1 << kind;
    }
}

/// The events in their order.
pub struct Agenda {
    now_s: f64,
    present: Present,
    later: Later<Action>,
}

impl Agenda {
    pub fn new(shuffle: Option<Box<Shuffle>>) -> Self {
        let present = Present { lists: Default::default(), kinds: 0, shuffle, sequence: 0 };
        Self { now_s: 0.0, present, later: Later::new() }
    }

    /// The other order in which ranks and events are looked at, if a test wants one.
    #[inline(always)]
    pub fn shuffle(&self) -> Option<&Shuffle> {
        self.present.shuffle.as_deref()
    }

    /// The present time.
    #[inline(always)]
    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    /// Adds an event, no earlier than the present time.
    #[inline(always)]
    pub fn at(&mut self, time_s: f64, action: Action, messages: &Messages) {
        if time_s == self.now_s {
            self.present.add(action, LATE, messages);
        } else {
            self.later.push(time_s, action);
        }
    }

    /// The kind of the next event, if it is at the present time.
    #[inline(always)]
    pub fn first_kind(&self) -> Option<usize> {
        (self.present.kinds != 0).then(|| self.present.kinds.trailing_zeros() as usize)
    }

    /// Whether there is no present event of this kind.
    #[inline(always)]
    pub fn has_none(&self, kind: usize) -> bool {
        self.present.kinds & 1 << kind == 0
    }

    /// Whether an event was made at the present time, or its place does not tell.
    #[inline(always)]
    pub fn is_made_now(&self, event: Option<&(u64, Action)>) -> bool {
        self.present.shuffle.is_some() || event.is_some_and(|event| event.0 == LATE)
    }

    /// The time of the next event; infinite when there is none.
    #[inline(always)]
    pub fn first_s(&self) -> f64 {
        if self.present.kinds != 0 { self.now_s } else { self.later.first_s() }
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.present.kinds == 0 && self.later.is_empty()
    }

    /// Goes on to the next event, if it is the only one of its time, and takes it. No event is present.
    #[inline(always)]
    pub fn advance_to_only(&mut self) -> Option<Action> {
        let time_s = self.later.first_s();
        let action = self.later.take_only()?;
        self.now_s = time_s;
        Some(action)
    }

    /// Makes this the present time, which is not after the next event.
    #[inline(always)]
    pub fn advance_to(&mut self, time_s: f64, messages: &Messages) {
        self.now_s = time_s;
        if self.later.first_s() == time_s {
            self.later.take_first(|action| self.present.add(action, EARLY, messages));
        }
    }

    /// Takes all present events of a kind, in their order; `events` is empty before.
    #[inline]
    pub fn take(&mut self, kind: usize, events: &mut Vec<(u64, Action)>) {
        let list = &mut self.present.lists[kind];
        if take(&mut list.is_unsorted) {
            list.events.sort_by_key(|event| event.0);
        }
        swap(&mut list.events, events);
        self.present.kinds &= !(1 << kind);
    }
}

//! The future events of the events engine, in their order: by time, kind, and number.

use std::collections::VecDeque;

use crate::flights::Envelope;
use crate::timetable::{Event, Timetable};

/// Bits of an event's key below its kind, for its sequence number.
const SEQUENCE_BITS: u32 = 61;

/// In place of a sequence number, the order of rendezvous that leave at one time, after other events of their kind: by
/// sender, in the order of sending. So it does not depend on which receive was first.
pub fn order_of_rendezvous(envelope: &Envelope) -> u64 {
    const NUMBER_BITS: u32 = 34;
    1 << (SEQUENCE_BITS - 1) | u64::from(envelope.from) << NUMBER_BITS | envelope.number & ((1 << NUMBER_BITS) - 1)
}

/// What happens in an event.
pub enum Action {
    /// A message leaves its node for a network with contention.
    Leave { flight: u32 },
    /// The network has an event.
    Advance,
    /// A message that left by [`Action::Leave`] or through ports has arrived.
    Arrive { flight: u32 },
    /// An operation of `rank` is done.
    Complete { rank: u32, slot: u32, from: u32, len: usize },
    /// A granted rendezvous leaves its sender.
    Inject { flight: u32 },
    /// A rendezvous from another region is granted.
    Grant { flight: u32 },
    /// A message has left its sender.
    Sent { flight: u32 },
    /// The interface of `rank` is free for the next waiting message.
    Free { rank: u32 },
    /// The first byte of a message reaches the receiver's interface now; its last byte arrives at `arrival_s`.
    TakeIn { flight: u32, arrival_s: f64 },
    /// A message that is bound to its receive has arrived.
    Deliver { rank: u32, slot: u32, from: u32, len: usize },
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
            Self::Leave { .. } => LEAVING,
            Self::Advance => ADVANCING,
            Self::Complete { .. } | Self::Inject { .. } | Self::Sent { .. } | Self::Free { .. } => COMPLETING,
            Self::TakeIn { .. }
            | Self::Arrive { .. }
            | Self::Deliver { .. }
            | Self::Probe { .. }
            | Self::Grant { .. } => ARRIVING,
            Self::Decide => DECIDING,
        }
    }
}

pub const LEAVING: u64 = 0;
pub const ADVANCING: u64 = 1;
pub const COMPLETING: u64 = 2;
pub const DECIDING: u64 = 4;
const ARRIVING: u64 = 3;
const KINDS: usize = 5;

/// The future events in their order.
pub struct Agenda {
    pub now_s: f64,
    /// Events of the present time that were added since it came, by kind.
    added: [VecDeque<Action>; KINDS],
    /// A bit for each kind that has such events.
    occupied: u8,
    /// The other events.
    queue: Timetable<Action>,
    sequence: u64,
}

impl Agenda {
    pub fn new() -> Self {
        Self { now_s: 0.0, added: Default::default(), occupied: 0, queue: Timetable::new(), sequence: 0 }
    }

    #[inline(always)]
    pub fn at(&mut self, time_s: f64, action: Action) {
        let kind = action.kind();
        if time_s == self.now_s {
            self.added[kind as usize].push_back(action);
            self.occupied |= 1 << kind;
            return;
        }
        self.sequence += 1;
        self.put(time_s, self.sequence, action);
    }

    /// Adds an event of a later time, in this order among those of its kind.
    pub fn put(&mut self, time_s: f64, order: u64, action: Action) {
        self.queue.push(Event { time_s, key: action.kind() << SEQUENCE_BITS | order, what: action });
    }

    /// Whether events of this kind have been added for the present time.
    #[inline]
    pub fn has(&self, kind: u64) -> bool {
        self.occupied & (1 << kind) != 0
    }

    /// The kind of the next event, if it is at the present time.
    #[inline]
    pub fn first_kind(&mut self) -> Option<u64> {
        self.first_kind_at(self.now_s)
    }

    /// The kind of the next event, if it is at `time_s` and no event is earlier.
    #[inline]
    pub fn first_kind_at(&mut self, time_s: f64) -> Option<u64> {
        let waited = self.queue.first_key_at(time_s).map(|key| key >> SEQUENCE_BITS);
        let added = (self.occupied != 0).then(|| self.occupied.trailing_zeros().into());
        waited.into_iter().chain(added).min()
    }

    /// The time of the next event; infinite when there is none.
    #[inline]
    pub fn first_s(&self) -> f64 {
        if self.occupied != 0 { self.now_s } else { self.queue.first_s() }
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
        if self.queue.first_key_at(self.now_s).is_some_and(|key| key >> SEQUENCE_BITS == kind) {
            return self.queue.pop_until(self.now_s).map(|event| event.what);
        }
        let added = &mut self.added[kind as usize];
        let action = added.pop_front();
        if added.is_empty() {
            self.occupied &= !(1 << kind);
        }
        action
    }
}

//! Matching of messages and receives, by MPI's rules: by source and tag, in order, earliest first.

use smallvec::SmallVec;

use crate::{Source, Tag};

/// What waits at one rank: messages no receive has asked for yet, and receives no message has come for yet.
///
/// `M` is a world's message, `R` its receive.
pub struct Mailbox<M, R> {
    unexpected: SmallVec<[(u32, Tag, M); 2]>,
    posted: SmallVec<[(Source, Tag, R); 2]>,
}

impl<M, R> Default for Mailbox<M, R> {
    fn default() -> Self {
        Self { unexpected: SmallVec::new(), posted: SmallVec::new() }
    }
}

fn accepts(source: Source, tag: Tag, from: u32, message_tag: Tag) -> bool {
    tag == message_tag && (source == Source::Any || source == Source::Rank(from as usize))
}

impl<M, R> Mailbox<M, R> {
    /// A message arrives: the earliest receive that accepts it, with the message; or the message waits.
    pub fn arrive(&mut self, from: u32, tag: Tag, message: M) -> Option<(R, M)> {
        match self.posted.iter().position(|(source, wanted, _)| accepts(*source, *wanted, from, tag)) {
            Some(at) => Some((self.posted.remove(at).2, message)),
            None => {
                self.unexpected.push((from, tag, message));
                None
            }
        }
    }

    /// A receive is posted: the earliest message that it accepts, with its sender and the receive; or it waits.
    pub fn post(&mut self, source: Source, tag: Tag, receive: R) -> Option<(u32, M, R)> {
        match self.unexpected.iter().position(|(from, sent, _)| accepts(source, tag, *from, *sent)) {
            Some(at) => {
                let (from, _, message) = self.unexpected.remove(at);
                Some((from, message, receive))
            }
            None => {
                self.posted.push((source, tag, receive));
                None
            }
        }
    }

    /// The receives that wait.
    pub fn posted(&self) -> &[(Source, Tag, R)] {
        &self.posted
    }

    /// The messages that wait, in order of arrival: sender, tag, message.
    pub fn unexpected(&self) -> &[(u32, Tag, M)] {
        &self.unexpected
    }

    /// Takes back the waiting receives that `is_withdrawn` picks.
    pub fn withdraw(&mut self, mut is_withdrawn: impl FnMut(&R) -> bool) {
        self.posted.retain(|(_, _, receive)| !is_withdrawn(receive));
    }
}

/// Operations under way, each known by a small number until its outcome is taken.
pub struct Slots<V> {
    slots: SmallVec<[Slot<V>; 2]>,
}

enum Slot<V> {
    Free,
    Pending,
    Done(V),
}

impl<V> Default for Slots<V> {
    fn default() -> Self {
        Self { slots: SmallVec::new() }
    }
}

impl<V> Slots<V> {
    /// Opens a slot.
    pub fn open(&mut self) -> u32 {
        let free = self.slots.iter().position(|s| matches!(s, Slot::Free)).unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.slots.len() - 1
        });
        self.slots[free] = Slot::Pending;
        free as u32
    }

    /// The operation has this outcome.
    pub fn fill(&mut self, slot: u32, outcome: V) {
        self.slots[slot as usize] = Slot::Done(outcome);
    }

    /// The outcome, once there is one; the slot is then free again.
    pub fn take(&mut self, slot: u32) -> Option<V> {
        let slot = &mut self.slots[slot as usize];
        if !matches!(slot, Slot::Done(_)) {
            return None;
        }
        match std::mem::replace(slot, Slot::Free) {
            Slot::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Closes the slot of an operation that nobody waits for any more; whether it was still pending.
    pub fn close(&mut self, slot: u32) -> bool {
        matches!(std::mem::replace(&mut self.slots[slot as usize], Slot::Free), Slot::Pending)
    }
}

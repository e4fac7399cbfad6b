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
    /// Takes the earliest waiting receive that accepts a message `from` with `tag`.
    pub fn take_receive(&mut self, from: u32, tag: Tag) -> Option<R> {
        let at = self.posted.iter().position(|(source, wanted, _)| accepts(*source, *wanted, from, tag))?;
        Some(self.posted.remove(at).2)
    }

    /// The message waits for a receive.
    pub fn hold(&mut self, from: u32, tag: Tag, message: M) {
        self.unexpected.push((from, tag, message));
    }

    /// Takes the earliest waiting message that a receive from `source` with `tag` accepts, and its sender.
    pub fn take_message(&mut self, source: Source, tag: Tag) -> Option<(u32, M)> {
        let at = self.unexpected.iter().position(|(from, sent, _)| accepts(source, tag, *from, *sent))?;
        let (from, _, message) = self.unexpected.remove(at);
        Some((from, message))
    }

    /// The receive waits for a message.
    pub fn wait(&mut self, source: Source, tag: Tag, receive: R) {
        self.posted.push((source, tag, receive));
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
    Abandoned,
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
        let slot = &mut self.slots[slot as usize];
        *slot = if matches!(slot, Slot::Abandoned) { Slot::Free } else { Slot::Done(outcome) };
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

    /// Nobody waits for this operation any more: its outcome, now or later, is thrown away.
    pub fn abandon(&mut self, slot: u32) {
        let slot = &mut self.slots[slot as usize];
        *slot = if matches!(slot, Slot::Done(_)) { Slot::Free } else { Slot::Abandoned };
    }
}

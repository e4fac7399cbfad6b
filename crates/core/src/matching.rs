//! Matching of messages and receives, by MPI's rules: by source and tag, in order, earliest first.

use crate::{Source, Tag};

/// Each rank's messages that no receive has asked for yet, and receives that no message has come for yet.
///
/// `M` is a world's message, `R` its receive. A rank costs 12 bytes; waiting entries lie in two pools, whose places are
/// reused at once, so that a million ranks stay in the cache.
pub struct Mailboxes<M, R> {
    unexpected: Queues<M>,
    posted: Lists<(Source, Tag, R)>,
}

impl<M, R> Mailboxes<M, R> {
    /// Bytes of a rank for which nothing waits.
    pub const BYTES_OF_A_RANK: usize = size_of::<u32>() + size_of::<(u32, u32)>();

    /// Empty mailboxes of ranks `0..ranks`.
    pub fn new(ranks: usize) -> Self {
        Self { unexpected: Queues::new(ranks), posted: Lists::new(ranks) }
    }

    /// Takes the earliest receive waiting at `rank` that accepts a message `from` with `tag`.
    #[inline(always)]
    pub fn take_receive(&mut self, rank: usize, from: u32, tag: Tag) -> Option<R> {
        self.posted.take_first(rank, |(source, wanted, _)| *wanted == tag && source.accepts(from)).map(|found| found.2)
    }

    /// Lets the message wait at `rank` for a receive. Returns the place of the message while it waits.
    #[inline(always)]
    pub fn hold(&mut self, rank: usize, from: u32, tag: Tag, message: M) -> u32 {
        self.unexpected.push(rank, from, tag, message)
    }

    /// The message that waits at this place.
    pub fn held(&mut self, place: u32) -> Option<&mut M> {
        self.unexpected.get_mut(place)
    }

    /// Takes the earliest message waiting at `rank` that a receive from `source` with `tag` accepts, and its sender.
    #[inline(always)]
    pub fn take_message(&mut self, rank: usize, source: Source, tag: Tag) -> Option<(u32, M)> {
        self.unexpected.take_first(rank, source, tag)
    }

    /// Lets the receive wait at `rank` for a message.
    #[inline(always)]
    pub fn wait(&mut self, rank: usize, source: Source, tag: Tag, receive: R) {
        self.posted.push(rank, (source, tag, receive));
    }

    /// The receives that wait at `rank`, in the order in which they were posted.
    pub fn posted(&self, rank: usize) -> impl Iterator<Item = &(Source, Tag, R)> {
        self.posted.iter(rank)
    }

    /// The messages that wait at `rank`, those of one sender and tag in the order in which they came: sender, tag, message.
    pub fn unexpected(&self, rank: usize) -> impl Iterator<Item = (u32, Tag, &M)> {
        self.unexpected.all(rank).filter_map(Node::held)
    }

    /// The message that has waited longest at `rank`.
    pub fn oldest(&self, rank: usize) -> Option<(u32, Tag, &M)> {
        self.unexpected.queues(rank).min_by_key(|head| head.number)?.held()
    }

    /// Takes back the receive waiting at `rank` that `is_withdrawn` picks.
    pub fn withdraw(&mut self, rank: usize, mut is_withdrawn: impl FnMut(&R) -> bool) {
        self.posted.take_first(rank, |(_, _, receive)| is_withdrawn(receive));
    }
}

/// One queue per rank, their entries linked in a common pool.
struct Lists<T> {
    ends: Vec<(u32, u32)>,
    pool: Vec<(Option<T>, u32)>,
    free: u32,
}

/// The end of a list.
const NIL: u32 = u32::MAX;

impl<T> Lists<T> {
    fn new(ranks: usize) -> Self {
        Self { ends: vec![(NIL, NIL); ranks], pool: Vec::new(), free: NIL }
    }

    #[inline(always)]
    fn push(&mut self, rank: usize, entry: T) {
        let node = self.place(entry);
        let (head, tail) = &mut self.ends[rank];
        match std::mem::replace(tail, node) {
            NIL => *head = node,
            last => self.pool[last as usize].1 = node,
        }
    }

    /// Puts an entry somewhere in the pool.
    #[inline(always)]
    fn place(&mut self, entry: T) -> u32 {
        let node = self.free;
        match self.pool.get_mut(node as usize) {
            Some(place) => {
                self.free = place.1;
                *place = (Some(entry), NIL);
                node
            }
            None => {
                self.pool.push((Some(entry), NIL));
                (self.pool.len() - 1) as u32
            }
        }
    }

    fn iter(&self, rank: usize) -> impl Iterator<Item = &T> {
        let node = |at: u32| self.pool.get(at as usize);
        std::iter::successors(node(self.ends[rank].0), move |(_, next)| node(*next))
            .filter_map(|(entry, _)| entry.as_ref())
    }

    #[inline(always)]
    fn take_first(&mut self, rank: usize, mut is_wanted: impl FnMut(&T) -> bool) -> Option<T> {
        let (mut before, mut at) = (NIL, self.ends[rank].0);
        while at != NIL {
            let (entry, next) = &self.pool[at as usize];
            if entry.as_ref().is_some_and(&mut is_wanted) {
                return self.unlink(rank, before, at);
            }
            (before, at) = (at, *next);
        }
        None
    }

    #[inline(always)]
    fn unlink(&mut self, rank: usize, before: u32, at: u32) -> Option<T> {
        let (entry, next) = &mut self.pool[at as usize];
        let entry = entry.take();
        let next = std::mem::replace(next, self.free);
        self.free = at;
        let (head, tail) = &mut self.ends[rank];
        if *tail == at {
            *tail = before;
        }
        match before {
            NIL => *head = next,
            _ => self.pool[before as usize].1 = next,
        }
        entry
    }
}

/// For each rank, one queue of messages for each sender and tag that occurs.
///
/// ```text
/// rank ─▶ oldest of sender 3, tag 0 ─▶ oldest of sender 7, tag 1 ─▶ ..
///             ▼                            ▼
///         next of these                next of these
/// ```
struct Queues<M> {
    heads: Vec<u32>,
    pool: Vec<Node<M>>,
    free: u32,
    pushed: u64,
}

struct Node<M> {
    message: Option<M>,
    /// Number of messages pushed before.
    number: u64,
    from: u32,
    tag: Tag,
    /// The next message of this sender and tag.
    behind: u32,
    /// In the oldest message of a queue: the youngest, and the oldest of the next queue. In a free node: the next one.
    last: u32,
    next: u32,
}

impl<M> Queues<M> {
    fn new(ranks: usize) -> Self {
        Self { heads: vec![NIL; ranks], pool: Vec::new(), free: NIL, pushed: 0 }
    }

    #[inline(always)]
    fn push(&mut self, rank: usize, from: u32, tag: Tag, message: M) -> u32 {
        let place = self.place(from, tag, message);
        let (before, found) = self.find(rank, |node| node.from == from && node.tag == tag);
        match (before, found) {
            (_, Some(head)) => {
                let last = std::mem::replace(&mut self.pool[head as usize].last, place);
                self.pool[last as usize].behind = place;
            }
            (NIL, None) => self.heads[rank] = place,
            (before, None) => self.pool[before as usize].next = place,
        }
        place
    }

    /// Puts a message somewhere in the pool, as a queue of its own.
    #[inline(always)]
    fn place(&mut self, from: u32, tag: Tag, message: M) -> u32 {
        let place = if self.free == NIL { self.pool.len() as u32 } else { self.free };
        let node = Node { message: Some(message), number: self.pushed, from, tag, behind: NIL, last: place, next: NIL };
        self.pushed += 1;
        match self.pool.get_mut(place as usize) {
            Some(vacant) => {
                self.free = vacant.next;
                *vacant = node;
            }
            None => self.pool.push(node),
        }
        place
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut M> {
        self.pool.get_mut(place as usize)?.message.as_mut()
    }

    /// The first queue that `is_wanted` picks by its oldest message, and the queue before it; or none, and the last queue.
    #[inline(always)]
    fn find(&self, rank: usize, is_wanted: impl Fn(&Node<M>) -> bool) -> (u32, Option<u32>) {
        let (mut before, mut at) = (NIL, self.heads[rank]);
        while let Some(node) = self.pool.get(at as usize) {
            if is_wanted(node) {
                return (before, Some(at));
            }
            (before, at) = (at, node.next);
        }
        (before, None)
    }

    #[inline(always)]
    fn take_first(&mut self, rank: usize, source: Source, tag: Tag) -> Option<(u32, M)> {
        let from = match source {
            Source::Rank(from) => from,
            Source::Any => {
                let heads = self.queues(rank).filter(|head| head.tag == tag);
                heads.min_by_key(|head| head.number)?.from
            }
        };
        let (before, found) = self.find(rank, |node| node.from == from && node.tag == tag);
        self.unlink(rank, before, found?).map(|message| (from, message))
    }

    /// Takes the oldest message of a queue; the one behind it takes its place.
    #[inline(always)]
    fn unlink(&mut self, rank: usize, before: u32, at: u32) -> Option<M> {
        let node = &mut self.pool[at as usize];
        let message = node.message.take();
        let (behind, last, mut next) = (node.behind, node.last, node.next);
        node.next = std::mem::replace(&mut self.free, at);
        if let Some(head) = self.pool.get_mut(behind as usize) {
            (head.last, head.next) = (last, next);
            next = behind;
        }
        match self.pool.get_mut(before as usize) {
            Some(before) => before.next = next,
            None => self.heads[rank] = next,
        }
        message
    }

    fn chain(&self, first: u32, next: impl Fn(&Node<M>) -> u32) -> impl Iterator<Item = &Node<M>> {
        std::iter::successors(self.pool.get(first as usize), move |node| self.pool.get(next(node) as usize))
    }

    /// The oldest message of each queue.
    fn queues(&self, rank: usize) -> impl Iterator<Item = &Node<M>> {
        self.chain(self.heads[rank], |node| node.next)
    }

    /// All messages of a rank, queue by queue.
    fn all(&self, rank: usize) -> impl Iterator<Item = &Node<M>> {
        self.queues(rank).flat_map(|head| std::iter::once(head).chain(self.chain(head.behind, |node| node.behind)))
    }
}

impl<M> Node<M> {
    fn held(&self) -> Option<(u32, Tag, &M)> {
        Some((self.from, self.tag, self.message.as_ref()?))
    }
}

/// Operations under way, each known by a number until its outcome is taken; `W` identifies the party that waits for it.
pub struct Slots<V, W = ()> {
    slots: Vec<Slot<V, W>>,
    free: u32,
}

enum Slot<V, W> {
    Free { next: u32 },
    Pending(Option<W>),
    Done(V),
    Abandoned,
}

impl<V, W> Default for Slots<V, W> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NIL }
    }
}

impl<V, W> Slots<V, W> {
    /// Opens a slot.
    #[inline]
    pub fn open(&mut self) -> u32 {
        let slot = self.free;
        let Some(place) = self.slots.get_mut(slot as usize) else {
            self.slots.push(Slot::Pending(None));
            return (self.slots.len() - 1) as u32;
        };
        if let Slot::Free { next } = *place {
            self.free = next;
            *place = Slot::Pending(None);
        }
        slot
    }

    fn close(&mut self, slot: u32) -> Slot<V, W> {
        let next = std::mem::replace(&mut self.free, slot);
        std::mem::replace(&mut self.slots[slot as usize], Slot::Free { next })
    }

    /// Stores the outcome of an operation. Returns the party that waits for it.
    #[inline(always)]
    pub fn fill(&mut self, slot: u32, outcome: V) -> Option<W> {
        let place = &mut self.slots[slot as usize];
        match place {
            Slot::Pending(waiter) => {
                let waiter = waiter.take();
                *place = Slot::Done(outcome);
                waiter
            }
            Slot::Abandoned => {
                self.close(slot);
                None
            }
            Slot::Done(_) | Slot::Free { .. } => None,
        }
    }

    /// Notes the party that waits for the outcome, as long as there is no outcome.
    pub fn wait(&mut self, slot: u32, waiter: W) {
        if let Slot::Pending(last) = &mut self.slots[slot as usize] {
            *last = Some(waiter);
        }
    }

    /// The outcome, once there is one; the slot is then free again.
    #[inline]
    pub fn take(&mut self, slot: u32) -> Option<V> {
        if !matches!(self.slots[slot as usize], Slot::Done(_)) {
            return None;
        }
        match self.close(slot) {
            Slot::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Nobody waits for this operation any more: its outcome, now or later, is discarded.
    pub fn abandon(&mut self, slot: u32) {
        match self.slots[slot as usize] {
            Slot::Done(_) => drop(self.close(slot)),
            _ => self.slots[slot as usize] = Slot::Abandoned,
        }
    }
}

//! Matching of messages and receives by MPI's rules: by source and tag, the earliest first.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::{Source, Tag};

/// For each rank, the messages that no receive has taken yet, and the receives that wait for a message.
///
/// `M` is a world's message, `R` its receive. A rank costs 8 bytes. Waiting entries lie in two pools whose places are
/// reused at once, so that the data of a million ranks stays in the cache.
pub struct Mailboxes<M, R> {
    unexpected: Queues<M>,
    posted: Queues<R>,
    /// Whether there ever was a receive from any source.
    has_taken_from_any: bool,
}

/// The source of a receive from any source.
const ANY: u32 = u32::MAX;

impl<M, R> Mailboxes<M, R> {
    /// Bytes of a rank that has no waiting entries.
    pub const BYTES_OF_A_RANK: usize = 2 * size_of::<u32>();

    /// Empty mailboxes of ranks `0..ranks`.
    pub fn new(ranks: usize) -> Self {
        Self { unexpected: Queues::new(ranks), posted: Queues::new(ranks), has_taken_from_any: false }
    }

    /// Takes the earliest receive waiting at `rank` that accepts a message from `from` with `tag`.
    #[inline(always)]
    pub fn take_receive(&mut self, rank: usize, from: u32, tag: Tag) -> Option<R> {
        if self.has_taken_from_any && self.is_any_first(rank, from, tag) {
            return self.posted.take_first(rank, ANY, tag);
        }
        self.posted.take_first(rank, from, tag)
    }

    /// Whether the earliest receive that accepts such a message is from any source.
    #[cold]
    fn is_any_first(&self, rank: usize, from: u32, tag: Tag) -> bool {
        let accepts = |head: &Node<R>| head.tag == tag && (head.from == from || head.from == ANY);
        self.posted.oldest(rank, accepts).is_some_and(|head| head.from == ANY)
    }

    /// Lets the message wait at `rank` for a receive.
    #[inline(always)]
    pub fn hold(&mut self, rank: usize, from: u32, tag: Tag, message: M) {
        self.unexpected.push(rank, from, tag, message);
    }

    /// Takes the earliest message waiting at `rank` that a receive from `source` with `tag` accepts, and its sender.
    #[inline(always)]
    pub fn take_message(&mut self, rank: usize, source: Source, tag: Tag) -> Option<(u32, M)> {
        let from = match source {
            Source::Rank(from) => from,
            Source::Any => self.unexpected.oldest(rank, |head| head.tag == tag)?.from,
        };
        self.unexpected.take_first(rank, from, tag).map(|message| (from, message))
    }

    /// Lets the receive wait at `rank` for a message.
    #[inline(always)]
    pub fn wait(&mut self, rank: usize, source: Source, tag: Tag, receive: R) {
        let from = match source {
            Source::Rank(from) => from,
            Source::Any => {
                self.has_taken_from_any = true;
                ANY
            }
        };
        self.posted.push(rank, from, tag, receive);
    }

    /// Whether a receive waits at `rank`.
    #[inline]
    pub fn is_waiting(&self, rank: usize) -> bool {
        self.posted.heads[rank] != NIL
    }

    /// Sources and tags of the receives that wait at `rank`, without repetition, the earliest receive first.
    pub fn waiting_receives(&self, rank: usize) -> Vec<(Source, Tag)> {
        let mut heads: Vec<_> = self.posted.queues(rank).map(|(_, head)| head).collect();
        heads.sort_unstable_by_key(|head| head.number);
        let source = |from| if from == ANY { Source::Any } else { Source::Rank(from) };
        heads.into_iter().map(|head| (source(head.from), head.tag)).collect()
    }

    /// Whether a message with this sender and tag waits at `rank`, and also a receive that accepts it.
    pub fn is_between(&self, rank: usize, from: u32, tag: Tag) -> bool {
        let is_there = |from| self.posted.find(rank, from, tag).head.is_some();
        (is_there(from) || is_there(ANY)) && self.unexpected.find(rank, from, tag).head.is_some()
    }

    /// Sender, tag and message of each message that waits at `rank`; per sender and tag in the order of arrival.
    pub fn unexpected(&self, rank: usize) -> impl Iterator<Item = (u32, Tag, &M)> {
        self.unexpected.all(rank).filter_map(Node::content)
    }

    /// The message that has waited longest at `rank`.
    pub fn oldest(&self, rank: usize) -> Option<(u32, Tag, &M)> {
        self.unexpected.oldest(rank, |_| true)?.content()
    }

    /// Removes the receive waiting at `rank` that `is_withdrawn` picks.
    pub fn withdraw(&mut self, rank: usize, is_withdrawn: impl Fn(&R) -> bool) {
        self.posted.take_any(rank, is_withdrawn);
    }
}

/// For each rank, one queue of entries for each sender and tag that occurs.
///
/// ```text
/// rank ─▶ oldest of sender 3, tag 0 ─▶ oldest of sender 7, tag 1 ─▶ ..
///             ▼                            ▼
///         next of these                next of these
/// ```
struct Queues<T> {
    heads: Vec<u32>,
    pool: Vec<Node<T>>,
    free: u32,
    pushes: u64,
    /// The oldest entry of each further queue of a rank that has [`MOST_LISTED`] listed ones, by rank, sender and tag.
    others: BTreeMap<(u32, u32, Tag), u32>,
}

struct Node<T> {
    entry: Option<T>,
    /// Number of entries that were pushed before this one.
    number: u64,
    from: u32,
    tag: Tag,
    /// The next entry of this sender and tag.
    behind: u32,
    /// In the first entry of a queue: the last entry, and the first of the next queue. In a free node: the next one.
    last: u32,
    next: u32,
}

/// The end of a list.
const NIL: u32 = u32::MAX;
/// A rank's number of queues that are searched one by one; further ones are in [`Queues::others`].
const MOST_LISTED: u32 = 16;

/// Where the search for a queue ended.
struct SearchEnd {
    /// The oldest entry of the queue before, or of the last queue that was searched.
    before: u32,
    /// The oldest entry of the queue.
    head: Option<u32>,
    /// Number of queues that were searched.
    queues_searched: u32,
}

impl<T> Queues<T> {
    fn new(ranks: usize) -> Self {
        Self { heads: vec![NIL; ranks], pool: Vec::new(), free: NIL, pushes: 0, others: BTreeMap::new() }
    }

    #[inline(always)]
    fn push(&mut self, rank: usize, from: u32, tag: Tag, entry: T) {
        let place = self.place(from, tag, entry);
        match self.find(rank, from, tag) {
            SearchEnd { head: Some(head), .. } => {
                let last = std::mem::replace(&mut self.pool[head as usize].last, place);
                self.pool[last as usize].behind = place;
            }
            SearchEnd { before: NIL, .. } => self.heads[rank] = place,
            SearchEnd { queues_searched: MOST_LISTED, .. } => drop(self.others.insert((rank as u32, from, tag), place)),
            SearchEnd { before, .. } => self.pool[before as usize].next = place,
        }
    }

    /// Puts an entry into the pool, as a queue of its own.
    #[inline(always)]
    fn place(&mut self, from: u32, tag: Tag, entry: T) -> u32 {
        let place = if self.free == NIL { self.pool.len() as u32 } else { self.free };
        let node = Node { entry: Some(entry), number: self.pushes, from, tag, behind: NIL, last: place, next: NIL };
        self.pushes += 1;
        match self.pool.get_mut(place as usize) {
            Some(vacant) => {
                self.free = vacant.next;
                *vacant = node;
            }
            None => self.pool.push(node),
        }
        place
    }

    #[inline(always)]
    fn find(&self, rank: usize, from: u32, tag: Tag) -> SearchEnd {
        let (mut before, mut at, mut queues_searched) = (NIL, self.heads[rank], 0);
        while let Some(node) = self.pool.get(at as usize) {
            if node.from == from && node.tag == tag {
                return SearchEnd { before, head: Some(at), queues_searched };
            }
            (before, at, queues_searched) = (at, node.next, queues_searched + 1);
        }
        let head = if self.others.is_empty() { None } else { self.others.get(&(rank as u32, from, tag)).copied() };
        SearchEnd { before, head, queues_searched }
    }

    /// Takes the oldest entry of this sender and tag.
    #[inline(always)]
    fn take_first(&mut self, rank: usize, from: u32, tag: Tag) -> Option<T> {
        let SearchEnd { before, head, .. } = self.find(rank, from, tag);
        self.unlink(rank, before, head?)
    }

    /// Takes the oldest entry of a queue. The entry behind it becomes the oldest.
    #[inline(always)]
    fn unlink(&mut self, rank: usize, before: u32, at: u32) -> Option<T> {
        let node = &mut self.pool[at as usize];
        let entry = node.entry.take();
        let (behind, last, mut next) = (node.behind, node.last, node.next);
        node.next = std::mem::replace(&mut self.free, at);
        if let Some(head) = self.pool.get_mut(behind as usize) {
            (head.last, head.next) = (last, next);
            next = behind;
        }
        if !self.others.is_empty() && self.unlink_other(rank, at, behind) {
            return entry;
        }
        match self.pool.get_mut(before as usize) {
            Some(before) => before.next = next,
            None => self.heads[rank] = next,
        }
        entry
    }

    /// If the queue is one of the others, makes the entry behind its oldest one and returns true.
    fn unlink_other(&mut self, rank: usize, at: u32, behind: u32) -> bool {
        let Node { from, tag, .. } = self.pool[at as usize];
        let Entry::Occupied(mut queue) = self.others.entry((rank as u32, from, tag)) else { return false };
        match behind {
            NIL => drop(queue.remove()),
            behind => drop(queue.insert(behind)),
        }
        true
    }

    /// Takes the entry that `is_wanted` picks.
    fn take_any(&mut self, rank: usize, is_wanted: impl Fn(&T) -> bool) -> Option<T> {
        let is_wanted = |node: &Node<T>| node.entry.as_ref().is_some_and(&is_wanted);
        let queue = |head| self.chain(head, |node| node.behind);
        let (head, place) =
            self.queues(rank).find_map(|(head, _)| Some((head, queue(head).find(|(_, node)| is_wanted(node))?.0)))?;
        let Some((before, _)) = queue(head).take_while(|(at, _)| *at != place).last() else {
            let Node { from, tag, .. } = self.pool[head as usize];
            return self.take_first(rank, from, tag);
        };
        let node = &mut self.pool[place as usize];
        let (entry, behind) = (node.entry.take(), node.behind);
        node.next = std::mem::replace(&mut self.free, place);
        self.pool[before as usize].behind = behind;
        if behind == NIL {
            self.pool[head as usize].last = before;
        }
        entry
    }

    fn chain(&self, first: u32, next: impl Fn(&Node<T>) -> u32) -> impl Iterator<Item = (u32, &Node<T>)> {
        let node = |place: u32| self.pool.get(place as usize).map(|node| (place, node));
        std::iter::successors(node(first), move |(_, at)| node(next(at)))
    }

    /// The oldest entry of each queue, and its place.
    fn queues(&self, rank: usize) -> impl Iterator<Item = (u32, &Node<T>)> {
        let in_list = self.chain(self.heads[rank], |node| node.next);
        let others = self.others.range((rank as u32, 0, 0)..=(rank as u32, u32::MAX, Tag::MAX));
        in_list.chain(others.map(|(_, head)| (*head, &self.pool[*head as usize])))
    }

    /// The oldest among the first entries of queues that `is_wanted` picks.
    fn oldest(&self, rank: usize, is_wanted: impl Fn(&Node<T>) -> bool) -> Option<&Node<T>> {
        self.queues(rank).map(|(_, head)| head).filter(|head| is_wanted(head)).min_by_key(|head| head.number)
    }

    /// All entries of a rank, queue by queue.
    fn all(&self, rank: usize) -> impl Iterator<Item = &Node<T>> {
        self.queues(rank).flat_map(|(head, _)| self.chain(head, |node| node.behind)).map(|(_, node)| node)
    }
}

impl<T> Node<T> {
    fn content(&self) -> Option<(u32, Tag, &T)> {
        Some((self.from, self.tag, self.entry.as_ref()?))
    }
}

/// Operations under way. Each has a number until its outcome is taken; `W` identifies the party that waits for it.
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

    /// Notes the party that waits for the outcome, if there is no outcome yet.
    pub fn wait(&mut self, slot: u32, waiter: W) {
        if let Slot::Pending(last) = &mut self.slots[slot as usize] {
            *last = Some(waiter);
        }
    }

    /// Takes the outcome and frees the slot; none while there is no outcome.
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

    /// Discards the outcome of this operation, now or when it comes.
    pub fn abandon(&mut self, slot: u32) {
        match self.slots[slot as usize] {
            Slot::Done(_) => drop(self.close(slot)),
            _ => self.slots[slot as usize] = Slot::Abandoned,
        }
    }
}

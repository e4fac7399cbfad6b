//! Dynamic multicast as a rank program: one master sends messages to groups of ranks, several messages in flight.
//!
//! ```text
//! master ── header ──▶ first member ══ headers down a binomial tree, payload by an algorithm ══▶ members
//! master ◀─ complete ─ first member ◀═══════════════════ acks up the tree ═════════════════════ members
//! ```
//!
//! The mpi world runs the same protocol (`hocket_engine::multicast`). In the other worlds, a program cannot read the
//! data of a message. There, the tag replaces the contents of a header: a member waits for the header of each multicast
//! that it will receive, from any rank.

use hocket_core::{Call, Collective, Mode, Options, Program, Rank, Source, Span, Subgroup, Tag};

use crate::shapes::BinomialTree;
use crate::{Entry, allreduce};

/// Payloads of up to this many bytes travel with their headers.
pub const INLINE_BYTES: usize = 8192;

/// Bytes of a header without the parameters of an algorithm: 32 bytes, one bit for each rank, and a number for each of
/// the `members_told` members: how many multicasts the master sent to this member before.
pub const fn header_bytes(ranks: usize, members_told: usize) -> usize {
    32 + ranks.div_ceil(8) + 4 * members_told
}

/// One message to a group.
#[derive(Clone, Debug)]
pub struct Multicast {
    /// The receivers, ascending.
    pub members: Vec<usize>,
    /// The broadcast of bytes that distributes the message over the members, as its algorithm accepts it.
    pub call: Call,
    /// The algorithm.
    pub algorithm: &'static Entry,
}

impl Multicast {
    fn bytes(&self) -> usize {
        self.call.count(0)
    }
}

/// How the members of a group get a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Dynamic multicast, until the members have the data.
    Multicast,
    /// Dynamic multicast, until the master knows that the members have the data.
    Acknowledged,
    /// A broadcast over a communicator that exists already. Its root, the first member, has to be the master.
    Static,
    /// The members know the group. They agree on a new communicator by an allreduce, and broadcast over it.
    Created,
}

/// The data of the allreduce that creates a communicator: MPICH's mask of free contexts, 65 numbers of 4 bytes
/// (`src/mpi/comm/contextid.c`).
const CONTEXT_MASK_BYTES: usize = 260;

/// Messages of one master, in the order in which it sends them. The call is a broadcast whose root is the master. Its
/// vector has the bytes of all messages, one after the other. A rank outside a group leaves the bytes of the group's
/// message in its result unchanged.
pub struct Multicasts<'m> {
    /// The messages.
    pub all: &'m [Multicast],
    /// How the members get the messages.
    pub way: Way,
    /// Payloads of up to this many bytes travel with their headers; [`INLINE_BYTES`] under MPI.
    pub inline_bytes: usize,
}

/// Number of tags of one multicast: the tags of its program, of an allreduce, and the tags below.
const TAGS: Tag = 64;
const ALLREDUCE: Tag = 32;
const PAYLOAD: Tag = 60;
const HEADER: Tag = 61;
const ACK: Tag = 62;
const COMPLETE: Tag = 63;

/// A multicast as one rank sees it.
#[derive(Clone, Copy)]
struct Part<'m> {
    multicast: &'m Multicast,
    master: usize,
    first_tag: Tag,
    /// Where the payload goes, or comes from.
    data: Span,
    is_inlined: bool,
}

impl Program for Multicasts<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let mine: Vec<_> = self.parts(r, c).into_iter().filter(|part| part.has_member(r.rank())).collect();
        let turns: Vec<_> = (0..=mine.len()).map(|turn| r.tokens(usize::from(turn == 0))).collect();
        let member = async |(turn, part): (usize, Part<'_>)| {
            match self.way {
                Way::Multicast | Way::Acknowledged => part.serve(r).await,
                Way::Static => part.distribute(r).await,
                Way::Created => {
                    part.agree(r).await;
                    part.distribute(r).await;
                }
            }
            turns[turn].take().await;
            turns[turn + 1].put();
            if self.way == Way::Acknowledged {
                part.acknowledge(r).await;
            }
        };
        r.join(self.lead(r, c), r.join_all(mine.into_iter().enumerate().map(member))).await;
    }
}

impl Multicasts<'_> {
    /// All multicasts.
    fn parts(&self, r: &Rank<'_>, c: &Call) -> Vec<Part<'_>> {
        let mut offset = 0;
        let part = |(number, multicast): (usize, _)| {
            let multicast: &Multicast = multicast;
            let data = c.result(r).part(offset, multicast.bytes());
            offset += multicast.bytes();
            let is_inlined = multicast.bytes() <= self.inline_bytes;
            Part { multicast, master: c.root, first_tag: TAGS * number as Tag, data, is_inlined }
        };
        self.all.iter().enumerate().map(part).collect()
    }

    /// The master sends each message to its first member, and goes on at once.
    async fn lead(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() != c.root || !matches!(self.way, Way::Multicast | Way::Acknowledged) {
            return;
        }
        let elsewhere = |part: &Part<'_>| part.multicast.members.first().is_some_and(|first| *first != c.root);
        let parts: Vec<_> = self.parts(r, c).into_iter().filter(elsewhere).collect();
        for part in &parts {
            let Part { multicast, data, is_inlined, .. } = *part;
            let first = multicast.members[0];
            part.tell(r, first, multicast.members.len()).await;
            if !is_inlined {
                r.send_with(first, data, part.posted(PAYLOAD)).await;
            }
        }
        if self.way == Way::Acknowledged {
            let complete = |part: &Part<'_>| {
                r.recv_with(Source::Rank(part.multicast.members[0] as u32), Span::EMPTY, part.first_tag + COMPLETE)
            };
            r.join_all(parts.iter().map(complete)).await;
        }
    }
}

impl Part<'_> {
    fn has_member(&self, rank: usize) -> bool {
        self.multicast.members.binary_search(&rank).is_ok()
    }

    fn posted(&self, tag: Tag) -> Options {
        Options { tag: self.first_tag + tag, mode: Mode::Posted, ..Options::default() }
    }

    fn tree(&self, r: &Rank<'_>) -> BinomialTree {
        let members = &self.multicast.members;
        BinomialTree::new(members.binary_search(&r.rank()).expect("a member"), 0, members.len())
    }

    /// Sends the header for `members_told` members, and the payload with it if it is short.
    async fn tell(&self, r: &Rank<'_>, to: usize, members_told: usize) {
        let header = header_bytes(r.size(), members_told);
        let inline_data = if self.is_inlined { self.data } else { Span::EMPTY };
        let message = r.scratch(header + inline_data.len);
        r.copy(inline_data, message.part(header, inline_data.len)).await;
        r.send_with(to, message, self.posted(HEADER)).await;
    }

    /// Receives the header and the payload, and passes both on to the members below.
    async fn serve(mut self, r: &Rank<'_>) {
        let tree = self.tree(r);
        let Self { multicast, master, first_tag, data, is_inlined } = self;
        let is_first = tree.relative() == 0;
        if !(is_first && r.rank() == master) {
            if r.rank() == master {
                // The rank may still be sending its own data.
                self.data = r.scratch(data.len);
            }
            let header = header_bytes(r.size(), tree.subtree(tree.relative()).len());
            let inline_bytes = if is_inlined { data.len } else { 0 };
            let message = r.scratch(header + inline_bytes);
            r.recv_with(Source::Any, message, first_tag + HEADER).await;
            r.copy(message.part(header, inline_bytes), self.data.part(0, inline_bytes)).await;
        }
        for child in tree.children().rev() {
            self.tell(r, multicast.members[child], tree.subtree(child).len()).await;
        }
        if is_inlined {
            return;
        }
        if is_first && r.rank() != master {
            r.recv_with(Source::Rank(master as u32), self.data, first_tag + PAYLOAD).await;
        }
        self.distribute(r).await;
    }

    /// The members get the payload from the first one.
    async fn distribute(&self, r: &Rank<'_>) {
        let Self { multicast, first_tag, data, .. } = *self;
        let group = Subgroup::new(r, &multicast.members, (Span::EMPTY, data), first_tag);
        multicast.algorithm.program().steps(&group.rank(), &multicast.call).await;
    }

    /// The members agree on a context.
    async fn agree(&self, r: &Rank<'_>) {
        let (free, common) = (r.scratch(CONTEXT_MASK_BYTES), r.scratch(CONTEXT_MASK_BYTES));
        let members = &self.multicast.members;
        let group = Subgroup::new(r, members, (free, common), self.first_tag + ALLREDUCE);
        let call = Call::new(Collective::Allreduce, members.len(), CONTEXT_MASK_BYTES);
        allreduce::recursive_doubling::program(&group.rank(), &call).await;
    }

    /// Tells the parent, or the master, that this member and all below it have received it.
    async fn acknowledge(&self, r: &Rank<'_>) {
        let tree = self.tree(r);
        let Self { multicast, master, first_tag, .. } = *self;
        let ack =
            |child: usize| r.recv_with(Source::Rank(multicast.members[child] as u32), Span::EMPTY, first_tag + ACK);
        r.join_all(tree.children().map(ack)).await;
        match tree.parent() {
            Some(parent) => r.send_with(multicast.members[parent], Span::EMPTY, self.posted(ACK)).await,
            None if r.rank() != master => r.send_with(master, Span::EMPTY, self.posted(COMPLETE)).await,
            None => {}
        }
    }
}

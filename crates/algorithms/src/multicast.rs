//! Dynamic multicast as a rank program: messages from one master to groups of ranks, several of them in flight.
//!
//! ```text
//! master ── header ──▶ first member ══ headers down a binomial tree, payload by an algorithm ══▶ members
//! master ◀─ complete ─ first member ◀═══════════════════ acks up the tree ═════════════════════ members
//! ```
//!
//! The mpi world runs the same protocol (`hocket_engine::multicast`). In the other worlds a program cannot read the data of a
//! message, so the contents of a header are its tag: a member waits for the header of each multicast that it will be sent, from any rank.

use hocket_core::{Call, Collective, Mode, Options, Program, Rank, Source, Span, Subgroup, Tag};

use crate::shapes::BinomialTree;
use crate::{Entry, allreduce};

/// Payloads up to so many bytes travel with their headers.
pub const INLINE_BYTES: usize = 8192;

/// Bytes of a header that tells so many members, besides parameters of an algorithm: 32 bytes, a bit for each rank, and
/// for each member that is told how many multicasts it was sent before.
pub const fn header_bytes(ranks: usize, told: usize) -> usize {
    32 + ranks.div_ceil(8) + 4 * told
}

/// One message to a group.
#[derive(Clone, Debug)]
pub struct Multicast {
    /// The receivers, ascending.
    pub members: Vec<usize>,
    /// The broadcast over the members that distributes it, as its algorithm takes it; of bytes.
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
    /// Dynamic multicast, until the data are there.
    Multicast,
    /// Dynamic multicast, until the master knows that they are.
    Acknowledged,
    /// A broadcast over a communicator that is there already; its root, the first member, has to be the master.
    Static,
    /// The members, who know that they are, agree on a new communicator by an allreduce, and broadcast over that.
    Created,
}

/// What the members agree on when they create a communicator: MPICH's mask of free contexts, 65 numbers of 4 bytes
/// (`src/mpi/comm/contextid.c`).
const CONTEXT_MASK_BYTES: usize = 260;

/// Messages of one master, in the order in which it sends them. The call is a broadcast of all their bytes, one message
/// after the other, whose root is the master; a rank outside a group leaves that part of its result as it is.
pub struct Multicasts<'m> {
    /// The messages.
    pub all: &'m [Multicast],
    /// How they get there.
    pub way: Way,
    /// Payloads up to so many bytes travel with their headers; [`INLINE_BYTES`] under MPI.
    pub inline_bytes: usize,
}

/// Tags of one multicast: those of its program, of an allreduce, and these.
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

    /// The master hands each message to the first member, and goes on at once.
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

    /// Sends the header for so many members, and the payload with it if it is short.
    async fn tell(&self, r: &Rank<'_>, to: usize, told: usize) {
        let header = header_bytes(r.size(), told);
        let inlined = if self.is_inlined { self.data } else { Span::EMPTY };
        let message = r.scratch(header + inlined.len);
        r.copy(inlined, message.part(header, inlined.len)).await;
        r.send_with(to, message, self.posted(HEADER)).await;
    }

    /// Gets the payload, and helps the members below to it.
    async fn serve(mut self, r: &Rank<'_>) {
        let tree = self.tree(r);
        let Self { multicast, master, first_tag, data, is_inlined } = self;
        let is_first = tree.relative() == 0;
        if !(is_first && r.rank() == master) {
            if r.rank() == master {
                // It may still be sending its own.
                self.data = r.scratch(data.len);
            }
            let header = header_bytes(r.size(), tree.subtree(tree.relative()).len());
            let inlined = if is_inlined { data.len } else { 0 };
            let message = r.scratch(header + inlined);
            r.recv_with(Source::Any, message, first_tag + HEADER).await;
            r.copy(message.part(header, inlined), self.data.part(0, inlined)).await;
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
        multicast.algorithm.program().part(&group.rank(), &multicast.call).await;
    }

    /// The members agree on a context.
    async fn agree(&self, r: &Rank<'_>) {
        let (free, agreed) = (r.scratch(CONTEXT_MASK_BYTES), r.scratch(CONTEXT_MASK_BYTES));
        let members = &self.multicast.members;
        let group = Subgroup::new(r, members, (free, agreed), self.first_tag + ALLREDUCE);
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

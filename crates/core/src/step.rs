//! Steps: the requests of a rank to its world.

use crate::{Buffer, Span};

/// Distinguishes messages of one pair of ranks; messages with equal source and tag keep their order, as in MPI.
pub type Tag = u32;

/// Where a receive takes its message from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// This rank only.
    Rank(u32),
    /// Any rank: the first message that arrives.
    Any,
}

impl Source {
    /// Whether a message from rank `from` matches.
    pub fn accepts(self, from: u32) -> bool {
        match self {
            Self::Rank(rank) => rank == from,
            Self::Any => true,
        }
    }
}

/// The side of the target on which the source stands when the two are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Side {
    /// target = source ∘ target: the source holds contributions of lower ranks.
    Left,
    /// target = target ∘ source: the source holds contributions of higher ranks.
    Right,
}

/// A mistake that a program makes outside of its steps, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It raised an exception.
    Exception(String),
    /// It made steps and ended without taking them.
    StepsNotTaken(String),
}

/// A request of a rank to its world.
// The discriminant has a word of its own: in a niche of a variant, it would split copies of the fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u64)]
pub enum Step {
    /// Sends `data` to rank `to`; done when the span may be changed again.
    Send {
        /// The receiver.
        to: usize,
        /// The message.
        data: Span,
        /// Further properties of the send.
        options: Options,
    },
    /// Receives into `into` a message of at most its length.
    Recv {
        /// The accepted senders.
        from: Source,
        /// The destination of the message.
        into: Span,
        /// The tag of the message.
        tag: Tag,
    },
    /// Combines `source` into `target`, element by element. They must not overlap.
    Combine {
        /// One operand.
        source: Span,
        /// The other operand, and the result.
        target: Span,
        /// On which side of the target the source stands.
        side: Side,
    },
    /// Copies `source` to `target`, of the same length, without overlap. Copying a span onto itself is free.
    Copy {
        /// The source of the data.
        source: Span,
        /// The destination of the data.
        target: Span,
    },
    /// Computes for some time.
    Compute {
        /// In seconds.
        time_s: f64,
    },
    /// Waits until this time. Worlds without time do not wait.
    Wait {
        /// In seconds from the common start.
        until_s: f64,
    },
    /// Opens a circuit to `peer`. The received length is 1 if the circuit is open, or if the network has no circuits.
    Connect {
        /// The other end.
        peer: usize,
    },
    /// Releases the circuit to `peer`.
    Disconnect {
        /// The other end.
        peer: usize,
    },
}

impl Step {
    /// The largest number of elements that the step sends, receives, combines or copies.
    pub fn elements(&self) -> usize {
        match self {
            Self::Send { data, .. } => data.len,
            Self::Recv { into, .. } => into.len,
            Self::Combine { target, .. } | Self::Copy { target, .. } => target.len,
            Self::Compute { .. } | Self::Wait { .. } | Self::Connect { .. } | Self::Disconnect { .. } => 0,
        }
    }
}

/// How a message is sent, and the moment at which its send is done.
// As long as a tag, so that `Options` has no padding: copies of padded fields read across separate writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// When the span may be changed again.
    #[default]
    Standard,
    /// When the span may be changed again, and not before the receive is posted: a rendezvous even if the message is
    /// short. Worlds without time treat it as `Standard`.
    Synchronous,
    /// When the sender's processor is free of the message; the data must not change before the message has left.
    Posted,
    /// As `Standard`, through the switch of a node, which combines the messages of many ranks to one, and copies those of
    /// one to many. It has costs of its own on machines with `[level.multicast]`.
    Switched,
}

/// A send and a receive that begin together.
#[derive(Clone, Copy)]
pub(crate) struct SendRecv {
    to: usize,
    data: SpanFields,
    from: usize,
    into: SpanFields,
    tag: Tag,
}

impl SendRecv {
    #[inline(always)]
    pub fn new((to, data): (usize, Span), (from, into): (usize, Span), tag: Tag) -> Self {
        Self { to, data: SpanFields::of(data), from, into: SpanFields::of(into), tag }
    }

    #[inline(always)]
    pub fn send(&self) -> Step {
        Step::Send { to: self.to, data: self.data.span(), options: Options { tag: self.tag, ..Options::default() } }
    }

    #[inline(always)]
    pub fn recv(&self) -> Step {
        Step::Recv { from: Source::Rank(self.from as u32), into: self.into.span(), tag: self.tag }
    }
}

/// A span whose fields are copied one by one. Compilers copy two adjacent spans in 16-byte pieces, some across fields
/// that were just written; a processor waits long for such a read.
#[derive(Clone, Copy)]
struct SpanFields {
    buffer: Buffer,
    offset: usize,
    len: usize,
}

impl SpanFields {
    #[inline(always)]
    fn of(span: Span) -> Self {
        Self { buffer: span.buffer, offset: span.offset, len: span.len }
    }

    #[inline(always)]
    fn span(self) -> Span {
        Span { buffer: self.buffer, offset: self.offset, len: self.len }
    }
}

/// The properties of a send besides its data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Matched by the receive.
    pub tag: Tag,
    /// How the message is sent, and when the send is done.
    pub mode: Mode,
    /// Packet pacing: idle packet times between two packets of the message. Only packet networks obey it.
    pub gap_packets: f64,
}

/// The result of a step. For a receive: the sender, and the number of elements, at most the length of the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub source: u32,
    /// Number of elements.
    pub len: usize,
}

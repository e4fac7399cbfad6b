//! Messages on their way through a network in which they meet.

use serde::Serialize;

use super::Passages;

/// Messages on their way through a network, in seconds from the common start.
pub trait Traffic {
    /// A message leaves its node at `now_s`, which is no earlier than anything that has happened.
    fn inject(&mut self, now_s: f64, flight: Flight);
    /// The time of the next event; infinite when there is none unless a message is injected.
    fn next_s(&self) -> f64;
    /// Advances to the next event, and appends the messages that have left their sender or reached their receiver.
    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>);
    /// The use of each link so far.
    fn links(&self) -> Vec<LinkUse>;
    /// What links carry when, if the network can tell.
    fn passages(&mut self) -> Option<&mut Passages> {
        None
    }
    /// The reason why messages under way will never arrive, if so: a circle of waiting, or [`ENDLESS`].
    fn deadlock(&self) -> Option<String>;
    /// The circuits, where there are any.
    fn circuits(&mut self) -> Option<&mut dyn OnDemand> {
        None
    }
}

/// Circuits that programs can ask for.
pub trait OnDemand {
    /// Number of circuits that a program should open ahead of its messages; 0 where circuits come by themselves.
    fn ports(&self) -> usize;
    /// A program asks for a circuit; [`Milestone::Answered`] says whether it is open.
    fn connect(&mut self, now_s: f64, ask: Ask);
    /// A program does without a circuit; [`Milestone::Answered`] says when it is released.
    fn disconnect(&mut self, now_s: f64, ask: Ask);
    /// Whether there is something to decide at the end of this moment.
    fn is_undecided(&self) -> bool;
    /// Everything at this moment has happened: assigns circuits, and appends the answers to programs.
    fn decide(&mut self, now_s: f64, progress: &mut Vec<(u32, Milestone)>);
    /// At `now_s` nothing will happen any more: refuses one of the waiting requests. Returns true if there was one.
    fn give_way(&mut self, now_s: f64) -> bool;
    /// The counts of circuit events so far.
    fn counts(&self) -> CircuitCounts;
}

/// A program connects or disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The id for [`Traffic::advance`]; unique among the messages under way, too.
    pub id: u32,
    /// The rank that asks, and its peer.
    pub ranks: [u32; 2],
    /// The nodes of these ranks.
    pub nodes: [usize; 2],
}

/// Counts of circuit events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CircuitCounts {
    /// Circuits that were set up, or began to be.
    pub set_ups: u64,
    /// Calls of `connect` that were refused.
    pub refused: u64,
    /// Messages that lost their circuit while it carried them, each time.
    pub cut: u64,
}

/// The reason why messages that do not wait for each other are under way for ever.
pub(super) const ENDLESS: &str =
    "a time in the network exceeds the range of numbers, expected shorter times and higher bandwidths";

/// A message that leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// The id for [`Traffic::advance`]; unique among the messages under way.
    pub id: u32,
    /// The sender's node.
    pub from: usize,
    /// The receiver's node.
    pub to: usize,
    /// The sender and the receiver.
    pub ranks: [u32; 2],
    /// Its size.
    pub bytes: f64,
    /// Idle packet times between two of its packets, where there are packets.
    pub gap_packets: f64,
}

impl From<(u32, usize, usize, f64)> for Flight {
    /// A message without gaps between nodes of one rank: its id, nodes and bytes.
    fn from((id, from, to, bytes): (u32, usize, usize, f64)) -> Self {
        Self { id, from, to, ranks: [from as u32, to as u32], bytes, gap_packets: 0.0 }
    }
}

/// The progress of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The sender may change the data again: its last byte has left.
    Sent,
    /// Its last byte has arrived.
    Arrived,
    /// Of an [`Ask`], not a message: it is done, with a circuit that is open (true), refused, or released.
    Answered(bool),
}

/// The use of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkUse {
    /// Bytes that the link carried.
    pub bytes: f64,
    /// How long it was carrying something, in seconds.
    pub busy_s: f64,
    /// The time for which messages or packets that wanted the link had to wait for it, added up, in seconds.
    pub waiting_s: f64,
}

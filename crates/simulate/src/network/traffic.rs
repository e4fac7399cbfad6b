//! The messages under way in a network with contention.

use serde::Serialize;

use super::Passages;

/// The messages under way in a network; times are in seconds from the common start.
pub trait Traffic {
    /// A message leaves its node at `now_s`, no earlier than all previous events.
    fn inject(&mut self, now_s: f64, flight: Flight);
    /// Whether it takes messages before they leave; those of one node in the order of leaving.
    fn is_told_early(&self) -> bool {
        false
    }
    /// The time of the next event; infinite if there is none.
    fn next_s(&self) -> f64;
    /// Advances to the next event, and appends the milestones that messages reach.
    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>);
    /// The use of each link so far.
    fn links(&self) -> Vec<LinkUse>;
    /// The passages of all links, if the network records them.
    fn passages(&mut self) -> Option<&mut Passages> {
        None
    }
    /// If a fault holds up a message for ever: the link, the message and the time.
    fn stuck(&self) -> Option<String> {
        None
    }
    /// If messages under way will never arrive: the reason, a circle of waiting or `ENDLESS`.
    fn deadlock(&self) -> Option<String>;
    /// Whether the numbers of ranks have decided which of several messages comes first, in a run on representatives.
    fn knows_numbers(&self) -> bool {
        false
    }
    /// The seed of ways that are drawn, before the first message.
    fn set_seed(&mut self, _seed: u64) {}
    /// The circuits, if the network has any.
    fn circuits(&mut self) -> Option<&mut dyn OnDemand> {
        None
    }
}

/// Circuits that programs can request.
pub trait OnDemand {
    /// Number of circuits that a program should open ahead of its messages; 0 where circuits come by themselves.
    fn ports(&self) -> usize;
    /// A program requests a circuit; [`Milestone::Answered`] tells whether it is open.
    fn connect(&mut self, now_s: f64, ask: Ask);
    /// A program gives up a circuit; [`Milestone::Answered`] tells when it is released.
    fn disconnect(&mut self, now_s: f64, ask: Ask);
    /// Whether [`OnDemand::decide`] has something to do at the end of the present time.
    fn is_undecided(&self) -> bool;
    /// Assigns circuits after all other events of this time; appends the answers to programs.
    fn decide(&mut self, now_s: f64, progress: &mut Vec<(u32, Milestone)>);
    /// No rank, and no message that leaves, has an event left at `now_s`. If the circuits have none either, but for changes
    /// of the network, refuses one of the waiting requests. Returns true if there was one.
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
    /// Circuits whose set-up began.
    pub set_ups: u64,
    /// Calls of `connect` that were refused.
    pub refused: u64,
    /// Number of times that a circuit was lost while carrying a message.
    pub cut: u64,
}

/// The reason why messages never arrive although they do not wait for each other.
pub(super) const ENDLESS: &str =
    "a time in the network exceeds the range of numbers, expected shorter times and higher bandwidths";

/// A message that leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// Idle packet times between two of its packets, in networks with packets.
    pub gap_packets: f64,
}

impl From<(u32, usize, usize, f64)> for Flight {
    /// A message without gaps between nodes of one rank each: its id, nodes and bytes.
    fn from((id, from, to, bytes): (u32, usize, usize, f64)) -> Self {
        Self { id, from, to, ranks: [from as u32, to as u32], bytes, gap_packets: 0.0 }
    }
}

/// The progress of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Milestone {
    /// The sender may change the data again: its last byte has left.
    Sent,
    /// Its last byte arrives at this time, now or later.
    Arrives(f64),
    /// An [`Ask`] is done: its circuit is open (true), refused, or released.
    Answered(bool),
}

/// The use of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkUse {
    /// Bytes that the link carried.
    pub bytes: f64,
    /// The time for which it carried something, in seconds.
    pub busy_s: f64,
    /// The total time for which messages or packets waited for the link, in seconds.
    pub waiting_s: f64,
}

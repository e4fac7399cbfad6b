//! A message between two ranks.

/// The properties of a message on which its time depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parcel {
    /// Its size.
    pub bytes: f64,
    /// As [`Network::within`](super::Network::within).
    pub within: Option<Within>,
    /// Whether it is the first message of its sender to its receiver; false unless the network knows peers.
    pub is_new: bool,
}

impl Parcel {
    /// A message of `bytes`, which goes through the switch of a node or not.
    #[inline(always)]
    pub fn new(bytes: f64, within: Option<Within>, is_switched: bool) -> Self {
        Self { bytes, within: within.map(|within| Within { is_switched, ..within }), is_new: false }
    }

    /// Whether it has the costs of messages within a node.
    #[inline(always)]
    pub fn is_on_node(&self) -> bool {
        self.within.is_some_and(|within| within.is_on_node)
    }
}

/// The level with both ranks of a message in one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    /// Its number, from the core outwards.
    pub level: u32,
    /// Whether both ranks are on one node.
    pub is_on_node: bool,
    /// The number of ranks of the call on that node.
    pub ranks_on_node: u32,
    /// Whether the message goes through the switch of a node, as [`hocket_core::Mode::Switched`].
    pub is_switched: bool,
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure<T> {
    /// The time at which the sender may change the data again.
    pub sender_done: T,
    /// The time at which the message leaves.
    pub start: T,
    /// The time from the start until its last byte reaches the receiver, in seconds.
    pub transfer_s: f64,
    /// The part of this time that does not depend on its size.
    pub latency_s: f64,
}

//! A message between two ranks.

/// The properties of a message on which its time depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parcel {
    /// Its size.
    pub bytes: f64,
    /// As [`Network::local_ranks`](super::Network::local_ranks).
    pub local_ranks: usize,
    /// Whether it is the first message of its sender to its receiver; false unless the network knows peers.
    pub is_new: bool,
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
}

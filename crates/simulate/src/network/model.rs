//! What every network model says of messages.

use super::{Departure, Parcel, Shared};
use crate::clock::Clock;
use crate::demanded::{Bound, Demanded};

/// How messages travel between two ranks. Times are in seconds from the common start.
///
/// In most models a message is not disturbed by others: [`Network::inject`] gives the time for which it is on its way.
/// In [`Shared`] models messages meet, and their [`Traffic`](super::Traffic) gives the times.
///
/// An *eager* message leaves at once: [`Network::inject`], later [`Network::accept`]. A *rendezvous* asks first: its
/// request arrives ([`Network::request`]), meets its receive, is granted ([`Network::grant`]), and is then injected and
/// accepted like an eager one.
pub trait Network {
    /// The state of a rank's processor and network interface between operations.
    type Node<T: Clock>;
    /// Whether [`Network::Node`] keeps state, so that the order of a rank's operations matters.
    const NODE_HAS_STATE: bool;
    /// Whether messages meet each other.
    const MESSAGES_MEET: bool = false;

    /// A node that has been idle until `start`.
    fn idle<T: Clock>(&self, start: T) -> Self::Node<T>;
    /// How long a posted message occupies its sender, in seconds, where sends take longer than that.
    fn post_s(&self) -> Option<f64> {
        None
    }
    /// The network in which messages meet, if they do.
    fn shared(&self) -> Option<&dyn Shared> {
        None
    }
    /// Number of messages that a node sends at a time, and as many that it receives; none when that is not limited, or
    /// when the network in which messages meet limits it.
    fn ports(&self) -> Option<usize> {
        None
    }
    /// Of so many ranks, those on the node that holds both of a message's, if such a message has costs of its own; else 0.
    fn local_ranks(&self, _of_message: [usize; 2], _ranks: usize) -> usize {
        0
    }
    /// How many successive ranks share the ports of a node, where messages within it hold none.
    fn ranks_per_node(&self) -> Option<usize> {
        None
    }
    /// Whether the first message of a rank to a peer differs from others.
    fn knows_peers(&self) -> bool {
        false
    }
    /// The latency of the way of a message between two ranks, in seconds, where requests and answers do not know it.
    fn way_s(&self, _ranks: [usize; 2], _message: Parcel) -> f64 {
        0.0
    }
    /// The times that no algorithm can beat on this network.
    fn bound(&self, demanded: &Demanded<'_>) -> Bound;
    /// Whether a message leaves without waiting for its receive.
    fn is_eager(&self, message: Parcel) -> bool;
    /// The time at which the request of a rendezvous made at `now` is at the receiver.
    fn request<T: Clock>(&self, now: T, message: Parcel) -> T;
    /// The time at which the sender learns that a request met its receive at `now`.
    fn grant<T: Clock>(&self, now: T, message: Parcel) -> T;
    /// The time from which on the sender's interface can send the message; none where no message waits for an interface.
    fn free_to_send<T: Clock>(&self, _node: &Self::Node<T>, _message: Parcel) -> Option<T> {
        None
    }
    /// The message leaves at `now`, when the interface is free, or as soon after as the processor can. Where messages
    /// meet, only the start of the departure counts, and the time at which a posted message lets its sender go on.
    fn inject<T: Clock>(&self, node: &mut Self::Node<T>, now: T, message: Parcel) -> Departure<T>;
    /// Whether a message that leaves also holds up the interface that receives.
    fn holds_receiving(&self, _message: Parcel) -> bool {
        false
    }
    /// The time at which the first byte of a message is at its receiver. The message leaves at `start`, and its last byte
    /// arrives at `arrival`.
    fn head<T: Clock>(&self, _start: T, arrival: T, _message: Parcel) -> T {
        arrival
    }
    /// The receiver's interface takes in a message whose last byte arrives at `arrival`, after those whose first bytes were
    /// there before. Returns the time at which the interface has all of it.
    fn take_in<T: Clock>(&self, _node: &mut Self::Node<T>, arrival: T, _message: Parcel) -> T {
        arrival
    }
    /// The message has been taken in and is asked for at `now`. Returns the time at which the receive is done.
    fn accept<T: Clock>(&self, node: &mut Self::Node<T>, now: T, message: Parcel) -> T;
    /// The processor is asked at `now` to work. Returns the end of the work, as `pass` gives it for its start.
    fn work<T: Clock>(&self, node: &mut Self::Node<T>, now: T, pass: impl FnOnce(T) -> T) -> T;
}

/// Does something with a network whose type only the registry knows.
pub(crate) trait Visitor {
    type Output;
    fn visit<N: Network + Sync>(self, network: &N) -> Self::Output;
}

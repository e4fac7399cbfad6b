//! The interface of network models.

use hocket_machine::Placement;

use super::level::{Level, NodeTimes};
use super::{Departure, Parcel, Resources, SharedNetwork, Within};
use crate::call_demand::{Bound, CallDemand};
use crate::clock::Clock;

/// The times of messages between two ranks, in seconds from the common start.
///
/// In models without contention, [`Network::inject`] gives the time for which a message is on its way. In [`SharedNetwork`]
/// models, messages share links, and their [`Traffic`](super::Traffic) gives the times.
///
/// An *eager* message leaves at once ([`Network::inject`]) and is received later ([`Network::accept`]). A *rendezvous*
/// first sends a request ([`Network::request`]). When the request meets its receive, it is granted
/// ([`Network::grant`]); then the message is injected and accepted like an eager one.
pub trait Network {
    /// The state of a rank's processor and network interface between operations.
    type Node<T: Clock>: NodeTimes<T>;
    /// Whether [`Network::Node`] keeps state, so that the order of a rank's operations matters.
    const NODE_HAS_STATE: bool;
    /// Whether messages share links.
    const MESSAGES_MEET: bool = false;

    /// How long a posted message occupies its sender, in seconds; none if as long as other sends.
    fn post_s(&self) -> Option<f64> {
        None
    }
    /// The network as a [`SharedNetwork`] one, if [`Network::MESSAGES_MEET`].
    fn shared_network(&self) -> Option<&dyn SharedNetwork> {
        None
    }
    /// Messages that a node sends at a time, and receives; none without limit, or if a [`SharedNetwork`] network limits them.
    fn ports(&self) -> Option<usize> {
        None
    }
    /// The level that has the costs of a message between two of these ranks; none for one between nodes.
    fn within(&self, _message: [usize; 2], _ranks: usize) -> Option<Within> {
        None
    }
    /// The costs of a message at its ranks; none in models without a processor and interfaces.
    fn level(&self, _message: Parcel) -> Option<&Level> {
        None
    }
    /// What ranks share besides links and ports, and their nodes; none if they share nothing.
    fn resources(&self) -> Option<(&Resources, &Placement)> {
        None
    }
    /// The nodes whose ranks share ports, where messages within a node hold none.
    fn shared_ports(&self) -> Option<&Placement> {
        None
    }
    /// Whether the first message of a rank to a peer costs more.
    fn knows_peers(&self) -> bool {
        false
    }
    /// The latency of a message's route, in seconds, if [`Network::request`] and [`Network::grant`] lack it.
    fn way_s(&self, _of_message: [usize; 2], _ranks: usize, _message: Parcel) -> f64 {
        0.0
    }
    /// The times that no algorithm can beat on this network.
    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound;
    /// Whether a message leaves without waiting for its receive.
    fn is_eager(&self, message: Parcel) -> bool {
        self.level(message).is_none_or(|level| level.is_eager(message.bytes))
    }
    /// The arrival time of a rendezvous's request made at `now`.
    fn request<T: Clock>(&self, now: T, message: Parcel) -> T {
        self.level(message).map_or(now, |level| level.request(now, message))
    }
    /// The time at which the sender learns that a request met its receive at `now`.
    fn grant<T: Clock>(&self, now: T, message: Parcel) -> T {
        self.level(message).map_or(now, |level| level.grant(now, message.bytes))
    }
    /// The time from which the sender's interface can send the message; none in models without interfaces.
    #[inline(always)]
    fn free_to_send<T: Clock>(&self, node: &mut Self::Node<T>, _message: Parcel) -> Option<T> {
        node.busy().map(|busy| busy.sending)
    }
    /// The message leaves at `now`, when the interface is free, or as soon after as the processor can. With contention,
    /// only `Departure::start` and the end of a posted send count.
    fn inject<T: Clock>(&self, node: &mut Self::Node<T>, now: T, message: Parcel) -> Departure<T>;
    /// When the processor can begin what is ready at `now`.
    fn free_to_work<T: Clock>(&self, node: &mut Self::Node<T>, now: T) -> T {
        node.busy().map_or(now, |busy| now.max(busy.processor))
    }
    /// How long a message occupies the processor at this end, [`SEND`](super::SEND) or [`RECEIVE`](super::RECEIVE), in seconds.
    fn processing_s(&self, end: usize, message: Parcel) -> f64;
    /// Whether a message that leaves also holds up the receiving interface.
    #[inline(always)]
    fn holds_receiving(&self, message: Parcel) -> bool {
        self.level(message).is_some_and(Level::holds_receiving)
    }
    /// The arrival time of the first byte of a message that leaves at `start` and whose last byte arrives at `arrival`.
    #[inline(always)]
    fn head<T: Clock>(&self, start: T, arrival: T, message: Parcel) -> T {
        self.level(message).map_or(arrival, |level| level.head(start, arrival, message))
    }
    /// The receiver's interface takes in a message whose last byte arrives at `arrival`, in the order of first bytes.
    /// Returns the time at which it has the whole message.
    #[inline(always)]
    fn take_in<T: Clock>(&self, node: &mut Self::Node<T>, arrival: T, message: Parcel) -> T {
        self.level(message).zip(node.busy()).map_or(arrival, |(level, busy)| level.take_in(busy, arrival, message))
    }
    /// The message was taken in and its receive posted by `now`. Returns the time at which the receive is done.
    fn accept<T: Clock>(&self, node: &mut Self::Node<T>, now: T, message: Parcel) -> T {
        self.level(message).zip(node.busy()).map_or(now, |(level, busy)| level.accept(busy, now, message))
    }
    /// The processor works from `now` on, or once it is free. Returns the end that `pass` gives for the start.
    fn work<T: Clock>(&self, node: &mut Self::Node<T>, now: T, pass: impl FnOnce(T) -> T) -> T {
        match node.busy() {
            Some(busy) => busy.work(now, pass),
            None => pass(now),
        }
    }
}

/// An operation on a network whose type only the registry knows.
pub(crate) trait Visitor {
    type Output;
    fn visit<N: Network>(self, network: &N) -> Self::Output;
}

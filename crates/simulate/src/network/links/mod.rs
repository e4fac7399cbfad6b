//! Links: messages on the links of a topology, each link with a bandwidth and a latency.
//!
//! Keys of `[network]`, besides those of the [`Fabric`]: `link_bandwidth` B, one for all links or one for each kind;
//! `link_latency` l (default 0); `sharing` = "queue" (one message after another; the default) or "fair" (all at once, at
//! equal rates); for queues, `switching` = "cut_through" (the default) or "wormhole". A message of n bytes, alone on a
//! route of h links, takes h l + n / B. It leaves through a port of its node, after waiting, first come first served,
//! while all `ports` of the node are sending. A message to its own node occupies only that port, for n / B. Links of less
//! than the highest B are as links with a [fault](super::faults) that lasts. Keys of [routing](super::routing), too.
//!
//! **Queues, cut-through.** The head of a message that has its port at t is at the first link at t. A link that the
//! head reaches at t_i carries the message from s_i = max(t_i, free) to s_i + n / B; the head reaches the next link, or
//! the receiver, at s_i + l. So a link serves heads in the order in which they reach it; simultaneous ones in the order
//! in which their messages got ports; of those that got them at one time, first those of the node with the lowest
//! number. A blocked message is stored in front of the link, in a buffer that never fills, so it blocks no other
//! message, and there is no deadlock. The port is free, and the message sent, at s_1 + n / B. The receiver takes in
//! `ports` messages at a time, first come first served: a message whose head arrives at a starts at e = max(a, a port
//! free) and arrives at e + n / B. (P. Kermani, L. Kleinrock, "Virtual cut-through: a new computer communication
//! switching technique", Computer Networks 3, 1979, with unlimited buffers.)
//!
//! **Queues, wormhole.** A blocked message holds all links that it has reached. Messages reserve their whole routes in
//! the order in which they get their ports, so none waits for a later one: there is no deadlock, whatever the routes. A
//! message starts at the earliest s at which link i is free from s + i l on, i = 0 .. h-1, and a port of the receiver
//! from s + h l on. Link i is held until s + i l + n / B. The message is sent at s + n / B and arrives at s + h l + n /
//! B. (W. J. Dally, C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
//! Trans. Computers 36, 1987, with virtual channels instead of this order.)
//!
//! **Fair.** Messages of one rank to another follow each other, as on one connection: the next one requests its ports
//! when the last one has ended. A message needs a port of its sender, then one of its receiver, each first come first
//! served; it holds the first while it waits for the second, whose holders wait for nothing. Then all links of its
//! route carry it at once, at a rate of at most B. Rates are max-min fair: none can be raised without lowering one that
//! is no higher. They change when a message starts or ends. When its n bytes have been carried, a message is sent and
//! releases both ports; it arrives h l later: latency delays the last byte, but lowers no rate. (D. Bertsekas, R.
//! Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2; the same rates in SimGrid: H. Casanova et al.,
//! "Versatile, scalable, and accurate simulation of distributed applications and platforms", J. Parallel Distrib.
//! Comput. 74, 2014.)
//!
//! The use of a link ([`LinkUse`](super::LinkUse)):
//!
//! | | queue | fair |
//! |---|---|---|
//! | bytes | of messages | of messages that have ended |
//! | busy | n / B for each message | while messages are on it, up to when it last fell idle |
//! | waiting | of each message, from when its head reaches the link, or in a wormhole would if nothing were in its way, until the link is free | what messages lost whose rate this link set: (1 - rate / B) dt; of several such links, the first one of the route |
//!
//! With [faults](super::faults), a queue's link is busy with a message until its last byte has passed, and messages also
//! wait while it is down.
//!
//! In queues, these count as soon as it is known when the link will carry the message. Waiting for ports counts on no
//! link. So without it, and without wormholes, the delay of messages is the waiting on links.

mod fair;
mod faulty;
mod orbits;
mod parameters;
mod queues;
mod shares;

pub use parameters::Links;

use hocket_core::{Result, Symmetry};

use super::{Fabric, Fault, Faults, Routing, SharedNetwork, Traffic};
use crate::call_demand::{Bound, CallDemand};
use fair::Fair;
use orbits::Orbits;
use parameters::{Sharing, Switching};
use queues::Queues;

impl Links {
    /// The messages of all nodes, or only of representatives.
    fn new_traffic(&self, orbits: Option<Box<Orbits>>) -> Box<dyn Traffic + '_> {
        match self.sharing {
            Sharing::Queue(switching) => Box::new(Queues::new(self, switching, orbits)),
            Sharing::Fair => Box::new(Fair::new(self, orbits)),
        }
    }
}

impl SharedNetwork for Links {
    fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    fn add_faults(&mut self, faults: &[Fault]) -> Result<()> {
        self.fabric.add_faults(faults)
    }

    fn is_random(&self) -> bool {
        self.fabric.routing.is_random(self.sharing == Sharing::Fair)
    }

    fn detours(&self) -> usize {
        let is_in_parts = self.sharing == Sharing::Fair;
        if is_in_parts { self.fabric.routing.detours(&self.fabric.topology) } else { 0 }
    }

    fn latency_s(&self, nodes: [usize; 2]) -> f64 {
        self.fabric.distance(nodes) * self.link_latency_s
    }

    fn burst_s(&self, bytes: f64) -> Option<f64> {
        (self.sharing != Sharing::Fair).then(|| self.duration_s(bytes))
    }

    fn traffic(&self) -> Box<dyn Traffic + '_> {
        self.new_traffic(None)
    }

    /// On one rank per node, over fixed routes, and without interfaces: these take in messages in the order of their senders.
    fn symmetry(&self) -> Option<Symmetry> {
        let Fabric { topology, placement, routing, has_interfaces, faults, .. } = &self.fabric;
        let is_fixed = *routing == Routing::Fixed;
        let is_alike = is_fixed && placement.is_linear() && !has_interfaces && *faults == Faults::default();
        let is_followed = self.sharing != Sharing::Queue(Switching::Wormhole);
        (is_alike && is_followed).then(|| topology.symmetry())?
    }

    fn traffic_under(&self, symmetry: Symmetry) -> Box<dyn Traffic + '_> {
        self.new_traffic(Some(Box::new(Orbits::new(symmetry, &self.fabric.topology))))
    }

    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound {
        self.fabric.bound(call_demand, self.link_latency_s, self.link_bytes_per_s)
    }
}

//! Links: messages on the links of a topology, each link with a bandwidth and a latency.
//!
//! Keys of `[network]`, besides those of the [`Fabric`]: `link_bandwidth` B, `link_latency` l (0 when absent), `sharing` =
//! "queue" (one message after another; the default) or "fair" (all at once, at equal rates), and, for queues, `switching` =
//! "cut_through" (the default) or "wormhole". A message of n bytes on a route of h links that meets no other takes
//! h l + n / B. It leaves through a port of its node: it waits, first come first served, while all `ports` of the node
//! are sending. A message to its own node goes through that port alone, for n / B.
//!
//! **Queues, cut-through.** The message has its port at t, and its head is at the first link. A link that the head
//! reaches at t_i starts to carry the message at s_i = max(t_i, free), and is free again at s_i + n / B; the head reaches
//! the next link, or the receiver, at s_i + l. So heads are served in the order in which they reach a link, and messages
//! that do so at one time in the order in which they were injected. A blocked message is stored in front of the link, in
//! a buffer that is large enough, so that it blocks nobody behind it, and nothing waits in a circle. The port is free
//! again, and the message sent, at s_1 + n / B. The receiver takes in `ports` messages at a time: a message whose head
//! is there at a starts at e = max(a, a port free), first come first served, and arrives at e + n / B.
//! (P. Kermani, L. Kleinrock, "Virtual cut-through: a new computer communication switching technique", Computer
//! Networks 3, 1979, whose buffers never fill.)
//!
//! **Queues, wormhole.** A blocked message stays where it is, across all links that it has reached, and holds them. It asks
//! for its whole route when it has its port, in that order, and so none waits for one that came later: there is no
//! deadlock, whatever the routes. It starts at the earliest s at which link i is free from s + i l on, i = 0 .. h-1,
//! and a port of the receiver from s + h l on; link i is held until s + i l + n / B. It is sent at s + n / B, and
//! arrives at s + h l + n / B.
//! (W. J. Dally, C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE Trans.
//! Computers 36, 1987, where virtual channels do what the order does here.)
//!
//! **Fair.** Messages of one rank to another follow each other, as on one connection: the next one asks for its ports when
//! the last one has ended. A message starts when it has a port of its sender and one of its receiver, for which it asks in
//! this order, first come first served; it holds the first while it waits for the second, whose holders wait for nothing.
//! From then on it is carried by all links of its route at once, at a rate of at most B. Rates are max-min fair: none can be
//! raised without lowering one that is no higher. They change when a message starts or ends. It ends, is sent, and gives
//! both ports back when its n bytes have been carried, and arrives h l later: latency delays the last byte, and no rate.
//! (D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2; the same rates in SimGrid: H. Casanova et al.,
//! "Versatile, scalable, and accurate simulation of distributed applications and platforms", J. Parallel Distrib. Comput.
//! 74, 2014.)
//!
//! The use of a link ([`LinkUse`](super::LinkUse)):
//!
//! | | queue | fair |
//! |---|---|---|
//! | bytes | of messages | of messages that have ended |
//! | busy | n / B for each message | while messages are on it, up to when it last fell idle |
//! | waiting | of each message, from when its head reaches the link, or in a wormhole would if nothing were in its way, until the link is free | what messages lost whose rate this link set: (1 - rate / B) dt |
//!
//! In queues, these count from the moment at which it is known when the link will carry the message. The time for which
//! a message waits for ports counts on no link. So without ports to wait for, and except for wormholes, the delay of
//! messages is the waiting on links.

mod fair;
mod queues;
mod shares;
#[cfg(test)]
mod tests;

use hocket_core::Result;
use hocket_machine::Machine;

use super::{Fabric, Shared, Traffic};
use crate::demanded::{Bound, Demanded};
use fair::Fair;
use queues::Queues;

/// The model's parameters, keys of `[network]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    fabric: Fabric,
    /// `link_bandwidth`: B, in bytes per second.
    pub link_bytes_per_s: f64,
    /// `link_latency`: l, in seconds.
    pub link_latency_s: f64,
    /// `sharing`, and of queues `switching`.
    pub sharing: Sharing,
}

/// The sharing of a link by messages that want it at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They go one after another.
    Queue(Switching),
    /// All go at once, at lower rates.
    Fair,
}

/// The links that a waiting message occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// None.
    CutThrough,
    /// The links behind it.
    Wormhole,
}

impl Links {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let section = &machine.network;
        let switchings = [("cut_through", Switching::CutThrough), ("wormhole", Switching::Wormhole)];
        let sharing = match section.choice("sharing", &[("queue", false), ("fair", true)])? {
            false => Sharing::Queue(section.choice("switching", &switchings)?),
            true => Sharing::Fair,
        };
        Ok(Self {
            fabric: Fabric::read(machine)?,
            link_bytes_per_s: section.bytes_per_s("link_bandwidth")?,
            link_latency_s: section.time_s_or("link_latency", 0.0)?,
            sharing,
        })
    }

    /// The time for which a link carries a message.
    fn duration_s(&self, bytes: f64) -> f64 {
        bytes / self.link_bytes_per_s
    }
}

impl Shared for Links {
    fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    fn latency_s(&self, nodes: [usize; 2]) -> f64 {
        self.fabric.distance(nodes) * self.link_latency_s
    }

    fn traffic(&self) -> Box<dyn Traffic + '_> {
        match self.sharing {
            Sharing::Queue(switching) => Box::new(Queues::new(self, switching)),
            Sharing::Fair => Box::new(Fair::new(self)),
        }
    }

    fn bound(&self, demanded: &Demanded<'_>) -> Bound {
        self.fabric.bound(demanded, self.link_latency_s, self.link_bytes_per_s)
    }
}

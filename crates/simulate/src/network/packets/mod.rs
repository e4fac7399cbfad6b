//! Packets: routers with buffers, credits, virtual channels and virtual cut-through, simulated packet by packet.
//!
//! Sources: W. J. Dally, B. Towles, "Principles and Practices of Interconnection Networks", Morgan Kaufmann 2004
//! (routers, credits, virtual channels, arbitration); P. Kermani, L. Kleinrock, "Virtual cut-through: a new computer
//! communication switching technique", Computer Networks 3 (1979).
//!
//! ```text
//! node                router                          next router
//! ┌───────────┐   ┌───────────────────┐           ┌───────────────────┐
//! │ port ─────┼───┼──────────┐        │           │ channel 0 ▢▢▢▢    │
//! └───────────┘   │ ch. 0 ▢▢▢▢ ─▶ out ┼── link ──▶│ channel 1 ▢▢▢▢    │
//! ── link ───────▶│ ch. 1 ▢▢▢▢ ┘      │◀─ credits │                   │
//!                 └───────────────────┘           └───────────────────┘
//! ```
//!
//! Every vertex of the topology, node or switch, is a router.
//!
//! - *Packets.* A message of n bytes is cut into max(1, ceil(n / `packet`)) packets; the last may be shorter, and has
//!   no bytes if n is 0. With fixed [routing](super::routing), all take the topology's route, in order; else each
//!   takes a way of its own, and the message has arrived when the last of them has.
//! - *Buffers.* Every link ends in an input buffer of `buffer` packets per virtual channel: a queue that forwards one
//!   packet at a time. Only its first packet requests an output, so a blocked packet blocks those behind it.
//! - *Cut-through.* A packet of b bytes that starts over a link at s occupies the link until s + b /
//!   `link_bandwidth`. Its head reaches the next router at s + `link_latency` and may leave it `router_latency` later,
//!   while the rest is still arriving. It starts only when the link is free and the next buffer has room for all of it.
//! - *Credits.* The previous router can reuse the room of a packet `credit_latency` (default `link_latency`) after the
//!   end of the packet has left. No packet is dropped. A stream of packets keeps a link busy if the buffer covers the
//!   round trip: `buffer` x (packet time) at least packet time + `link_latency` + `router_latency` + `credit_latency`.
//! - *Arbitration.* A free output asks the inputs of its router that want it and whose next buffer has room,
//!   beginning after the input served last: round robin over input buffers and the node's ports. All requests made by
//!   that moment take part, in whatever order they were made.
//! - *Injection.* A node sends `ports` messages at a time; others wait in order. The first packet of a message
//!   requests its output when a port takes the message on. Each further packet does so no sooner than (1 + gap)
//!   `packet` / `link_bandwidth`, and `packet` / `injection_bandwidth`, after the previous one started. The gap is the
//!   message's own (pacing). With `pacing` = "adaptive", it is the node's gap if that is wider; a node's gap follows
//!   from how many packets were held up, and from the gaps of other nodes. A packet crosses the first link at the
//!   link's bandwidth: an `injection_bandwidth` below it spaces packets, one above it has no effect. When the last
//!   packet has left, the port is free and the message *sent*; a slow port may need longer for it than the link.
//! - *Ejection.* A node takes in `ports` packets at a time, each from one input. Taking in b bytes lasts b /
//!   `ejection_bandwidth`, or b / `link_bandwidth` if longer. A message has *arrived* when its last byte is in.
//! - *Virtual channels* are those of routes, which are free of deadlock. If `virtual_channels` is less, the highest
//!   channel replaces all that are missing: with 1, all packets use channel 0, and a full ring deadlocks.
//! - A message to its own node passes injection and ejection only.
//! - *[Faults](super::faults).* A link that is slow holds a packet longer, and one that is down starts none. The next
//!   router holds the head back by as much, so that the rest follows it without a pause. Ways around links that are
//!   down are not free of deadlock.
//!
//! One message of k packets of p bytes, the last of l bytes, alone on a route of h links, with gap g, arrives after
//!
//! ```text
//! (k - 1) (1 + g) p / link_bandwidth + h (link_latency + router_latency) + l / link_bandwidth
//! ```
//!
//! and is sent h (`link_latency` + `router_latency`) earlier, if buffers cover the round trip (as above, with packet
//! time x (1 + g) on the left).
//!
//! Times are multiples of 2^-50 s (0.9 fs), whose sums are exact up to 8 s, so that simultaneous events compare equal.
//! Durations are rounded to these multiples. Two equal runs agree to the last bit.

mod calendar;
mod deadlock;
mod departures;
mod faulty;
mod messages;
mod pacing;
mod parameters;
mod router;
mod ways;
mod wiring;

pub use parameters::Packets;

use hocket_core::Result;

use super::{Fabric, Fault, SharedNetwork, Traffic};
use crate::call_demand::{Bound, CallDemand};
use messages::{least_s_per_byte, nearest};
use router::Routers;

impl SharedNetwork for Packets {
    fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    fn add_faults(&mut self, faults: &[Fault]) -> Result<()> {
        self.fabric.add_faults(faults)
    }

    fn is_random(&self) -> bool {
        self.fabric.routing.is_random(false)
    }

    fn latency_s(&self, nodes: [usize; 2]) -> f64 {
        self.fabric.distance(nodes) * (self.link_latency_s + self.router_latency_s)
    }

    fn traffic(&self) -> Box<dyn Traffic + '_> {
        Box::new(Routers::new(self))
    }

    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound {
        let hop_s = nearest(self.link_latency_s + self.router_latency_s);
        self.fabric.bound(call_demand, hop_s, 1.0 / least_s_per_byte(self))
    }
}

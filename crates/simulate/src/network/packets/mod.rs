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
mod router;
mod ways;
mod wiring;

use hocket_core::Result;
use hocket_machine::{Machine, Section};

use super::{Fabric, Fault, Routing, SharedNetwork, Traffic};
use crate::call_demand::{Bound, CallDemand};
use messages::{least_s_per_byte, nearest};
use router::Routers;

/// The model's parameters, keys of `[network]` besides those of the fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets {
    /// The topology, and the properties of the nodes.
    pub fabric: Fabric,
    /// `packet`: bytes of a full packet; default 2 KiB.
    pub packet_bytes: f64,
    /// `buffer`: packets that an input buffer holds, per virtual channel; default 4.
    pub buffer_packets: usize,
    /// `virtual_channels`: number of the topology's channels that exist, default all; or as routing needs them.
    pub channels: usize,
    /// `channels_per_hop`: channels for each link of a way; 1 for fixed routes.
    pub lanes: usize,
    /// 1 / `link_bandwidth`, in seconds per byte.
    pub link_s_per_byte: f64,
    /// 1 / `injection_bandwidth`, or 1 / `link_bandwidth` if that is slower, in seconds per byte.
    pub injection_s_per_byte: f64,
    /// 1 / `ejection_bandwidth`, or 1 / `link_bandwidth` if that is slower, in seconds per byte.
    pub ejection_s_per_byte: f64,
    /// `link_latency`: from one router to the next, of a packet's head, in seconds; default 0.
    pub link_latency_s: f64,
    /// `router_latency`: from a head's arrival over a link until it may leave the router, in seconds; default 0.
    pub router_latency_s: f64,
    /// `pacing`: whether nodes widen the gaps of their messages when packets are held up ("adaptive"), or keep the
    /// messages' gaps ("message", the default).
    pub is_adaptive: bool,
    /// `credit_latency`: from room in a buffer until the previous router can use it; default `link_latency`.
    pub credit_latency_s: f64,
}

/// The most links of a way on which packets choose, and the largest `channels_per_hop`.
const MOST_LINKS: usize = 255;
const MOST_LANES: usize = 16;

/// The largest `buffer`.
const MOST_BUFFERED: usize = 4096;

impl Packets {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let (mut fabric, section) = (Fabric::read(machine)?, &machine.network);
        fabric.read_routing(section)?;
        let is_adaptive = section.choice("pacing", &[("message", false), ("adaptive", true)])?;
        section.ensure(
            !is_adaptive || fabric.routing == Routing::Fixed,
            "pacing",
            "\"message\", as routing is not fixed",
        )?;
        let link_s_per_byte = 1.0 / fabric.read_bandwidth(section)?;
        let at_most_links = |key| -> Result<f64> {
            Ok(section.optional_bytes_per_s(key)?.map_or(link_s_per_byte, |rate| link_s_per_byte.max(1.0 / rate)))
        };
        let link_latency_s = section.time_s_or("link_latency", 0.0)?;
        let own = fabric.topology.channels();
        let (classes, lanes) = match fabric.routing.longest_way(&fabric.topology) {
            None => (section.count_up_to("virtual_channels", own, own)?, 1),
            Some(links) if links <= MOST_LINKS => (links, section.count_up_to("channels_per_hop", 4, MOST_LANES)?),
            Some(_) => {
                return Err(section.reject("routing", "\"fixed\": ways on this topology may have over 255 links"));
            }
        };
        Ok(Self {
            packet_bytes: packet_bytes(section)?,
            buffer_packets: section.count_up_to("buffer", 4, MOST_BUFFERED)?,
            channels: lanes * classes,
            lanes,
            link_s_per_byte,
            injection_s_per_byte: at_most_links("injection_bandwidth")?,
            ejection_s_per_byte: at_most_links("ejection_bandwidth")?,
            link_latency_s,
            is_adaptive,
            router_latency_s: section.time_s_or("router_latency", 0.0)?,
            credit_latency_s: section.time_s_or("credit_latency", link_latency_s)?,
            fabric,
        })
    }
}

fn packet_bytes(section: &Section) -> Result<f64> {
    match section.optional_bytes("packet")?.unwrap_or(2048) {
        0 => Err(section.reject("packet", "a size of at least 1 B")),
        bytes => Ok(bytes as f64),
    }
}

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

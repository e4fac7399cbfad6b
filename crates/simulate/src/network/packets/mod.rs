//! Packets: routers with buffers, credits, virtual channels and virtual cut-through, packet by packet.
//!
//! Sources: W. J. Dally, B. Towles, "Principles and Practices of Interconnection Networks", Morgan Kaufmann 2004 (routers,
//! credits, virtual channels, arbitration); P. Kermani, L. Kleinrock, "Virtual cut-through: a new computer communication
//! switching technique", Computer Networks 3 (1979).
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
//! - *Packets.* A message of n bytes is cut in max(1, ceil(n / `packet`)) packets, of which the last may be shorter; one of
//!   no bytes travels as a packet of no length. All take the topology's route, in order.
//! - *Buffers.* At its end every link has an input buffer of `buffer` packets for each virtual channel: a queue, whose
//!   first packet alone asks for an output, so that a blocked packet blocks those behind it. A buffer forwards one
//!   packet at a time.
//! - *Cut-through.* A packet of b bytes that starts over a link at s occupies the link until s + b / `link_bandwidth`. Its
//!   head reaches the next router at s + `link_latency` and may leave that one `router_latency` later, while the rest is
//!   still coming. It starts only when the link is free and the next buffer has room for all of it.
//! - *Credits.* The router before can use the room of a packet again `credit_latency` (`link_latency` when absent)
//!   after the end of the packet has left. Nothing is ever dropped. A stream of packets keeps a link busy if the buffer
//!   covers the way there and back: `buffer` x (packet time) at least packet time + `link_latency` + `router_latency` +
//!   `credit_latency`.
//! - *Arbitration.* When an output is free, the inputs of its router that want it and whose next buffer has room are
//!   asked in turn, beginning after the one that was served last: round robin over input buffers and the node's ports.
//!   All requests that are there at one moment take part, whatever the order in which they were made.
//! - *Injection.* A node sends `ports` messages at a time, and others wait in order. The first packet of a message asks
//!   for its output when a port takes it on; each one after it no sooner than (1 + gap) `packet` / `link_bandwidth`,
//!   and `packet` / `injection_bandwidth`, after the one before it started. The gap is that of the message (pacing);
//!   with `pacing` = "adaptive" it is the node's own gap where that is wider, which follows from how many packets were
//!   held up on their way, and from the gaps of other nodes. A packet crosses the first link at the link's bandwidth; an
//!   `injection_bandwidth` below that spaces packets, and one above it changes nothing. A port is free again, and the
//!   message *sent*, when the last packet has left, for which a slow port may need longer than the packet travels.
//! - *Ejection.* A node takes in `ports` packets at a time, of whatever messages, each from one input. Taking in b bytes
//!   lasts b / `ejection_bandwidth`, or b / `link_bandwidth` where that is slower. A message has *arrived* when the last
//!   byte of its last packet is in.
//! - *Virtual channels* are the topology's, which are free of deadlock. Where `virtual_channels` is less than those, the
//!   highest stands in for all that are missing: with 1 all packets use channel 0, and a ring that fills up stands still.
//! - A message to the own node passes injection and ejection only.
//!
//! One message of k packets of p bytes, the last of l bytes, alone on a route of h links, with gap g, arrives after
//!
//! ```text
//! (k - 1) (1 + g) p / link_bandwidth + h (link_latency + router_latency) + l / link_bandwidth
//! ```
//!
//! and is sent h (`link_latency` + `router_latency`) earlier, if buffers cover the way there and back (above, with packet
//! time x (1 + g) on the left).
//!
//! Times are multiples of 2^-50 s (0.9 fs), in which sums are exact up to 8 s, so that events of the same moment are
//! seen as simultaneous. Durations are rounded to these multiples. Two equal runs agree to the last bit.

mod calendar;
mod deadlock;
mod messages;
mod pacing;
#[cfg(test)]
mod reference;
mod router;
#[cfg(test)]
mod tests;
mod wiring;

use hocket_core::Result;
use hocket_machine::{Machine, Section, Topology};

use super::{Fabric, Shared, Traffic};
use crate::demanded::{Bound, Demanded};
use router::Routers;

/// The model's parameters, keys of `[network]` besides those of the fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets {
    /// The topology, and the properties of the nodes.
    pub fabric: Fabric,
    /// `packet`: bytes of a full packet; 2 KiB when absent.
    pub packet_bytes: f64,
    /// `buffer`: packets that an input buffer holds, per virtual channel; 4 when absent.
    pub buffer_packets: usize,
    /// `virtual_channels`: the number of the topology's channels that exist; all when absent.
    pub channels: usize,
    /// 1 / `link_bandwidth`, in seconds per byte.
    pub link_s_per_byte: f64,
    /// 1 / `injection_bandwidth` or that of links, whichever is slower, in seconds per byte.
    pub injection_s_per_byte: f64,
    /// 1 / `ejection_bandwidth` or that of links, whichever is slower, in seconds per byte.
    pub ejection_s_per_byte: f64,
    /// `link_latency`: of a packet's head from one router to the next, in seconds; 0 when absent.
    pub link_latency_s: f64,
    /// `router_latency`: from a head's arrival over a link until it may leave the router, in seconds; 0 when absent.
    pub router_latency_s: f64,
    /// `pacing`: whether nodes widen the gaps of their messages when packets are held up, "adaptive", or leave them as
    /// the messages ask, "message", the default.
    pub is_adaptive: bool,
    /// `credit_latency`: from room in a buffer until the router before can use it, in seconds; `link_latency` when
    /// absent.
    pub credit_latency_s: f64,
}

/// The most packets of a buffer.
const MOST_BUFFERED: usize = 4096;

impl Packets {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let fabric = Fabric::read(machine)?;
        let section = &machine.network;
        let link_s_per_byte = 1.0 / section.bytes_per_s("link_bandwidth")?;
        let at_most_links = |key| -> Result<f64> {
            Ok(section.optional_bytes_per_s(key)?.map_or(link_s_per_byte, |rate| link_s_per_byte.max(1.0 / rate)))
        };
        let link_latency_s = section.time_s_or("link_latency", 0.0)?;
        Ok(Self {
            packet_bytes: packet_bytes(section)?,
            buffer_packets: section.count_up_to("buffer", 4, MOST_BUFFERED)?,
            channels: section.count_up_to(
                "virtual_channels",
                fabric.topology.channels(),
                fabric.topology.channels(),
            )?,
            link_s_per_byte,
            injection_s_per_byte: at_most_links("injection_bandwidth")?,
            ejection_s_per_byte: at_most_links("ejection_bandwidth")?,
            link_latency_s,
            is_adaptive: section.choice("pacing", &[("message", false), ("adaptive", true)])?,
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

impl Shared for Packets {
    fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    fn latency_s(&self, nodes: [usize; 2]) -> f64 {
        self.fabric.distance(nodes) * (self.link_latency_s + self.router_latency_s)
    }

    fn traffic(&self) -> Box<dyn Traffic + '_> {
        Box::new(Routers::new(self))
    }

    fn bound(&self, demanded: &Demanded<'_>) -> Bound {
        self.fabric.bound(demanded, self.link_latency_s + self.router_latency_s, 1.0 / self.link_s_per_byte)
    }
}

//! What the model reads from a machine file.

use hocket_core::Result;
use hocket_machine::{Machine, Section};

use super::super::{Fabric, Routing};

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
    pub(in super::super) fn read(machine: &Machine) -> Result<Self> {
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

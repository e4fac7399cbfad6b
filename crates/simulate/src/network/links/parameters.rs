//! The parameters of a network of links, from a machine file.

use hocket_core::Result;
use hocket_machine::Machine;

use super::super::Fabric;

/// The model's parameters, keys of `[network]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    pub(in crate::network) fabric: Fabric,
    /// `link_bandwidth`: B, in bytes per second; the highest if kinds of links differ.
    pub link_bytes_per_s: f64,
    /// `link_latency`: l, in seconds.
    pub link_latency_s: f64,
    /// `sharing`, and for queues `switching`.
    pub sharing: Sharing,
}

/// How simultaneous messages share a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// One after another.
    Queue(Switching),
    /// All at once, at lower rates.
    Fair,
}

/// The links that a waiting message occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switching {
    /// No links.
    CutThrough,
    /// The links behind it.
    Wormhole,
}

impl Links {
    pub(in crate::network) fn read(machine: &Machine) -> Result<Self> {
        let section = &machine.network;
        let switchings = [("cut_through", Switching::CutThrough), ("wormhole", Switching::Wormhole)];
        let sharing = match section.choice("sharing", &[("queue", false), ("fair", true)])? {
            false => Sharing::Queue(section.choice("switching", &switchings)?),
            true => Sharing::Fair,
        };
        let mut fabric = Fabric::read(machine)?;
        fabric.read_routing(section)?;
        let has_one_way = !fabric.routing.policy().is_some_and(|policy| policy.divides());
        let expected = "a policy of one way for a message, or sharing = \"fair\"";
        section.ensure(sharing == Sharing::Fair || has_one_way, "routing", expected)?;
        Ok(Self {
            link_bytes_per_s: fabric.read_bandwidth(section)?,
            fabric,
            link_latency_s: section.time_s_or("link_latency", 0.0)?,
            sharing,
        })
    }

    /// The time for which a link carries a message.
    pub fn duration_s(&self, bytes: f64) -> f64 {
        bytes / self.link_bytes_per_s
    }
}

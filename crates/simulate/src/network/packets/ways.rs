//! Packets that take ways of their own.
//!
//! A packet chooses its way when it leaves its node. With adaptive routing, as long as no link changes, each router
//! chooses the next link when the packet is the first of its buffer: of the links that come nearer to the receiver, the
//! one whose next buffer has the most room, of all channels. Of equal ones, a router takes the next in turn.

use super::super::routing::{Chooser, Edge};
use super::parameters::Packets;

/// Chooses the ways of packets.
pub(super) struct PacketWays<'a> {
    pub chooser: Box<Chooser<'a>>,
    /// For each node, the number of packets that have left it.
    pub counts: Vec<u64>,
    /// For each router, how many links it has chosen, if routers choose.
    pub turns: Option<Vec<u32>>,
    /// A reused buffer.
    pub links: Vec<Edge>,
}

impl<'a> PacketWays<'a> {
    /// None for fixed routes.
    pub fn new(network: &'a Packets) -> Option<Box<Self>> {
        let chooser = network.fabric.chooser()?;
        let turns = chooser.goes_by_routers().then(|| vec![0; network.fabric.topology.vertices()]);
        let counts = vec![0; network.fabric.topology.nodes()];
        Some(Box::new(Self { chooser, counts, turns, links: Vec::new() }))
    }
}

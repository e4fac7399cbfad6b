//! Overlap: how many simultaneous messages the busiest link carries.

use super::{Placement, Topology};

/// The largest number of routes over one link when each pair of ranks, sender and receiver, has a message under way; 0 when
/// none leaves its node. It is the M_i by which packets are paced in step i of an exchange: each message can have 1 / M_i of
/// its busiest link.
pub fn overlap(
    topology: &(impl Topology + ?Sized),
    placement: &Placement,
    pairs: impl IntoIterator<Item = (usize, usize)>,
) -> usize {
    let mut routes = vec![0; topology.links()];
    let mut hops = Vec::new();
    for (from, to) in pairs {
        hops.clear();
        topology.route(placement.node_of(from), placement.node_of(to), &mut hops);
        for hop in &hops {
            routes[hop.link as usize] += 1;
        }
    }
    routes.into_iter().max().unwrap_or(0)
}

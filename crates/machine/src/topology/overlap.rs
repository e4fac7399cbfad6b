//! Overlap: the number of simultaneous messages on the busiest link.

use super::{Placement, Topology};

/// The largest number of routes over one link when each (sender, receiver) pair of so many ranks has a message under way;
/// 0 if all stay in their nodes. Pacing uses it as M_i of step i: each message can have 1 / M_i of its busiest link.
pub fn overlap(
    topology: &dyn Topology,
    (placement, ranks): (&Placement, usize),
    pairs: impl IntoIterator<Item = (usize, usize)>,
) -> usize {
    let mut routes = vec![0; topology.links()];
    let mut hops = Vec::new();
    for (from, to) in pairs {
        hops.clear();
        topology.route(placement.node_of(from, ranks), placement.node_of(to, ranks), &mut hops);
        for hop in &hops {
            routes[hop.link as usize] += 1;
        }
    }
    routes.into_iter().max().unwrap_or(0)
}

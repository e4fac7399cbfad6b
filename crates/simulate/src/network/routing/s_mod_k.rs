//! Fat trees: the parents of a way are the digits of the sender's number, where the fixed route takes those of the
//! receiver's (d-mod-k).
//!
//! Source: E. Zahavi, "Fat-tree routing and node ordering providing contention free traffic for MPI global collectives",
//! J. Parallel Distrib. Comput. 72, 2012.

use hocket_core::Result;
use hocket_machine::{AnyTopology, FatTree, Section};

use super::map::Map;
use super::{Course, Lane, Leaving, RoutingPolicy};

/// The policy, and its tree.
#[derive(Clone, Debug, PartialEq)]
pub struct SModK(FatTree);

impl SModK {
    pub(super) fn read(section: &Section, topology: &AnyTopology) -> Result<Self> {
        match topology {
            AnyTopology::FatTree(tree) => Ok(Self(tree.clone())),
            _ => Err(section.reject("routing", "another routing: only fat trees have this one")),
        }
    }
}

impl RoutingPolicy for SModK {
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        let [from, to] = leaving.nodes;
        let mut hops = Vec::new();
        self.0.route_by(from, to, from, &mut hops);
        if hops.iter().all(|hop| map.part(hop.link) > 0.0) {
            course.links = hops.len() as u32;
            course.lanes.extend(hops.iter().map(|hop| Lane::whole(hop.link)));
        }
    }
}

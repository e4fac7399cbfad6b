//! Spraying: the packets of a message go over all shortest ways, in turn at each switch: the first
//! packet takes the link of d-mod-k.
//!
//! Source: A. Dixit, P. Prakash, Y. C. Hu, R. R. Kompella, "On the impact of packet spraying in data center networks",
//! INFOCOM 2013.

use super::map::{Map, all, in_turn};
use super::{Course, Leaving, RoutingPolicy, WHOLE};

/// The policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Spray;

impl RoutingPolicy for Spray {
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        if leaving.is_whole {
            return map.lead(leaving.nodes, WHOLE, all, course);
        }
        let (mut to, mut turn) = (leaving.nodes[1] as u64, leaving.number);
        map.lead(leaving.nodes, WHOLE, |_, links| in_turn(links, &mut to, &mut turn), course);
    }

    fn divides(&self) -> bool {
        true
    }
}

//! Adaptive routing: the least loaded of the shortest ways.
//!
//! The load of a way is that of its most loaded link. On fair links, a message goes over all ways of the least load, in
//! equal shares at each switch. In queues, the load is the time for which the link is taken; of ways of equal loads, the
//! connection draws one. A packet chooses at each router the link whose next buffer has the most room, of all of its
//! virtual channels; of equal ones, the packets of a message take one in turn.

use super::map::Map;
use super::{Course, Leaving, RoutingPolicy, WHOLE};

/// The policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive;

impl RoutingPolicy for Adaptive {
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        map.lead_least(leaving.nodes, WHOLE, leaving.load, &mut leaving.keep(), course);
    }

    fn looks_at_loads(&self) -> bool {
        true
    }

    fn goes_by_routers(&self) -> bool {
        true
    }
}

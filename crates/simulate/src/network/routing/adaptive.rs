//! Adaptive routing: the least loaded of the shortest ways.
//!
//! The load of a way is that of its most loaded link. On fair links, a message goes over all ways of the least load, in
//! equal shares at each switch. In queues, the load is the time for which the link is taken; of ways of equal loads, the
//! connection draws one. A packet chooses at each router the link whose next buffer has the most room, of all of its
//! virtual channels; of equal ones, the packets of a message take one in turn.

use hocket_core::Result;
use hocket_machine::{AnyTopology, Section};

use super::map::{Edge, Map, all, any};
use super::{Course, Leaving, RoutingPolicy, WHOLE, draw};

/// The policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive;

impl Adaptive {
    #[expect(clippy::unnecessary_wraps, reason = "as other policies")]
    pub(super) fn read(_: &Section, _: &AnyTopology) -> Result<Self> {
        Ok(Self)
    }
}

impl RoutingPolicy for Adaptive {
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        let random = |vertex: u32| draw(leaving.flow, [leaving.number, u64::from(vertex)]);
        let mut one = |vertex: u32, links: &mut Vec<Edge>| any(links, random(vertex));
        let ties: &mut dyn FnMut(u32, &mut Vec<Edge>) = if leaving.is_whole { &mut all } else { &mut one };
        map.lead_least(leaving.nodes, WHOLE, leaving.load, ties, course);
    }

    fn looks_at_loads(&self) -> bool {
        true
    }

    fn goes_by_routers(&self) -> bool {
        true
    }
}

//! Equal-cost multi-path: each flow takes one of the shortest ways, by a hash of the seed, its ranks and its number.
//!
//! Key: `flows_per_pair` (default 1): a message is spread over so many flows, as over several queue pairs.
//!
//! Source: C. Hopps, "Analysis of an equal-cost multi-path algorithm", RFC 2992, 2000: each switch hashes by itself.

use hocket_core::Result;
use hocket_machine::{AnyTopology, Section};

use super::map::{Edge, Map, any};
use super::{Course, Leaving, RoutingPolicy, WHOLE, draw, shares};

/// The policy's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Ecmp {
    flows: u32,
}

/// The largest number of flows of a pair of ranks.
const MOST_FLOWS: usize = 256;

impl Ecmp {
    pub(super) fn read(section: &Section, _: &AnyTopology) -> Result<Self> {
        Ok(Self { flows: section.count_up_to("flows_per_pair", 1, MOST_FLOWS)? as u32 })
    }

    fn lead_flow(&self, flow: u32, share: u32, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        let hash = |vertex: u32| draw(leaving.flow, [u64::from(flow), u64::from(vertex)]);
        map.lead(leaving.nodes, share, |vertex, links: &mut Vec<Edge>| any(links, hash(vertex)), course);
    }
}

impl RoutingPolicy for Ecmp {
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        if !leaving.is_whole {
            let flow = (leaving.number % u64::from(self.flows)) as u32;
            return self.lead_flow(flow, WHOLE, map, leaving, course);
        }
        for (flow, share) in shares(self.flows as usize) {
            self.lead_flow(flow as u32, share, map, leaving, course);
        }
    }

    fn is_random(&self, _: bool) -> bool {
        true
    }

    fn divides(&self) -> bool {
        self.flows > 1
    }
}

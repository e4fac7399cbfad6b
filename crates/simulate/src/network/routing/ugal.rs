//! UGAL: a shortest way, or one by way of a random switch as in [`Valiant`], whichever is less loaded.
//!
//! Key: `threshold` (default 0): packets by which shortest ways are preferred.
//!
//! A packet, or a message in a queue, compares the queues of its first two links, times the links of the whole way: what
//! its switch can know. On fair links there are no queues. There a message has an equal part for each switch of Valiant's
//! ways: one after the other, the parts take that way, if its most loaded link is less loaded than that of the least
//! loaded shortest way.
//!
//! Source: A. Singh, "Load-balanced routing in interconnection networks", PhD thesis, Stanford 2005; for dragonflies with
//! local information, J. Kim, W. J. Dally, S. Scott, D. Abts, ISCA 2008 (UGAL-L).

use hocket_core::Result;
use hocket_machine::{AnyTopology, Section};
use rustc_hash::FxHashMap;

use super::map::{Map, all};
use super::valiant::{Valiant, lead_by};
use super::{Course, Leaving, RoutingPolicy, WHOLE, shares};

/// The policy's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Ugal {
    threshold_packets: f64,
}

/// The largest threshold.
const MOST_PACKETS: usize = 1 << 20;

impl Ugal {
    pub(super) fn read(section: &Section, _: &AnyTopology) -> Result<Self> {
        Ok(Self { threshold_packets: section.count_up_to("threshold", 0, MOST_PACKETS)? as f64 })
    }

    /// A message in parts.
    fn lead_whole(map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        let [from, to] = leaving.nodes;
        let middles = map.middles_between([from as u32, to as u32]);
        let mut own_loads: FxHashMap<u32, f64> = FxHashMap::default();
        let (mut shortest, mut detour) = (Course::default(), Course::default());
        for (number, share) in shares(middles.len().max(1)) {
            let load = |link: u32| (leaving.load)(link) + own_loads.get(&link).copied().unwrap_or(0.0);
            shortest.clear();
            let least = map.lead_least(leaving.nodes, share, &load, &mut all, &mut shortest);
            detour.clear();
            if let Some(middle) = middles.get(number) {
                lead_by(map, leaving.nodes, *middle, share, &mut all, &mut detour);
            }
            let most = detour.lanes.iter().map(|lane| load(lane.link)).reduce(f64::max);
            let way = if most.is_some_and(|most| most < least) { &detour } else { &shortest };
            course.links = course.links.max(way.links);
            course.lanes.extend(&way.lanes);
            way.lanes.iter().for_each(|lane| *own_loads.entry(lane.link).or_default() += lane.part());
        }
    }
}

impl RoutingPolicy for Ugal {
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        if leaving.is_whole {
            return Self::lead_whole(map, leaving, course);
        }
        let mut detour = Course::default();
        map.lead(leaving.nodes, WHOLE, leaving.keep(), course);
        Valiant.lead(map, leaving, &mut detour);
        let queue =
            |course: &Course| course.lanes.iter().take(2).map(|lane| (leaving.load)(lane.link)).fold(0.0, f64::max);
        let cost = |course: &Course| queue(course) * f64::from(course.links);
        if cost(course) > cost(&detour) + self.threshold_packets {
            *course = detour;
        }
    }

    fn lengthening(&self) -> usize {
        2
    }

    fn is_random(&self, is_whole: bool) -> bool {
        !is_whole
    }

    fn looks_at_loads(&self) -> bool {
        true
    }
}

//! Valiant's routing: a shortest way to a random switch, and from there a shortest way to the receiver.
//!
//! On dragonflies, to a random group, and from where the way enters it. The switch is none to which the sender or the
//! receiver is attached, and the group none of theirs. Where there is no other, ways are shortest ones. On fair links, a
//! message goes by all of the switches in equal shares, as its packets do in the mean; shortest ways to and from them
//! have equal shares, too.
//!
//! Source: L. G. Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 11, 1982.

use super::map::{Edge, Map, Target};
use super::{Course, Leaving, RoutingPolicy, WHOLE, one_of, shares};

/// The policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Valiant;

impl RoutingPolicy for Valiant {
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course) {
        let keep = &mut leaving.keep();
        let [from, to] = leaving.nodes;
        let middles = map.middles_between([from as u32, to as u32]);
        if middles.is_empty() {
            map.lead(leaving.nodes, WHOLE, keep, course);
        } else if leaving.is_whole {
            for (number, share) in shares(middles.len()) {
                lead_by(map, leaving.nodes, middles[number], share, keep, course);
            }
        } else {
            lead_by(map, leaving.nodes, middles[one_of(middles.len(), leaving.random(u32::MAX))], WHOLE, keep, course);
        }
    }

    fn lengthening(&self) -> usize {
        2
    }

    fn is_random(&self, is_whole: bool) -> bool {
        !is_whole
    }
}

/// Leads a share of a message by way of a switch or group.
pub(super) fn lead_by(
    map: &mut Map<'_>,
    [from, to]: [usize; 2],
    middle: u32,
    share: u32,
    keep: &mut dyn FnMut(u32, &mut Vec<Edge>),
    course: &mut Course,
) {
    let longest = std::mem::take(&mut course.links);
    let ends = map.walk(&[(from as u32, share)], Target::Middle(middle), keep, course);
    map.walk(&ends, Target::Vertex(to as u32), keep, course);
    course.links = course.links.max(longest);
}

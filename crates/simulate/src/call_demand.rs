//! Lower bounds: times that no algorithm for a collective can beat on a machine.
//!
//! A collective demands that the data of one rank spreads, that elements cross from one set of ranks to the others, and
//! that elements are combined ([`Demand`]). A network model gives the least time for each demand. The bound is the
//! greatest of these times; their sum is no bound.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hocket_core::Call;
use hocket_core::demand::{Demand, RankSet, Spread};
use hocket_machine::Node;

/// Times that no algorithm for a call can beat, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The latency of messages that have to follow each other, and of their routes.
    pub latency_s: f64,
    /// The time of bytes that have to pass a rank, what its group of ranks shares, or a cut through the network; none if
    /// bytes have to, but no time is known that they take.
    pub bandwidth_s: Option<f64>,
    /// The time of elements that have to be combined.
    pub computation_s: f64,
}

impl Bound {
    /// The bound of a call that demands nothing.
    pub const NONE: Self = Self { latency_s: 0.0, bandwidth_s: Some(0.0), computation_s: 0.0 };

    /// The greatest of them, in seconds.
    pub fn time_s(&self) -> f64 {
        self.latency_s.max(self.bandwidth_s.unwrap_or(0.0)).max(self.computation_s)
    }

    /// The bound of a call whose program begins on each rank after `overhead_s`.
    pub fn after(self, overhead_s: f64) -> Self {
        let later_s = |time_s: f64| if time_s > 0.0 { time_s + overhead_s } else { 0.0 };
        Self {
            latency_s: self.latency_s + overhead_s,
            bandwidth_s: self.bandwidth_s.map(later_s),
            computation_s: later_s(self.computation_s),
        }
    }
}

/// The demands of a call of at least two ranks on a network and its nodes.
pub struct CallDemand<'a> {
    /// The call.
    pub call: &'a Call,
    /// The demand of its collective.
    pub demand: &'a Demand,
    /// The ranks' processors.
    pub node: &'a Node,
}

impl CallDemand<'_> {
    /// As [`Demand::spread`].
    pub fn spread(&self) -> Option<Spread> {
        (self.demand.spread)(self.call)
    }

    /// The least number of bytes that leave a set of ranks, and that come into it.
    pub fn bytes_out_and_in(&self, within: RankSet<'_>) -> [f64; 2] {
        let leaving = |within: RankSet<'_>| ((self.demand.leaving)(self.call, within) * self.call.element_bytes) as f64;
        [leaving(within), leaving(&|rank| !within(rank))]
    }

    /// The least number of bytes that leave a set of ranks, or that come into it, whichever is greater.
    pub fn crossing_bytes(&self, within: RankSet<'_>) -> f64 {
        self.bytes_out_and_in(within).into_iter().fold(0.0, f64::max)
    }

    /// The least number of bytes that all ranks together send.
    pub fn sent_bytes(&self) -> f64 {
        ((self.demand.sent_elements)(self.call) * self.call.element_bytes) as f64
    }

    /// Bytes that some rank has to send or receive: the most of a few ranks, or the average if greater.
    pub fn bytes_of_a_rank(&self) -> f64 {
        let on_average = self.sent_bytes() / self.call.ranks as f64;
        let by_itself = |rank: usize| self.crossing_bytes(&|other| other == rank);
        self.ranks_to_try().map(by_itself).fold(on_average, f64::max)
    }

    /// A few ranks, among them a busiest one or nearly so.
    pub fn ranks_to_try(&self) -> impl Iterator<Item = usize> {
        let Call { ranks, root, .. } = *self.call;
        let fullest = (0..ranks).max_by_key(|rank| self.call.count(*rank)).unwrap_or(0);
        [0, root, ranks - 1, fullest].into_iter()
    }

    /// The time that some rank spends on combining elements, in seconds.
    pub fn combining_s(&self) -> f64 {
        let bytes = ((self.demand.combinations)(self.call) * self.call.element_bytes) as f64;
        bytes / self.call.ranks as f64 * self.node.reduce.least_s_per_byte()
    }
}

/// The rounds until `count` ranks can know the data of one rank, if every rank that knows it tells `ports` others per
/// round: the least r with (ports + 1)^r >= count. Without a limit of ports, one round is enough.
pub fn rounds(count: usize, ports: Option<usize>) -> usize {
    let after_round =
        |ranks: &usize| Some(ports.map_or(usize::MAX, |ports| ranks.saturating_mul(ports.saturating_add(1))));
    std::iter::successors(Some(1_usize), after_round).take_while(|ranks| *ranks < count).count()
}

/// How a rank tells others of its group, by messages that no smaller group has.
#[derive(Clone, Copy, Debug)]
pub struct Telling {
    /// A rank knows the data so long after the sender began to tell it.
    pub delay_s: f64,
    /// A rank tells one more after this time.
    pub gap_s: f64,
    /// The most ranks of a group.
    pub most: usize,
}

/// The time until `count` ranks can know the data of one rank, if every rank that knows it tells others of its groups, from
/// the core outwards: one more every `gap_s`, and a rank knows it `delay_s` after the sender began to tell it.
///
/// A message from outside leads to at most as many ranks that know as a group has. Messages of different levels do not
/// wait for each other.
///
/// Source: R. M. Karp, A. Sahay, E. E. Santos, K. E. Schauser, "Optimal broadcast and summation in the LogP model",
/// SPAA 1993, for one level.
pub fn telling_s(count: usize, levels: &[Telling]) -> f64 {
    let in_all = levels.iter().fold(vec![(0.0, 1)], |inner, level| times_in_group(&inner, level, count));
    in_all.last().map_or(0.0, |(time_s, _)| *time_s)
}

/// The times at which further ranks of a group know, after its first rank, and their numbers; `inner`: in the groups that
/// it consists of. Times are rounded down, so that equal sums are equal.
fn times_in_group(inner: &[(f64, usize)], level: &Telling, count: usize) -> Vec<(f64, usize)> {
    let (most, is_at_once) = (level.most.min(count), level.delay_s <= 0.0 || level.gap_s <= 0.0);
    let (mut times, mut total) = (Vec::new(), 0);
    // A time, as bits, which sort like the times; and the number of ranks that then know, or are told from outside.
    let at = |time_s: f64, is_outside: bool, ranks: usize| Reverse((time_s.to_bits() & !0xFFF, is_outside, ranks));
    let mut next: BinaryHeap<_> = inner.iter().map(|(time_s, ranks)| at(*time_s, false, *ranks)).collect();
    while let Some(Reverse((time, is_outside, mut ranks))) = next.pop().filter(|_| total < most) {
        while next.peek().is_some_and(|Reverse((other, outside, _))| (*other, *outside) == (time, is_outside)) {
            ranks = ranks.saturating_add(next.pop().map_or(0, |Reverse((_, _, more))| more));
        }
        let time_s = f64::from_bits(time);
        if is_outside && !is_at_once {
            next.push(at(time_s + level.gap_s, true, ranks));
            next.extend(inner.iter().map(|(later_s, each)| at(time_s + later_s, false, ranks.saturating_mul(*each))));
        } else {
            let more = if is_outside { most - total } else { ranks.min(most - total) };
            times.push((time_s, more));
            total += more;
            next.push(at(time_s + level.delay_s.max(0.0), true, ranks));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_the_least_power_of_ports_and_one() {
        for ports in 1..5_usize {
            for count in 1..300 {
                let least = rounds(count, Some(ports)) as u32;
                let reached = |rounds: u32| (ports + 1).pow(rounds) >= count;
                assert!(reached(least) && (least == 0 || !reached(least - 1)), "{count} by {ports} ports");
            }
        }
        assert_eq!((rounds(1, None), rounds(2, None), rounds(1 << 26, None)), (0, 1, 1));
    }

    /// With gap = delay every rank tells one in each delay: doubling. The example of Karp et al., figure 1 (L = 6, o =
    /// 2, g = 4, so delay 10 and gap 4): 8 processors know after 24.
    #[test]
    fn telling_is_doubling_or_karps_tree() {
        let by_one_level = |count, delay_s, gap_s| telling_s(count, &[Telling { delay_s, gap_s, most: count }]);
        for count in 1..200 {
            assert_eq!(by_one_level(count, 1.0, 1.0), rounds(count, Some(1)) as f64);
        }
        assert_eq!(by_one_level(8, 10.0, 4.0), 24.0);
        assert_eq!(
            (by_one_level(2, 3.0, 0.0), by_one_level(1000, 3.0, 0.0), by_one_level(1, 3.0, 1.0)),
            (3.0, 3.0, 0.0)
        );
    }

    /// Nodes of 4 ranks that tell in no time: 5 nodes know after each round of 8 instead of 2, and 25 after two. If a rank
    /// tells another one of its node in 1, a node knows after 2. The first rank tells another node from 0 to 8, the second
    /// one from 1 to 9, and so on: 2, 3 and 5 nodes begin to know after 8, 9 and 10, and 20 ranks know after 12.
    #[test]
    fn telling_by_levels_needs_messages_between_groups() {
        let between = Telling { delay_s: 8.0, gap_s: 8.0, most: usize::MAX };
        let after_s = |within_s: f64, count: usize| {
            telling_s(count, &[Telling { delay_s: within_s, gap_s: within_s, most: 4 }, between])
        };
        assert_eq!(
            [1, 4, 5, 20, 21, 100, 101].map(|count| after_s(0.0, count)),
            [0.0, 0.0, 8.0, 8.0, 16.0, 16.0, 24.0]
        );
        assert_eq!([1, 2, 4, 5, 7, 20].map(|count| after_s(1.0, count)), [0.0, 1.0, 2.0, 8.0, 9.0, 12.0]);
        assert_eq!(after_s(8.0, 4), 16.0);
    }
}

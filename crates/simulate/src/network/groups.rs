//! The groups of ranks in which messages have costs of their own, for lower bounds.

use std::collections::{BTreeMap, BTreeSet};

use hocket_machine::Placement;

use super::level::{Costs, Level, RECEIVE, least_of_mixtures, passing_s};
use super::levels::{Extent, Levels};
use crate::call_demand::{CallDemand, Telling, telling_s};

/// The groups that the ranks of a call form, for lower bounds: each rank by itself, then those of each level.
pub(super) struct Groups<'a> {
    levels: Option<&'a Levels<Level>>,
    between: &'a Level,
    /// The group of each rank: the rank, then its group of each level.
    groups: Vec<Vec<(usize, usize)>>,
    /// The fewest and the most ranks on a node.
    on_node: [usize; 2],
}

impl<'a> Groups<'a> {
    /// The groups of so many ranks; messages that no level has cost `between`.
    pub fn new(levels: Option<&'a Levels<Level>>, between: &'a Level, placement: &Placement, ranks: usize) -> Self {
        let places: Vec<_> = (0..ranks).map(|rank| placement.node_and_place(rank, ranks)).collect();
        let extents = levels.iter().flat_map(|levels| levels.all()).map(|level| level.extent);
        let of_levels = extents.map(|extent| places.iter().map(|place| extent.group_of(*place)).collect());
        let groups = std::iter::once((0..ranks).map(|rank| (rank, 0)).collect()).chain(of_levels).collect();
        let on_nodes = counts(places.iter().map(|(node, _)| node));
        let on_node = [on_nodes.values().min(), on_nodes.values().max()].map(|count| count.copied().unwrap_or(1));
        Self { levels, between, groups, on_node }
    }

    /// The costs of messages that the call can have.
    pub fn costs(&self) -> Vec<&'a Level> {
        self.costs_leaving(0, None)
    }

    /// The least time until `count` ranks know the data of one rank. Messages of a level take `further_s` more than their
    /// costs, and `gap_s` at an interface and at a processor. Ranks tell others at each level by itself; or one at a time,
    /// as if all messages were as cheap as the best mixture.
    pub fn telling_s(
        &self,
        count: usize,
        further_s: impl Fn(&Level) -> f64,
        gap_s: impl Fn(&Costs, f64) -> [f64; 2],
    ) -> f64 {
        let least = |levels: &[&Level], most: usize| {
            let smallest =
                || levels.iter().flat_map(|level| level.spans().map(|(costs, [size, _])| (*level, costs, size)));
            let taken_in_s = |costs: &Costs, size: f64| costs.end_s(RECEIVE, size);
            let arrivals_s =
                smallest().map(|(level, costs, size)| further_s(level) + costs.time_s(size) - taken_in_s(costs, size));
            let least_s = arrivals_s.fold(f64::INFINITY, f64::min);
            let last_s = smallest().map(|(_, costs, size)| taken_in_s(costs, size)).fold(f64::INFINITY, f64::min);
            let gaps: Vec<_> = smallest().map(|(_, costs, size)| gap_s(costs, size)).collect();
            Telling { delay_s: least_s + last_s, gap_s: least_of_mixtures(&gaps), most }
        };
        let levels = self.levels.map_or(&[][..], Levels::all);
        let mut tellings = Vec::new();
        for (depth, level) in levels.iter().enumerate() {
            let [inner, own] = [depth, depth + 1].map(|depth| counts(&self.groups[depth]));
            let is_around = levels[..depth].iter().all(|inner| inner.extent.is_within(level.extent));
            if own.len() < inner.len() || !is_around {
                let most = own.values().max().filter(|_| is_around).copied().unwrap_or(usize::MAX);
                let switches = self.switches().filter(|_| level.extent <= Extent::Node);
                tellings.push(least(&std::iter::once(&level.costs).chain(switches).collect::<Vec<_>>(), most));
            }
        }
        tellings.extend(self.is_between().then(|| least(&[self.between], usize::MAX)));
        let one_at_a_time = least(&self.costs(), usize::MAX);
        telling_s(count, &tellings).max(telling_s(count, &[one_at_a_time]))
    }

    /// The costs of messages through switches.
    fn switches(&self) -> impl Iterator<Item = &'a Level> {
        self.levels.into_iter().flat_map(Levels::all).filter_map(|level| level.multicast.as_ref())
    }

    /// Whether some messages have no level.
    fn is_between(&self) -> bool {
        self.groups.last().is_some_and(|outermost| outermost.iter().any(|group| *group != outermost[0]))
    }

    /// The costs of messages that can leave the group of a rank at a depth; of any group there without a rank.
    fn costs_leaving(&self, depth: usize, of_rank: Option<usize>) -> Vec<&'a Level> {
        let own = &self.groups[depth];
        let is_inside = |rank: usize| of_rank.is_none_or(|of| own[rank] == own[of]);
        let levels = self.levels.iter().flat_map(|levels| levels.all()).zip(&self.groups[1..]);
        let levels_in_use = levels.filter(|(_, groups)| {
            let inside: BTreeSet<_> = (0..own.len()).filter(|rank| is_inside(*rank)).map(|rank| groups[rank]).collect();
            match of_rank {
                Some(_) => (0..own.len()).any(|rank| !is_inside(rank) && inside.contains(&groups[rank])),
                None => inside.len() < own.len(),
            }
        });
        let levels_in_use: Vec<_> = levels_in_use.map(|(level, _)| level).collect();
        let is_on_node = levels_in_use.iter().any(|level| level.extent <= Extent::Node);
        let switches = self.switches().filter(|_| is_on_node);
        let costs = levels_in_use.into_iter().map(|level| &level.costs).chain(switches);
        costs.chain(self.is_between().then_some(self.between)).collect()
    }

    /// The least time for which the bytes of some rank pass its interface and its processor, as [`passing_s`]: those of a rank
    /// by any messages, and the share of a rank in those that leave its group, or come into it, by messages that can.
    pub fn passing_s(&self, call_demand: &CallDemand<'_>) -> Option<f64> {
        let pass = |costs: Vec<&Level>, bytes: f64| {
            let levels: Vec<_> = costs.into_iter().map(|level| level.on_nodes_of(self.on_node)).collect();
            if bytes > 0.0 { passing_s(&levels, bytes, call_demand.call.element_bytes) } else { Some(0.0) }
        };
        let ranks_to_try: BTreeSet<_> = call_demand.ranks_to_try().collect();
        let of_groups = ranks_to_try.iter().flat_map(|rank| (0..self.groups.len()).map(move |depth| (depth, *rank)));
        let of_groups = of_groups.map(|(depth, rank)| {
            let own = &self.groups[depth];
            let count = own.iter().filter(|group| **group == own[rank]).count();
            let bytes = call_demand.crossing_bytes(&|other| own[other] == own[rank]);
            pass(self.costs_leaving(depth, Some(rank)), bytes / count as f64)
        });
        let of_all = pass(self.costs(), call_demand.sent_bytes() / call_demand.call.ranks as f64);
        of_groups.chain([of_all]).flatten().reduce(f64::max).filter(|time_s| *time_s > 0.0 || of_all.is_some())
    }
}

/// How often each value occurs.
fn counts<T: Ord>(values: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    values.into_iter().for_each(|value| *counts.entry(value).or_insert(0) += 1);
    counts
}

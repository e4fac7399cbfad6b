//! What ranks of a node share, in all network models: the memory or the interconnect of a level, and network cards.
//!
//! The bytes of messages pass a resource one after another. A message of n bytes occupies it for max(`message_gap`, n /
//! bandwidth), from the time at which its first byte is there or at which the resource is free. Its last byte has then
//! passed. So a resource that is free delays no message that is slower than the resource.
//!
//! - The groups of a level with `shared_bandwidth` or `message_gap`. A message between two ranks of a group passes, from
//!   its start on, the groups of both its ranks up to this level. A message that no level has passes all groups of its
//!   sender from its start on, and all groups of its receiver from when its first byte arrives.
//! - `[node.cards]`: `count` cards on each node, with `bandwidth` and `message_gap` of each direction, or of both together
//!   with `directions = "together"`. A message between nodes passes the card of its sender from its start on, and the card
//!   of its receiver from when its first byte arrives. `of_rank` says which card a rank uses: "nearest", in blocks of successive ranks, or "round_robin".
//!   Messages of at least `stripe_from` bytes pass all cards, with an equal part on each.
//!
//! A message arrives when its own time has passed, and no earlier than its latency after its last byte has passed what
//! it passes from its start on.

use hocket_core::Result;
use hocket_machine::{Placement, Section};
use rustc_hash::{FxHashMap, FxHashSet};

use super::levels::{Capacity, Extent, Levels};
use super::parcel::{Parcel, Within};
use crate::call_demand::CallDemand;

/// The network cards of each node.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cards {
    count: usize,
    capacity: Capacity,
    is_round_robin: bool,
    /// Whether what leaves and what comes pass a card one after another.
    is_for_both_directions: bool,
    /// The smallest message that passes all cards; infinite if none does.
    stripe_from_bytes: f64,
}

/// The largest number of cards of a node.
const MOST_CARDS: usize = 1024;

impl Cards {
    fn read(node: &Section) -> Result<Option<Self>> {
        let Some(section) = node.section_if_any("cards")? else { return Ok(None) };
        let Some(capacity) = Capacity::read(&section, "bandwidth")? else {
            return Err(section.reject("bandwidth", "a rate such as \"25 GB/s\", or message_gap, or both"));
        };
        let (count, stripe_from) = (section.count("count")?, section.optional_bytes("stripe_from")?);
        section.ensure(count <= MOST_CARDS, "count", &format!("a whole number from 1 to {MOST_CARDS}"))?;
        let cards = Self {
            count,
            capacity,
            is_round_robin: section.choice("of_rank", &[("nearest", false), ("round_robin", true)])?,
            is_for_both_directions: section.choice("directions", &[("apart", false), ("together", true)])?,
            stripe_from_bytes: stripe_from.map_or(f64::INFINITY, |bytes| bytes as f64),
        };
        section.finish()?;
        Ok(Some(cards))
    }

    /// The card of a rank, given its place on its node and the number of ranks there.
    fn of_rank(&self, place: usize, ranks: usize) -> usize {
        if self.is_round_robin { place % self.count } else { place * self.count / ranks }
    }

    /// The cards that a message passes.
    fn of(&self, place: usize, ranks: usize, bytes: f64) -> std::ops::Range<usize> {
        if bytes >= self.stripe_from_bytes {
            return 0..self.count;
        }
        let card = self.of_rank(place, ranks);
        card..card + 1
    }
}

/// The resources that ranks share.
#[derive(Clone, Debug, PartialEq)]
pub struct Resources {
    /// What each level shares.
    levels: Vec<(Extent, Option<Capacity>)>,
    cards: Option<Cards>,
}

impl Resources {
    /// None if messages share nothing.
    pub(super) fn read<C>(node: &Section, levels: Option<&Levels<C>>) -> Result<Option<Self>> {
        let levels = levels.map_or(&[][..], Levels::all);
        let levels: Vec<_> = levels.iter().map(|level| (level.extent, level.capacity)).collect();
        let cards = Cards::read(node)?;
        let is_any = cards.is_some() || levels.iter().any(|(_, capacity)| capacity.is_some());
        Ok(is_any.then_some(Self { levels, cards }))
    }

    /// The card of a rank, given its place on its node and the number of ranks there; none without cards.
    pub fn card_of(&self, place: usize, ranks: usize) -> Option<usize> {
        self.cards.map(|cards| cards.of_rank(place, ranks))
    }

    /// The least time for which the bytes of a call pass a resource, in seconds; none if no resource limits a bandwidth.
    ///
    /// - What leaves a node, or comes into it, passes its cards of this direction.
    /// - What leaves a group, or comes into it, passes the group, if the groups of lower levels are parts of it. So does
    ///   what leaves or enters a group within it of the level below: a rank, at the first level. There, a message passes at
    ///   least one of all groups.
    pub(crate) fn passing_s(&self, call_demand: &CallDemand<'_>, placement: &Placement) -> Option<f64> {
        let ranks = call_demand.call.ranks;
        let places: Vec<_> = (0..ranks).map(|rank| placement.node_and_place(rank, ranks)).collect();
        let of_cards = call_demand.ranks_to_try().filter_map(|rank| {
            let (cards, (node, _)) = (self.cards?, places[rank]);
            let on_node = placement.count_at(node, ranks);
            let cards_in_use = if cards.stripe_from_bytes.is_finite() { cards.count } else { cards.count.min(on_node) };
            let [out, into] = call_demand.bytes_out_and_in(&|other| places[other].0 == node);
            let bytes = if cards.is_for_both_directions { out + into } else { out.max(into) };
            (bytes > 0.0).then(|| cards.capacity.passing_s(bytes / cards_in_use as f64))
        });
        let nested_levels = self.levels.windows(2).take_while(|pair| pair[0].0.is_within(pair[1].0)).count() + 1;
        let of_groups = self.levels.iter().take(nested_levels).enumerate().filter_map(|(level, (extent, capacity))| {
            let group_of = |rank: usize| extent.group_of(places[rank]);
            let crossing = |group: &dyn Fn(usize) -> bool| call_demand.bytes_out_and_in(group).into_iter().sum::<f64>();
            let within = |rank: usize, other: usize| match level {
                0 => rank == other,
                _ => {
                    self.levels[level - 1].0.group_of(places[rank]) == self.levels[level - 1].0.group_of(places[other])
                }
            };
            let of_rank = |rank: usize| {
                crossing(&|other| group_of(other) == group_of(rank)).max(crossing(&|other| within(rank, other)))
            };
            let groups = (0..ranks).map(group_of).collect::<FxHashSet<_>>().len();
            let on_average = if level == 0 { call_demand.sent_bytes() / groups as f64 } else { 0.0 };
            let bytes = call_demand.ranks_to_try().map(of_rank).fold(on_average, f64::max);
            capacity.filter(|_| bytes > 0.0).map(|capacity| capacity.passing_s(bytes))
        });
        of_cards.chain(of_groups).filter(|time_s| *time_s > 0.0).reduce(f64::max)
    }

    /// The groups of a rank that a message passes, up to the level that has it, and for how long.
    fn groups_of(&self, place: NodePlace, message: Passing) -> impl Iterator<Item = (Resource, f64)> {
        let count = message.within.map_or(self.levels.len(), |within| within.level as usize + 1);
        self.levels.iter().take(count).enumerate().filter_map(move |(level, (extent, capacity))| {
            let resource = Resource::Group { level, group: extent.group_of(place) };
            capacity.map(|capacity| (resource, capacity.occupied_s(message.bytes)))
        })
    }
}

/// The node of a rank, and its place there.
type NodePlace = (usize, usize);

/// A message that passes resources.
#[derive(Clone, Copy)]
pub struct Passing {
    /// The sender and the receiver.
    pub ranks: [u32; 2],
    pub bytes: f64,
    pub within: Option<Within>,
}

impl Passing {
    /// A message as the events engine knows it.
    pub fn new(ranks: [u32; 2], Parcel { bytes, within, .. }: Parcel) -> Self {
        Self { ranks, bytes, within }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Out,
    In,
}

/// A resource: a group of a level, or a card for one direction or, as `Out`, for both.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Resource {
    Group { level: usize, group: (usize, usize) },
    Card { node: usize, card: usize, direction: Direction },
}

/// The resources during a run of `ranks` ranks: when each is free again.
pub struct Occupancy<'a> {
    resources: &'a Resources,
    placement: &'a Placement,
    ranks: usize,
    free_s: FxHashMap<Resource, f64>,
}

impl<'a> Occupancy<'a> {
    /// All resources are free.
    pub fn new(resources: &'a Resources, placement: &'a Placement, ranks: usize) -> Self {
        Self { resources, placement, ranks, free_s: FxHashMap::default() }
    }

    /// A message starts. Returns the times at which its first byte can pass all that it passes from then on, and at which its
    /// last byte has.
    pub fn leave(&mut self, message: Passing, start_s: f64) -> [f64; 2] {
        let (resources, [from, to]) = (self.resources, self.places(message));
        let mut groups: Vec<_> = resources.groups_of(from, message).collect();
        if message.within.is_some() || from.0 == to.0 {
            let others = resources.groups_of(to, message);
            groups.extend(others.filter(|other| !groups.contains(other)).collect::<Vec<_>>());
        }
        let cards = self.cards_between(from, to, message.bytes, Direction::Out);
        self.pass(groups.into_iter().chain(cards), start_s)
    }

    /// A message arrives, its first byte at `first_s`. Returns the time at which its last byte has passed the resources of
    /// its receiver.
    pub fn reach(&mut self, message: Passing, first_s: f64) -> f64 {
        let (resources, [from, to]) = (self.resources, self.places(message));
        let is_between_nodes = message.within.is_none() && from.0 != to.0;
        let groups = resources.groups_of(to, message).take_while(|_| is_between_nodes);
        let cards = self.cards_between(to, from, message.bytes, Direction::In);
        let [_, last_s] = self.pass(groups.chain(cards), first_s);
        last_s
    }

    fn places(&self, message: Passing) -> [NodePlace; 2] {
        message.ranks.map(|rank| self.placement.node_and_place(rank as usize, self.ranks))
    }

    /// The cards that a message passes at a rank, and for how long; none if the other rank is on the same node.
    fn cards_between(
        &self,
        place: NodePlace,
        other: NodePlace,
        bytes: f64,
        direction: Direction,
    ) -> impl Iterator<Item = (Resource, f64)> + use<'a> {
        let cards = self.resources.cards.filter(|_| place.0 != other.0);
        let ranks = self.placement.count_at(place.0, self.ranks);
        cards.into_iter().flat_map(move |cards| {
            let direction = if cards.is_for_both_directions { Direction::Out } else { direction };
            let of_message = cards.of(place.1, ranks, bytes);
            let occupied_s = cards.capacity.occupied_s(bytes / of_message.len() as f64);
            of_message.map(move |card| (Resource::Card { node: place.0, card, direction }, occupied_s))
        })
    }

    /// A message passes resources, each for some seconds, from `now_s` on. Returns when its first byte can pass, and when
    /// its last byte has passed.
    fn pass(&mut self, resources: impl Iterator<Item = (Resource, f64)>, now_s: f64) -> [f64; 2] {
        resources.fold([now_s; 2], |[first_s, last_s], (resource, occupied_s)| {
            let free_s = self.free_s.entry(resource).or_insert(f64::NEG_INFINITY);
            let start_s = free_s.max(now_s);
            *free_s = start_s + occupied_s;
            [first_s.max(start_s), last_s.max(*free_s)]
        })
    }
}

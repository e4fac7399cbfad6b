//! Groups of ranks whose messages have their own costs: `[[level]]`, or `[network.local]`, in all network models.
//!
//! `[[level]]` lists levels from the core outwards: `ranks` successive ranks of a node (all of them when absent), or
//! `nodes` successive nodes, are a group. A message has the costs of the first level with both its ranks in one group;
//! a message that no level has is one between nodes. `[network.local]` is one level with all ranks of a node.
//! `[level.multicast]`, in the level of all ranks of a node: the costs of messages through a switch that combines and copies.

use hocket_core::Result;
use hocket_machine::{Machine, Placement, Section};

use super::parcel::Within;

/// How fast messages pass a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    s_per_byte: f64,
    gap_s: f64,
}

impl Capacity {
    /// None if the section has neither key.
    pub(super) fn read(section: &Section, bandwidth: &str) -> Result<Option<Self>> {
        let s_per_byte = section.optional_bytes_per_s(bandwidth)?.map(|rate| 1.0 / rate);
        let gap_s = section.optional_time_s("message_gap")?;
        let is_limited = s_per_byte.is_some() || gap_s.is_some();
        Ok(is_limited.then(|| Self { s_per_byte: s_per_byte.unwrap_or(0.0), gap_s: gap_s.unwrap_or(0.0) }))
    }

    pub(super) fn occupied_s(self, bytes: f64) -> f64 {
        self.gap_s.max(self.passing_s(bytes))
    }

    /// The time that bytes take at least, in any number of messages.
    pub(super) fn passing_s(self, bytes: f64) -> f64 {
        bytes * self.s_per_byte
    }
}

/// Levels from the core outwards, and the costs of messages within a group of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels<C>(Vec<LevelOf<C>>);

/// A level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LevelOf<C> {
    pub(super) extent: Extent,
    pub(super) costs: C,
    /// Of messages through the switch of a node, if it combines and copies: `[level.multicast]`.
    pub(super) multicast: Option<C>,
    /// What the ranks of a group share, if it is limited.
    pub(super) capacity: Option<Capacity>,
}

/// The ranks of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// This many successive ranks of a node.
    Ranks(usize),
    /// The ranks of a node.
    Node,
    /// The ranks of this many successive nodes.
    Nodes(usize),
}

impl Extent {
    fn read(section: &Section, has_topology: bool) -> Result<Self> {
        let [ranks, nodes] = [section.count_or("ranks", 1)?, section.count_or("nodes", 1)?];
        match (section.contains("ranks"), section.contains("nodes")) {
            (false, false) => Ok(Self::Node),
            (true, false) => Ok(Self::Ranks(ranks)),
            (true, true) => Err(section.reject("nodes", "either ranks, of a node, or nodes")),
            (false, true) if has_topology => {
                Err(section.reject("nodes", "a level within a node, as a topology is what is between nodes"))
            }
            (false, true) => Ok(Self::Nodes(nodes)),
        }
    }

    /// The group of a rank, given its node and its place there.
    #[inline]
    pub(super) fn group_of(self, (node, place): (usize, usize)) -> (usize, usize) {
        match self {
            Self::Ranks(ranks) => (node, place / ranks),
            Self::Node => (node, 0),
            Self::Nodes(nodes) => (node / nodes, 0),
        }
    }

    /// Whether a group of this kind is always a part of one of the other, larger kind.
    pub(super) fn is_within(self, other: Self) -> bool {
        match (self, other) {
            (Self::Ranks(few), Self::Ranks(many)) | (Self::Nodes(few), Self::Nodes(many)) => many % few == 0,
            _ => true,
        }
    }
}

impl<C> Levels<C> {
    /// The levels of a machine, if it has any. `read` reads the costs of a level, `read_local` those of
    /// `[network.local]`, and `read_multicast`, in models that know it, those of `[level.multicast]`.
    pub(super) fn read(
        machine: &Machine,
        read: impl Fn(&Section) -> Result<C>,
        read_local: impl FnOnce(&Section) -> Result<C>,
        read_multicast: Option<fn(&Section) -> Result<C>>,
    ) -> Result<Option<Self>> {
        let Machine { network, levels: sections, .. } = machine;
        let has_topology = network.contains("topology");
        let mut levels = Vec::new();
        if let Some(local) = network.section_if_any("local")? {
            network.ensure(sections.is_empty(), "local", "no such section beside [[level]]")?;
            levels.push(LevelOf { extent: Extent::Node, costs: read_local(&local)?, multicast: None, capacity: None });
            local.finish()?;
        }
        for section in sections {
            let extent = Extent::read(section, has_topology)?;
            let is_larger = levels.last().is_none_or(|level: &LevelOf<C>| level.extent < extent);
            let key = if matches!(extent, Extent::Nodes(_)) { "nodes" } else { "ranks" };
            section.ensure(is_larger, key, "larger groups than those of the level before")?;
            if !matches!(extent, Extent::Nodes(_)) && !Placement::is_in(network) {
                let expected = "network.ranks_per_node, or another key that puts several ranks on a node";
                return Err(section.reject_all(expected));
            }
            section.optional_text("name", |_| Ok(()))?;
            levels.push(LevelOf {
                extent,
                costs: read(section)?,
                multicast: multicast(section, extent, read_multicast)?,
                capacity: Capacity::read(section, "shared_bandwidth")?,
            });
            section.finish()?;
        }
        Ok((!levels.is_empty()).then_some(Self(levels)))
    }

    /// As [`super::Network::within`], of ranks that are placed so.
    #[inline]
    pub fn within(&self, placement: &Placement, message: [usize; 2], ranks: usize) -> Option<Within> {
        let [from, to] = message.map(|rank| placement.node_and_place(rank, ranks));
        let level = match &*self.0 {
            [LevelOf { extent: Extent::Node, .. }] => (from.0 == to.0).then_some(0),
            levels => levels.iter().position(|level| level.extent.group_of(from) == level.extent.group_of(to)),
        }?;
        let ranks_on_node = placement.count_at(from.0, ranks) as u32;
        Some(Within { level: level as u32, is_on_node: from.0 == to.0, ranks_on_node, is_switched: false })
    }

    /// The costs of a message within a group.
    #[inline]
    pub fn of(&self, within: Within) -> &C {
        let level = within.level as usize;
        let switch = within.is_switched.then(|| self.0[level..].iter().find_map(|level| level.multicast.as_ref()));
        switch.flatten().unwrap_or(&self.0[level].costs)
    }

    /// The costs of all levels, from the core outwards.
    pub fn costs(&self) -> impl Iterator<Item = &C> + Clone {
        self.0.iter().flat_map(|level| std::iter::once(&level.costs).chain(&level.multicast))
    }

    /// The levels, from the core outwards.
    pub(super) fn all(&self) -> &[LevelOf<C>] {
        &self.0
    }

    /// The costs of messages between ranks of a node, if the messages of all its ranks cost the same.
    pub fn of_node(&self) -> Option<&C> {
        match &*self.0 {
            [LevelOf { extent: Extent::Node, costs, multicast: None, capacity: None }] => Some(costs),
            _ => None,
        }
    }

    /// The costs of messages between ranks of a node that are farthest from each other; none if no level has these.
    pub fn across_node(&self) -> Option<&C> {
        self.0.iter().find(|level| level.extent >= Extent::Node).map(|level| &level.costs)
    }

    /// The costs of messages between nodes that have a level.
    pub fn between_nodes(&self) -> impl Iterator<Item = &C> {
        self.0.iter().filter(|level| matches!(level.extent, Extent::Nodes(_))).map(|level| &level.costs)
    }

    /// The number of nodes after which the levels begin again.
    pub fn nodes_per_group(&self) -> usize {
        let of_nodes = self.0.iter().map(|level| if let Extent::Nodes(nodes) = level.extent { nodes } else { 1 });
        of_nodes.fold(1, usize::saturating_mul)
    }
}

/// `[level.multicast]` of a level, if it has this section.
fn multicast<C>(level: &Section, extent: Extent, read: Option<fn(&Section) -> Result<C>>) -> Result<Option<C>> {
    let Some(read) = read.filter(|_| level.contains("multicast")) else { return Ok(None) };
    let section = level.optional_section("multicast")?;
    if extent != Extent::Node {
        return Err(section.reject_all("it in the level of all ranks of a node, which has neither ranks nor nodes"));
    }
    let costs = read(&section)?;
    section.finish()?;
    Ok(Some(costs))
}

/// `memory_bandwidth` of the section `local`: seconds per byte for all ranks of a node together; 0 when absent.
pub(super) fn memory_s_per_byte(section: &Section) -> Result<f64> {
    Ok(section.optional_bytes_per_s("memory_bandwidth")?.map_or(0.0, |rate| 1.0 / rate))
}

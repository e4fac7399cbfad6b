//! Placements: the node of each rank.

use std::collections::HashMap;
use std::sync::Arc;

use hocket_core::{NodeList, Nodes, Result, ensure};

use super::hosts::{Hosts, MOST_LISTED, deal, expand_list, fill, hosts_of_ranks};
use super::{Layout, Topology};
use crate::Section;
use crate::section::MOST_NODES;

/// The nodes of the ranks of a job. Keys of `[network]`:
///
/// - `ranks_per_node` (default 1): the most ranks of a node; or `ranks_on_nodes`: the number of ranks of each node.
/// - `map` = "block" (successive ranks share a node; the default), "cyclic" (the nodes take the ranks in turn, those that
///   are full excepted), a list of the node of each rank, or the path of a file that has it ([`super::hosts`]).
/// - `permutation`: the nodes of a topology in the order in which ranks fill them (default: ascending).
///
/// - `hosts`, on a topology whose nodes have the names of hosts: those that ranks fill, in this order, as a node list of
///   Slurm ("nid[001-064]"). A file of hosts names them, too.
///
/// A job with `ranks_per_node` takes as many nodes as hold its ranks. Other keys list the ranks; smaller jobs are the
/// first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    map: Map,
    /// The number of ranks, if they are listed.
    listed_ranks: Option<usize>,
    order: Option<Arc<Order>>,
}

/// The place of each rank's node in the order of nodes.
#[derive(Clone, Debug, PartialEq)]
enum Map {
    /// This many successive ranks share a node.
    Block(usize),
    /// The nodes take the ranks in turn; this many are the most of a node.
    Cyclic(usize),
    /// Nodes are in the order of their first ranks.
    Listed(Arc<NodeList>),
}

/// The order in which ranks fill the nodes.
#[derive(Debug, PartialEq)]
struct Order {
    /// The node at each place of the order.
    nodes: Vec<usize>,
    /// The place of each node; `NOWHERE` if it has none.
    places: Vec<usize>,
}

const NOWHERE: usize = usize::MAX;

impl Order {
    /// None if a node is missing in `count` nodes, or twice in the list.
    fn new(nodes: Vec<usize>, count: usize) -> Option<Self> {
        let mut places = vec![NOWHERE; count];
        for (place, node) in nodes.iter().enumerate() {
            let old = std::mem::replace(places.get_mut(*node)?, place);
            if old != NOWHERE {
                return None;
            }
        }
        Some(Self { nodes, places })
    }

    /// This order of some of `count` nodes; none if it is that of their numbers.
    fn unless_ascending(nodes: Vec<usize>, count: usize) -> Option<Arc<Self>> {
        let is_ascending = nodes.iter().copied().eq(0..nodes.len());
        if is_ascending { None } else { Self::new(nodes, count).map(Arc::new) }
    }
}

/// A map as a machine file has it: with the places in the order of nodes that a list names.
struct MapOfFile {
    map: Map,
    listed_ranks: Option<usize>,
    places: Option<Vec<usize>>,
}

impl MapOfFile {
    /// The map of ranks whose nodes have these places in the order of nodes.
    fn of_places(places_of_ranks: &[usize]) -> Self {
        let (map, places) = match Nodes::of(places_of_ranks) {
            Nodes::Equal(size) => (Map::Block(size), places_of_ranks.iter().copied().step_by(size).collect()),
            Nodes::Unknown => (Map::Block(1), Vec::new()),
            Nodes::Listed(list) => {
                let places = list.members.iter().map(|members| places_of_ranks[members[0]]).collect();
                (Map::Listed(list), places)
            }
        };
        Self { map, listed_ranks: Some(places_of_ranks.len()), places: Some(places) }
    }

    /// Reads the keys, for at most this many nodes.
    fn read(section: &Section, nodes: usize) -> Result<Self> {
        let ranks_per_node = section.count_or("ranks_per_node", 1)?;
        let counts = section.optional_numbers("ranks_on_nodes")?;
        if let Some(places) = listed_places(section)? {
            section.forbid(&["ranks_per_node", "ranks_on_nodes"], "no such key beside network.map, a list of nodes")?;
            let fits = (1..=MOST_LISTED).contains(&places.len()) && places.iter().all(|place| *place < nodes);
            section.ensure(fits, "map", &format!("the node of each of 1 to 2^22 ranks, from 0 to {}", nodes - 1))?;
            return Ok(Self::of_places(&places));
        }
        let is_cyclic = section.choice("map", &[("block", false), ("cyclic", true)])?;
        let Some(counts) = counts else {
            let is_dealt = is_cyclic && ranks_per_node > 1;
            let map = if is_dealt { Map::Cyclic(ranks_per_node) } else { Map::Block(ranks_per_node) };
            return Ok(Self { map, listed_ranks: None, places: None });
        };
        section.forbid(&["ranks_per_node"], "no such key beside network.ranks_on_nodes")?;
        let ranks = counts.iter().try_fold(0_usize, |sum, count| sum.checked_add(*count));
        let is_whole = !counts.is_empty() && counts.len() <= nodes && !counts.contains(&0);
        let fits = is_whole && ranks.is_some_and(|ranks| ranks <= MOST_LISTED);
        let expected = format!("1 to {nodes} numbers of ranks of at least 1 each, and of at most 2^22 in all");
        section.ensure(fits, "ranks_on_nodes", &expected)?;
        Ok(Self::of_places(&if is_cyclic { deal(&counts) } else { fill(&counts) }))
    }
}

/// The list under `map`, or in the file that it names, if there is one.
fn listed_places(section: &Section) -> Result<Option<Vec<usize>>> {
    match places_in_file(section)? {
        None if !section.is_text("map") => {
            section.optional_numbers("map").map_err(|_| section.reject("map", EXPECTED_MAP))
        }
        places => Ok(places),
    }
}

const EXPECTED_MAP: &str = "\"block\", \"cyclic\", a list of nodes, or the path of a file of hosts";

/// The node of each rank, if `map` names the file that has it.
pub(crate) fn places_in_file(section: &Section) -> Result<Option<Vec<usize>>> {
    if !section.is_text("map") || PATTERNS.contains(&section.text("map")?.as_str()) {
        return Ok(None);
    }
    hosts_in_file(section).map(|hosts| Some(hosts.of_ranks))
}

/// Maps that are no file.
const PATTERNS: [&str; 2] = ["block", "cyclic"];

fn hosts_in_file(section: &Section) -> Result<Hosts> {
    let (file, text) = section.file("map").map_err(|_| section.reject("map", EXPECTED_MAP))?;
    hosts_of_ranks(&text, &file)
}

impl Placement {
    /// One rank per node, in order.
    pub fn linear() -> Self {
        Self { map: Map::Block(1), listed_ranks: None, order: None }
    }

    /// Reads the keys for a topology of `nodes` nodes. Its layout is an order of the nodes, too.
    ///
    /// # Errors
    /// A map that does not fit the nodes, a list that does not name every node exactly once, or one beside a layout.
    pub fn read(section: &Section, nodes: usize, layout: Option<&Layout>) -> Result<Self> {
        let MapOfFile { map, listed_ranks, places } = MapOfFile::read(section, nodes)?;
        let fits = !matches!(map, Map::Block(size) | Map::Cyclic(size) if size > MOST_NODES / nodes);
        section.ensure(fits, "ranks_per_node", "at most 2^26 ranks on all nodes together")?;
        let own_order = section.optional_numbers("permutation")?;
        section.ensure(own_order.is_none() || layout.is_none(), "permutation", "no such key beside network.layout")?;
        let permutation = own_order.or(layout.map(Layout::nodes));
        let is_whole = |list: &Vec<usize>| list.len() == nodes && Order::new(list.clone(), nodes).is_some();
        section.ensure(
            permutation.as_ref().is_none_or(is_whole),
            "permutation",
            &format!("each of the nodes 0 to {} once", nodes - 1),
        )?;
        let in_order = match (permutation, places) {
            (Some(permutation), Some(places)) => places.into_iter().map(|place| permutation[place]).collect(),
            (permutation, places) => permutation.or(places).unwrap_or_default(),
        };
        Ok(Self { map, listed_ranks, order: Order::unless_ascending(in_order, nodes) })
    }

    /// As [`Placement::read`], on a topology whose nodes may have the names of hosts.
    pub fn read_on(section: &Section, topology: &dyn Topology) -> Result<Self> {
        let nodes = topology.nodes();
        let find_all = |key: &str, names: &[String]| -> Result<Vec<usize>> {
            let numbers: HashMap<_, _> = topology.hosts().iter().zip(0..).collect();
            let refusal = |name| section.reject(key, &format!("hosts of the network, which has no {name:.80?}"));
            names.iter().map(|name| numbers.get(name).copied().ok_or_else(|| refusal(name))).collect()
        };
        if let Some(list) = section.optional_text("hosts", |text| Ok(text.to_owned()))? {
            let others = ["map", "ranks_on_nodes", "permutation", "layout"];
            section.forbid(&others, "no such key beside network.hosts")?;
            let names = expand_list(&list).ok_or_else(|| section.reject("hosts", "a list such as \"nid[001-064]\""))?;
            let order = find_all("hosts", &names)?;
            let placement = Self::read(section, order.len(), None)?;
            let ranks = placement.room(order.len());
            let is_once = Order::new(order.clone(), nodes).is_some();
            let order = is_once.then(|| Order::unless_ascending(order, nodes));
            let order = order.ok_or_else(|| section.reject("hosts", "each host once"))?;
            return Ok(Self { listed_ranks: Some(ranks), order, ..placement });
        }
        if !topology.hosts().is_empty() && section.is_text("map") && !PATTERNS.contains(&section.text("map")?.as_str())
        {
            let Hosts { of_ranks, names } = hosts_in_file(section)?;
            let order = find_all("map", &names)?;
            let MapOfFile { map, listed_ranks, .. } = MapOfFile::of_places(&of_ranks);
            return Ok(Self { map, listed_ranks, order: Order::unless_ascending(order, nodes) });
        }
        Self::read(section, nodes, topology.layout())
    }

    /// The placement of a job that has these of the ranks here, in this order, on a topology of so many nodes if there is
    /// one.
    pub fn of_some(&self, ranks: &[usize], nodes: Option<usize>) -> Self {
        let nodes_of_ranks: Vec<_> = ranks.iter().map(|rank| self.node_of(*rank, ranks.len())).collect();
        let MapOfFile { map, listed_ranks, places } = MapOfFile::of_places(&nodes_of_ranks);
        let order = nodes.and_then(|nodes| Order::unless_ascending(places.unwrap_or_default(), nodes));
        Self { map, listed_ranks, order }
    }

    /// Reads the keys for a network without a topology, on which only the sets of ranks that share a node matter.
    pub fn read_without_topology(section: &Section) -> Result<Self> {
        let MapOfFile { map, listed_ranks, .. } = MapOfFile::read(section, MOST_NODES)?;
        Ok(Self { map, listed_ranks, order: None })
    }

    /// Whether the section has keys of the nodes of ranks.
    pub fn is_in(section: &Section) -> bool {
        ["ranks_per_node", "ranks_on_nodes", "map"].into_iter().any(|key| section.contains(key))
    }

    /// The same nodes, filled one after the other; none if they are already, or if the ranks are listed.
    pub fn filled_in_order(&self) -> Option<Self> {
        let Map::Cyclic(most) = self.map else { return None };
        Some(Self { map: Map::Block(most), ..self.clone() })
    }

    /// Whether the node of each rank has its number.
    pub fn is_linear(&self) -> bool {
        self.ranks_per_node() == Some(1) && self.order.is_none()
    }

    /// The number of successive ranks that share a node; none if other ranks do.
    pub fn ranks_per_node(&self) -> Option<usize> {
        if let Map::Block(size) = self.map { Some(size) } else { None }
    }

    /// The place of the node of a rank in the order of nodes, from 0, in a job of `ranks` ranks.
    #[inline]
    pub fn place_of(&self, rank: usize, ranks: usize) -> usize {
        match &self.map {
            Map::Block(size) => rank / size,
            Map::Cyclic(most) => rank % ranks.div_ceil(*most),
            Map::Listed(list) => list.places[rank].0,
        }
    }

    /// The node of a rank in a job of `ranks` ranks.
    #[inline]
    pub fn node_of(&self, rank: usize, ranks: usize) -> usize {
        let place = self.place_of(rank, ranks);
        self.order.as_ref().map_or(place, |order| order.nodes[place])
    }

    /// Number of nodes of a job of `ranks` ranks.
    pub fn nodes_of_job(&self, ranks: usize) -> usize {
        match &self.map {
            Map::Block(most) | Map::Cyclic(most) => ranks.div_ceil(*most),
            Map::Listed(list) => list.members.partition_point(|members| members[0] < ranks),
        }
    }

    /// The place of the node of a rank in the order of nodes, and the place of the rank among those of the node.
    #[inline]
    pub fn node_and_place(&self, rank: usize, ranks: usize) -> (usize, usize) {
        match &self.map {
            Map::Block(size) => (rank / size, rank % size),
            Map::Cyclic(most) => (rank % ranks.div_ceil(*most), rank / ranks.div_ceil(*most)),
            Map::Listed(list) => list.places[rank],
        }
    }

    /// Number of ranks on the node at a place of a job of `ranks` ranks.
    pub fn count_at(&self, place: usize, ranks: usize) -> usize {
        match &self.map {
            Map::Block(size) => (*size).min(ranks.saturating_sub(place * size)),
            Map::Cyclic(_) => ranks.saturating_sub(place).div_ceil(self.nodes_of_job(ranks)),
            Map::Listed(list) => list.members[place].partition_point(|rank| *rank < ranks),
        }
    }

    /// The ranks on a node in a job of `ranks` ranks, ascending.
    pub fn ranks_on(&self, node: usize, ranks: usize) -> Vec<usize> {
        let place = self.order.as_ref().map_or(node, |order| order.places[node]);
        let nodes = self.nodes_of_job(ranks);
        if place >= nodes {
            return Vec::new();
        }
        let count = self.count_at(place, ranks);
        match &self.map {
            Map::Block(size) => (place * size..).take(count).collect(),
            Map::Cyclic(_) => (place..).step_by(nodes).take(count).collect(),
            Map::Listed(list) => list.members[place][..count].to_vec(),
        }
    }

    /// The fewest nodes that hold `count` ranks of a job of `ranks` ranks.
    pub fn fewest_nodes(&self, count: usize, ranks: usize) -> usize {
        let mut counts: Vec<_> = (0..self.nodes_of_job(ranks)).map(|place| self.count_at(place, ranks)).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let before = |total: &mut usize, count: usize| Some(std::mem::replace(total, *total + count));
        counts.into_iter().scan(0, before).take_while(|total| *total < count).count()
    }

    /// The nodes of a job of `ranks` ranks, as algorithms see them.
    ///
    /// # Errors
    /// More ranks than the map lists.
    pub fn nodes(&self, ranks: usize) -> Result<Nodes> {
        self.check_listed(ranks)?;
        Ok(match &self.map {
            Map::Block(size) => Nodes::Equal(*size),
            _ => Nodes::of(&(0..ranks).map(|rank| self.place_of(rank, ranks)).collect::<Vec<_>>()),
        })
    }

    /// The number of ranks that `nodes` nodes hold.
    pub fn room(&self, nodes: usize) -> usize {
        let (Map::Block(most) | Map::Cyclic(most)) = self.map else { return self.listed_ranks.unwrap_or(0) };
        self.listed_ranks.unwrap_or(nodes * most)
    }

    /// Checks that the nodes hold this many ranks.
    ///
    /// # Errors
    /// More ranks than the nodes hold.
    pub fn check(&self, ranks: usize, nodes: usize) -> Result<()> {
        self.check_listed(ranks)?;
        let room = self.room(nodes);
        ensure(ranks <= room, || {
            format!("ranks: got {ranks}, expected at most {room}, the ranks that the network holds")
        })
    }

    /// Checks that the map lists this many ranks.
    pub fn check_listed(&self, ranks: usize) -> Result<()> {
        let most = self.listed_ranks.unwrap_or(usize::MAX);
        ensure(ranks <= most, || format!("ranks: got {ranks}, expected at most {most}, the ranks that the map lists"))
    }
}

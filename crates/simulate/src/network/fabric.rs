//! The common parts of networks with contention.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use hocket_core::{Error, Result, Symmetry};
use hocket_machine::{AnyTopology, Machine, Placement, Section};

use super::faults::{Fault, Faults};
use super::groups::Groups;
use super::level::{Costs, Level, RECEIVE, SEND};
use super::routing::{Chooser, Roads, Routing};
use super::{Levels, Resources, Traffic};
use crate::call_demand::{Bound, CallDemand};

/// A topology with ranks on its nodes, and the costs of a message at its ranks.
///
/// Keys of `[network]`: those of the topology and of the placement, and `protocol` = "eager" (a message leaves at once;
/// the default) or "rendezvous" (it leaves once its receive is posted). Keys of `[node]`: `ports` (default 1): messages
/// that a node sends at a time, and receives at a time; `software_latency` (default 0): how long the processor is busy
/// before a message leaves.
///
/// Instead of `software_latency`, a section `[host]` has the keys of `loggp` except L, with the same meaning. A message
/// is injected when the sender's processor is done with it. The receiver's interface takes it in when its last byte
/// arrives, at the earliest m G after its first byte could. Requests and answers also take the latency of the route. A
/// processor does one thing at a time, in the order of issue. `[network.local]`: costs of messages within a node, with
/// the keys of `loggp`; without it, the network gives their time.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Nodes, links and routes.
    pub topology: AnyTopology,
    /// The nodes of the ranks.
    pub placement: Placement,
    /// `protocol`: whether a message leaves without waiting for its receive.
    pub is_eager: bool,
    /// The costs of a message at its ranks: `[host]`, or `software_latency` at the sender.
    pub host: Level,
    /// `routing`: which ways messages take; that of the topology unless the model reads another.
    pub routing: Routing,
    /// Whether there is `[host]`: messages pass interfaces, and receiving takes processor time.
    pub has_interfaces: bool,
    /// `ports` of each node.
    pub ports: usize,
    /// The costs of messages within a node, if they have any.
    pub levels: Option<Levels<Level>>,
    /// What ranks share besides links and ports, if anything.
    pub resources: Option<Resources>,
    /// Links that are always slower than others.
    slower: Faults,
    /// The faults of links, and slower links.
    pub faults: Faults,
    roads: SharedRoads,
}

/// What the first run with a choice of ways finds out about the topology, for all others and for copies of the fabric.
#[derive(Clone, Debug, Default)]
struct SharedRoads(Arc<OnceLock<Roads>>);

/// They depend on the topology alone.
impl PartialEq for SharedRoads {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The largest number of ports of a node: routers keep state for each.
const MOST_PORTS: usize = 1024;

/// The largest number of links: a simulation keeps up to a kilobyte of state for each.
const MOST_LINKS: usize = 1 << 23;

impl Fabric {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let Machine { network, node, .. } = machine;
        node.forbid(&["engines"], "the key ports instead")?;
        let topology = AnyTopology::read(network)?;
        let links = topology.links();
        let expected = format!("a topology of at most {MOST_LINKS} links, but this one has {links}");
        network.ensure(links <= MOST_LINKS, "topology", &expected)?;
        let host = match &machine.host {
            None => Level::of_sender(node.time_s_or("software_latency", 0.0)?),
            Some(host) => {
                node.forbid(&["software_latency"], "no such key beside [host], whose o_send is this time")?;
                let is_double = host.contains("S") && network.contains("protocol");
                let expected = "no such key beside host.S, the size of the largest eager message";
                network.ensure(!is_double, "protocol", expected)?;
                Level::read_parts(host, None)?
            }
        };
        let placement = Placement::read_on(network, &*topology)?;
        let levels = Levels::read(machine, Level::read, Level::read_local, None)?;
        Ok(Self {
            resources: Resources::read(node, levels.as_ref())?,
            placement,
            levels,
            topology,
            is_eager: network.choice("protocol", &[("eager", true), ("rendezvous", false)])?,
            host,
            routing: Routing::Fixed,
            has_interfaces: machine.host.is_some(),
            ports: node.count_up_to("ports", 1, MOST_PORTS)?,
            slower: Faults::default(),
            faults: Faults::default(),
            roads: SharedRoads::default(),
        })
    }

    /// Reads `routing`, with the keys of the policy.
    pub(super) fn read_routing(&mut self, section: &Section) -> Result<()> {
        self.routing = Routing::read(section, &self.topology)?;
        Ok(())
    }

    /// Chooses the ways of a new run; none for fixed routes.
    pub(super) fn chooser(&self) -> Option<Box<Chooser<'_>>> {
        Chooser::new(&self.routing, &self.topology, &self.roads.0, &self.faults)
    }

    /// Reads `link_bandwidth`: one for all links, or one for each kind of the topology. Returns the highest, in bytes per
    /// second; other links always have a part of it.
    pub(super) fn read_bandwidth(&mut self, section: &Section) -> Result<f64> {
        let topology = &self.topology;
        let rates = section.rates_bytes_per_s("link_bandwidth", topology.kinds())?;
        let highest = rates.iter().copied().fold(0.0, f64::max);
        if !topology.is_even() || rates.iter().any(|rate| *rate < highest) {
            let part = |link: usize| rates[topology.kind_of(link)] / highest * topology.part_of(link);
            self.slower = Faults::always((0..topology.links()).map(part));
            self.faults = self.slower.clone();
        }
        Ok(highest)
    }

    /// Adds faults of links.
    ///
    /// # Errors
    /// A link or a node that the topology does not have.
    pub(super) fn add_faults(&mut self, faults: &[Fault]) -> Result<()> {
        self.faults = Faults::new(faults, &self.topology)?.on(&self.slower);
        Ok(())
    }

    /// Checks that the nodes hold this many ranks.
    ///
    /// # Errors
    /// More ranks than the nodes hold.
    pub fn check(&self, ranks: usize) -> Result<()> {
        self.placement.check(ranks, self.topology.nodes()).map_err(|e| Error::new(format!("{e} ({})", self.shape())))
    }

    /// The times that no algorithm can beat, given the latency and bandwidth of links. A processor does one thing at a
    /// time.
    ///
    /// A message between nodes takes the costs at its ranks and the latency of its links; one within a node takes the
    /// costs at its ranks, or those of `[network.local]`. The data of one rank travels as far as the node farthest
    /// away. A rank tells one more rank, or is told by one more, whenever its processor, and its interface if there is
    /// one, is free. Bytes that cross a cut share the links across it; bytes that leave a node also share its ports;
    /// the bytes of a rank pass its interface.
    pub fn bound(&self, call_demand: &CallDemand<'_>, link_latency_s: f64, link_bytes_per_s: f64) -> Bound {
        let node_of = |rank| self.placement.node_of(rank, call_demand.call.ranks);
        let Some(spread) = call_demand.spread() else {
            return Bound { computation_s: call_demand.combining_s(), ..Bound::NONE };
        };
        let nodes: BTreeSet<usize> = (0..call_demand.call.ranks).map(node_of).collect();
        let is_alone = nodes.len() == call_demand.call.ranks;
        let end = if spread.is_gathering { RECEIVE } else { SEND };
        let gap_s = |costs: &Costs, bytes: f64| {
            [if self.has_interfaces { costs.interface_s(bytes) } else { 0.0 }, costs.end_s(end, bytes)]
        };
        let ends_s = self.host.least_time_s();
        let is_on_link = is_alone || self.levels.as_ref().and_then(Levels::across_node).is_some();
        let link_s = |level: &Level| if is_on_link && std::ptr::eq(level, &self.host) { link_latency_s } else { 0.0 };
        let groups = Groups::new(self.levels.as_ref(), &self.host, &self.placement, call_demand.call.ranks);
        let told_s = groups.telling_s(spread.ranks, link_s, gap_s);
        let is_all = spread.ranks == call_demand.call.ranks;
        let farthest = if is_all { farthest(&self.topology, node_of(spread.rank), &nodes) } else { 0 };
        let way_s = if farthest > 0 { ends_s + farthest as f64 * link_latency_s } else { 0.0 };

        let crossing_s = |within: &dyn Fn(usize) -> bool, most_lanes: usize| {
            let bytes = call_demand.crossing_bytes(&|rank| within(node_of(rank)));
            let lanes = links_out_of(&self.topology, within).min(most_lanes);
            if bytes > 0.0 { bytes / (lanes as f64 * link_bytes_per_s) } else { 0.0 }
        };
        let of_nodes = call_demand.ranks_to_try().map(node_of).map(|busy| crossing_s(&|node| node == busy, self.ports));
        let of_halves = self.topology.halves().into_iter().map(|half| crossing_s(&half, usize::MAX));
        let shared_s = call_demand.bytes_of_a_rank() / (self.ports as f64 * link_bytes_per_s);
        let bytes_s = of_nodes.chain(of_halves).fold(if is_alone { shared_s } else { 0.0 }, f64::max);
        let first_and_last_s = self.host.least_end_s(SEND) + self.host.least_end_s(RECEIVE) + link_latency_s;
        let on_links_s = (bytes_s > 0.0).then_some(first_and_last_s + bytes_s);
        Bound {
            latency_s: told_s.max(way_s),
            bandwidth_s: groups.passing_s(call_demand).into_iter().chain(on_links_s).reduce(f64::max),
            computation_s: call_demand.combining_s(),
        }
    }

    /// The processor time for receiving an empty message and passing it on, in seconds.
    pub fn processor_s(&self) -> f64 {
        self.host.of(0.0).o.into_iter().sum()
    }

    /// Number of links of the route between two nodes.
    pub(super) fn distance(&self, [from, to]: [usize; 2]) -> f64 {
        self.topology.route_length(from, to) as f64
    }

    /// The topology's name and size, as "torus of 64 nodes".
    fn shape(&self) -> String {
        format!("{} of {} nodes", self.topology.name(), self.topology.nodes())
    }
}

/// Number of links of the shortest way from a node to the farthest of `nodes`.
fn farthest(topology: &AnyTopology, from: usize, nodes: &BTreeSet<usize>) -> usize {
    let mut next = vec![Vec::new(); topology.vertices()];
    for (start, end) in (0..topology.links()).map(|link| topology.ends(link)) {
        next[start].push(end as u32);
    }
    let mut distances = vec![usize::MAX; topology.vertices()];
    distances[from] = 0;
    let mut reached = VecDeque::from([from]);
    while let Some(vertex) = reached.pop_front() {
        for end in std::mem::take(&mut next[vertex]) {
            let end = end as usize;
            if distances[end] == usize::MAX {
                distances[end] = distances[vertex] + 1;
                reached.push_back(end);
            }
        }
    }
    nodes.iter().map(|node| distances[*node]).max().unwrap_or(0)
}

/// Number of links that lead from a set of vertices to the others.
fn links_out_of(topology: &AnyTopology, within: &dyn Fn(usize) -> bool) -> usize {
    let ends = (0..topology.links()).map(|link| topology.ends(link));
    ends.filter(|(from, to)| within(*from) && !within(*to)).count()
}

/// A network with contention. Models differ in their traffic; the rest is common.
pub trait SharedNetwork: Sync {
    /// The topology, and the costs of messages at their ranks.
    fn fabric(&self) -> &Fabric;
    /// Adds faults.
    ///
    /// # Errors
    /// A link or a node that the network does not have, or a fault that it cannot have.
    fn add_faults(&mut self, faults: &[Fault]) -> Result<()>;
    /// The latency of the route between two nodes, in seconds.
    fn latency_s(&self, nodes: [usize; 2]) -> f64;
    /// For how long the bytes of a message arrive, in seconds; none if other messages slow them down on their way.
    fn burst_s(&self, _bytes: f64) -> Option<f64> {
        None
    }
    /// Number of switches, or of groups, by way of which parts of one message can go.
    fn detours(&self) -> usize {
        0
    }
    /// Whether the ways of messages depend on the seed.
    fn is_random(&self) -> bool {
        false
    }
    /// The traffic of a new run.
    fn traffic(&self) -> Box<dyn Traffic + '_>;
    /// The symmetry of ranks, links and routes, if one rank and one link of several can stand for all.
    fn symmetry(&self) -> Option<Symmetry> {
        None
    }
    /// The traffic of a new run on the representatives of a part of this symmetry. Of messages to others, only what they
    /// do to representatives counts.
    fn traffic_under(&self, _symmetry: Symmetry) -> Box<dyn Traffic + '_> {
        self.traffic()
    }
    /// The times that no algorithm can beat.
    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound;
}

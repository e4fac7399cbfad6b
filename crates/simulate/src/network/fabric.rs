//! Networks in which messages meet each other: their common parts.

use std::collections::{BTreeSet, VecDeque};

use hocket_core::{Error, Result};
use hocket_machine::{AnyTopology, Machine, Placement, Topology};

use super::level::{Level, RECEIVE, SEND, passing_s};
use super::{Traffic, local};
use crate::demanded::{Bound, Demanded, telling_s};

/// A topology with ranks on its nodes, and what a message costs the ranks at its ends.
///
/// Keys of `[network]`: those of the topology and of the placement, and `protocol` = "eager" (a message leaves at once; the
/// default) or "rendezvous" (once its receive is there, too). Keys of `[node]`: `ports` (1 when absent): messages that a
/// node can send, and as many that it can receive, at a time; `software_latency` (0 when absent): how long the processor
/// is busy before a message leaves. Instead of that a section `[host]` has the keys of `loggp` but for L: processor and
/// interfaces of a rank are as there, a message is injected when the sender's processor is done with it, and its receiver's
/// interface takes it in when its last byte is there, which is no sooner than m G after its first byte can be. Requests and
/// answers take the latency of the route besides what `[host]` says. A processor does one thing at a time: it sends,
/// receives, reduces, copies and computes in the order in which it is asked. `[network.local]`: costs of messages within a node, as those of `loggp`; without it
/// the network says what a message to the own node takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Nodes, links and routes.
    pub topology: AnyTopology,
    /// On which nodes the ranks are.
    pub placement: Placement,
    /// `protocol`: whether a message leaves without waiting for its receive.
    pub is_eager: bool,
    /// What a message costs its ends: `[host]`, or `software_latency` of the sender.
    pub host: Level,
    /// Whether messages pass interfaces of their ranks, and receiving them costs processors time: where there is `[host]`.
    pub has_interfaces: bool,
    /// `ports` of each node.
    pub ports: usize,
    /// The costs of messages within a node, if they have any.
    pub local: Option<Level>,
}

/// Ports of a node, at most: routers keep room for each.
const MOST_PORTS: usize = 1024;

/// Links of a network, at most: a simulation keeps room for the state of each, up to a kilobyte.
const MOST_LINKS: usize = 1 << 23;

impl Fabric {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let Machine { network, node, .. } = machine;
        if node.contains("engines") {
            return Err(node.reject("engines", "the key ports instead"));
        }
        let topology = AnyTopology::read(network)?;
        if topology.links() > MOST_LINKS {
            let links = topology.links();
            return Err(network
                .reject("topology", &format!("a topology of at most {MOST_LINKS} links, but this one has {links}")));
        }
        let host = match &machine.host {
            None => Level::of_sender(node.time_s_or("software_latency", 0.0)?),
            Some(_) if node.contains("software_latency") => {
                return Err(node.reject("software_latency", "no such key beside [host], whose o_send is this time"));
            }
            Some(host) if host.contains("S") && network.contains("protocol") => {
                return Err(
                    network.reject("protocol", "no such key beside host.S, the size of the largest eager message")
                );
            }
            Some(host) => Level::read_host(host)?,
        };
        Ok(Self {
            placement: Placement::read(network, topology.nodes())?,
            topology,
            is_eager: network.choice("protocol", &[("eager", true), ("rendezvous", false)])?,
            host,
            has_interfaces: machine.host.is_some(),
            ports: node.count_up_to("ports", 1, MOST_PORTS)?,
            local: local::costs(network, Level::read_local)?,
        })
    }

    /// Checks that so many ranks have room.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self, ranks: usize) -> Result<()> {
        self.placement.check(ranks, self.topology.nodes()).map_err(|e| Error::new(format!("{e} ({})", self.shape())))
    }

    /// The times that no algorithm can beat if links have this latency and this bandwidth, and a processor does one
    /// thing at a time.
    ///
    /// A message between nodes takes what its ends cost, and the latency of its links; one within a node takes what its
    /// ends cost, or what `[network.local]` says. The data of one rank travels as far as the node farthest away; a rank
    /// tells one more, or is told by one more, whenever its processor, and its interface if there is one, is free. The
    /// bytes that have to cross a cut share the links that lead across, and those that leave a node also its ports; the
    /// bytes of a rank pass its interface.
    pub fn bound(&self, demanded: &Demanded<'_>, link_latency_s: f64, link_bytes_per_s: f64) -> Bound {
        let node_of = |rank| self.placement.node_of(rank);
        let Some(spread) = demanded.spread() else {
            return Bound { computation_s: demanded.combining_s(), ..Bound::default() };
        };
        let nodes: BTreeSet<usize> = (0..demanded.call.ranks).map(node_of).collect();
        let is_alone = nodes.len() == demanded.call.ranks;
        let levels = std::iter::once(&self.host).chain(self.local.as_ref().filter(|_| !is_alone));
        let end = if spread.is_gathering { RECEIVE } else { SEND };
        let gap = |level: &Level| if self.has_interfaces { level.least_gap_s(end) } else { level.least_end_s(end) };
        let gap_s = levels.clone().map(gap).fold(f64::INFINITY, f64::min);
        let ends_s = self.host.least_time_s();
        let delay_s = match &self.local {
            _ if is_alone => ends_s + link_latency_s,
            None => ends_s,
            Some(local) => local.least_time_s().min(ends_s + link_latency_s),
        };
        let told_s = telling_s(spread.ranks, delay_s, gap_s);
        let is_all = spread.ranks == demanded.call.ranks;
        let farthest = if is_all { farthest(&self.topology, node_of(spread.rank), &nodes) } else { 0 };
        let way_s = if farthest > 0 { ends_s + farthest as f64 * link_latency_s } else { 0.0 };

        let crossing_s = |within: &dyn Fn(usize) -> bool, most_lanes: usize| {
            let bytes = demanded.crossing_bytes(&|rank| within(node_of(rank)));
            let lanes = links_out_of(&self.topology, within).min(most_lanes);
            if bytes > 0.0 { bytes / (lanes as f64 * link_bytes_per_s) } else { 0.0 }
        };
        let of_nodes = demanded.ranks_to_try().map(node_of).map(|busy| crossing_s(&|node| node == busy, self.ports));
        let of_halves = self.topology.halves().into_iter().map(|half| crossing_s(&half, usize::MAX));
        let shared_s = demanded.bytes_of_a_rank() / (self.ports as f64 * link_bytes_per_s);
        let bytes_s = of_nodes.chain(of_halves).fold(if is_alone { shared_s } else { 0.0 }, f64::max);
        let first_and_last_s = self.host.least_end_s(SEND) + self.host.least_end_s(RECEIVE) + link_latency_s;
        let on_links_s = if bytes_s > 0.0 { first_and_last_s + bytes_s } else { 0.0 };
        let at_hosts_s = if self.has_interfaces { passing_s(levels, demanded.bytes_of_a_rank()) } else { 0.0 };
        Bound {
            latency_s: told_s.max(way_s),
            bandwidth_s: on_links_s.max(at_hosts_s),
            computation_s: demanded.combining_s(),
        }
    }

    /// How long the processor of a rank that takes an empty message and passes it on is busy with it, in seconds.
    pub fn processor_s(&self) -> f64 {
        self.host.of(0.0).o.into_iter().sum()
    }

    /// Links of the route between two nodes.
    pub(super) fn distance(&self, [from, to]: [usize; 2]) -> f64 {
        let mut hops = Vec::new();
        self.topology.route(from, to, &mut hops);
        hops.len() as f64
    }

    /// The topology's name and size, as "torus of 64 nodes".
    fn shape(&self) -> String {
        format!("{} of {} nodes", self.topology.name(), self.topology.nodes())
    }
}

/// Links of the shortest way from a node to the farthest of these.
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

/// Links that lead from a set of vertices to the others.
fn links_out_of(topology: &AnyTopology, within: &dyn Fn(usize) -> bool) -> usize {
    let ends = (0..topology.links()).map(|link| topology.ends(link));
    ends.filter(|(from, to)| within(*from) && !within(*to)).count()
}

/// A network in which messages meet: its traffic says how they meet, all else is the same everywhere.
pub trait Shared: Sync {
    /// The topology, and the work of a rank's processor for a message.
    fn fabric(&self) -> &Fabric;
    /// The latency of the way between two nodes, in seconds.
    fn latency_s(&self, nodes: [usize; 2]) -> f64;
    /// The messages on their way, none as yet.
    fn traffic(&self) -> Box<dyn Traffic + '_>;
    /// The times that no algorithm can beat.
    fn bound(&self, demanded: &Demanded<'_>) -> Bound;
}

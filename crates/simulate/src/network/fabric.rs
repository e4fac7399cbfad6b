//! Networks in which messages meet each other: their common parts.

use std::collections::{BTreeSet, VecDeque};

use hocket_core::{Error, Result};
use hocket_machine::{AnyTopology, Machine, Placement, Topology};
use serde::Serialize;

use super::loggp::{Busy, Level, RECEIVE, SEND, passing_s};
use super::{Departure, Network, Parcel, Passages, local};
use crate::clock::Clock;
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
            return Err(node.reject("engines", "none: the key is called ports"));
        }
        let topology = AnyTopology::read(network)?;
        if topology.links() > MOST_LINKS {
            let links = topology.links();
            return Err(network.reject("topology", &format!("one of at most {MOST_LINKS} links, not {links}")));
        }
        let host = match &machine.host {
            None => Level::of_sender(node.time_s_or("software_latency", 0.0)?),
            Some(_) if node.contains("software_latency") => {
                return Err(node.reject("software_latency", "none beside [host], where o_send is this time"));
            }
            Some(host) if host.contains("S") && network.contains("protocol") => {
                return Err(network.reject("protocol", "none beside host.S, the largest eager message"));
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

/// Such a network, as the engines see it.
pub(super) struct Meeting<'a>(pub &'a dyn Shared);

impl Meeting<'_> {
    /// The costs of a message's ends: within a node, if these have costs of their own, or between nodes, if there is
    /// `[host]`.
    #[inline(always)]
    fn level(&self, message: Parcel) -> Option<&Level> {
        let Fabric { local, host, has_interfaces, .. } = self.0.fabric();
        if message.local_ranks > 0 { local.as_ref() } else { has_interfaces.then_some(host) }
    }
}

impl Network for Meeting<'_> {
    type Node<T: Clock> = Busy<T>;
    const NODE_HAS_STATE: bool = true;
    const MESSAGES_MEET: bool = true;

    fn idle<T: Clock>(&self, start: T) -> Busy<T> {
        Busy::idle(start)
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self.0)
    }

    #[inline(always)]
    fn local_ranks(&self, [from, to]: [usize; 2], ranks: usize) -> usize {
        let Fabric { local, placement, .. } = self.0.fabric();
        if local.is_none() || placement.node_of(from) != placement.node_of(to) {
            return 0;
        }
        let on_node = placement.ranks_on(placement.node_of(from));
        on_node.end.min(ranks) - on_node.start
    }

    fn bound(&self, demanded: &Demanded<'_>) -> Bound {
        self.0.bound(demanded)
    }

    fn is_eager(&self, message: Parcel) -> bool {
        let is_eager = message.local_ranks > 0 || self.0.fabric().is_eager;
        is_eager && self.level(message).is_none_or(|level| level.is_eager(message.bytes))
    }

    fn knows_peers(&self) -> bool {
        let Fabric { local, host, .. } = self.0.fabric();
        std::iter::once(host).chain(local).any(Level::knows_peers)
    }

    fn way_s(&self, ranks: [usize; 2], message: Parcel) -> f64 {
        let Fabric { placement, has_interfaces, .. } = self.0.fabric();
        if !has_interfaces || message.local_ranks > 0 {
            return 0.0;
        }
        self.0.latency_s(ranks.map(|rank| placement.node_of(rank)))
    }

    fn request<T: Clock>(&self, now: T, message: Parcel) -> T {
        self.level(message).map_or(now, |level| level.request(now, message.bytes))
    }

    fn grant<T: Clock>(&self, now: T, message: Parcel) -> T {
        self.level(message).map_or(now, |level| level.grant(now, message.bytes))
    }

    fn free_to_send<T: Clock>(&self, node: &Busy<T>, message: Parcel) -> Option<T> {
        self.level(message).map(|_| node.sending)
    }

    fn inject<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> Departure<T> {
        match self.level(message) {
            Some(level) if message.local_ranks > 0 => return level.inject(node, now, message),
            Some(level) => {
                level.inject(node, now, message);
            }
            None => {
                self.0.fabric().host.occupy_sender(node, now, message);
            }
        }
        Departure { sender_done: node.processor, start: node.processor, transfer_s: 0.0 }
    }

    fn head<T: Clock>(&self, start: T, arrival: T, message: Parcel) -> T {
        self.level(message).map_or(arrival, |level| level.head(start, arrival, message))
    }

    fn take_in<T: Clock>(&self, node: &mut Busy<T>, arrival: T, message: Parcel) -> T {
        self.level(message).map_or(arrival, |level| level.take_in(node, arrival, message))
    }

    fn accept<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> T {
        self.level(message).map_or(now, |level| level.accept(node, now, message))
    }

    fn work<T: Clock>(&self, node: &mut Busy<T>, now: T, pass: impl FnOnce(T) -> T) -> T {
        node.work(now, pass)
    }
}

/// Messages on their way through a network, in seconds from the common start.
pub trait Traffic {
    /// A message leaves its node at `now_s`, which is no earlier than anything that has happened.
    fn inject(&mut self, now_s: f64, flight: Flight);
    /// The time of the next event; infinite when there is none unless a message is injected.
    fn next_s(&self) -> f64;
    /// Advances to the next event, and appends the messages that have left their sender or reached their receiver.
    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>);
    /// The use of each link so far.
    fn links(&self) -> Vec<LinkUse>;
    /// What links carry when, if the network can tell.
    fn passages(&mut self) -> Option<&mut Passages> {
        None
    }
    /// The reason why messages under way will never arrive, if so: a circle of waiting, or [`ENDLESS`].
    fn deadlock(&self) -> Option<String>;
    /// The circuits, where there are any.
    fn circuits(&mut self) -> Option<&mut dyn Switching> {
        None
    }
}

/// Circuits that programs can ask for.
pub trait Switching {
    /// Number of circuits that a program should open ahead of its messages; 0 where circuits come by themselves.
    fn ports(&self) -> usize;
    /// A program asks for a circuit; [`Milestone::Answered`] says whether it is open.
    fn connect(&mut self, now_s: f64, ask: Ask);
    /// A program does without a circuit; [`Milestone::Answered`] says when it is released.
    fn disconnect(&mut self, now_s: f64, ask: Ask);
    /// Whether there is something to decide at the end of this moment.
    fn is_undecided(&self) -> bool;
    /// Everything at this moment has happened: assigns circuits, and appends the answers to programs.
    fn decide(&mut self, now_s: f64, progress: &mut Vec<(u32, Milestone)>);
    /// At `now_s` nothing will happen any more: refuses one of the waiting requests. Returns true if there was one.
    fn give_way(&mut self, now_s: f64) -> bool;
    /// The counts of circuit events so far.
    fn counts(&self) -> CircuitCounts;
}

/// A program connects or disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The id for [`Traffic::advance`]; unique among the messages under way, too.
    pub id: u32,
    /// The rank that asks, and its peer.
    pub ranks: [u32; 2],
    /// The nodes of these ranks.
    pub nodes: [usize; 2],
}

/// Counts of circuit events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CircuitCounts {
    /// Circuits that were set up, or began to be.
    pub set_ups: u64,
    /// Calls of `connect` that were refused.
    pub refused: u64,
    /// Messages that lost their circuit while it carried them, each time.
    pub cut: u64,
}

/// The reason why messages that do not wait for each other are under way for ever.
pub(super) const ENDLESS: &str =
    "a time beyond what a number holds in the network, expected shorter times and higher bandwidths";

/// A message that leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// The id for [`Traffic::advance`]; unique among the messages under way.
    pub id: u32,
    /// The sender's node.
    pub from: usize,
    /// The receiver's node.
    pub to: usize,
    /// The sender and the receiver.
    pub ranks: [u32; 2],
    /// Its size.
    pub bytes: f64,
    /// Idle packet times between two of its packets, where there are packets.
    pub gap_packets: f64,
}

impl From<(u32, usize, usize, f64)> for Flight {
    /// A message without gaps between nodes of one rank: its id, nodes and bytes.
    fn from((id, from, to, bytes): (u32, usize, usize, f64)) -> Self {
        Self { id, from, to, ranks: [from as u32, to as u32], bytes, gap_packets: 0.0 }
    }
}

/// The progress of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The sender may change the data again: its last byte has left.
    Sent,
    /// Its last byte has arrived.
    Arrived,
    /// Of an [`Ask`], not a message: it is done, with a circuit that is open (true), refused, or released.
    Answered(bool),
}

/// The use of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkUse {
    /// Bytes that the link carried.
    pub bytes: f64,
    /// How long it was carrying something, in seconds.
    pub busy_s: f64,
    /// The time for which messages or packets that wanted the link had to wait for it, added up, in seconds.
    pub waiting_s: f64,
}

//! Topologies that are lists of cables: shapes without a formula for routes, and networks that sites describe in files.
//!
//! A cable is two links, there and back. The fixed route is a shortest way: where several links come nearer, the receiver's
//! number says which, digit by digit from switch to switch, as d-mod-k does in fat trees. It passes through no other node.
//! The virtual channel of a link is its number along the route, so packets never wait in a circle.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use hocket_core::{Error, Result, ensure};

use super::picture::{items, lines};
use super::{Half, Hop, Topology, each_switch};

/// Vertices and cables.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The topology's name in machine files.
    pub(super) name: &'static str,
    parts: Arc<Parts>,
}

/// What a graph is made of.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Number of nodes, the first vertices.
    pub nodes: usize,
    /// The names of all vertices.
    pub names: Vec<String>,
    pub cables: Vec<Cable>,
    /// Number of kinds of cables, and what a kind is.
    pub kinds: (usize, &'static str),
    /// Sets of switches that are alike for [`Topology::middles`]; empty if each switch stands for itself.
    pub middles: Vec<Range<usize>>,
    /// For each vertex, whether it is in the first half, if a cut into halves is known.
    pub half: Vec<bool>,
    links_of: Vec<Vec<u32>>,
    /// For each vertex that was asked for, the number of links to it from each.
    distances: Vec<OnceLock<Box<[u16]>>>,
}

/// Two links between two vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cable {
    pub ends: [u32; 2],
    pub kind: usize,
    /// The part of the bandwidth of the network's links that it has.
    pub part: f64,
}

impl Parts {
    /// So many nodes, and kinds of cables.
    pub fn new(nodes: usize, kinds: usize, what: &'static str) -> Self {
        let names = (0..nodes).map(|node| format!("node {node}")).collect();
        Self { nodes, names, kinds: (kinds, what), ..Self::default() }
    }

    /// Adds a cable of full bandwidth.
    pub fn join(&mut self, from: usize, to: usize, kind: usize) {
        self.cables.push(Cable { ends: [from as u32, to as u32], kind, part: 1.0 });
    }

    /// A graph.
    ///
    /// # Errors
    /// A node that is not connected with the first one, or so far away that a route may have more links than there are
    /// virtual channels.
    pub fn connect(mut self, name: &'static str) -> Result<Graph> {
        self.links_of = vec![Vec::new(); self.names.len()];
        for (number, cable) in (0..).zip(&self.cables) {
            self.links_of[cable.ends[0] as usize].push(2 * number);
            self.links_of[cable.ends[1] as usize].push(2 * number + 1);
        }
        self.distances = (0..self.names.len()).map(|_| OnceLock::new()).collect();
        let first = &self.names[0];
        if let Some(node) = self.lonely() {
            let other = &self.names[node];
            let expected = "a network that connects all nodes, by switches if it has any";
            return Err(Error::new(format!("got {other} without a way to {first}, expected {expected}")));
        }
        let distances = &self.distances_to(0)[..self.nodes];
        let reach = distances.iter().max().copied().unwrap_or(0);
        ensure(reach <= MOST_AWAY, || {
            format!("got a way of {reach} links from {first}, expected at most {MOST_AWAY}")
        })?;
        Ok(Graph { name, parts: Arc::new(self) })
    }

    /// A node that is not connected with the first one. Nodes pass no messages on if there are switches: then one switch
    /// beside the first node has to lead to all nodes.
    fn lonely(&self) -> Option<usize> {
        let has_switches = self.nodes < self.names.len();
        let switches = self.links_of[0].iter().map(|link| self.end(*link)).filter(|end| *end >= self.nodes);
        let hubs = switches.chain((!has_switches).then_some(0));
        let first_missing = |hub: usize| (0..self.nodes).find(|node| self.distances_to(hub)[*node] == NOWHERE);
        hubs.map(first_missing).min().unwrap_or((self.nodes > 1).then_some(1))
    }

    /// The switches to which nodes are attached, with their bandwidths to nodes and to switches, in cables of full bandwidth.
    fn leaves(&self) -> Vec<(usize, [f64; 2])> {
        let bandwidths = |switch: usize| {
            let mut sums = [0.0; 2];
            for link in &self.links_of[switch] {
                sums[usize::from(self.end(*link) >= self.nodes)] += self.cables[*link as usize / 2].part;
            }
            (switch, sums)
        };
        (self.nodes..self.names.len()).map(bandwidths).filter(|(_, [down, _])| *down > 0.0).collect()
    }

    /// What is lopsided: leaves with other bandwidths to switches than most, and slow cables.
    fn remarks(&self) -> Vec<String> {
        let leaves = self.leaves();
        let mut ups: Vec<_> = leaves.iter().map(|(_, [_, up])| *up).collect();
        ups.sort_unstable_by(f64::total_cmp);
        let Some(usual) = ups.get(ups.len() / 2).copied() else { return Vec::new() };
        let taper = leaves.iter().map(|(_, [down, up])| down / up).fold(0.0, f64::max);
        let mut remarks = Vec::new();
        if taper.is_finite() && taper > 1.0 {
            remarks.push(format!("a leaf has up to {taper:.2} times as much bandwidth to its nodes as to switches"));
        }
        let others = leaves.iter().filter(|(_, [_, up])| (up - usual).abs() > 1e-9);
        remarks.extend(in_groups(others.map(|(leaf, [_, up])| (self.names[*leaf].clone(), *up))).map(|(what, up)| {
            format!("{what}: the bandwidth of {up:.3} cables to switches, where most leaves have that of {usual:.3}")
        }));
        let is_up = |cable: &Cable| cable.ends.iter().all(|end| *end as usize >= self.nodes);
        for kind in [true, false] {
            let cables = || self.cables.iter().filter(|cable| is_up(cable) == kind);
            let fastest = cables().map(|cable| cable.part).fold(0.0, f64::max);
            let slow = cables().filter(|cable| cable.part < fastest * 0.999);
            let name = |cable: &Cable| {
                let [from, to] = cable.ends.map(|end| &self.names[end as usize]);
                (format!("{from} to {to}"), cable.part / fastest)
            };
            remarks.extend(
                in_groups(slow.map(name)).map(|(what, part)| format!("{what}: {part:.3} of the speed of others")),
            );
        }
        remarks
    }

    fn end(&self, link: u32) -> usize {
        self.cables[link as usize / 2].ends[usize::from(link.is_multiple_of(2))] as usize
    }

    fn distances_to(&self, vertex: usize) -> &[u16] {
        self.distances[vertex].get_or_init(|| {
            let mut distances = vec![NOWHERE; self.names.len()].into_boxed_slice();
            distances[vertex] = 0;
            let mut next = VecDeque::from([vertex]);
            while let Some(at) = next.pop_front() {
                if at < self.nodes && at != vertex && self.nodes < self.names.len() {
                    continue;
                }
                for end in self.links_of[at].iter().map(|link| self.end(*link)) {
                    if distances[end] == NOWHERE {
                        distances[end] = distances[at] + 1;
                        next.push_back(end);
                    }
                }
            }
            distances
        })
    }

    /// The only neighbour of a node and the cable to it, or the node itself: where the last choice of a route to it is.
    fn anchor(&self, node: usize) -> (usize, Option<u32>) {
        match self.links_of[node][..] {
            [link] if self.end(link) >= self.nodes => (self.end(link), Some(link)),
            _ => (node, None),
        }
    }

    /// Appends the links from a vertex to another one.
    fn lead(&self, from: usize, to: usize, mut number: usize, hops: &mut Vec<Hop>) {
        let distances = self.distances_to(to);
        let mut at = from;
        while at != to {
            let comes_nearer = |link: &&u32| {
                let end = self.end(**link);
                distances[end] < distances[at] && (end == to || end >= self.nodes || self.nodes == self.names.len())
            };
            let links: Vec<_> = self.links_of[at].iter().filter(comes_nearer).collect();
            let link = *links[number % links.len()];
            number /= links.len();
            hops.push(Hop { link, channel: 0 });
            at = self.end(link);
        }
    }
}

/// Those with one number are one, called after the first of them.
fn in_groups(items: impl Iterator<Item = (String, f64)>) -> impl Iterator<Item = (String, f64)> {
    let mut groups: Vec<(String, f64, usize)> = Vec::new();
    for (name, number) in items {
        match groups.iter_mut().find(|(_, other, _)| *other == number) {
            Some((.., count)) => *count += 1,
            None => groups.push((name, number, 0)),
        }
    }
    let text = |(name, number, more)| (if more > 0 { format!("{name} and {more} more") } else { name }, number);
    groups.into_iter().map(text)
}

/// No way leads there; and the longest way of a graph.
const NOWHERE: u16 = u16::MAX;
/// The most links from the first node to another: half of a route's.
const MOST_AWAY: u16 = 127;

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        let [one, other] = [self, other].map(|graph| (graph.name, &graph.parts.names, &graph.parts.cables));
        one == other
    }
}

impl Graph {
    /// The number of nodes at each anchor.
    fn anchors(&self) -> Vec<(usize, usize)> {
        let mut counts = vec![0; self.parts.names.len()];
        (0..self.parts.nodes).for_each(|node| counts[self.parts.anchor(node).0] += 1);
        counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect()
    }

    /// The number of pairs of distinct nodes whose route has so many links.
    fn pairs_by_length(&self) -> Vec<usize> {
        let own = |vertex: usize| usize::from(vertex >= self.parts.nodes);
        let (anchors, mut pairs) = (self.anchors(), vec![0; 1]);
        for &(to, receivers) in &anchors {
            let distances = self.parts.distances_to(to);
            for &(from, senders) in &anchors {
                let length = usize::from(distances[from]) + own(from) + own(to);
                let count = if from == to { receivers * (receivers - 1) } else { senders * receivers };
                pairs.resize(pairs.len().max(length + 1), 0);
                pairs[length] += count;
            }
        }
        pairs
    }
}

impl Topology for Graph {
    fn nodes(&self) -> usize {
        self.parts.nodes
    }

    fn vertices(&self) -> usize {
        self.parts.names.len()
    }

    fn links(&self) -> usize {
        2 * self.parts.cables.len()
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        (self.parts.end(link as u32 ^ 1), self.parts.end(link as u32))
    }

    /// Parallel links have the numbers of their cables.
    fn link_name(&self, link: usize) -> String {
        let (from, to) = self.ends(link);
        let alike = self.parts.links_of[from].iter().filter(|other| self.parts.end(**other) == to).count();
        let cable = if alike > 1 { format!(" (cable {})", link / 2) } else { String::new() };
        format!("{} to {}{cable}", self.vertex_name(from), self.vertex_name(to))
    }

    fn vertex_name(&self, vertex: usize) -> String {
        self.parts.names[vertex].clone()
    }

    fn kinds(&self) -> (usize, &'static str) {
        self.parts.kinds
    }

    fn kind_of(&self, link: usize) -> usize {
        self.parts.cables[link / 2].kind
    }

    fn is_even(&self) -> bool {
        self.parts.cables.iter().all(|cable| cable.part == 1.0)
    }

    fn part_of(&self, link: usize) -> f64 {
        self.parts.cables[link / 2].part
    }

    fn hosts(&self) -> &[String] {
        if self.name == "file" { &self.parts.names[..self.parts.nodes] } else { &[] }
    }

    fn remarks(&self) -> Vec<String> {
        self.parts.remarks()
    }

    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
        if from == to {
            return;
        }
        let ((start, up), (end, down)) = (self.parts.anchor(from), self.parts.anchor(to));
        let first = hops.len();
        hops.extend(up.map(|link| Hop { link, channel: 0 }));
        self.parts.lead(start, end, to, hops);
        hops.extend(down.map(|link| Hop { link: link ^ 1, channel: 0 }));
        hops[first..].iter_mut().zip(0..).for_each(|(hop, number)| hop.channel = number);
    }

    fn channels(&self) -> usize {
        self.longest_route().max(1)
    }

    fn longest_route(&self) -> usize {
        self.pairs_by_length().iter().rposition(|pairs| *pairs > 0).unwrap_or(0)
    }

    fn mean_route(&self) -> f64 {
        let pairs = self.pairs_by_length();
        let links: usize = pairs.iter().enumerate().map(|(length, pairs)| length * pairs).sum();
        links as f64 / pairs.iter().sum::<usize>().max(1) as f64
    }

    fn middles(&self) -> Vec<Range<usize>> {
        let middles = &self.parts.middles;
        if middles.is_empty() { each_switch(self) } else { middles.clone() }
    }

    fn halves(&self) -> Vec<Half<'_>> {
        let half = &self.parts.half;
        if half.is_empty() { Vec::new() } else { vec![Box::new(|vertex| half[vertex])] }
    }

    /// A line for each switch: its nodes, and the number of its other links.
    fn picture(&self, label: &dyn Fn(usize) -> String) -> String {
        const MOST_LINES: usize = 16;
        lines(self.vertices() - self.nodes(), MOST_LINES, |number| {
            let switch = self.nodes() + number;
            let ends = self.parts.links_of[switch].iter().map(|link| self.parts.end(*link));
            let (nodes, others): (Vec<_>, Vec<_>) = ends.partition(|end| *end < self.nodes());
            let nodes_text = items(0..nodes.len(), |place| label(nodes[place]));
            format!("{} ─ {nodes_text} ─ {} links to switches\n", self.vertex_name(switch), others.len())
        })
    }
}

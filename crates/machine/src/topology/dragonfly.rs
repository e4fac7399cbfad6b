//! Dragonfly: groups of routers; all routers of a group are linked with each other, and so are all groups.
//!
//! Keys: `nodes_per_router` (p), `routers_per_group` (a), `global_links_per_router` (h); `groups` (g; default and
//! maximum a h / `links_per_pair_of_groups` + 1), `links_per_pair_of_groups` and `global_arrangement` of [`GlobalPorts`].
//!
//! Node n is at router n / p, which is in group n / (p a). Links are numbered: up and down of each node; then local links
//! router by router; then global links group by group, port by port, as [`GlobalPorts`] has them.
//!
//! Routes are minimal: a local link to the router with the global link, the global link, and a local link to the
//! destination's router. Equally near global links take turns, by destination.
//!
//! Virtual channels: a local link after the global one uses channel 1, all other links use channel 0.
//!
//! Source: J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008.

use std::collections::BTreeSet;
use std::ops::Range;

use hocket_core::Result;

use super::global_ports::GlobalPorts;
use super::picture::{items, lines, on_circle};
use super::{Half, Hop, Spot, Topology, check_size};
use crate::Section;

/// The topology's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Dragonfly {
    nodes_per_router: usize,
    routers_per_group: usize,
    global: GlobalPorts,
}

/// The ends of a link.
enum Place {
    Up { node: usize },
    Down { node: usize },
    Local { from: usize, to: usize },
    Global { group: usize, port: usize },
}

/// The largest number of groups, and of routers per group, in a picture.
const MOST_LINES: usize = 8;

impl Dragonfly {
    pub(super) fn read(section: &Section) -> Result<Self> {
        let nodes_per_router = section.count("nodes_per_router")?;
        let routers_per_group = section.count("routers_per_group")?;
        let global_links_per_router = section.count("global_links_per_router")?;
        let global = GlobalPorts::read(section, routers_per_group, global_links_per_router)?;
        let dragonfly = Self { nodes_per_router, routers_per_group, global };
        check_size(section, "routers_per_group", dragonfly.nodes(), dragonfly.links())?;
        Ok(dragonfly)
    }

    fn routers(&self) -> usize {
        self.routers_per_group.saturating_mul(self.global.groups)
    }

    /// The first local link, and the first global link.
    fn firsts(&self) -> (usize, usize) {
        let local = self.nodes().saturating_mul(2);
        (local, local.saturating_add(self.routers().saturating_mul(self.routers_per_group - 1)))
    }

    fn place(&self, link: usize) -> Place {
        let (local, global) = self.firsts();
        if link < local {
            let node = link / 2;
            return if link.is_multiple_of(2) { Place::Up { node } } else { Place::Down { node } };
        }
        if link < global {
            let others = self.routers_per_group - 1;
            let (from, other) = ((link - local) / others, (link - local) % others);
            let within = from % self.routers_per_group;
            return Place::Local { from, to: from - within + other + usize::from(other >= within) };
        }
        Place::Global { group: (link - global) / self.global.count(), port: (link - global) % self.global.count() }
    }

    fn local(&self, from: usize, to: usize) -> usize {
        let other = to % self.routers_per_group - usize::from(to > from);
        self.firsts().0 + from * (self.routers_per_group - 1) + other
    }

    fn global(&self, group: usize, port: usize) -> usize {
        self.firsts().1 + group * self.global.count() + port
    }

    /// The port by which a route from router `from` to `node`, at router `to` of another group, leaves its group.
    fn port(&self, from: usize, to: usize, node: usize) -> usize {
        let size = self.routers_per_group;
        let group = from / size;
        let locals = |port: &usize| {
            let [leaving, arriving] = self.global.ends(group, *port);
            usize::from(leaving != from % size) + usize::from(arriving != to % size)
        };
        let ports = || self.global.leading(group, to / size);
        let least = ports().map(|port| locals(&port)).min();
        let nearest: Vec<_> = ports().filter(|port| Some(locals(port)) == least).collect();
        nearest[node % nearest.len()]
    }

    /// Appends the links from one router to another, on the way to a node.
    fn cross(&self, from: usize, to: usize, node: usize, hops: &mut Vec<Hop>) {
        let size = self.routers_per_group;
        let local = |hops: &mut Vec<Hop>, from: usize, to: usize, channel| {
            if from != to {
                hops.push(Hop { link: self.local(from, to) as u32, channel });
            }
        };
        let (group, other) = (from / size, to / size);
        if group == other {
            return local(hops, from, to, 0);
        }
        let port = self.port(from, to, node);
        let [leaving, arriving] = self.global.ends(group, port);
        local(hops, from, group * size + leaving, 0);
        hops.push(Hop { link: self.global(group, port) as u32, channel: 0 });
        local(hops, other * size + arriving, to, 1);
    }

    /// Numbers of pairs of routers, in one group and another, whose routes take 1, 2 and 3 links.
    fn pairs(&self, group: usize, other: usize) -> [usize; 3] {
        let links: BTreeSet<_> = self.global.leading(group, other).map(|port| self.global.ends(group, port)).collect();
        let leaving: BTreeSet<_> = links.iter().map(|ends| ends[0]).collect();
        let arriving: BTreeSet<_> = links.iter().map(|ends| ends[1]).collect();
        let size = self.routers_per_group;
        let (leaving, arriving) = (leaving.len(), arriving.len());
        let far = (size - leaving) * (size - arriving);
        [links.len(), size * size - far - links.len(), far]
    }

    /// Numbers of pairs of distinct nodes whose routes take 0, 1, 2 and 3 links between routers.
    fn node_pairs(&self) -> [usize; 4] {
        let (nodes, routers) = (self.nodes_per_router, self.routers());
        let mut pairs = [routers * nodes * (nodes - 1), routers * (self.routers_per_group - 1) * nodes * nodes, 0, 0];
        let (unlike, alike) = self.global.unlike();
        for group in unlike {
            for other in (0..self.global.groups).filter(|other| *other != group) {
                for (links, count) in self.pairs(group, other).into_iter().enumerate() {
                    pairs[links + 1] += alike * count * nodes * nodes;
                }
            }
        }
        pairs
    }

    fn router_name(&self, router: usize) -> String {
        format!("router {}.{}", router / self.routers_per_group, router % self.routers_per_group)
    }

    /// A line for a router: its nodes, and the groups to which its global links lead.
    fn row(&self, router: usize, label: &dyn Fn(usize) -> String) -> String {
        let size = self.routers_per_group;
        let (nodes, links) = (self.nodes_per_router, self.global.per_switch);
        let (group, first) = (router / size, router % size * links);
        let nodes = items(router * nodes..(router + 1) * nodes, label);
        let ports = first.min(self.global.count())..(first + links).min(self.global.count());
        let groups = items(ports, |port| self.global.other(group, port).to_string());
        let groups = if groups.is_empty() { groups } else { format!(" ─ to groups {groups}") };
        format!("{} ─ {nodes}{groups}\n", self.router_name(router))
    }
}

impl Topology for Dragonfly {
    fn nodes(&self) -> usize {
        self.routers().saturating_mul(self.nodes_per_router)
    }

    fn vertices(&self) -> usize {
        self.nodes() + self.routers()
    }

    fn links(&self) -> usize {
        self.firsts().1.saturating_add(self.global.groups.saturating_mul(self.global.count()))
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        let (nodes, size) = (self.nodes(), self.routers_per_group);
        match self.place(link) {
            Place::Up { node } => (node, nodes + node / self.nodes_per_router),
            Place::Down { node } => (nodes + node / self.nodes_per_router, node),
            Place::Local { from, to } => (nodes + from, nodes + to),
            Place::Global { group, port } => {
                let [from, to] = self.global.ends(group, port);
                (nodes + group * size + from, nodes + self.global.other(group, port) * size + to)
            }
        }
    }

    fn kinds(&self) -> (usize, &'static str) {
        (3, "kind: links of nodes, local links, global links")
    }

    fn kind_of(&self, link: usize) -> usize {
        match self.place(link) {
            Place::Up { .. } | Place::Down { .. } => 0,
            Place::Local { .. } => 1,
            Place::Global { .. } => 2,
        }
    }

    fn link_name(&self, link: usize) -> String {
        match self.place(link) {
            Place::Up { node } => format!("up from node {node}"),
            Place::Down { node } => format!("down to node {node}"),
            Place::Local { from, to } => {
                format!("local {} from {}", to % self.routers_per_group, self.router_name(from))
            }
            Place::Global { group, port } => {
                let router = group * self.routers_per_group + self.global.switch_of(port);
                format!("global {port} from {}", self.router_name(router))
            }
        }
    }

    fn vertex_name(&self, vertex: usize) -> String {
        match vertex.checked_sub(self.nodes()) {
            None => format!("node {vertex}"),
            Some(router) => self.router_name(router),
        }
    }

    /// The links of each group are a row.
    fn spot(&self, link: usize) -> Spot {
        let size = self.routers_per_group;
        let in_group = size * self.nodes_per_router;
        let (panel, column, row, columns) = match self.place(link) {
            Place::Up { node } => ("up from nodes", node % in_group, node / in_group, "node of the group"),
            Place::Down { node } => ("down to nodes", node % in_group, node / in_group, "node of the group"),
            Place::Local { from, to } => {
                let others = from % size * (size - 1) + to % size - usize::from(to > from);
                ("local", others, from / size, "pair of routers of the group")
            }
            Place::Global { group, port } => ("global", port, group, "global link of the group"),
        };
        Spot { panel: panel.to_owned(), place: String::new(), column, row, axes: [columns, "group"] }
    }

    /// The nodes lie on a circle, with gaps between groups; the routers lie in front of their nodes.
    fn position(&self, vertex: usize) -> [f64; 2] {
        let (nodes, in_group) = (self.nodes_per_router, self.routers_per_group * self.nodes_per_router);
        let (group, within, out) = match vertex.checked_sub(self.nodes()) {
            None => (vertex / in_group, 2 * (vertex % in_group), 0.6),
            Some(router) => {
                (router / self.routers_per_group, 2 * (router % self.routers_per_group) * nodes + nodes - 1, 0.3)
            }
        };
        let room = 2 * in_group + 2;
        on_circle(group * room + within, self.global.groups * room).map(|place| place * out)
    }

    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
        if from != to {
            hops.push(Hop { link: 2 * from as u32, channel: 0 });
            self.cross(from / self.nodes_per_router, to / self.nodes_per_router, to, hops);
            hops.push(Hop { link: 2 * to as u32 + 1, channel: 0 });
        }
    }

    fn channels(&self) -> usize {
        2
    }

    /// A global link is longer than the local links before and after it, so that no shortest way has two.
    fn length_of(&self, link: usize) -> u16 {
        if self.kind_of(link) == 2 { 3 } else { 1 }
    }

    /// The routers of each group.
    fn middles(&self) -> Vec<Range<usize>> {
        let (nodes, size) = (self.nodes(), self.routers_per_group);
        (0..self.global.groups).map(|group| nodes + group * size..nodes + (group + 1) * size).collect()
    }

    fn longest_route(&self) -> usize {
        self.node_pairs().iter().rposition(|pairs| *pairs > 0).map_or(0, |links| links + 2)
    }

    /// Two links between nodes and routers, and the links between routers.
    fn mean_route(&self) -> f64 {
        let pairs = self.node_pairs();
        let links: usize = pairs.iter().enumerate().map(|(links, pairs)| (links + 2) * pairs).sum();
        links as f64 / pairs.iter().sum::<usize>().max(1) as f64
    }

    /// The first half of the groups.
    fn halves(&self) -> Vec<Half<'_>> {
        let group_of = |vertex: usize| match vertex.checked_sub(self.nodes()) {
            None => vertex / self.nodes_per_router / self.routers_per_group,
            Some(router) => router / self.routers_per_group,
        };
        vec![Box::new(move |vertex| group_of(vertex) < self.global.groups / 2)]
    }

    fn picture(&self, label: &dyn Fn(usize) -> String) -> String {
        let size = self.routers_per_group;
        lines(self.global.groups, MOST_LINES, |group| {
            let routers = lines(size, MOST_LINES, |router| format!("  {}", self.row(group * size + router, label)));
            format!("group {group}\n{routers}")
        })
    }
}

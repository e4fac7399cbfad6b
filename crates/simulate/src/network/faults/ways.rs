//! Ways around links that are down.
//!
//! A message takes the topology's route if all its links are up when it leaves, else a shortest way over links that are
//! up. If there is none, it takes a way over links that will be up again, in the same manner, and waits. A shortest way
//! is the first one that a breadth-first search finds, which follows the links of a vertex in the order of their
//! numbers. It passes through no other node if the topology has switches.
//!
//! Where all vertices are nodes, a way around consists of routes of the topology, each as long as possible and with its
//! virtual channels. Elsewhere it uses channel 0. This is not free of deadlock: a way turns as no route turns, and goes
//! farther along a ring.

use std::collections::VecDeque;

use hocket_machine::{AnyTopology, Hop};

use super::super::{Fabric, Flight};
use super::{Faults, Stuck};

/// Finds ways from node to node, and keeps the first message that waits for ever.
pub struct Ways<'a> {
    topology: &'a AnyTopology,
    faults: &'a Faults,
    /// The links out of each vertex.
    out: Vec<Vec<u32>>,
    /// The link over which the search has reached each vertex, and in which search.
    reached: Vec<(u32, u32)>,
    search: u32,
    stuck: Option<Stuck>,
}

impl<'a> Ways<'a> {
    /// None without faults.
    pub fn new(fabric: &'a Fabric) -> Option<Self> {
        let Fabric { topology, faults, .. } = fabric;
        if faults.is_empty() {
            return None;
        }
        let mut out = vec![Vec::new(); topology.vertices()];
        for link in 0..topology.links() {
            out[topology.ends(link).0].push(link as u32);
        }
        Some(Self { topology, faults, reached: vec![(0, 0); out.len()], out, search: 0, stuck: None })
    }

    /// A message leaves: changes its route, which is the topology's, unless all links are up. Returns false if the
    /// message waits for ever.
    pub fn find(&mut self, now_s: f64, flight: &Flight, route: &mut Vec<Hop>) -> bool {
        let Self { faults, .. } = *self;
        let Flight { from, to, .. } = *flight;
        let lost_link = |hop: &Hop| faults.is_lost(hop.link, now_s).then_some(hop.link);
        let lost_link = route.iter().find_map(lost_link);
        let is_there = route.iter().all(|hop| faults.is_up(hop.link, now_s))
            || self.search([from, to], &|link| faults.is_up(link, now_s), route)
            || lost_link.is_none()
            || self.search([from, to], &|link| !faults.is_lost(link, now_s), route);
        if let Some(link) = lost_link.filter(|_| !is_there) {
            self.stop(flight, link, now_s);
        }
        is_there
    }

    /// A message waits for ever for a link.
    pub fn stop(&mut self, flight: &Flight, link: u32, since_s: f64) {
        let Flight { ranks, bytes, .. } = *flight;
        self.stuck.get_or_insert(Stuck { ranks, bytes, link, since_s });
    }

    /// One line about the first message that waits for ever.
    pub fn stuck(&self) -> Option<String> {
        self.stuck.map(|stuck| stuck.sentence(self.faults, self.topology))
    }

    /// Replaces the route by a shortest way over usable links. Returns whether there is one.
    fn search(&mut self, [from, to]: [usize; 2], is_usable: &dyn Fn(u32) -> bool, route: &mut Vec<Hop>) -> bool {
        let has_switches = self.topology.vertices() > self.topology.nodes();
        self.search += 1;
        self.reached[from].1 = self.search;
        let mut next = VecDeque::from([from]);
        while let Some(vertex) = next.pop_front().filter(|_| self.reached[to].1 != self.search) {
            if has_switches && vertex != from && vertex < self.topology.nodes() {
                continue;
            }
            for link in self.out[vertex].iter().copied().filter(|link| is_usable(*link)) {
                let end = self.topology.ends(link as usize).1;
                if self.reached[end].1 != self.search {
                    self.reached[end] = (link, self.search);
                    next.push_back(end);
                }
            }
        }
        if self.reached[to].1 != self.search {
            return false;
        }
        route.clear();
        let mut vertex = to;
        while vertex != from {
            let link = self.reached[vertex].0;
            route.push(Hop { link, channel: 0 });
            vertex = self.topology.ends(link as usize).0;
        }
        route.reverse();
        if !has_switches {
            self.give_channels(route);
        }
        true
    }

    /// Takes virtual channels from the routes of which a way consists.
    fn give_channels(&self, way: &mut [Hop]) {
        let mut own = Vec::new();
        let mut first = 0;
        while first < way.len() {
            let from = self.topology.ends(way[first].link as usize).0;
            let is_own = |piece: &[Hop], own: &mut Vec<Hop>| {
                own.clear();
                self.topology.route(from, self.topology.ends(piece[piece.len() - 1].link as usize).1, own);
                own.iter().map(|hop| hop.link).eq(piece.iter().map(|hop| hop.link))
            };
            let end = (first + 1..=way.len()).rev().find(|end| is_own(&way[first..*end], &mut own));
            if let Some(end) = end {
                way[first..end].copy_from_slice(&own);
            }
            first = end.unwrap_or(first + 1);
        }
    }
}

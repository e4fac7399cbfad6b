//! Crossbar: all nodes at one non-blocking switch.
//!
//! Keys: `nodes` (their number).
//!
//! Node n has link 2 n up to the switch and link 2 n + 1 down from it; a route takes one of each. So messages share a
//! link only if they have the same sender or the same receiver.
//!
//! Source: C. Clos, "A study of non-blocking switching networks", Bell System Technical J. 32 (1953).

use hocket_core::Result;

use super::picture::{ROW, items, on_circle};
use super::{Hop, Spot, Topology, check_size};
use crate::Section;

/// The topology's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossbar {
    nodes: usize,
}

impl Crossbar {
    pub(super) fn read(section: &Section) -> Result<Self> {
        let nodes = section.count("nodes")?;
        check_size(section, "nodes", nodes, nodes.saturating_mul(2))?;
        Ok(Self { nodes })
    }
}

impl Topology for Crossbar {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn vertices(&self) -> usize {
        self.nodes + 1
    }

    fn links(&self) -> usize {
        2 * self.nodes
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        if link.is_multiple_of(2) { (link / 2, self.nodes) } else { (self.nodes, link / 2) }
    }

    fn link_name(&self, link: usize) -> String {
        let direction = if link.is_multiple_of(2) { "up from" } else { "down to" };
        format!("{direction} {}", self.vertex_name(link / 2))
    }

    fn vertex_name(&self, vertex: usize) -> String {
        if vertex < self.nodes { format!("node {vertex}") } else { "switch".to_owned() }
    }

    fn spot(&self, link: usize) -> Spot {
        let panel = if link.is_multiple_of(2) { "up from nodes" } else { "down to nodes" };
        let (node, rows) = (link / 2, if self.nodes > ROW { "32 nodes" } else { "" });
        let (column, row) = (node % ROW, node / ROW);
        Spot { panel: panel.to_owned(), place: String::new(), column, row, axes: ["node", rows] }
    }

    /// A star.
    fn position(&self, vertex: usize) -> [f64; 2] {
        if vertex < self.nodes { on_circle(vertex, self.nodes) } else { [0.0, 0.0] }
    }

    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
        if from != to {
            let links = [2 * from, 2 * to + 1];
            hops.extend(links.map(|link| Hop { link: link as u32, channel: 0 }));
        }
    }

    fn longest_route(&self) -> usize {
        if self.nodes > 1 { 2 } else { 0 }
    }

    fn mean_route(&self) -> f64 {
        self.longest_route() as f64
    }

    /// The up links of one half of the nodes; the switch is on the other side.
    fn bisection(&self) -> Option<usize> {
        self.nodes.is_multiple_of(2).then_some(self.nodes / 2)
    }

    fn picture(&self, label: &dyn Fn(usize) -> String) -> String {
        format!("switch ─ {}\n", items(0..self.nodes, label))
    }
}

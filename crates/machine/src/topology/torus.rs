//! Torus: nodes on a grid of any number of axes, each axis closed to a ring.
//!
//! Keys: `dims` (nodes along each axis, first axis first) or `layout` (how the job lies on it), `tie` = "plus" (a route over exactly half a ring goes in
//! the + direction; the default) or "split" (from even coordinates +, from odd ones -).
//!
//! Node c0 + k0 (c1 + k1 c2 ...) has the coordinates (c0, c1, c2, ...). Every node has a + and a - link along each
//! axis, numbered node by node. Along an axis of one node no route uses them; along an axis of two nodes both lead to
//! the same neighbour. Routes take the axes in order, the shortest way round each.
//!
//! Virtual channels: a packet starts in channel 0 of each ring and changes to channel 1 at the dateline, the link that
//! closes the ring.
//!
//! Source: W. J. Dally, C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
//! Trans. Computers 36 (1987).

use std::cmp::Ordering;

use hocket_core::{Result, Symmetry};

use super::grid::Grid;
use super::picture::on_circle;
use super::{Half, Hop, Layout, Spot, Topology, check_size};
use crate::Section;

/// The topology's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Torus {
    grid: Grid,
    is_split: bool,
    layout: Option<Layout>,
}

impl Torus {
    /// A torus with `tie` = "plus".
    pub fn new(dims: &[usize]) -> Self {
        Self { grid: Grid { dims: dims.to_vec() }, is_split: false, layout: None }
    }

    pub(super) fn read(section: &Section) -> Result<Self> {
        let layout = section.optional_text("layout", Layout::parse)?;
        let (key, dims) = match &layout {
            Some(layout) => {
                section.forbid(&["dims"], "no such key beside network.layout, which has the sizes of the torus")?;
                ("layout", layout.torus())
            }
            None => ("dims", section.sizes("dims")?),
        };
        let grid = Grid { dims };
        check_size(section, key, grid.nodes(), (2 * grid.nodes()).saturating_mul(grid.dims.len()))?;
        Ok(Self { grid, is_split: section.choice("tie", &[("plus", false), ("split", true)])?, layout })
    }

    /// Steps along a ring of `size` nodes, and whether they go in the + direction.
    fn shortest(&self, size: usize, from: usize, to: usize) -> (usize, bool) {
        let ahead = if to >= from { to - from } else { to + size - from };
        let is_plus = match (2 * ahead).cmp(&size) {
            Ordering::Less => true,
            Ordering::Equal => !self.is_split || from.is_multiple_of(2),
            Ordering::Greater => false,
        };
        (if is_plus { ahead } else { size - ahead }, is_plus)
    }

    fn link(&self, node: usize, axis: usize, is_plus: bool) -> usize {
        (node * self.grid.dims.len() + axis) * 2 + usize::from(!is_plus)
    }

    /// Node, axis and direction of a link.
    fn place(&self, link: usize) -> (usize, usize, bool) {
        let axes = self.grid.dims.len();
        (link / 2 / axes, link / 2 % axes, link.is_multiple_of(2))
    }
}

impl Topology for Torus {
    fn nodes(&self) -> usize {
        self.grid.nodes()
    }

    fn links(&self) -> usize {
        2 * self.grid.dims.len() * self.nodes()
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        let (node, axis, is_plus) = self.place(link);
        let axis = self.grid.axis(axis);
        let at = axis.coordinate(node);
        (node, axis.moved(node, at, axis.next(at, is_plus)))
    }

    fn kinds(&self) -> (usize, &'static str) {
        (self.grid.dims.len(), "axis")
    }

    fn kind_of(&self, link: usize) -> usize {
        self.place(link).1
    }

    fn link_name(&self, link: usize) -> String {
        let (node, axis, is_plus) = self.place(link);
        self.grid.link_name(node, axis, is_plus)
    }

    fn spot(&self, link: usize) -> Spot {
        let (node, axis, is_plus) = self.place(link);
        self.grid.spot(node, axis, is_plus)
    }

    fn position(&self, vertex: usize) -> [f64; 2] {
        match self.grid.dims[..] {
            [nodes] => on_circle(vertex, nodes),
            _ => self.grid.position(vertex),
        }
    }

    fn vertex_name(&self, vertex: usize) -> String {
        self.grid.node_name(vertex)
    }

    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
        let mut node = from;
        // Node numbers with the axes so far divided out.
        let (mut from, mut to) = (from, to);
        for (number, axis) in self.grid.axes().enumerate() {
            if from == to {
                break;
            }
            let (mut at, end) = (from % axis.size, to % axis.size);
            (from, to) = (from / axis.size, to / axis.size);
            let (steps, is_plus) = self.shortest(axis.size, at, end);
            let mut channel = 0;
            for _ in 0..steps {
                let next = axis.next(at, is_plus);
                let closes = (next > at) != is_plus;
                channel |= u8::from(closes);
                hops.push(Hop { link: self.link(node, number, is_plus) as u32, channel });
                node = axis.moved(node, at, next);
                at = next;
            }
        }
    }

    fn route_length(&self, mut from: usize, mut to: usize) -> usize {
        let mut length = 0;
        for size in &self.grid.dims {
            if from == to {
                break;
            }
            length += self.shortest(*size, from % size, to % size).0;
            (from, to) = (from / size, to / size);
        }
        length
    }

    fn channels(&self) -> usize {
        2
    }

    /// Half of each ring, rounded down.
    fn longest_route(&self) -> usize {
        self.grid.dims.iter().map(|size| size / 2).sum()
    }

    /// In a ring of k nodes, the distances from a node to all others add up to k^2 / 4, rounded down.
    fn mean_route(&self) -> f64 {
        self.grid.mean(|size| (size * size / 4.0).floor() / size)
    }

    /// A cut across the longest axis meets each of its rings twice.
    fn bisection(&self) -> Option<usize> {
        self.grid.cut().map(|rings| 2 * rings)
    }

    fn halves(&self) -> Vec<Half<'_>> {
        self.grid.halves()
    }

    fn picture(&self, label: &dyn Fn(usize) -> String) -> String {
        self.grid.picture(true, label)
    }

    /// If routes depend on whether coordinates are even, this stays so.
    fn symmetry(&self) -> Option<Symmetry> {
        Symmetry::translation(&self.grid.dims, if self.is_split { 2 } else { 1 })
    }

    fn torus(&self) -> Option<&[usize]> {
        Some(&self.grid.dims)
    }

    fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }
}

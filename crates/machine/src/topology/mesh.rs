//! Mesh: nodes on a grid of any number of axes that end at its borders.
//!
//! Keys: `dims` (nodes along each axis, first axis first).
//!
//! Node c0 + k0 (c1 + k1 c2 ...) has the coordinates (c0, c1, c2, ...). Neighbours have a link each way. Links are
//! numbered axis by axis, in the order of the lower nodes; the - link of a pair follows its + link. Routes take the
//! axes in order, so one virtual channel is enough: no axis waits for an earlier one, and nothing waits in a circle
//! along an axis.
//!
//! Source: W. J. Dally, C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", IEEE
//! Trans. Computers 36 (1987).

use hocket_core::Result;

use super::grid::{Axis, Grid};
use super::{Half, Hop, Spot, Topology, check_size};
use crate::Section;

/// The topology's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    grid: Grid,
}

/// A pair of neighbours along an axis.
struct Pair {
    /// The node with the smaller coordinate.
    low: usize,
    /// The node with the larger coordinate.
    high: usize,
    /// Their axis.
    axis: usize,
}

impl Mesh {
    pub(super) fn read(section: &Section) -> Result<Self> {
        let grid = Grid { dims: section.sizes("dims")? };
        check_size(section, "dims", grid.nodes(), (2 * grid.nodes()).saturating_mul(grid.dims.len()))?;
        Ok(Self { grid })
    }

    /// Number of pairs of neighbours along an axis.
    fn pairs(&self, axis: Axis) -> usize {
        self.nodes() / axis.size * (axis.size - 1)
    }

    /// The index of the pair with this lower node among the pairs along its axis.
    fn position(axis: Axis, low: usize) -> usize {
        low - low / (axis.stride * axis.size) * axis.stride
    }

    fn pair(&self, link: usize) -> Pair {
        let mut position = link / 2;
        for (number, axis) in self.grid.axes().enumerate() {
            if position < self.pairs(axis) {
                let low = position + position / (axis.stride * (axis.size - 1)) * axis.stride;
                return Pair { low, high: low + axis.stride, axis: number };
            }
            position -= self.pairs(axis);
        }
        unreachable!("links are numbered below {}, got {link}", self.links())
    }
}

impl Topology for Mesh {
    fn nodes(&self) -> usize {
        self.grid.nodes()
    }

    fn links(&self) -> usize {
        2 * self.grid.axes().map(|axis| self.pairs(axis)).sum::<usize>()
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        let Pair { low, high, .. } = self.pair(link);
        if link.is_multiple_of(2) { (low, high) } else { (high, low) }
    }

    fn kinds(&self) -> (usize, &'static str) {
        (self.grid.dims.len(), "axis")
    }

    fn kind_of(&self, link: usize) -> usize {
        self.pair(link).axis
    }

    fn link_name(&self, link: usize) -> String {
        self.grid.link_name(self.ends(link).0, self.pair(link).axis, link.is_multiple_of(2))
    }

    fn spot(&self, link: usize) -> Spot {
        self.grid.spot(self.ends(link).0, self.pair(link).axis, link.is_multiple_of(2))
    }

    fn position(&self, vertex: usize) -> [f64; 2] {
        self.grid.position(vertex)
    }

    fn vertex_name(&self, vertex: usize) -> String {
        self.grid.node_name(vertex)
    }

    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
        let (mut node, mut first) = (from, 0);
        for axis in self.grid.axes() {
            let (at, goal) = (axis.coordinate(from), axis.coordinate(to));
            for _ in at..goal {
                hops.push(Hop { link: first + 2 * Self::position(axis, node) as u32, channel: 0 });
                node += axis.stride;
            }
            for _ in goal..at {
                node -= axis.stride;
                hops.push(Hop { link: first + 2 * Self::position(axis, node) as u32 + 1, channel: 0 });
            }
            first += 2 * self.pairs(axis) as u32;
        }
    }

    /// From one corner to the opposite one.
    fn longest_route(&self) -> usize {
        self.grid.dims.iter().map(|size| size - 1).sum()
    }

    /// The mean of |i - j| over all i and j below k is (k^2 - 1) / 3k.
    fn mean_route(&self) -> f64 {
        self.grid.mean(|size| (size * size - 1.0) / (3.0 * size))
    }

    /// A cut across the longest axis.
    fn bisection(&self) -> Option<usize> {
        self.grid.cut()
    }

    fn halves(&self) -> Vec<Half<'_>> {
        self.grid.halves()
    }

    fn picture(&self, label: &dyn Fn(usize) -> String) -> String {
        self.grid.picture(false, label)
    }
}

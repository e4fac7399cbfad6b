//! Torus: nodes on a grid of any number of axes, each axis closed to a ring.
//!
//! Keys: `dims` (nodes along each axis, first axis first), `tie` = "plus" (a distance of exactly half a ring is gone in
//! the + direction; the default) or "split" (from even coordinates +, from odd ones -).
//! Node c0 + k0 (c1 + k1 c2 ...) has the coordinates (c0, c1, c2, ...). Routes take the axes in order, the shortest way
//! round each. Every node has a + and a - link along each axis; along an axis of one node nobody uses them, and of two
//! nodes the + and the - link of a node lead to the same neighbour.
//!
//! Virtual channels (W. J. Dally, C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection
//! networks", IEEE Trans. Computers 36, 1987): a packet starts in channel 0 of each ring and changes to channel 1 at the
//! dateline, the link that closes the ring.

use hocket_core::Result;

use super::{Hop, Topology};
use crate::Section;

/// The topology's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Torus {
    dims: Vec<usize>,
    is_split: bool,
}

/// Names of the first axes in links; others are numbered.
const AXES: [&str; 3] = ["x", "y", "z"];

impl Torus {
    /// A torus on which ties are gone in the + direction.
    pub fn new(dims: &[usize]) -> Self {
        Self { dims: dims.to_vec(), is_split: false }
    }

    pub(super) fn read(section: &Section) -> Result<Self> {
        let dims = section.sizes("dims")?;
        Ok(Self { dims, is_split: section.choice("tie", &[("plus", false), ("split", true)])? })
    }

    /// Steps along a ring of `size` nodes, and whether they go in the + direction.
    fn shortest(&self, size: usize, from: usize, to: usize) -> (usize, bool) {
        let ahead = (to + size - from) % size;
        let is_plus = match (2 * ahead).cmp(&size) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => !self.is_split || from.is_multiple_of(2),
            std::cmp::Ordering::Greater => false,
        };
        (if is_plus { ahead } else { size - ahead }, is_plus)
    }

    fn link(&self, node: usize, axis: usize, is_plus: bool) -> usize {
        (node * self.dims.len() + axis) * 2 + usize::from(!is_plus)
    }

    /// Node, axis and direction of a link.
    fn place(&self, link: usize) -> (usize, usize, bool) {
        (link / 2 / self.dims.len(), link / 2 % self.dims.len(), link.is_multiple_of(2))
    }

    /// Distance of the numbers of neighbours along an axis.
    fn stride(&self, axis: usize) -> usize {
        self.dims[..axis].iter().product()
    }

    fn neighbour(&self, node: usize, axis: usize, is_plus: bool) -> usize {
        let (size, stride) = (self.dims[axis], self.stride(axis));
        let at = node / stride % size;
        let next = if is_plus { (at + 1) % size } else { (at + size - 1) % size };
        node - at * stride + next * stride
    }
}

impl Topology for Torus {
    fn nodes(&self) -> usize {
        self.dims.iter().product()
    }

    fn links(&self) -> usize {
        2 * self.dims.len() * self.nodes()
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        let (node, axis, is_plus) = self.place(link);
        (node, self.neighbour(node, axis, is_plus))
    }

    fn link_name(&self, link: usize) -> String {
        let (node, axis, is_plus) = self.place(link);
        let axis = AXES.get(axis).map_or_else(|| format!("axis {axis}"), |name| (*name).to_owned());
        format!("{}{axis} from {}", if is_plus { '+' } else { '-' }, self.vertex_name(node))
    }

    fn vertex_name(&self, vertex: usize) -> String {
        let mut rest = vertex;
        let mut coordinates = Vec::new();
        for size in &self.dims {
            coordinates.push((rest % size).to_string());
            rest /= size;
        }
        format!("({})", coordinates.join(","))
    }

    fn route(&self, from: usize, to: usize, hops: &mut Vec<Hop>) {
        let (mut node, mut stride) = (from, 1);
        for (axis, size) in self.dims.iter().enumerate() {
            let (mut at, goal) = (from / stride % size, to / stride % size);
            let (steps, is_plus) = self.shortest(*size, at, goal);
            let mut channel = 0;
            for _ in 0..steps {
                let closes = at == if is_plus { size - 1 } else { 0 };
                channel |= u8::from(closes);
                hops.push(Hop { link: self.link(node, axis, is_plus) as u32, channel });
                let next = if !is_plus { (at + size - 1) % size } else { (at + 1) % size };
                node = node - at * stride + next * stride;
                at = next;
            }
            stride *= size;
        }
    }

    fn channels(&self) -> usize {
        2
    }

    fn torus(&self) -> Option<&[usize]> {
        Some(&self.dims)
    }
}

//! The shape of a torus as algorithms see it, and the three trees of Trinaryx3.

use hocket_core::{Buffer, Call, Parameter, Span, Unit};

use crate::about::{SEGMENT, needs_commutative};
use crate::pattern::Segments;
use crate::pipeline::Place;

/// Ranks along the first axis.
pub const X: Parameter =
    size("X", &[2, 4], "ranks along x: X * Y * Z = P; 0 for all three: the machine's torus, or nearly a cube");
/// Ranks along the second axis.
pub const Y: Parameter = size("Y", &[2, 3], "ranks along y");
/// Ranks along the third axis.
pub const Z: Parameter = size("Z", &[3], "ranks along z");

const fn size(name: &'static str, tries: &'static [u64], meaning: &'static str) -> Parameter {
    Parameter { name, unit: Unit::Count, default: 0, least: 0, tries, meaning }
}

/// A torus of X x Y x Z ranks; rank = x + X (y + Y z). Drawn for 4 x 2 x 1.
///
/// ```text
///    ┌─ 4 ── 5 ── 6 ── 7 ─┐     y = 1: along x round the ring, and to y = 0
///    ┌─ 0 ── 1 ── 2 ── 3 ─┐     y = 0
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus {
    /// X, Y and Z.
    pub sizes: [usize; 3],
}

impl Torus {
    /// The torus that a call names, or one near a cube when it names none. An axis of 0 counts as 1 beside others.
    pub fn of(c: &Call) -> Self {
        let given = [X, Y, Z].map(|size| c.parameter(size.name) as usize);
        if given == [0; 3] { Self::near_cube(c.ranks) } else { Self { sizes: given.map(|size| size.max(1)) } }
    }

    /// The torus X >= Y >= Z of so many ranks with the least X + Y + Z; of several, that with the least X.
    pub fn near_cube(ranks: usize) -> Self {
        let divisors = |of: usize| (1..=of).take_while(move |d| d * d <= of).filter(move |d| of.is_multiple_of(*d));
        let shapes = divisors(ranks).flat_map(|z| {
            let of_layer = divisors(ranks / z).filter(move |y| *y >= z);
            of_layer.map(move |y| [ranks / z / y, y, z])
        });
        let sizes = shapes.min_by_key(|[x, y, z]| (x + y + z, *x));
        Self { sizes: sizes.expect("1 divides every number of ranks") }
    }

    /// The axes along which there is more than one rank.
    pub fn axes(self) -> impl Iterator<Item = usize> + Clone {
        (0..3).filter(move |axis| self.sizes[*axis] > 1)
    }

    /// Where a rank is.
    pub fn coordinates(&self, rank: usize) -> [usize; 3] {
        let [x, y, _] = self.sizes;
        [rank % x, rank / x % y, rank / x / y]
    }

    /// The parts of a vector for one of which each direction of each axis is the first to be used.
    pub fn ports(self) -> impl Iterator<Item = Port> {
        let axes: Vec<_> = self.axes().collect();
        let count = axes.len();
        (0..2 * count).map(move |part| {
            let order = (0..count).map(|i| axes[(part / 2 + i) % count]).collect();
            Port { torus: self, is_mirrored: part % 2 == 1, order }
        })
    }

    /// The rank at these coordinates.
    pub fn rank(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.sizes[0] * (y + self.sizes[1] * z)
    }
}

/// One of several parts of an algorithm that keep all links of a torus busy: the order in which it uses the axes, and
/// whether it does in the opposite direction, as if the coordinates were counted from 0 down.
///
/// ```text
/// X x Y x Z    port 0: +x +y +z    port 2: +y +z +x    port 4: +z +x +y
///              port 1: -x -y -z    port 3: -y -z -x    port 5: -z -x -y
/// ```
pub struct Port {
    /// The torus.
    pub torus: Torus,
    /// The axes of more than one rank, in order.
    pub order: Vec<usize>,
    is_mirrored: bool,
}

impl Port {
    /// The coordinate of a rank along an axis, in the port's direction.
    pub fn coordinate(&self, rank: usize, axis: usize) -> usize {
        self.mirrored(self.torus.coordinates(rank)[axis], axis)
    }

    /// The rank that differs from `rank` in this coordinate only.
    pub fn moved(&self, rank: usize, axis: usize, coordinate: usize) -> usize {
        let mut at = self.torus.coordinates(rank);
        at[axis] = self.mirrored(coordinate, axis);
        self.torus.rank(at)
    }

    fn mirrored(&self, coordinate: usize, axis: usize) -> usize {
        let size = self.torus.sizes[axis];
        if self.is_mirrored { (size - coordinate) % size } else { coordinate }
    }
}

/// The ports that have a part of the message: all, unless there are fewer elements.
pub fn ports(c: &Call) -> Vec<Port> {
    Torus::of(c).ports().take(c.count(0).max(1)).collect()
}

/// The precondition of algorithms for tori.
pub fn needs_torus(c: &Call) -> Option<&'static str> {
    let ranks = Torus::of(c).sizes.iter().try_fold(1_usize, |ranks, size| ranks.checked_mul(*size));
    (ranks != Some(c.ranks)).then_some("needs X * Y * Z = P")
}

/// The precondition of reductions on tori.
pub fn needs_torus_and_commutative(c: &Call) -> Option<&'static str> {
    needs_torus(c).or_else(|| needs_commutative(c))
}

/// One of the trees of Trinaryx3, seen in coordinates (a, b, c) counted from the root in the order of the tree's axes. They
/// lead from the root along +a, from each rank so reached along +b, from all of those along +c, never round the ring. Ranks
/// with the root's a are reached last, round the ring, from their neighbours along +a. Drawn for 3 x 3 x 1.
///
/// ```text
/// b = 2    (0,2)      (1,2)      (2,2) ─▶ round the ring to (0,2)
///                       ▲          ▲
/// b = 1    (0,1)      (1,1)      (2,1) ─▶ round the ring to (0,1)
///                       ▲          ▲
/// b = 0    (0,0) ───▶ (1,0) ───▶ (2,0)
/// ```
///
/// The axis orders (x, y, z), (y, z, x), (z, x, y) give trees that share no directed link, all of the same height,
/// X + Y + Z - 2. An order that begins with an axis of one rank has no tree, so fewer axes give fewer trees.
///
/// Source: the edge-disjoint trees of "MPI Allreduceの「京」上での実装と評価" (see the trinaryx3 page of the docs).
#[derive(Clone, Copy, Debug)]
pub struct TorusTree {
    torus: Torus,
    root: [usize; 3],
    /// The axes a, b, c.
    order: [usize; 3],
}

impl TorusTree {
    /// All trees rooted at `root`.
    pub fn all(torus: Torus, root: usize) -> impl Iterator<Item = Self> + Clone {
        let root = torus.coordinates(root);
        torus.axes().map(move |a| Self { torus, root, order: [a, (a + 1) % 3, (a + 2) % 3] })
    }

    /// The parent of a rank and its children, by increasing height, which differs between siblings.
    pub fn place(&self, rank: usize) -> Place {
        let at = self.relative(rank);
        let mut children: Vec<_> = self.children(at).into_iter().flatten().collect();
        children.sort_by_key(|child| self.height(*child));
        Place {
            parent: self.parent(at).map(|parent| self.rank_at(parent)),
            children: children.into_iter().map(|child| self.rank_at(child)).collect(),
        }
    }

    fn sizes(&self) -> [usize; 3] {
        self.order.map(|axis| self.torus.sizes[axis])
    }

    fn relative(&self, rank: usize) -> [usize; 3] {
        let (sizes, at) = (self.torus.sizes, self.torus.coordinates(rank));
        self.order.map(|axis| (at[axis] + sizes[axis] - self.root[axis]) % sizes[axis])
    }

    fn rank_at(&self, at: [usize; 3]) -> usize {
        let mut coordinates = self.root;
        for (axis, distance) in self.order.into_iter().zip(at) {
            coordinates[axis] = (coordinates[axis] + distance) % self.torus.sizes[axis];
        }
        self.torus.rank(coordinates)
    }

    fn parent(&self, at: [usize; 3]) -> Option<[usize; 3]> {
        match at {
            [0, 0, 0] => None,
            [0, b, c] => Some([self.sizes()[0] - 1, b, c]),
            [a, 0, 0] => Some([a - 1, 0, 0]),
            [a, b, 0] => Some([a, b - 1, 0]),
            [a, b, c] => Some([a, b, c - 1]),
        }
    }

    /// The children along a, b and c.
    fn children(&self, at: [usize; 3]) -> [Option<[usize; 3]>; 3] {
        let [ends_a, ends_b, ends_c] = self.sizes();
        let [a, b, c] = at;
        let is_on_axis = b == 0 && c == 0;
        let along_a = if is_on_axis { a + 1 < ends_a } else { a + 1 == ends_a };
        [
            along_a.then_some([(a + 1) % ends_a, b, c]),
            (a > 0 && c == 0 && b + 1 < ends_b).then_some([a, b + 1, c]),
            (a > 0 && c + 1 < ends_c).then_some([a, b, c + 1]),
        ]
    }

    /// Links from here to the farthest leaf.
    fn height(&self, at: [usize; 3]) -> usize {
        let [size_a, size_b, size_c] = self.sizes();
        let round_the_ring = usize::from(at[0] + 1 == size_a);
        match at {
            [a, 0, 0] => {
                let has_others = size_b * size_c > 1;
                (size_a - 1 - a) + (size_b - 1) + (size_c - 1) + usize::from(has_others)
            }
            [0, _, _] => 0,
            [_, b, 0] => (size_b - 1 - b) + (size_c - 1) + round_the_ring,
            [_, _, c] => (size_c - 1 - c) + round_the_ring,
        }
    }

    /// The most children that any rank has.
    fn most_children(&self) -> usize {
        let [size_a, size_b, size_c] = self.sizes();
        let rich = [[0, 0, 0], [1, 0, 0], [size_a - 1, 1.min(size_b - 1), 0], [size_a - 1, 0, 1.min(size_c - 1)]];
        rich.map(|at| self.children(at).iter().flatten().count()).into_iter().max().unwrap_or(0)
    }
}

/// The place of `rank` in each tree that carries a part of the message: all trees, unless there are fewer elements.
pub fn places(c: &Call, root: usize, rank: usize) -> Vec<Place> {
    let torus = Torus::of(c);
    TorusTree::all(torus, root).take(parts(c, torus)).map(|tree| tree.place(rank)).collect()
}

/// The most children that a rank has in all trees together, which share no link: one along each axis.
pub fn children(c: &Call) -> usize {
    Torus::of(c).axes().count()
}

fn parts(c: &Call, torus: Torus) -> usize {
    torus.axes().count().min(c.count(0).max(1))
}

/// X, Y and Z, as they are used.
pub fn sizes(c: &Call) -> Vec<(&'static str, u64)> {
    [X, Y, Z].iter().zip(Torus::of(c).sizes).map(|(axis, size)| (axis.name, size as u64)).collect()
}

/// X, Y and Z, and the `parts` of the message, one per port, with the bytes of the `largest` when all ranks have equally
/// many of its elements.
pub fn sizes_and_ports(c: &Call) -> Vec<(&'static str, u64)> {
    let parts = ports(c).len();
    let largest = c.count(0).div_ceil(parts.max(1)).next_multiple_of(c.ranks) * c.element_bytes;
    let values = [("parts", parts as u64), ("largest", largest as u64)];
    sizes(c).into_iter().chain(values).collect()
}

/// Whether all ranks have equally many elements of each port's part.
pub fn ports_and_ranks_divide_count(c: &Call) -> bool {
    c.count(0).is_multiple_of(ports(c).len().max(1) * c.ranks)
}

/// X, Y and Z, and what the formulas of trees are made of: their `height`, the most `children` of a rank in one tree, the
/// `segments` of the longest part and `all_segments` of all parts, and the bytes of the `largest` segment.
pub fn sizes_and_trees(c: &Call) -> Vec<(&'static str, u64)> {
    let torus = Torus::of(c);
    let trees = TorusTree::all(torus, 0);
    let message = Span::new(Buffer::Result, c.count(0));
    let parts = parts(c, torus).max(1);
    let segments = |part| Segments::new(c, message.chunk(part, parts));
    let values = [
        ("height", trees.clone().next().map_or(0, |tree| tree.height([0; 3]))),
        ("children", trees.map(|tree| tree.most_children()).max().unwrap_or(0)),
        ("segments", segments(0).count()),
        ("all_segments", (0..parts).map(|part| segments(part).count()).sum()),
        ("largest", segments(0).get(0).len * c.element_bytes),
    ];
    sizes(c).into_iter().chain(values.map(|(name, value)| (name, value as u64))).collect()
}

/// Whether all segments of all parts have the same number of elements, and there is more than one rank.
pub fn has_equal_parts(c: &Call) -> bool {
    let parts = parts(c, Torus::of(c));
    if parts == 0 || !c.count(0).is_multiple_of(parts) {
        return false;
    }
    let (bytes, segment) = ((c.count(0) / parts * c.element_bytes) as u64, c.parameter(SEGMENT.name));
    bytes <= segment || bytes.is_multiple_of(segment)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn shapes(sizes: impl Iterator<Item = usize> + Clone) -> impl Iterator<Item = Torus> {
        let sizes: Vec<_> = sizes.collect();
        let pairs: Vec<_> = sizes.iter().flat_map(|x| sizes.iter().map(|y| (*x, *y))).collect();
        pairs.into_iter().flat_map(move |(x, y)| sizes.clone().into_iter().map(move |z| Torus { sizes: [x, y, z] }))
    }

    fn ranks(torus: Torus) -> usize {
        torus.sizes.iter().product()
    }

    /// The link that leads from `rank` to `child`: the ranks of its ends, and the axis.
    fn link(torus: Torus, rank: usize, child: usize) -> (usize, usize) {
        let (from, to) = (torus.coordinates(rank), torus.coordinates(child));
        let axis = (0..3).find(|axis| from[*axis] != to[*axis]).unwrap();
        let mut next = from;
        next[axis] = (from[axis] + 1) % torus.sizes[axis];
        assert_eq!(next, to, "{rank} to {child} of {torus:?} is not a link in the positive direction");
        (rank, axis)
    }

    /// Height of the tree, after checks that it spans the torus, that parents and children agree, that children have
    /// heights that increase; notes its links.
    fn checked_height(tree: TorusTree, root: usize, links: &mut HashSet<(usize, usize)>) -> usize {
        let torus = tree.torus;
        let (mut reached, mut heights) = (vec![root], vec![0; ranks(torus)]);
        for number in 0..ranks(torus) {
            let rank = *reached.get(number).unwrap_or_else(|| panic!("{tree:?} reaches {number} ranks only"));
            for child in tree.place(rank).children {
                assert_eq!(tree.place(child).parent, Some(rank), "{tree:?}");
                assert!(links.insert(link(torus, rank, child)), "{tree:?}: link from {rank} to {child} is taken");
                reached.push(child);
            }
        }
        assert_eq!((reached.len(), tree.place(root).parent), (ranks(torus), None), "{tree:?}");
        for rank in reached.iter().rev() {
            let children = tree.place(*rank).children;
            assert!(children.is_sorted_by(|a, b| heights[*a] < heights[*b]), "{tree:?}: children of {rank}");
            heights[*rank] = children.last().map_or(0, |child| heights[*child] + 1);
            assert_eq!(tree.height(tree.relative(*rank)), heights[*rank], "{tree:?}: {rank}");
            assert!(children.len() <= tree.most_children(), "{tree:?}: {rank}");
        }
        let most = reached.iter().map(|rank| tree.place(*rank).children.len()).max();
        assert_eq!(most, Some(tree.most_children()), "{tree:?}");
        heights[root]
    }

    fn checked_heights(torus: Torus, root: usize) -> Vec<usize> {
        let mut links = HashSet::new();
        TorusTree::all(torus, root).map(|tree| checked_height(tree, root, &mut links)).collect()
    }

    #[test]
    fn three_trees_span_the_torus_share_no_link_and_are_of_height_x_y_z_minus_2() {
        for torus in shapes(2..=8) {
            let height = torus.sizes.iter().sum::<usize>() - 2;
            let roots = if ranks(torus) <= 64 { (0..ranks(torus)).step_by(1) } else { (0..ranks(torus)).step_by(37) };
            for root in roots {
                assert_eq!(checked_heights(torus, root), [height; 3], "{torus:?}");
            }
        }
    }

    #[test]
    fn on_the_k_computer_they_are_of_height_84_from_any_root() {
        let torus = Torus { sizes: [48, 6, 32] };
        for root in [0, 1, 47, 48, 5000, 9215] {
            assert_eq!(checked_heights(torus, root), [84; 3]);
        }
    }

    #[test]
    fn axes_of_one_rank_have_no_tree_and_the_others_span_all_the_same() {
        for torus in shapes([1, 2, 3, 5].into_iter()).filter(|torus| torus.axes().count() < 3) {
            let sum: usize = torus.sizes.iter().sum();
            let axes = torus.axes().count();
            let height = if axes == 2 { sum - 2 } else { sum - 3 };
            for root in 0..ranks(torus) {
                assert_eq!(checked_heights(torus, root), vec![height; axes], "{torus:?}");
            }
        }
    }

    #[test]
    fn ranks_without_sizes_form_nearly_a_cube() {
        let cubes = [
            (1, [1, 1, 1]),
            (6, [3, 2, 1]),
            (7, [7, 1, 1]),
            (8, [2, 2, 2]),
            (12, [3, 2, 2]),
            (36, [4, 3, 3]),
            (64, [4, 4, 4]),
            (9216, [24, 24, 16]),
        ];
        for (ranks, sizes) in cubes {
            assert_eq!(Torus::near_cube(ranks), Torus { sizes });
        }
        for ranks in 1..300 {
            let [x, y, z] = Torus::near_cube(ranks).sizes;
            assert!(x * y * z == ranks && x >= y && y >= z, "{ranks}");
        }
    }

    #[test]
    fn coordinates_are_those_of_the_rank() {
        for torus in shapes(1..=4) {
            let [x, y, _] = torus.sizes;
            for rank in 0..ranks(torus) {
                let at = torus.coordinates(rank);
                assert_eq!((torus.rank(at), at[0] + x * (at[1] + y * at[2])), (rank, rank));
            }
        }
    }
}

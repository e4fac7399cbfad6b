//! Trees that span a torus and share no link, and the parts of a message that they carry.

use hocket_core::{Buffer, Call, Span};

use crate::About;
use crate::about::SEGMENT;
use crate::automatic::segments;
use crate::shapes::Segments;
use crate::shapes::pipeline::Place;
use crate::shapes::torus::{Coordinates, MOST_AXES, Torus, U, V, W, X, Y, Z, sizes};

/// A tree that spans a torus. Its coordinates (a, b, c, ..) are counted from the root, in the order of the tree's axes.
/// The tree leads from the root along +a, from each rank it reaches there along +b, from all these ranks along +c, and
/// so on, never round the ring. It reaches the other ranks with the root's coordinate a last, round the ring, from
/// their neighbours along +a. Drawn for 3 x 3.
///
/// ```text
/// b = 2    (0,2)      (1,2)      (2,2) ─▶ round the ring to (0,2)
///                       ▲          ▲
/// b = 1    (0,1)      (1,1)      (2,1) ─▶ round the ring to (0,1)
///                       ▲          ▲
/// b = 0    (0,0) ───▶ (1,0) ───▶ (2,0)
/// ```
///
/// The axis orders (x, y, z), (y, z, x), (z, x, y), and their like for any number of axes, give trees of the same
/// height that share no directed link. The tree that begins with an axis has two kinds of links along this axis: the
/// links on the root's line, and the links that close the rings. Every other link belongs to another tree: to find it,
/// go from the link's axis to the next axes, in cyclic order, up to the first one along which the link's rank differs
/// from the root; the tree begins with that axis. There is no tree that begins with an axis of one rank.
///
/// Mirrored trees lead along -a, -b, -c, .. in the same way. They use other links, unless an axis has two ranks: then
/// both directions are the same link.
///
/// Source: the edge-disjoint trees of "MPI Allreduceの「京」上での実装と評価" (see the trinaryx3 page of the docs); with the
/// mirrored ones, and for any number of axes, IBM's PAMI for Blue Gene/Q, `algorithms/schedule/TorusRect.h`.
#[derive(Clone, Copy, Debug)]
pub struct TorusTree {
    torus: Torus,
    root: Coordinates,
    /// The axes a, b, c, ..
    order: [usize; MOST_AXES],
    is_mirrored: bool,
}

impl TorusTree {
    /// The parent of a rank, and its children by increasing height. No two siblings have the same height.
    pub fn place(&self, rank: usize) -> Place {
        let at = self.relative(rank);
        let mut children: Vec<_> = self.children(at).collect();
        children.sort_by_key(|child| self.height(*child));
        Place {
            parent: self.parent(at).map(|parent| self.rank_at(parent)),
            children: children.into_iter().map(|child| self.rank_at(child)).collect(),
            ..Place::default()
        }
    }

    fn sizes(&self) -> [usize; MOST_AXES] {
        self.order.map(|axis| self.torus.sizes[axis])
    }

    fn relative(&self, rank: usize) -> Coordinates {
        let (sizes, at) = (self.torus.sizes, self.torus.coordinates(rank));
        let [from, to] = if self.is_mirrored { [at, self.root] } else { [self.root, at] };
        self.order.map(|axis| (to[axis] + sizes[axis] - from[axis]) % sizes[axis])
    }

    fn rank_at(&self, at: Coordinates) -> usize {
        let mut coordinates = self.root;
        for (axis, distance) in self.order.into_iter().zip(at) {
            let size = self.torus.sizes[axis];
            let ahead = if self.is_mirrored { size - distance } else { distance };
            coordinates[axis] = (coordinates[axis] + ahead) % size;
        }
        self.torus.rank(coordinates)
    }

    fn parent(&self, at: Coordinates) -> Option<Coordinates> {
        let last = last_moved(at)?;
        let mut parent = at;
        if at[0] == 0 {
            parent[0] = self.sizes()[0] - 1;
        } else {
            parent[last] -= 1;
        }
        Some(parent)
    }

    /// The children along a, b, c, ... Along a, a rank on the root's line has a child ahead. Another rank has a child
    /// along a only if it is the last one before the ring closes.
    fn children(&self, at: Coordinates) -> impl Iterator<Item = Coordinates> {
        let (sizes, last) = (self.sizes(), last_moved(at).unwrap_or(0));
        let leads_on = move |i: usize| match i {
            0 => (at[0] + 1 < sizes[0]) == (last == 0),
            _ => at[0] > 0 && i >= last && at[i] + 1 < sizes[i],
        };
        (0..at.len()).filter(move |i| leads_on(*i)).map(move |i| {
            let mut child = at;
            child[i] = (at[i] + 1) % sizes[i];
            child
        })
    }

    /// Number of links from here to the farthest leaf.
    fn height(&self, at: Coordinates) -> usize {
        let sizes = self.sizes();
        let last = last_moved(at).unwrap_or(0);
        if at[0] == 0 && last > 0 {
            return 0;
        }
        let rest: usize = sizes[last + 1..].iter().map(|size| size - 1).sum();
        let round_the_ring = if last > 0 { at[0] + 1 == sizes[0] } else { rest > 0 };
        sizes[last] - 1 - at[last] + rest + usize::from(round_the_ring)
    }

    /// The most children that any rank has.
    fn most_children(&self) -> usize {
        let sizes = self.sizes();
        let on_axis = |a: usize| {
            let mut at = Coordinates::default();
            at[0] = a;
            at
        };
        let beside_the_last = (1..sizes.len()).filter(|axis| sizes[*axis] > 1).map(|axis| {
            let mut at = on_axis(sizes[0] - 1);
            at[axis] = 1;
            at
        });
        let rich = [on_axis(0), on_axis(1)].into_iter().chain(beside_the_last);
        rich.map(|at| self.children(at).count()).max().unwrap_or(0)
    }
}

/// The last of the tree's axes along which a rank differs from the root; none for the root.
fn last_moved(at: Coordinates) -> Option<usize> {
    at.iter().rposition(|distance| *distance > 0)
}

/// The trees that carry a message; each carries a part of it. No directed link is in two trees.
#[derive(Clone, Copy, Debug)]
pub struct Trees {
    torus: Torus,
    /// The trees that begin with the same axis: for each, whether it is mirrored.
    ways: &'static [bool],
}

impl Trees {
    /// For each axis of more than one rank, the tree that begins with it, in the positive direction.
    pub fn one_way(c: &Call) -> Self {
        Self { torus: Torus::of(c), ways: &[false] }
    }

    /// The trees of [`Self::one_way`] and the mirrored trees. Without the latter if they use the same links, on a torus
    /// with an axis of two ranks.
    pub fn both_ways(c: &Call) -> Self {
        Self::on(Torus::of(c))
    }

    fn on(torus: Torus) -> Self {
        let has_pairs = torus.sizes.contains(&2);
        Self { torus, ways: if has_pairs { &[false] } else { &[false, true] } }
    }

    /// The trees rooted at `root`.
    pub fn at(self, root: usize) -> impl Iterator<Item = TorusTree> + Clone {
        let (torus, root) = (self.torus, self.torus.coordinates(root));
        torus.axes().flat_map(move |a| {
            let order = std::array::from_fn(|i| (a + i) % root.len());
            self.ways.iter().map(move |is_mirrored| TorusTree { torus, root, order, is_mirrored: *is_mirrored })
        })
    }

    /// Number of trees. As trees share no link, it is also the most children that a rank has in all trees together.
    pub fn count(self) -> usize {
        self.torus.axes().count() * self.ways.len()
    }

    /// The place of `rank` in each tree that carries a part of the message: all trees, unless there are fewer elements
    /// than trees.
    pub fn places(self, c: &Call, root: usize, rank: usize) -> Vec<Place> {
        self.at(root).take(self.parts(c)).map(|tree| tree.place(rank)).collect()
    }

    fn parts(self, c: &Call) -> usize {
        self.count().min(c.count(0).max(1))
    }

    /// The sizes of the axes, and the values in formulas of trees: the number of `trees`, their `height`, the most
    /// `children` of a rank in one tree, the `segments` of the longest part and `all_segments` of all parts, and the
    /// bytes of the `largest` segment.
    pub fn values(self, c: &Call) -> Vec<(&'static str, u64)> {
        let trees = self.at(0);
        let message = Span::new(Buffer::Result, c.count(0));
        let parts = self.parts(c).max(1);
        let segments = |part| Segments::new(c, message.chunk(part, parts));
        let values = [
            ("trees", self.count()),
            ("height", trees.clone().next().map_or(0, |tree| tree.height(Coordinates::default()))),
            ("children", trees.map(|tree| tree.most_children()).max().unwrap_or(0)),
            ("segments", segments(0).count()),
            ("all_segments", (0..parts).map(|part| segments(part).count()).sum()),
            ("largest", segments(0).get(0).len * c.element_bytes),
        ];
        sizes(c).into_iter().chain(values.map(|(name, value)| (name, value as u64))).collect()
    }

    /// Whether all segments of all parts have the same number of elements, and there is more than one rank.
    pub fn have_equal_parts(self, c: &Call) -> bool {
        let parts = self.parts(c);
        if parts == 0 || !c.count(0).is_multiple_of(parts) {
            return false;
        }
        let (bytes, segment) = ((c.count(0) / parts * c.element_bytes) as u64, c.parameter(SEGMENT.name));
        bytes <= segment || bytes.is_multiple_of(segment)
    }
}

impl About {
    /// The algorithm is made for tori of up to three axes, and sends segments along the trees of [`Trees::one_way`].
    pub const fn along_one_way(self) -> Self {
        self.exact_when(|c| Trees::one_way(c).have_equal_parts(c))
            .on_ports(|c| Trees::one_way(c).count())
            .made_for("torus")
            .with_parameters(&[SEGMENT, X, Y, Z])
            .with_automatic(&[segments::AUTOMATIC])
            .completing(|c| Trees::one_way(c).values(c))
    }

    /// As [`Self::along_one_way`], for any number of axes and the trees of [`Trees::both_ways`].
    pub const fn along_both_ways(self) -> Self {
        self.exact_when(|c| Trees::both_ways(c).have_equal_parts(c))
            .on_ports(|c| Trees::both_ways(c).count())
            .made_for("torus")
            .with_parameters(&[SEGMENT, X, Y, Z, W, V, U])
            .with_automatic(&[segments::OF_TREES])
            .completing(|c| Trees::both_ways(c).values(c))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// For each directed link, the number of trees that have it.
    type Shares = HashMap<(usize, usize), usize>;

    fn one_way(sizes: &[usize]) -> Trees {
        Trees { torus: Torus::new(sizes), ways: &[false] }
    }

    /// All tori of this many axes, with these sizes along each axis.
    fn shapes(sizes: &[usize], axes: u32) -> impl Iterator<Item = Vec<usize>> {
        let count = sizes.len();
        (0..count.pow(axes)).map(move |number| (0..axes).map(|axis| sizes[number / count.pow(axis) % count]).collect())
    }

    /// Fails if no link leads from `rank` to `child` in the direction of the tree.
    fn check_link(tree: &TorusTree, rank: usize, child: usize) {
        let [from, to] = [rank, child].map(|rank| tree.relative(rank));
        let moved: Vec<_> = (0..from.len()).filter(|i| from[*i] != to[*i]).collect();
        let is_link = matches!(moved[..], [i] if (from[i] + 1) % tree.sizes()[i] == to[i]);
        assert!(is_link, "{rank} to {child} of {tree:?}");
    }

    /// Returns the height of the tree and counts its links. Checks that the tree spans the torus, that parents and
    /// children agree, and that the heights of children increase.
    fn checked_height(tree: TorusTree, root: usize, shares: &mut Shares) -> usize {
        let ranks = tree.torus.ranks();
        let (mut reached, mut heights) = (vec![root], vec![0; ranks]);
        for number in 0..ranks {
            let rank = *reached.get(number).unwrap_or_else(|| panic!("{tree:?} reaches {number} ranks only"));
            for child in tree.place(rank).children {
                assert_eq!(tree.place(child).parent, Some(rank), "{tree:?}");
                check_link(&tree, rank, child);
                *shares.entry((rank, child)).or_default() += 1;
                reached.push(child);
            }
        }
        assert_eq!((reached.len(), tree.place(root).parent), (ranks, None), "{tree:?}");
        for rank in reached.iter().rev() {
            let children = tree.place(*rank).children;
            assert!(children.is_sorted_by(|a, b| heights[*a] < heights[*b]), "{tree:?}: children of {rank}");
            heights[*rank] = children.last().map_or(0, |child| heights[*child] + 1);
            assert_eq!(tree.height(tree.relative(*rank)), heights[*rank], "{tree:?}: {rank}");
        }
        let most = reached.iter().map(|rank| tree.place(*rank).children.len()).max();
        assert_eq!(most, Some(tree.most_children()), "{tree:?}");
        heights[root]
    }

    /// The heights of the trees. Checks that no two trees share a link.
    fn checked_heights(trees: Trees, root: usize) -> Vec<usize> {
        let mut shares = Shares::new();
        let heights: Vec<_> = trees.at(root).map(|tree| checked_height(tree, root, &mut shares)).collect();
        assert_eq!(shares.len(), trees.count() * (trees.torus.ranks() - 1), "links of {trees:?}");
        assert!(shares.values().all(|trees| *trees == 1), "{trees:?}");
        heights
    }

    /// All roots of a small torus, and some of a large one.
    fn roots(torus: Torus) -> impl Iterator<Item = usize> {
        (0..torus.ranks()).step_by(if torus.ranks() <= 64 { 1 } else { 37 })
    }

    #[test]
    fn three_trees_span_the_torus_share_no_link_and_are_of_height_x_y_z_minus_2() {
        for sizes in shapes(&[2, 3, 4, 5, 6, 7, 8], 3) {
            let trees = one_way(&sizes);
            let height = sizes.iter().sum::<usize>() - 2;
            for root in roots(trees.torus) {
                assert_eq!(checked_heights(trees, root), [height; 3], "{sizes:?}");
            }
        }
    }

    #[test]
    fn on_the_k_computer_they_are_of_height_84_from_any_root() {
        for root in [0, 1, 47, 48, 5000, 9215] {
            assert_eq!(checked_heights(one_way(&[48, 6, 32]), root), [84; 3]);
        }
    }

    #[test]
    fn axes_of_one_rank_have_no_tree_and_the_others_span_all_the_same() {
        for sizes in shapes(&[1, 2, 3, 5], 3).filter(|sizes| sizes.contains(&1)) {
            let trees = one_way(&sizes);
            let height = trees.torus.hops() + usize::from(trees.count() == 2);
            for root in roots(trees.torus) {
                assert_eq!(checked_heights(trees, root), vec![height; trees.count()], "{sizes:?}");
            }
        }
    }

    #[test]
    fn trees_in_both_directions_of_any_number_of_axes_span_the_torus_and_share_no_link() {
        let of_many_axes = [vec![2; 6], vec![3; 5], vec![3, 1, 4, 2, 3], vec![4, 3, 1, 5, 3], vec![2, 3, 2, 2, 3, 2]];
        let all = (1..=4).flat_map(|axes| shapes(&[1, 2, 3, 4], axes)).chain(of_many_axes);
        for sizes in all.chain([vec![17], vec![16, 9], vec![8, 8, 8]]) {
            let trees = Trees::on(Torus::new(&sizes));
            let axes = trees.torus.axes().count();
            assert_eq!(trees.count(), if sizes.contains(&2) { axes } else { 2 * axes }, "{sizes:?}");
            let height = trees.torus.hops() + usize::from(axes > 1);
            for root in roots(trees.torus) {
                assert_eq!(checked_heights(trees, root), vec![height; trees.count()], "{sizes:?}");
            }
        }
    }

    #[test]
    fn along_an_axis_of_two_ranks_mirrored_trees_would_share_links() {
        let trees = Trees { torus: Torus::new(&[2, 3, 3]), ways: &[false, true] };
        let mut shares = Shares::new();
        for tree in trees.at(0) {
            checked_height(tree, 0, &mut shares);
        }
        for ((from, to), trees) in shares {
            assert_eq!(trees, if from / 2 == to / 2 { 2 } else { 1 }, "{from} to {to}");
        }
    }
}

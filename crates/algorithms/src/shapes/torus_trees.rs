//! Trees that span a torus and share no link, the parts of a message that they carry, and what algorithms do on them.

use hocket_core::{Buffer, Call, JoinStrands, Rank, Span};

use crate::about::{About, SEGMENT};
use crate::automatic::segments;
use crate::shapes::Segments;
use crate::shapes::pipeline::{Pipe, Place};
use crate::shapes::torus::{Port, Torus, U, V, W, X, Y, Z, sizes};

/// A tree that spans a torus. Its coordinates (a, b, c, ..) are counted from the root, in the order of the port's axes.
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
/// Trees of mirrored ports lead along -a, -b, -c, .. in the same way. They use other links, unless an axis has two
/// ranks: then both directions are the same link.
///
/// Source: the edge-disjoint trees of "MPI Allreduceの「京」上での実装と評価" (see the trinaryx3 page of the docs); with the
/// mirrored ones, and for any number of axes, IBM's PAMI for Blue Gene/Q, `algorithms/schedule/TorusRect.h`.
struct TorusTree<'a> {
    port: &'a Port,
    root: usize,
}

impl TorusTree<'_> {
    /// The parent of a rank, and its children by increasing height. No two siblings have the same height.
    fn place(&self, rank: usize) -> Place {
        let (at, sizes) = (self.coordinates(rank), self.sizes());
        let moved = |i: usize, coordinate: usize| self.moved(rank, i, coordinate);
        let last_moved = at.iter().rposition(|coordinate| *coordinate > 0);
        let parent = last_moved.map(|last| if at[0] == 0 { moved(0, sizes[0] - 1) } else { moved(last, at[last] - 1) });

        // By increasing height: the leaf round the ring, then along the axes from the last one to the first one.
        let last = last_moved.unwrap_or(0);
        let round_the_ring = (last > 0 && at[0] + 1 == sizes[0]).then(|| moved(0, 0));
        let leads_ahead = |i: &usize| (*i == 0 || at[0] > 0) && at[*i] + 1 < sizes[*i];
        let ahead = (last..at.len()).rev().filter(leads_ahead).map(|i| moved(i, at[i] + 1));
        Place { parent, children: round_the_ring.into_iter().chain(ahead).collect(), ..Place::default() }
    }

    /// The sizes of the axes a, b, c, ..
    fn sizes(&self) -> Vec<usize> {
        self.port.order.iter().map(|axis| self.port.torus.sizes[*axis]).collect()
    }

    /// The coordinates (a, b, c, ..) of a rank.
    fn coordinates(&self, rank: usize) -> Vec<usize> {
        let Port { torus, order, .. } = self.port;
        let from_root = |axis: &usize| {
            let [at, root] = [rank, self.root].map(|rank| self.port.coordinate(rank, *axis));
            (at + torus.sizes[*axis] - root) % torus.sizes[*axis]
        };
        order.iter().map(from_root).collect()
    }

    /// The rank that differs from `rank` only in coordinate `i` of (a, b, c, ..).
    fn moved(&self, rank: usize, i: usize, coordinate: usize) -> usize {
        let axis = self.port.order[i];
        let from_origin = self.port.coordinate(self.root, axis) + coordinate;
        self.port.moved(rank, axis, from_origin % self.port.torus.sizes[axis])
    }
}

/// The trees that carry a message; each carries a part of it. No directed link is in two trees.
pub struct Trees {
    torus: Torus,
    /// A tree for each of these ports.
    ports: Vec<Port>,
}

impl Trees {
    /// For each axis of more than one rank, the tree that begins with it, in the positive direction.
    pub fn one_way(c: &Call) -> Self {
        Self::new(Torus::of(c), false)
    }

    /// The trees of [`Self::one_way`] and the mirrored trees. Without the latter if they use the same links, on a torus
    /// with an axis of two ranks.
    pub fn both_ways(c: &Call) -> Self {
        Self::in_both_directions(Torus::of(c))
    }

    fn in_both_directions(torus: Torus) -> Self {
        Self::new(torus, !torus.sizes.contains(&2))
    }

    fn new(torus: Torus, has_mirrored: bool) -> Self {
        let has_tree = |port: &Port| !port.order.is_empty() && (has_mirrored || !port.is_mirrored);
        Self { torus, ports: torus.ports().filter(has_tree).collect() }
    }

    /// Number of trees. As trees share no link, it is also the most children that a rank has in all trees together.
    pub fn count(&self) -> usize {
        self.ports.len()
    }

    /// Number of trees that carry a part of the message: all trees, unless there are fewer elements than trees.
    fn parts(&self, c: &Call) -> usize {
        self.count().min(c.count(0).max(1))
    }

    /// Broadcasts `message` from `root` down the trees.
    pub async fn broadcast(self, r: &Rank<'_>, c: &Call, root: usize, message: Span) {
        self.run(r, c, root, |place, part| Pipe::broadcast(place, part(message))).await;
    }

    /// Combines the inputs of all ranks into `sums` of `root`, up the trees. Other ranks have partial sums there.
    pub async fn reduce(self, r: &Rank<'_>, c: &Call, root: usize, sums: Span) {
        let input = c.input(r);
        if r.size() == 1 {
            r.copy(input, sums).await;
        }
        self.run(r, c, root, |place, part| Pipe::reduce(r, place, part(input), part(sums))).await;
    }

    /// Reduces to rank 0 up the trees. It broadcasts each segment down the same trees as soon as it is reduced.
    pub async fn allreduce(self, r: &Rank<'_>, c: &Call) {
        let (input, result) = (c.input(r), c.result(r));
        let sums = if r.rank() == 0 { result } else { r.scratch(input.len) };
        let own = if r.size() == 1 || input == result { sums } else { input };
        // If one rank is alone, or the result may overwrite an input that is still on its way up.
        r.copy(input, own).await;
        let pipe = |place, part: &dyn Fn(Span) -> Segments| {
            Pipe::reduce_and_broadcast(r, place, part(own), part(sums), part(result))
        };
        self.run(r, c, 0, pipe).await;
    }

    /// Runs a pipeline in each tree that carries a part of the message. Its pipe is made of the place of this rank in the
    /// tree, and a function that returns the segments of the part of a vector.
    fn run<'r>(
        self,
        r: &'r Rank<'_>,
        c: &Call,
        root: usize,
        pipe: impl Fn(Place, &dyn Fn(Span) -> Segments) -> Pipe<'r>,
    ) -> JoinStrands<'r, Pipe<'r>> {
        let parts = self.parts(c);
        let pipes = self.ports[..parts].iter().enumerate().map(|(part, port)| {
            pipe(TorusTree { port, root }.place(r.rank()), &|vector| Segments::new(c, vector.chunk(part, parts)))
        });
        r.join_strands(pipes)
    }

    /// The sizes of the axes, and the values in formulas of trees: the number of `trees`, their `height`, the most
    /// `children` of a rank in one tree, the `segments` of the longest part and `all_segments` of all parts, and the
    /// bytes of the `largest` segment.
    fn values(&self, c: &Call) -> Vec<(&'static str, u64)> {
        let message = Span::new(Buffer::Result, c.count(0));
        let parts = self.parts(c).max(1);
        let segments = |part| Segments::new(c, message.chunk(part, parts));
        let values = [
            ("trees", self.count()),
            ("height", self.height()),
            ("children", self.most_children()),
            ("segments", segments(0).count()),
            ("all_segments", (0..parts).map(|part| segments(part).count()).sum()),
            ("largest", segments(0).get(0).len * c.element_bytes),
        ];
        sizes(c).into_iter().chain(values.map(|(name, value)| (name, value as u64))).collect()
    }

    /// Number of links from the root of a tree to the farthest leaf: to the opposite corner, and round the ring.
    fn height(&self) -> usize {
        self.torus.hops() + usize::from(self.torus.axes().count() > 1)
    }

    /// The most children that a rank has in one tree: one along each axis, or one less if all axes have two ranks.
    fn most_children(&self) -> usize {
        let axes = self.torus.axes().count();
        let has_long_axis = self.torus.sizes.iter().any(|size| *size > 2);
        if has_long_axis || axes < 2 { axes } else { axes - 1 }
    }

    /// Whether all segments of all parts have the same number of elements, and there is more than one rank.
    fn have_equal_parts(&self, c: &Call) -> bool {
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
        Trees::new(Torus::new(sizes), false)
    }

    /// All tori of this many axes, with these sizes along each axis.
    fn shapes(sizes: &[usize], axes: u32) -> impl Iterator<Item = Vec<usize>> {
        let count = sizes.len();
        (0..count.pow(axes)).map(move |number| (0..axes).map(|axis| sizes[number / count.pow(axis) % count]).collect())
    }

    /// Fails if no link leads from `rank` to `child` in the direction of the tree.
    fn check_link(tree: &TorusTree<'_>, rank: usize, child: usize) {
        let [from, to] = [rank, child].map(|rank| tree.coordinates(rank));
        let moved: Vec<_> = (0..from.len()).filter(|i| from[*i] != to[*i]).collect();
        let is_link = matches!(moved[..], [i] if (from[i] + 1) % tree.sizes()[i] == to[i]);
        assert!(is_link, "{rank} to {child} of {:?}", tree.port);
    }

    /// Returns the height of the tree and counts its links. Adds to `most_children`. Checks that the tree spans the
    /// torus, that parents and children agree, and that the heights of children increase.
    fn checked_height(tree: &TorusTree<'_>, shares: &mut Shares, most_children: &mut usize) -> usize {
        let (root, ranks) = (tree.root, tree.port.torus.ranks());
        let (mut reached, mut heights) = (vec![root], vec![0; ranks]);
        for number in 0..ranks {
            let rank = *reached.get(number).unwrap_or_else(|| panic!("{:?} reaches {number} ranks only", tree.port));
            for child in tree.place(rank).children {
                assert_eq!(tree.place(child).parent, Some(rank), "{:?}", tree.port);
                check_link(tree, rank, child);
                *shares.entry((rank, child)).or_default() += 1;
                reached.push(child);
            }
        }
        assert_eq!((reached.len(), tree.place(root).parent), (ranks, None), "{:?}", tree.port);
        for rank in reached.iter().rev() {
            let children = tree.place(*rank).children;
            let is_sorted = children.is_sorted_by(|a, b| heights[*a] < heights[*b]);
            assert!(is_sorted, "{:?}: children of {rank}", tree.port);
            heights[*rank] = children.last().map_or(0, |child| heights[*child] + 1);
            *most_children = children.len().max(*most_children);
        }
        heights[root]
    }

    /// Checks that all trees have the declared height, that one has the most children, and that no two share a link.
    fn check(trees: &Trees, root: usize) {
        let (mut shares, mut most_children) = (Shares::new(), 0);
        for port in &trees.ports {
            assert_eq!(checked_height(&TorusTree { port, root }, &mut shares, &mut most_children), trees.height());
        }
        assert_eq!(most_children, trees.most_children(), "{:?}", trees.torus);
        assert_eq!(shares.len(), trees.count() * (trees.torus.ranks() - 1), "links of {:?}", trees.torus);
        assert!(shares.values().all(|trees| *trees == 1), "{:?}", trees.torus);
    }

    /// All roots of a small torus, and some of a large one.
    fn roots(torus: Torus) -> impl Iterator<Item = usize> {
        (0..torus.ranks()).step_by(if torus.ranks() <= 64 { 1 } else { 37 })
    }

    #[test]
    fn three_trees_span_the_torus_share_no_link_and_are_of_height_x_y_z_minus_2() {
        for sizes in shapes(&[2, 3, 4, 5, 6, 7, 8], 3) {
            let trees = one_way(&sizes);
            assert_eq!((trees.count(), trees.height()), (3, sizes.iter().sum::<usize>() - 2), "{sizes:?}");
            roots(trees.torus).for_each(|root| check(&trees, root));
        }
    }

    #[test]
    fn on_the_k_computer_they_are_of_height_84_from_any_root() {
        let trees = one_way(&[48, 6, 32]);
        assert_eq!((trees.count(), trees.height()), (3, 84));
        [0, 1, 47, 48, 5000, 9215].into_iter().for_each(|root| check(&trees, root));
    }

    #[test]
    fn axes_of_one_rank_have_no_tree_and_the_others_span_all_the_same() {
        for sizes in shapes(&[1, 2, 3, 5], 3).filter(|sizes| sizes.contains(&1)) {
            let trees = one_way(&sizes);
            roots(trees.torus).for_each(|root| check(&trees, root));
        }
    }

    #[test]
    fn trees_in_both_directions_of_any_number_of_axes_span_the_torus_and_share_no_link() {
        let of_many_axes = [vec![2; 6], vec![3; 5], vec![3, 1, 4, 2, 3], vec![4, 3, 1, 5, 3], vec![2, 3, 2, 2, 3, 2]];
        let all = (1..=4).flat_map(|axes| shapes(&[1, 2, 3, 4], axes)).chain(of_many_axes);
        for sizes in all.chain([vec![17], vec![16, 9], vec![8, 8, 8]]) {
            let trees = Trees::in_both_directions(Torus::new(&sizes));
            let axes = trees.torus.axes().count();
            assert_eq!(trees.count(), if sizes.contains(&2) { axes } else { 2 * axes }, "{sizes:?}");
            roots(trees.torus).for_each(|root| check(&trees, root));
        }
    }

    #[test]
    fn along_an_axis_of_two_ranks_mirrored_trees_would_share_links() {
        let mut shares = Shares::new();
        for port in &Trees::new(Torus::new(&[2, 3, 3]), true).ports {
            checked_height(&TorusTree { port, root: 0 }, &mut shares, &mut 0);
        }
        for ((from, to), trees) in shares {
            assert_eq!(trees, if from / 2 == to / 2 { 2 } else { 1 }, "{from} to {to}");
        }
    }
}

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
pub struct TorusTree<'a> {
    /// The port by which the root sends.
    pub port: &'a Port,
    /// The root.
    pub root: usize,
}

impl TorusTree<'_> {
    /// The parent of a rank, and its children by increasing height. No two siblings have the same height.
    pub fn place(&self, rank: usize) -> Place {
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
    pub fn sizes(&self) -> Vec<usize> {
        self.port.order.iter().map(|axis| self.port.torus.sizes[*axis]).collect()
    }

    /// The coordinates (a, b, c, ..) of a rank.
    pub fn coordinates(&self, rank: usize) -> Vec<usize> {
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
    /// The torus.
    pub torus: Torus,
    /// A tree for each of these ports.
    pub ports: Vec<Port>,
}

impl Trees {
    /// For each axis of more than one rank, the tree that begins with it, in the positive direction.
    pub fn one_way(c: &Call) -> Self {
        Self::new(Torus::of(c), false)
    }

    /// The trees of [`Self::one_way`] and the mirrored trees. Without the latter if they use the same links, on a torus
    /// with an axis of two ranks.
    pub fn both_ways(c: &Call) -> Self {
        let torus = Torus::of(c);
        Self::new(torus, !torus.sizes.contains(&2))
    }

    /// The trees of a torus that begin in the positive direction, and the mirrored ones if asked for.
    pub fn new(torus: Torus, has_mirrored: bool) -> Self {
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
    pub fn height(&self) -> usize {
        self.torus.hops() + usize::from(self.torus.axes().count() > 1)
    }

    /// The most children that a rank has in one tree: one along each axis, or one less if all axes have two ranks.
    pub fn most_children(&self) -> usize {
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

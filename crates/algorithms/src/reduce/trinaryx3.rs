//! Trinaryx3: three trees of a torus, which share no link, each reduce a third of the vector, in segments.
//!
//! The trees are the trees of broadcast trinaryx3, reversed. A rank combines its children in a fixed order, by
//! increasing height, and waits for the next one in this order. So the same input gives the same bits.
//!
//! Source: "MPI Allreduceの「京」上での実装と評価" (see the trinaryx3 page of the docs), its reduce.
//! Needs: a commutative operator. Its parameters need X * Y * Z = P; by default the torus is nearly a cube.
//! Counts: S segments of a third of the vector go one after another up trees of height H = X+Y+Z-2. A rank receives a
//! segment while it combines the segment before, from at most three children. 3 S (P-1) messages.
//!
//! ```text
//! tree of axes x, y on 3 x 3, root 0; + combines in the order of the numbers
//! 6      7      8 ◀─ 6          8 + 6
//!        │      │               5 + 3 + 8
//! 3      4      5 ◀─ 3          2 + 5
//!        ▼      ▼               1 + 4 + 2
//! 0 ◀─── 1 ◀─── 2               0 + 1
//! ```

use hocket_core::{Call, Rank, Span};

use crate::About;
use crate::shapes::Segments;
use crate::shapes::pipeline;
use crate::shapes::torus::needs_torus_and_commutative;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*(height*(alpha + largest*(beta + gamma)) \
     + (segments - 1)*max(alpha + largest*beta, children*largest*gamma))",
    "(P-1)*all_segments",
)
.along_one_way()
.refusing(needs_torus_and_commutative);

pub async fn program(r: &Rank<'_>, c: &Call) {
    reduce(r, c, Trees::one_way(c)).await;
}

/// Combines the inputs of all ranks into the result of the root, up these trees.
pub async fn reduce(r: &Rank<'_>, c: &Call, trees: Trees) {
    let input = c.input(r);
    let sums = if r.rank() == c.root { c.result(r) } else { r.scratch(input.len) };
    reduce_to(r, c, trees, c.root, input, sums).await;
}

/// Combines the vectors `own` of all ranks into `sums` of `root`, up these trees. Other ranks have partial sums there.
pub async fn reduce_to(r: &Rank<'_>, c: &Call, trees: Trees, root: usize, own: Span, sums: Span) {
    if r.size() == 1 {
        r.copy(own, sums).await;
    }
    let places = trees.places(c, root, r.rank());
    let parts = places.iter().enumerate().map(async |(tree, place)| {
        let segments = |vector: Span| Segments::new(c, vector.chunk(tree, places.len()));
        pipeline::reduce(r, place, &segments(own), &segments(sums)).await;
    });
    r.join_all(parts).await;
}

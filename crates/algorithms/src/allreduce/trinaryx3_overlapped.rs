//! Trinaryx3, overlapped: rank 0 broadcasts each segment as soon as it is reduced, while later segments are on the way.
//!
//! Source: as trinaryx3, whose reduce and broadcast cross the links of the torus in opposite directions.
//! Needs: a commutative operator. Its parameters need X * Y * Z = P; by default the torus is nearly a cube.
//! Counts: as reduce trinaryx3, plus H rounds of one segment, for trees of height H = X+Y+Z-2. 6 S (P-1) messages for S
//! segments of a third of the vector.
//!
//! ```text
//! chain of 3 ranks    2 ─s0▶ 1
//!                     2 ─s1▶ 1 ─s0▶ 0
//!                     2 ─s2▶ 1 ─s1▶ 0 ─s0▶ 1
//!                            1 ─s2▶ 0 ─s1▶ 1 ─s0▶ 2
//!                                   0 ─s2▶ 1 ─s1▶ 2
//!                                          1 ─s2▶ 2
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::Segments;
use crate::shapes::pipeline;
use crate::shapes::torus::needs_torus_and_commutative;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*(height*(2*alpha + largest*(2*beta + gamma)) \
     + (segments - 1)*max(alpha + largest*beta, children*largest*gamma))",
    "2*(P-1)*all_segments",
)
.along_one_way()
.on_ports(|c| 2 * Trees::one_way(c).count())
.refusing(needs_torus_and_commutative);

pub async fn program(r: &Rank<'_>, c: &Call) {
    reduce_and_broadcast(r, c, Trees::one_way(c)).await;
}

/// Reduces to rank 0 up these trees, and broadcasts down the same trees.
pub async fn reduce_and_broadcast(r: &Rank<'_>, c: &Call, trees: Trees) {
    let (input, result) = (c.input(r), c.result(r));
    let sums = if r.rank() == 0 { result } else { r.scratch(input.len) };
    let own = if r.size() == 1 || input == result { sums } else { input };
    r.copy(input, own).await; // if one rank is alone, or the result may overwrite an input that is still on its way up

    let places = trees.places(c, 0, r.rank());
    let parts = places.iter().enumerate().map(async |(tree, place)| {
        let segments = |vector: hocket_core::Span| Segments::new(c, vector.chunk(tree, places.len()));
        pipeline::reduce_and_broadcast(r, place, &segments(own), &segments(sums), &segments(result)).await;
    });
    r.join_all(parts).await;
}

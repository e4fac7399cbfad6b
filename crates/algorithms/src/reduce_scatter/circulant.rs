//! Circulant graph: a rank sends the blocks of the farther half of the ranks ahead, and keeps the others, until its own is left.
//!
//! Source: J. L. Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv 2410.14234.
//! Needs: a commutative operator, since a block is combined in the order of the skips.
//! Counts: ceil(log2 P) rounds and P-1 blocks for any P: no algorithm has fewer of either.
//!
//! ```text
//! P = 5    round 1, skip 3    0 ──b3 b4──▶ 3   1 ──b4 b0──▶ 4   2 ──b0 b1──▶ 0   ..
//!          round 2, skip 2    0 ──b2──▶ 2      1 ──b3──▶ 3      2 ──b4──▶ 4      ..
//!          round 3, skip 1    0 ──b1──▶ 1      1 ──b2──▶ 2      2 ──b3──▶ 3      ..
//! ```

use hocket_core::{Call, Rank};

use crate::about::needs_commutative;
use crate::pattern::Rotation;
use crate::{About, circulant};

pub const ABOUT: About =
    About::new("ceil(log2(P))*alpha + (P-1)/P*n*(beta + gamma)", "P*ceil(log2(P))").refusing(needs_commutative);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rotation, rotated) = (Rotation::new(c, r.rank()), r.scratch(c.total()));
    for (ordered, rotated) in rotation.pieces(c.input(r), rotated) {
        r.copy(ordered, rotated).await;
    }
    circulant::reduce_scatter(r, &rotation, rotated).await;
    r.copy(rotation.part(rotated, 0..1), c.result(r)).await;
}

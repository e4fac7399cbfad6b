//! Circulant graph: every rank collects the blocks of the ranks to its right, about twice as many in each round.
//!
//! Source: J. L. Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv 2410.14234: its reduce_scatter backwards.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds and P-1 blocks for any P, as many as bruck.
//!
//! ```text
//! P = 5    round 1, skip 1    0 ◀──b1── 1         1 ◀──b2── 2         2 ◀──b3── 3         ..
//!          round 2, skip 2    0 ◀──b2── 2         1 ◀──b3── 3         2 ◀──b4── 4         ..
//!          round 3, skip 3    0 ◀──b3 b4── 3      1 ◀──b4 b0── 4      2 ◀──b0 b1── 0      ..
//! ```

use hocket_core::{Call, Rank};

use crate::pattern::Rotation;
use crate::{About, circulant};

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P*ceil(log2(P))");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rotation, rotated) = (Rotation::new(c, r.rank()), r.scratch(c.total()));
    r.copy(c.input(r), rotation.part(rotated, 0..1)).await;
    circulant::allgather(r, &rotation, rotated).await;
    for (ordered, rotated) in rotation.pieces(c.result(r), rotated) {
        r.copy(rotated, ordered).await;
    }
}

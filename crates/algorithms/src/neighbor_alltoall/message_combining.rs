//! Message combining: along one dimension of a grid after the other, a rank passes on together all blocks that go the same way.
//!
//! Source: J. L. Traeff, S. Hunold, "Cartesian collective communication", ICPP 2019, algorithm 1.
//! Needs: a grid on which all ranks have their neighbours at the same relative places, and blocks of one size.
//! Counts: a message for each distance along each dimension: 6 instead of 26 with all the diagonals of a cube. A block travels once for
//! each dimension in which its place differs.
//!
//! ```text
//! b ──▶ ·          the block for the diagonal neighbour goes along the first dimension,
//!       │          together with that for the neighbour there,
//!       ▼
//!       b'         then along the second
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::neighborhood::{alltoall_rounds, block, combined, copy, edges_by_place, needs_stencil, pass_on};

pub const ABOUT: About = About::new("rounds*alpha + blocks*n*beta", "messages")
    .refusing(needs_stencil)
    .exact_when(|c| c.neighbors().stencil().is_some_and(|stencil| stencil.is_periodic))
    .completing(|c| combined(c, alltoall_rounds));

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, result) = (c.input(r), c.result(r));
    let stencil = c.neighbors().stencil().expect("others are refused");
    let [leaving, arriving] = edges_by_place(c, stencil, r.rank());
    let travelling = r.scratch(stencil.offsets.len() * c.count(0));
    let held = |place| travelling.part(place * c.count(0), c.count(0));
    for (place, edge) in leaving {
        copy(r, block(input, edge), held(place)).await;
    }
    pass_on(r, stencil, &alltoall_rounds(stencil), held).await;
    for (place, edge) in arriving {
        copy(r, held(place), block(result, edge)).await;
    }
}

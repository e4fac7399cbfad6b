//! Message combining: along one dimension of a grid after the other, a rank passes on together all blocks that go the same way.
//!
//! Source: J. L. Traeff, S. Hunold, "Cartesian collective communication", ICPP 2019, algorithm 2.
//! Needs: a grid on which all ranks have their neighbours at the same relative places, and blocks of one size.
//! Counts: a message for each distance along each dimension: 6 instead of 26 with all the diagonals of a cube. A block comes once to each
//! place where it is wanted, or from where it goes on.
//!
//! ```text
//! b ──▶ b          a block goes along the first dimension,
//! │     │
//! ▼     ▼
//! b     b          then from there, and from where it was, along the second
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::neighborhood::{
    allgather_rounds, block, combined, copy, edges_by_place, needs_stencil, pass_on, places,
};

pub const ABOUT: About = About::new("rounds*alpha + blocks*n*beta", "messages")
    .refusing(needs_stencil)
    .exact_when(|c| c.neighbors().stencil().is_some_and(|stencil| stencil.is_periodic))
    .completing(|c| combined(c, allgather_rounds));

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, result) = (c.input(r), c.result(r));
    let stencil = c.neighbors().stencil().expect("others are refused");
    let (count, of_neighbors) = places(stencil);
    let [_, arriving] = edges_by_place(c, stencil, r.rank());
    let passed = r.scratch(count * input.len);
    let held = |place| if place == 0 { input } else { passed.part((place - 1) * input.len, input.len) };
    pass_on(r, stencil, &allgather_rounds(stencil), held).await;
    for (place, edge) in arriving {
        copy(r, held(of_neighbors[place]), block(result, edge)).await;
    }
}

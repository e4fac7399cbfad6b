//! Message combining: blocks go along one dimension of a grid after the other; blocks on the same way share a message.
//!
//! All ranks have their neighbours at the same relative places, as in a stencil. A block first travels along the first
//! dimension, to every coordinate at which some neighbour is. From each of these ranks, it travels along the second
//! dimension, and so on. All blocks that travel the same distance along the same dimension share one message.
//!
//! Source: J. L. Traeff, S. Hunold, "Cartesian collective communication", ICPP 2019, algorithm 2.
//! Needs: a grid on which all ranks have their neighbours at the same relative places, and blocks of one size.
//! Counts: a message for each distance along each dimension: in a cube with all diagonals, 6 messages of a rank instead
//! of 26. A rank receives each block at most once, whether it needs the block or forwards it.
//!
//! ```text
//! grid of 2 x 4 ranks     0  1  2  3       neighbours: below, right, and below right
//!                         4  5  6  7
//!
//! round 1, down     0 ──b0──▶ 4          1 ──b1──▶ 5          2 ──b2──▶ 6          ..
//! round 2, right    0 ──b0──▶ 1          1 ──b1──▶ 2          2 ──b2──▶ 3
//!                   4 ──b4 b0──▶ 5       5 ──b5 b1──▶ 6       6 ──b6 b2──▶ 7
//! rank 4 forwards b0 to rank 5: rank 5 receives b1, b4 and b0 in 2 messages instead of 3
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
    let scratch = r.scratch(count * input.len);
    let block_at = |place| if place == 0 { input } else { scratch.part((place - 1) * input.len, input.len) };
    pass_on(r, stencil, &allgather_rounds(stencil), block_at).await;
    for (place, edge) in arriving {
        copy(r, block_at(of_neighbors[place]), block(result, edge)).await;
    }
}

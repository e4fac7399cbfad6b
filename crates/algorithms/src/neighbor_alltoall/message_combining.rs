//! Message combining: blocks go along one dimension of a grid after the other; blocks on the same way share a message.
//!
//! All ranks have their neighbours at the same relative places, as in a stencil. A block first travels along the first
//! dimension, to the coordinate of its destination; then along the second dimension, and so on. All blocks that travel
//! the same distance along the same dimension share one message.
//!
//! Source: J. L. Traeff, S. Hunold, "Cartesian collective communication", ICPP 2019, algorithm 1.
//! Needs: a grid on which all ranks have their neighbours at the same relative places, and blocks of one size.
//! Counts: a message for each distance along each dimension: in a cube with all diagonals, 6 messages of a rank instead
//! of 26. A block travels once for each dimension in which its destination differs from its source.
//!
//! ```text
//! grid of 2 x 4 ranks     0  1  2  3       neighbours: below, right, and below right
//!                         4  5  6  7       0>5 is the block from rank 0 to rank 5
//!
//! round 1, down     0 ──0>4 0>5──▶ 4     1 ──1>5 1>6──▶ 5     2 ──2>6 2>7──▶ 6     3 ──3>7──▶ 7
//! round 2, right    0 ──0>1──▶ 1         1 ──1>2──▶ 2         2 ──2>3──▶ 3
//!                   4 ──4>5 0>5──▶ 5     5 ──5>6 1>6──▶ 6     6 ──6>7 2>7──▶ 7
//! rank 4 forwards 0>5: rank 5 receives 1>5, 4>5 and 0>5 in 2 messages instead of 3
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
    let block_at = |place| travelling.part(place * c.count(0), c.count(0));
    for (place, edge) in leaving {
        copy(r, block(input, edge), block_at(place)).await;
    }
    pass_on(r, stencil, &alltoall_rounds(stencil), block_at).await;
    for (place, edge) in arriving {
        copy(r, block_at(place), block(result, edge)).await;
    }
}

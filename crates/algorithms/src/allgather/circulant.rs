//! Circulant: each rank takes in the blocks that follow its own, in rounds of distances ceil(P/2^k), the nearest first.
//!
//! Source: J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234 (2024).
//! The paper has it as the second half of its allreduce; bruck differs in the distances, which are powers of two there.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds, of P-1 blocks together; no round has more than half of the blocks, rounded down.
//!
//! ```text
//! rank 1 of 5 has    1              receives from    2: block 2
//!                    1 2                             3: block 3
//!                    1 2 3                           4: blocks 4 0
//!                    1 2 3 4 0      and puts them in order
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::circulant;
use crate::shapes::rotated_blocks;

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P*ceil(log2(P))");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let blocks = rotated_blocks(c, r.rank());
    let rotated = r.scratch(c.total());
    r.copy(c.input(r), blocks.part(rotated, 0..1)).await;
    circulant::allgather(r, &blocks, rotated).await;
    for (ordered, rotated) in blocks.pieces(c.result(r), rotated) {
        r.copy(rotated, ordered).await;
    }
}

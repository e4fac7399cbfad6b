//! Circulant: each rank receives the blocks that follow its own, in rounds of distances ceil(P/2^k), shortest first.
//!
//! Source: J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234 (2024). It
//! is the second half of the paper's allreduce. Bruck's distances are powers of two instead.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds, which carry P-1 blocks together. A round carries at most floor(P/2) blocks.
//!
//! ```text
//! rank 1 of 5 has    1              receives from    2: block 2
//!                    1 2                             3: block 3
//!                    1 2 3                           4: blocks 4 0
//!                    1 2 3 4 0      and puts them in order
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, rotates_evenly};
use crate::shapes::circulant;
use crate::shapes::rotated_blocks;

pub const ABOUT: About =
    About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P*ceil(log2(P))").symmetric(rotates_evenly).but_for_copies();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let blocks = rotated_blocks(c, r.rank());
    let rotated = r.scratch(c.total());
    r.copy(c.input(r), blocks.part(rotated, 0..1)).await;
    circulant::allgather(r, &blocks, rotated).await;
    blocks.restore(r, rotated, c.result(r)).await;
}

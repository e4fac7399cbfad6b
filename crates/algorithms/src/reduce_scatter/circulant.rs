//! Circulant: each rank passes on partial sums of far blocks, in rounds of distances ceil(P/2^k), longest first.
//!
//! Source: J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234 (2024).
//! Needs: a commutative operator: the blocks of a rank are combined in an order that wraps around rank 0.
//! Counts: ceil(log2 P) rounds, which carry P-1 blocks of about n/P together. No algorithm needs fewer rounds or bytes,
//! at any P.
//!
//! ```text
//! rank 1 of 5 works on    1 2 3 4 0    sends to   4: its blocks 4 0,   adds from 3: blocks 1 2
//!                         1 2 3                   3: its block 3,                4: block 1
//!                         1 2                     2: its block 2,                0: block 1
//!                         1
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative, rotates_evenly};
use crate::shapes::circulant;
use crate::shapes::rotated_blocks;

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)/P*(n*beta + n*gamma)", "P*ceil(log2(P))")
    .refusing(needs_commutative)
    .combining("circulant")
    .symmetric(rotates_evenly)
    .but_for_copies();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let blocks = rotated_blocks(c, r.rank());
    let rotated = r.scratch(c.total());
    blocks.rotate(r, c.input(r), rotated).await;
    circulant::reduce_scatter(r, &blocks, rotated).await;
    r.copy(blocks.part(rotated, 0..1), c.result(r)).await;
}

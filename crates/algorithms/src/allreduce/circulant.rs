//! Circulant: reduce_scatter in rounds of distances ceil(P/2^k), longest first; then allgather, shortest first.
//!
//! Source: J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234 (2024).
//! Needs: a commutative operator: chunks are combined in an order that wraps around rank 0.
//! Counts: 2 ceil(log2 P) rounds. In each half, a rank sends P-1 chunks of about n/P. No algorithm sends less, at any
//! P.
//!
//! ```text
//! rank 1 of 5    adds up chunks    1 2 3 4 0  ─▶  1 2 3  ─▶  1 2  ─▶  1     at distances 3, 2, 1
//!                gathers chunks    1  ─▶  1 2  ─▶  1 2 3  ─▶  1 2 3 4 0     at distances 1, 2, 3
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative, rotates_evenly};
use crate::shapes::circulant;
use crate::shapes::rotated_chunks;

pub const ABOUT: About = About::new("2*ceil(log2(P))*alpha + (P-1)/P*(2*n*beta + n*gamma)", "2*P*ceil(log2(P))")
    .refusing(needs_commutative)
    .symmetric(rotates_evenly)
    .but_for_copies();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    let chunks = rotated_chunks(result, r.size(), r.rank());
    let rotated = r.scratch(result.len);
    chunks.rotate(r, c.input(r), rotated).await;
    circulant::reduce_scatter(r, &chunks, rotated).await;
    circulant::allgather(r, &chunks, rotated).await;
    chunks.restore(r, rotated, result).await;
}

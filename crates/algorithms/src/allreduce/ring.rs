//! Ring: reduce_scatter once round the ring, then allgather once round the ring.
//!
//! Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69
//! (2009).
//! Needs: a commutative operator: each chunk is combined in the order of the ring, starting behind its own rank.
//! Counts: 2 (P-1) rounds. In each round, a rank sends one chunk of about n/P.
//!
//! ```text
//! round 1, chunk c starts at rank c+1:   0 ──c3──▶ 1 ──c0──▶ 2 ──c1──▶ 3 ──c2──▶ 0
//! after P-1 rounds rank r has reduced chunk r; then the chunks go round once more
//! ```

use hocket_core::{Call, Rank, Span};

use crate::about::{About, needs_commutative, rotates_evenly};
use crate::shapes::Ring;

pub const ABOUT: About = About::new("2*(P-1)*alpha + 2*(P-1)/P*n*beta + (P-1)/P*n*gamma", "2*P*(P-1)")
    .refusing(needs_commutative)
    .symmetric(rotates_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (ring, result) = (Ring::of_ranks(r), c.result(r));
    r.copy(c.input(r), result).await;
    let chunk = |i| result.chunk(i, ring.size);
    reduce_scatter(r, &ring, chunk).await;
    allgather(r, &ring, chunk).await;
}

/// Reduces the chunk whose number is the rank's position.
pub async fn reduce_scatter(r: &Rank<'_>, ring: &Ring, chunk: impl Fn(usize) -> Span) {
    let Ring { position, size, previous, next, tag } = *ring;
    let chunk = |i: usize| chunk(i % size);
    let scratch = r.scratch((0..size).map(|i| chunk(i).len).max().unwrap_or(0));
    for step in 1..size {
        let (outgoing, incoming) = (chunk(position + size - step), chunk(position + 2 * size - step - 1));
        let arrived = scratch.part(0, incoming.len);
        r.sendrecv_with((next, outgoing), (previous, arrived), tag).await;
        r.reduce(previous, arrived, incoming).await;
    }
}

/// Gives every rank all chunks. Each rank has the chunk whose number is its position.
pub async fn allgather(r: &Rank<'_>, ring: &Ring, chunk: impl Fn(usize) -> Span) {
    let Ring { position, size, previous, next, tag } = *ring;
    let chunk = |i: usize| chunk(i % size);
    for step in 0..size - 1 {
        let (outgoing, incoming) = (chunk(position + size - step), chunk(position + 2 * size - step - 1));
        r.sendrecv_with((next, outgoing), (previous, incoming), tag).await;
    }
}

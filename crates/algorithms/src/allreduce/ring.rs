//! Ring: reduce_scatter once round the ring, then allgather once round the ring.
//!
//! Source: P. Patarasu, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).
//! Needs: a commutative operator, since every chunk is combined in the order of the ring, starting at its own rank.
//! Counts: 2 (P-1) rounds; each rank sends one chunk of about n/P per round.
//!
//! ```text
//! round 1, chunk c starts at rank c+1:   0 ──c3──▶ 1 ──c0──▶ 2 ──c1──▶ 3 ──c2──▶ 0
//! after P-1 rounds rank r has reduced chunk r; then the chunks go round once more.
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::about::needs_commutative;

pub const ABOUT: About =
    About::new("2*(P-1)*alpha + 2*(P-1)/P*n*beta + (P-1)/P*n*gamma", "2*P*(P-1)").refusing(needs_commutative);

pub async fn program(r: &impl Rank, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let chunk = |i: usize| result.chunk(i % size, size);
    r.copy(c.input(r), result).await;

    let scratch = r.scratch(chunk(0).len);
    for step in 1..size {
        let (outgoing, incoming) = (chunk(rank + size - step), chunk(rank + 2 * size - step - 1));
        let arrived = scratch.part(0, incoming.len);
        r.sendrecv(right, outgoing, left, arrived).await;
        r.reduce(left, arrived, incoming).await;
    }
    for step in 0..size - 1 {
        r.sendrecv(right, chunk(rank + size - step), left, chunk(rank + 2 * size - step - 1)).await;
    }
}

//! Pairwise: in round i every rank sends the rank i to its right that rank's block, and adds what comes from the left.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
//! IJHPCA 19 (2005); MPICH, `reduce_scatter_intra_pairwise.c`.
//! Needs: a commutative operator: every rank starts with its own contribution and goes round from there.
//! Counts: P-1 rounds. In each round, a rank sends one block of about n/P.
//!
//! ```text
//! round 1    0 ──b1──▶ 1 ──b2──▶ 2 ──b3──▶ 3 ──b0──▶ 0
//! round 2    0 ──b2──▶ 2 ──b0──▶ 0     1 ──b3──▶ 3 ──b1──▶ 1
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative, rotates_evenly};

pub const ABOUT: About = About::new("(P-1)*(alpha + n/P*beta + n/P*gamma)", "P*(P-1)")
    .refusing(needs_commutative)
    .combining("pairwise")
    .symmetric(rotates_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input) = (r.rank(), r.size(), c.input(r));
    let (total, arrived) = (r.scratch(c.count(rank)), r.scratch(c.count(rank)));
    r.copy(c.block(input, rank), total).await;
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        r.sendrecv(to, c.block(input, to), from, arrived).await;
        r.reduce(from, arrived, total).await;
    }
    r.copy(total, c.result(r)).await;
}

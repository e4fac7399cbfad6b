//! Ring: every block goes once round the ring.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
//! 19 (2005); MPICH, `allgather_intra_ring.c`. On a node with one port for circuits, even ranks send first and odd
//! ranks receive first: S. Takizawa, S. Matsuoka, H. Nakada, "MPI collective communication on all optical network",
//! equation (3).
//! Needs: nothing.
//! Counts: P-1 rounds of one block. A rank sends to its right neighbour only.
//!
//! ```text
//! round 1    0 ──b0──▶ 1 ──b1──▶ 2 ──b2──▶ 3 ──b3──▶ 0
//! round 2    0 ──b3──▶ 1 ──b0──▶ 2 ──b1──▶ 3 ──b2──▶ 0
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, rotates_evenly};
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P*(P-1)").symmetric(rotates_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let block = |i: usize| c.block(result, i % size);
    r.copy(c.input(r), block(rank)).await;
    let mut rounds = Rounds::new(r, 2, 1, |_| [right, left]);
    for step in 0..size - 1 {
        rounds.enter(0).await;
        let (outgoing, arriving) = (block(rank + size - step), block(rank + 2 * size - step - 1));
        rounds.sendrecv(right, outgoing, left, arriving).await;
    }
    rounds.end().await;
}

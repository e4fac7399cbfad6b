//! Pairwise exchange: in round i every rank exchanges blocks with one other; for a power of two, with rank XOR i.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
//! IJHPCA 19 (2005); MPICH, `alltoall_intra_pairwise.c`. Other numbers of ranks send i to the right and receive from i
//! to the left.
//! Needs: nothing.
//! Counts: P-1 rounds of one block.
//!
//! ```text
//! P = 4    round 1    0 ◀─▶ 1   2 ◀─▶ 3        P = 3    round 1    0 ─▶ 1 ─▶ 2 ─▶ 0
//!          round 2    0 ◀─▶ 2   1 ◀─▶ 3                 round 2    0 ─▶ 2 ─▶ 1 ─▶ 0
//!          round 3    0 ◀─▶ 3   1 ◀─▶ 2
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::pattern::input_apart_from_result;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P*(P-1)");

pub async fn program(r: &impl Rank, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let input = input_apart_from_result(r, c).await;
    r.copy(c.block(input, rank), c.block(result, rank)).await;
    for round in 1..size {
        let (to, from) = if size.is_power_of_two() {
            (rank ^ round, rank ^ round)
        } else {
            ((rank + round) % size, (rank + size - round) % size)
        };
        r.sendrecv(to, c.block(input, to), from, c.block(result, from)).await;
    }
}

//! Ring: every block goes once round the ring, from the rank after its own to its own; each rank adds its part.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_reduce_scatter.c`, `ompi_coll_base_reduce_scatter_intra_ring`.
//! Needs: a commutative operator: each block is combined in the order of the ring, starting behind its own rank.
//! Counts: P-1 rounds. In each round, a rank sends one block of about n/P.
//!
//! ```text
//! round 1, block b starts at rank b+1:   0 ──b3──▶ 1 ──b0──▶ 2 ──b1──▶ 3 ──b2──▶ 0
//! after P-1 rounds rank r has reduced block r
//! ```

use hocket_core::{Call, Rank, Side};

use crate::about::{About, needs_commutative, rotates_evenly};

pub const ABOUT: About = About::new("(P-1)*(alpha + n/P*beta + n/P*gamma)", "P*(P-1)")
    .refusing(needs_commutative)
    .combining("ring")
    .symmetric(rotates_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input) = (r.rank(), r.size(), c.input(r));
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let largest = (0..size).map(|i| c.count(i)).max().unwrap_or(0);
    let scratch = [r.scratch(largest), r.scratch(largest)];

    let mut outgoing = c.block(input, left);
    for step in 1..size {
        let block = (rank + 2 * size - step - 1) % size;
        let arrived = scratch[step % 2].part(0, c.count(block));
        r.sendrecv(right, outgoing, left, arrived).await;
        r.combine(c.block(input, block), arrived, Side::Right).await;
        outgoing = arrived;
    }
    r.copy(outgoing, c.result(r)).await;
}

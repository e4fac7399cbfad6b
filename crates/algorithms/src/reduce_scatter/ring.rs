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

use hocket_core::{Call, Rank, Side, Span};

use crate::about::{About, needs_commutative, rotates_evenly};
use crate::shapes::Ring;
use crate::shapes::channels::longest;

pub const ABOUT: About = About::new("(P-1)*(alpha + n/P*beta + n/P*gamma)", "P*(P-1)")
    .refusing(needs_commutative)
    .combining("ring")
    .symmetric(rotates_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, largest) = (c.input(r), longest(c).len);
    let scratch = [r.scratch(largest), r.scratch(largest)];
    let sum = add_on_ring(r, &Ring::of_ranks(r), scratch, |i| c.block(input, i)).await;
    r.copy(sum, c.result(r)).await;
}

/// Adds up the chunk whose number is the rank's position, on its way round the ring in two rooms by turns. Returns where
/// the sum is.
pub async fn add_on_ring(r: &Rank<'_>, ring: &Ring, rooms: [Span; 2], chunk: impl Fn(usize) -> Span) -> Span {
    let Ring { position, size, previous, next, tag } = *ring;
    let mut outgoing = chunk((position + size - 1) % size);
    for step in 1..size {
        let own = chunk((position + 2 * size - step - 1) % size);
        let arrived = rooms[step % 2].part(0, own.len);
        r.sendrecv_with((next, outgoing), (previous, arrived), tag).await;
        r.combine(own, arrived, Side::Right).await;
        outgoing = arrived;
    }
    outgoing
}

//! Recursive doubling: in step k every rank exchanges its whole vector with the rank whose number differs in bit k.
//!
//! When P is not 2^K, ranks fold first: of the first 2 (P - 2^K) ranks, each even rank sends its vector to its odd
//! neighbour, waits, and receives the result at the end.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
//! 19 (2005), section 4.5.
//! Needs: nothing; operands are combined in rank order, and all ranks combine in the same order.
//! Counts: K = floor(log2 P) exchanges of n bytes. When P is not 2^K, two more messages are on the critical path.
//!
//! ```text
//! P = 4    0 ◀─▶ 1   2 ◀─▶ 3        step 0: bit 0
//!          0 ◀─────▶ 2   1 ◀─────▶ 3   step 1: bit 1
//! ```

use hocket_core::{Call, Rank, Span};

use crate::about::{About, flips};
use crate::shapes::Fold;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new(
    "floor(log2(P))*(alpha + n*beta + n*gamma) + (ceil(log2(P))-floor(log2(P)))*(2*alpha + 2*n*beta + n*gamma)",
    "2*(P - 2^floor(log2(P))) + 2^floor(log2(P))*floor(log2(P))",
)
.exact_when(|_| true)
.combining("recursive_doubling")
.symmetric(flips);

pub async fn program(r: &Rank<'_>, c: &Call) {
    r.copy(c.input(r), c.result(r)).await;
    combine_everywhere(r, c.result(r)).await;
}

/// Combines the vectors of all ranks in rank order. Every rank gets the result.
pub async fn combine_everywhere(r: &Rank<'_>, vector: Span) {
    let fold = Fold::new(r.size());
    let scratch = r.scratch(vector.len);
    let Some(me) = fold.enter(r, vector, scratch).await else { return };
    let steps = fold.active().ilog2() as usize;
    let peer = |step: usize| fold.rank_of(me ^ (1 << step));
    let mut rounds = Rounds::new(r, 1, steps, |step| Some(peer(step)));
    for step in 0..steps {
        rounds.enter(step).await;
        let peer = peer(step);
        r.sendrecv(peer, vector, peer, scratch).await;
        r.reduce(peer, scratch, vector).await;
    }
    fold.leave(r, vector).await;
    rounds.end().await;
}

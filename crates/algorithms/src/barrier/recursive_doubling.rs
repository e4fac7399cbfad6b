//! Recursive doubling: in step k every rank exchanges an empty message with the rank whose number differs in bit k.
//!
//! When P is not 2^K, ranks fold first: of the first 2 (P - 2^K) ranks, each even rank signals its odd neighbour, and
//! waits for its signal at the end.
//!
//! Source: E. D. Brooks III, "The butterfly barrier", Int. J. Parallel Programming 15 (1986).
//! Needs: nothing.
//! Counts: K = floor(log2 P) exchanges. When P is not 2^K, two more messages are on the critical path.
//!
//! ```text
//! P = 4    0 ◀─▶ 1   2 ◀─▶ 3           step 0: bit 0
//!          0 ◀─────▶ 2   1 ◀─────▶ 3   step 1: bit 1
//! ```

use hocket_core::{Call, Rank, Span};

use crate::about::{About, flips};
use crate::shapes::Fold;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new(
    "floor(log2(P))*alpha + (ceil(log2(P))-floor(log2(P)))*2*alpha",
    "2*(P - 2^floor(log2(P))) + 2^floor(log2(P))*floor(log2(P))",
)
.exact_when(|_| true)
.symmetric(flips);

pub async fn program(r: &Rank<'_>, _: &Call) {
    let fold = Fold::new(r.size());
    let Some(me) = fold.enter(r, Span::EMPTY, Span::EMPTY).await else { return };
    let steps = fold.active().ilog2() as usize;
    let peer = |step: usize| fold.rank_of(me ^ (1 << step));
    let mut rounds = Rounds::new(r, 1, steps, |step| Some(peer(step)));
    for step in 0..steps {
        rounds.enter(step).await;
        let peer = peer(step);
        r.sendrecv(peer, Span::EMPTY, peer, Span::EMPTY).await;
    }
    fold.leave(r, Span::EMPTY).await;
    rounds.end().await;
}

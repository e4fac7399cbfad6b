//! Bine butterfly: in each step every rank exchanges its vector with a partner at distance .., 11, 5, 3, 1, 1.
//!
//! The farthest partner comes first, unlike in Swing. With the nearest first, ranks combine the vectors in different
//! orders from 8 ranks on: rank 0 gets ((0+1)+(6+7))+((2+3)+(4+5)), rank 1 gets ((0+1)+(2+3))+((4+5)+(6+7)).
//! Floating-point results would then differ between ranks. When P is not 2^K, ranks fold first, as in
//! recursive_doubling.
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! '25, arXiv 2508.17311: the latency-optimal version of Swing; `swing` is the version for long vectors.
//! Needs: a commutative operator: the combined ranges of ranks wrap around rank 0.
//! Counts: K = floor(log2 P) exchanges of n bytes. When P is not 2^K, two more messages are on the critical path.
//!
//! ```text
//! rank    0   1   2   3   4   5   6   7
//! step 0  └───────────┘                     even ranks to the right by 3: also 2-5, 4-7, 6-1
//! step 1  ┘   └───┘   └───┘   └───┘   └     even ranks to the left by 1
//! step 2  └───┘   └───┘   └───┘   └───┘     even ranks to the right by 1
//! ```

use hocket_core::{Call, Rank, Symmetry};

use crate::about::{About, flips, needs_commutative};
use crate::allreduce::swing::swing;
use crate::shapes::Fold;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new(
    "floor(log2(P))*(alpha + n*beta + n*gamma) + (ceil(log2(P))-floor(log2(P)))*(2*alpha + 2*n*beta + n*gamma)",
    "2*(P - 2^floor(log2(P))) + 2^floor(log2(P))*floor(log2(P))",
)
.exact_when(|_| true)
.refusing(needs_commutative)
.combining("bine")
.symmetric(|c| flips(c).and(Some(Symmetry::Rotation(2))));

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (fold, result) = (Fold::new(r.size()), c.result(r));
    let scratch = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    let Some(me) = fold.enter(r, result, scratch).await else { return };
    let steps = fold.active().ilog2();
    let peer = |round: usize| fold.rank_of(swing(me, steps - 1 - round as u32, fold.active()));
    let mut rounds = Rounds::new(r, 1, steps as usize, |round| Some(peer(round)));
    for round in 0..steps as usize {
        rounds.enter(round).await;
        r.sendrecv(peer(round), result, peer(round), scratch).await;
        r.reduce(peer(round), scratch, result).await;
    }
    fold.leave(r, result).await;
    rounds.end().await;
}

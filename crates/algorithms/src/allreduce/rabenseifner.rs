//! Rabenseifner: reduce_scatter by recursive halving, then allgather by recursive doubling.
//!
//! When P is not 2^K, ranks fold first, as in recursive_doubling.
//!
//! Source: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, LNCS 3036.
//! Needs: nothing; operands are combined in rank order, and one rank alone combines each chunk.
//! Counts: K = floor(log2 P) exchanges of n/2, n/4, .. n/P bytes, and the same backwards. When P is not 2^K, two more
//! messages of n bytes are on the critical path; the formula is then an upper bound, as it rounds chunks of n/2^K bytes
//! up to multiples of n/P.
//!
//! ```text
//! P = 4    0 ◀─▶ 1   2 ◀─▶ 3           halves:     0 and 2 keep the lower half, 1 and 3 the upper half
//!          0 ◀─────▶ 2   1 ◀─────▶ 3   quarters:   0 keeps chunk 0, 1 chunk 2, 2 chunk 1, 3 chunk 3
//!          the same exchanges backwards give every rank all chunks
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, flips_evenly};
use crate::shapes::{Fold, Halves, half_range, halve_and_double};

pub const ABOUT: About = About::new(
    "2*floor(log2(P))*alpha + ceil(P/2^floor(log2(P)))*(2^floor(log2(P))-1)/P*(2*n*beta + n*gamma) \
     + (ceil(log2(P))-floor(log2(P)))*(2*alpha + 2*n*beta + n*gamma)",
    "2*(P - 2^floor(log2(P))) + 2*2^floor(log2(P))*floor(log2(P))",
)
.exact_when(|c| c.ranks.is_power_of_two() && c.count(0).is_multiple_of(c.ranks))
.combining("recursive_doubling")
.symmetric(flips_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    halve_and_double_vector(r, c, |rank, step, _| rank ^ (1 << step), |rank, _| rank).await;
}

/// Halves the vector between partners, then doubles it. `partner` says with whom a rank exchanges in a step. Partners
/// of step s have labels that differ in bit s. Both functions also take the number of ranks.
pub async fn halve_and_double_vector(
    r: &Rank<'_>,
    c: &Call,
    partner: impl Fn(usize, u32, usize) -> usize,
    label: impl Fn(usize, usize) -> usize,
) {
    let result = c.result(r);
    let fold = Fold::new(r.size());
    let scratch = r.scratch(result.len);
    r.copy(c.input(r), result).await;

    let Some(me) = fold.enter(r, result, scratch).await else { return };
    let active = fold.active();
    let chunks = |who: usize, steps: u32| {
        let range = half_range(label(who, active), steps, active);
        result.chunks(range.start, range.len(), active)
    };
    let halves = |step: u32| {
        let partner = partner(me, step, active);
        Halves { peer: fold.rank_of(partner), own: chunks(me, step + 1), its: chunks(partner, step + 1) }
    };
    halve_and_double(r, active.ilog2(), halves, 0).await;
    fold.leave(r, result).await;
}

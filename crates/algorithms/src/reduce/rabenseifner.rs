//! Rabenseifner: reduce_scatter by recursive halving, then a binomial tree gathers the chunks at the root.
//!
//! When P is not 2^K, ranks fold first, as in allreduce recursive_doubling.
//!
//! Source: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, LNCS 3036; MPICH,
//! `reduce_intra_reduce_scatter_gather.c`.
//! Needs: nothing; operands are combined in rank order.
//! Counts: K = floor(log2 P) exchanges of n/2, n/4, .. n/P bytes, and the same bytes towards the root. When P is not
//! 2^K, one more message of n bytes is on the critical path, or two if the root is a rank that the fold leaves out. The
//! formula is then an upper bound, as it rounds chunks of n/2^K bytes up to multiples of n/P.
//!
//! ```text
//! P = 4    0 ◀─▶ 1   2 ◀─▶ 3           halves:     0 and 2 keep the lower half, 1 and 3 the upper half
//!          0 ◀─────▶ 2   1 ◀─────▶ 3   quarters:   0 keeps chunk 0, 1 chunk 2, 2 chunk 1, 3 chunk 3
//!          2 ─────▶ 0    3 ─────▶ 1    to root 0:  chunks 1 and 3
//!          1 ─▶ 0                                  chunks 2 and 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::{Fold, Halves, half_range, halve};

pub const ABOUT: About = About::new(
    "2*floor(log2(P))*alpha + ceil(P/2^floor(log2(P)))*(2^floor(log2(P))-1)/P*(2*n*beta + n*gamma) \
     + (ceil(log2(P))-floor(log2(P)))*((1 + last)*(alpha + n*beta) + n*gamma)",
    "P - 1 + 2^floor(log2(P))*floor(log2(P)) + last",
)
.exact_when(|c| c.ranks.is_power_of_two() && c.count(0).is_multiple_of(c.ranks))
.completing(|c| vec![("last", u64::from(Fold::new(c.ranks).sits_out(c.root)))])
.combining("rabenseifner");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, input) = (r.rank(), c.input(r));
    let fold = Fold::new(r.size());
    let (active, root) = (fold.active(), fold.virtual_rank(c.root));
    if fold.sits_out(rank) {
        r.send(rank + 1, input).await;
        if rank == c.root {
            r.recv(rank + 1, c.result(r)).await;
        }
        return;
    }
    let total = if rank == c.root { c.result(r) } else { r.scratch(input.len) };
    r.copy(input, total).await;
    if fold.speaks_for_two(rank) {
        let arrived = r.scratch(input.len);
        r.recv(rank - 1, arrived).await;
        r.reduce(rank - 1, arrived, total).await;
    }

    let me = fold.virtual_rank(rank);
    let chunks = |who: usize, steps: u32| {
        let range = half_range(who, steps, active);
        total.chunks(range.start, range.len(), active)
    };
    let halves = |step: u32| {
        let partner = me ^ (1 << step);
        Halves { peer: fold.rank_of(partner), own: chunks(me, step + 1), its: chunks(partner, step + 1) }
    };
    halve(r, active.ilog2(), halves, 0).await;
    for step in (0..active.ilog2()).rev() {
        let Halves { peer, own, its } = halves(step);
        if (me ^ root) >> step & 1 == 1 {
            r.send(peer, own).await;
            return;
        }
        r.recv(peer, its).await;
    }
    if rank != c.root {
        r.send(rank - 1, total).await;
    }
}

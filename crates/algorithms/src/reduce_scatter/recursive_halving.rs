//! Recursive halving: in each step a rank gives half of the blocks it works on to a partner, and keeps the other half.
//!
//! When P is not 2^K, ranks fold first: of the first 2 (P - 2^K) ranks, each even rank sends its vector to its odd
//! neighbour, and receives its block at the end.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
//! 19 (2005); MPICH, `reduce_scatter_intra_recursive_halving.c`.
//! Needs: a commutative operator: the first partner is half of the ranks away.
//! Counts: K = floor(log2 P) exchanges of n/2, n/4, .. n/P bytes. When P is not 2^K, one more message of n bytes and
//! one of n/P bytes are on the critical path, and some ranks work on two blocks where others work on one.
//!
//! ```text
//! P = 4    0 ◀────────▶ 2   1 ◀────────▶ 3   0 and 1 keep blocks 0 1, 2 and 3 keep blocks 2 3
//!          0 ◀─▶ 1      2 ◀─▶ 3              each keeps its own
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, flips_evenly, has_equal_blocks, needs_commutative};
use crate::shapes::{Fold, group_start};

pub const ABOUT: About = About::new(
    "floor(log2(P))*alpha + ceil(P/2^floor(log2(P)))*(2^floor(log2(P))-1)/P*(n*beta + n*gamma) \
     + (ceil(log2(P))-floor(log2(P)))*(2*alpha + n*beta + n*gamma + n/P*beta)",
    "2*(P - 2^floor(log2(P))) + 2^floor(log2(P))*floor(log2(P))",
)
.exact_when(|c| c.ranks.is_power_of_two() && has_equal_blocks(c))
.refusing(needs_commutative)
.combining("recursive_halving")
.symmetric(flips_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, fold) = (r.rank(), Fold::new(r.size()));
    if fold.sits_out(rank) {
        r.send(rank + 1, c.input(r)).await;
        r.recv(rank + 1, c.result(r)).await;
        return;
    }
    let (total, scratch) = (r.scratch(c.total()), r.scratch(c.total()));
    r.copy(c.input(r), total).await;
    if fold.speaks_for_two(rank) {
        r.recv(rank - 1, scratch).await;
        r.reduce(rank - 1, scratch, total).await;
    }
    let me = fold.virtual_rank(rank);
    let blocks = |who: usize, group: usize| {
        let start = group_start(who, group);
        let (first, end) = (fold.first_rank(start), fold.first_rank(start + group));
        c.blocks(total, first, end - first)
    };
    for step in (0..fold.active().ilog2()).rev() {
        let (half, partner) = (1 << step, me ^ (1 << step));
        let (peer, own_blocks) = (fold.rank_of(partner), blocks(me, half));
        let arrived = scratch.part(0, own_blocks.len);
        r.sendrecv(peer, blocks(partner, half), peer, arrived).await;
        r.reduce(peer, arrived, own_blocks).await;
    }
    if fold.speaks_for_two(rank) {
        r.send(rank - 1, c.block(total, rank - 1)).await;
    }
    r.copy(c.block(total, rank), c.result(r)).await;
}

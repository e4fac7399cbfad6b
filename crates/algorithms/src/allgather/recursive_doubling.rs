//! Recursive doubling: in step k every rank exchanges all its blocks with the rank whose number differs in bit k.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
//! IJHPCA 19 (2005); MPICH, `allgather_intra_recursive_doubling.c`.
//! Needs: a power of two of ranks.
//! Counts: log2 P exchanges of 1, 2, 4, .. P/2 blocks.
//!
//! ```text
//! P = 4    0 ◀─▶ 1   2 ◀─▶ 3           then 0 and 1 have blocks 0 1; 2 and 3 have blocks 2 3
//!          0 ◀─────▶ 2   1 ◀─────▶ 3   then every rank has all blocks
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, flips_evenly, needs_power_of_two};
use crate::shapes::group_start;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About =
    About::new("log2(P)*alpha + (P-1)*n*beta", "P*log2(P)").refusing(needs_power_of_two).symmetric(flips_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, result) = (r.rank(), c.result(r));
    r.copy(c.input(r), c.block(result, rank)).await;
    let steps = r.size().ilog2() as usize;
    let mut rounds = Rounds::new(r, 1, steps, |step| Some(rank ^ (1 << step)));
    for step in 0..steps {
        rounds.enter(step).await;
        let (group, peer) = (1 << step, rank ^ (1 << step));
        let blocks_of = |rank: usize| c.blocks(result, group_start(rank, group), group);
        r.sendrecv(peer, blocks_of(rank), peer, blocks_of(peer)).await;
    }
    rounds.end().await;
}

//! Scatter and doubling allgather: a binomial tree scatters the message, recursive doubling allgathers the chunks.
//!
//! Source: M. Barnett, S. Gupta, D. G. Payne, L. Shuler, R. van de Geijn, J. Watts, "Interprocessor collective
//! communication library (InterCom)", SHPCC 1994; MPICH, `bcast_intra_scatter_recursive_doubling_allgather.c`.
//! Needs: a power of two of ranks.
//! Counts: log2 P rounds that halve what is sent on, then log2 P exchanges that double it again.
//!
//! ```text
//! scatter      0 ──c2 c3──▶ 2
//!              0 ─c1─▶ 1    2 ─c3─▶ 3
//! allgather    0 ◀─▶ 1      2 ◀─▶ 3
//!              0 ◀────────▶ 2   1 ◀────────▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::about::needs_power_of_two;
use crate::shapes::{BinomialTree, group_start};

pub const ABOUT: About =
    About::new("2*log2(P)*alpha + 2*(P-1)/P*n*beta", "(P-1) + P*log2(P)").refusing(needs_power_of_two);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let tree = BinomialTree::new(rank, c.root, size);
    let own = tree.relative();
    let chunks_below = |rank: usize| {
        let below = tree.subtree(rank);
        result.chunks(own + below.start, below.len(), size)
    };
    if let Some(parent) = tree.parent() {
        r.recv(parent, chunks_below(rank)).await;
    }
    for child in tree.children().rev() {
        r.send(child, chunks_below(child)).await;
    }

    for step in 0..size.ilog2() {
        let (group, partner) = (1 << step, own ^ (1 << step));
        let chunks_of = |relative: usize| result.chunks(group_start(relative, group), group, size);
        let peer = tree.rank_at(partner);
        r.sendrecv(peer, chunks_of(own), peer, chunks_of(partner)).await;
    }
}

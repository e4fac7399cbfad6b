//! Scatter and doubling allgather: a binomial tree scatters the message, recursive doubling allgathers the chunks.
//!
//! Source: M. Barnett, S. Gupta, D. G. Payne, L. Shuler, R. van de Geijn, J. Watts, "Interprocessor collective
//! communication library (InterCom)", SHPCC 1994; MPICH, `bcast_intra_scatter_recursive_doubling_allgather.c`.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds that halve what is sent on, then as many exchanges that double it again. Where P is no
//! power of two, some ranks have no partner in a step. They receive what the others of their group have received, along
//! a binomial tree; the formula is then an upper bound.
//!
//! ```text
//! scatter      0 ──c2 c3──▶ 2
//!              0 ─c1─▶ 1    2 ─c3─▶ 3
//! allgather    0 ◀─▶ 1      2 ◀─▶ 3
//!              0 ◀────────▶ 2   1 ◀────────▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::scan::recursive_doubling::{steps, with_partner};
use crate::shapes::{BinomialTree, group_start, pass_on, without_partner};

pub const ABOUT: About = About::new("(ceil(log2(P)) + rounds)*alpha + (P-1 + chunks)/P*n*beta", "P-1 + sends")
    .exact_when(|c| c.ranks.is_power_of_two() && c.count(0).is_multiple_of(c.ranks))
    .completing(counts);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (size, result) = (r.size(), c.result(r));
    let tree = scatter_chunks(r, c).await;
    let own = tree.relative();
    for group in steps(size) {
        let partner = own ^ group;
        let chunks_of = |relative: usize| {
            let start = group_start(relative, group).min(size);
            result.chunks(start, group.min(size - start), size)
        };
        if partner < size {
            let peer = tree.rank_at(partner);
            r.sendrecv(peer, chunks_of(own), peer, chunks_of(partner)).await;
        }
        pass_on(r, own, group, |place| tree.rank_at(place), chunks_of(partner)).await;
    }
}

/// Scatters the chunks of the message along a binomial tree, which is returned.
pub async fn scatter_chunks(r: &Rank<'_>, c: &Call) -> BinomialTree {
    let tree = BinomialTree::new(r.rank(), c.root, r.size());
    let chunks_below = |rank: usize| {
        let below = tree.subtree(rank);
        c.result(r).chunks(tree.relative() + below.start, below.len(), r.size())
    };
    if let Some(parent) = tree.parent() {
        r.recv(parent, chunks_below(r.rank())).await;
    }
    for child in tree.children().rev() {
        r.send(child, chunks_below(child)).await;
    }
    tree
}

/// The values in formulas: all `sends` of the allgather; its `rounds`, one after another; and the `chunks` of the longest
/// message of each round, added up.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let (mut sends, mut rounds, mut chunks) = (0, 0, 0);
    for group in steps(c.ranks) {
        let unpaired_ranks = without_partner(group, c.ranks);
        let passes = if unpaired_ranks > 0 { group.ilog2() as usize } else { 0 };
        sends += with_partner(group, c.ranks) + unpaired_ranks;
        rounds += 1 + passes;
        chunks += group + passes * (group - unpaired_ranks);
    }
    vec![("sends", sends as u64), ("rounds", rounds as u64), ("chunks", chunks as u64)]
}

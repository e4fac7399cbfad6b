//! Binomial tree: signals go up a binomial tree to rank 0, and then down the same tree.
//!
//! Source: Open MPI, coll/base, `ompi_coll_base_barrier_intra_tree`.
//! Needs: nothing.
//! Counts: ceil(log2 P) steps up, at most, and ceil(log2 P) steps down; 2 (P-1) messages.
//!
//! ```text
//! up      0 ◀─ 1   2 ◀─ 3        down    0 ────▶ 2
//!         0 ◀───── 2                     0 ─▶ 1   2 ─▶ 3
//! ```

use hocket_core::{Call, Rank, Span};

use crate::About;
use crate::shapes::BinomialTree;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("2*ceil(log2(P))*alpha", "2*(P-1)").exact_when(|c| c.ranks.is_power_of_two());

pub async fn program(r: &Rank<'_>, _: &Call) {
    let tree = BinomialTree::new(r.rank(), 0, r.size());
    let levels = tree.levels();
    let mut rounds = Rounds::new(r, 1, levels as usize, |round| tree.peer(round as u32));
    for (level, peer) in tree.peers() {
        rounds.enter(level as usize).await;
        signal(r, peer, Some(peer) == tree.parent()).await;
    }
    rounds.end().await;
    let mut rounds = Rounds::new(r, 1, levels as usize, |round| tree.peer(levels - 1 - round as u32));
    for (level, peer) in tree.peers().rev() {
        rounds.enter((levels - 1 - level) as usize).await;
        signal(r, peer, Some(peer) != tree.parent()).await;
    }
    rounds.end().await;
}

async fn signal(r: &Rank<'_>, peer: usize, sends: bool) {
    if sends {
        r.send(peer, Span::EMPTY).await;
    } else {
        r.recv(peer, Span::EMPTY).await;
    }
}

//! Binomial tree: signals go up a binomial tree to rank 0, and then down the same tree.
//!
//! Source: Open MPI, coll/base, `ompi_coll_base_barrier_intra_tree`.
//! Needs: nothing.
//! Counts: floor(log2 P) steps up and ceil(log2 P) steps down; 2 (P-1) messages.
//!
//! ```text
//! up      0 ◀─ 1   2 ◀─ 3        down    0 ────▶ 2
//!         0 ◀───── 2                     0 ─▶ 1   2 ─▶ 3
//! ```

use hocket_core::{Call, Rank, Span};

use crate::About;
use crate::shapes::BinomialTree;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("floor(log2(P))*alpha + ceil(log2(P))*alpha", "2*(P-1)").exact_when(|_| true);

pub async fn program(r: &Rank<'_>, _: &Call) {
    let tree = BinomialTree::new(r.rank(), 0, r.size());
    let levels = tree.levels() as usize;
    let level_of = |step: usize| if step < levels { step } else { 2 * levels - 1 - step };
    let mut rounds = Rounds::new(r, 1, 2 * levels, |step| tree.peer(level_of(step) as u32));
    for step in 0..2 * levels {
        let Some(peer) = tree.peer(level_of(step) as u32) else { continue };
        rounds.enter(step).await;
        let (is_up, is_child) = (step < levels, Some(peer) == tree.parent());
        if is_up == is_child {
            r.send(peer, Span::EMPTY).await;
        } else {
            r.recv(peer, Span::EMPTY).await;
        }
    }
    rounds.end().await;
}

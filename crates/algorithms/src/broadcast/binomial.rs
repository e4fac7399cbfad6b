//! Binomial tree: every rank that has the message passes it on, so the number of holders doubles in each round.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
//! IJHPCA 19 (2005), section 4.2.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds of n bytes; P-1 messages.
//!
//! ```text
//! round 1    0 ───────────▶ 4
//! round 2    0 ─────▶ 2     4 ─────▶ 6
//! round 3    0 ─▶ 1   2 ─▶ 3   4 ─▶ 5   6 ─▶ 7
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::BinomialTree;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + n*beta)", "P-1").exact_when(|_| true);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let tree = BinomialTree::new(r.rank(), c.root, r.size());
    let (levels, result) = (tree.levels(), c.result(r));
    let mut rounds = Rounds::new(r, 1, levels as usize, |round| tree.peer(levels - 1 - round as u32));
    for (level, peer) in tree.peers().rev() {
        rounds.enter((levels - 1 - level) as usize).await;
        if Some(peer) == tree.parent() {
            r.recv(peer, result).await;
        } else {
            r.send(peer, result).await;
        }
    }
    rounds.end().await;
}

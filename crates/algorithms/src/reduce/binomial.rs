//! Binomial tree: the broadcast tree run backwards, so the number of partial results halves in each round.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
//! IJHPCA 19 (2005), section 4.5.
//! Needs: root 0 or a commutative operator: the tree combines in the order of ranks counted from the root.
//! Counts: ceil(log2 P) rounds of n bytes; P-1 messages.
//!
//! ```text
//! round 1    1 ─▶ 0   3 ─▶ 2   5 ─▶ 4   7 ─▶ 6
//! round 2    2 ─────▶ 0        6 ─────▶ 4
//! round 3    4 ─────────────▶ 0
//! ```

use hocket_core::{Call, Rank, Side, Span};

use crate::about::{About, needs_root_0_or_commutative};
use crate::shapes::BinomialTree;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + n*beta + n*gamma)", "P-1")
    .exact_when(|_| true)
    .refusing(needs_root_0_or_commutative)
    .combining("binomial");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let input = c.input(r);
    let total = if r.rank() == c.root { c.result(r) } else { r.scratch(input.len) };
    r.copy(input, total).await;
    reduce_to(r, c.root, total).await;
}

/// Reduces the vectors `total` of all ranks into the vector of `root`. In the end, another rank has its subtree's sum.
pub async fn reduce_to(r: &Rank<'_>, root: usize, total: Span) {
    let tree = BinomialTree::new(r.rank(), root, r.size());
    let arrived = r.scratch(total.len);
    let mut rounds = Rounds::new(r, 1, tree.levels() as usize, |round| tree.peer(round as u32));
    for (round, peer) in tree.peers() {
        rounds.enter(round as usize).await;
        if Some(peer) == tree.parent() {
            r.send(peer, total).await;
        } else {
            r.recv(peer, arrived).await;
            r.combine(arrived, total, Side::Right).await;
        }
    }
    rounds.end().await;
}

//! Bine tree: the tree of broadcast bine, run backwards.
//!
//! When P is not 2^K, the halves of a subtree differ by one rank.
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! '25, arXiv 2508.17311.
//! Needs: a commutative operator: the ranks of a subtree may wrap around rank 0.
//! Counts: ceil(log2 P) rounds of n bytes; P-1 messages.
//!
//! ```text
//! ranks      6  7 [0] 1  2  3  4  5
//! round 1    └──▶  ◀──┘  └──▶  ◀──┘
//! round 2       └──▶        ◀──┘
//! round 3          ◀────────┘
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative};
use crate::shapes::bine::BineTree;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + n*beta + n*gamma)", "P-1")
    .exact_when(|_| true)
    .refusing(needs_commutative)
    .combining("bine");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (tree, input) = (BineTree::new(r.rank(), c.root, r.size()), c.input(r));
    let total = if r.rank() == c.root { c.result(r) } else { r.scratch(input.len) };
    let arrived = r.scratch(input.len);
    r.copy(input, total).await;
    let from_the_leaves = |round: usize| tree.rounds() - 1 - round;
    let mut rounds = Rounds::new(r, 1, tree.rounds(), |round| tree.peer(from_the_leaves(round)));
    for (round, child) in tree.children().rev() {
        rounds.enter(from_the_leaves(round)).await;
        r.recv(child, arrived).await;
        r.reduce(child, arrived, total).await;
    }
    if let Some((round, parent)) = tree.parent() {
        rounds.enter(from_the_leaves(round)).await;
        r.send(parent, total).await;
    }
    rounds.end().await;
}

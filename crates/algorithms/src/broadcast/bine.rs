//! Bine tree: a binomial tree whose children are at the distances 1, 1, 3, 5, 11, .., to the left and right in turn.
//!
//! When P is not 2^K, the halves of a subtree differ by one rank.
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! '25, arXiv 2508.17311.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds of n bytes; P-1 messages. Distances are a third shorter than in a binomial tree, so
//! fewer messages leave a group of neighbours.
//!
//! ```text
//! ranks      6  7 [0] 1  2  3  4  5
//! round 1          └────────▶
//! round 2       ◀──┘        └──▶
//! round 3    ◀──┘  └──▶  ◀──┘  └──▶
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::bine::BineTree;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + n*beta)", "P-1").exact_when(|_| true);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (tree, result) = (BineTree::new(r.rank(), c.root, r.size()), c.result(r));
    let mut rounds = Rounds::new(r, 1, tree.rounds(), |round| tree.peer(round));
    if let Some((round, parent)) = tree.parent() {
        rounds.enter(round).await;
        r.recv(parent, result).await;
    }
    for (round, child) in tree.children() {
        rounds.enter(round).await;
        r.send(child, result).await;
    }
    rounds.end().await;
}

//! Bine tree: every rank collects the consecutive blocks of its subtree, and sends them to its parent in one message.
//!
//! When P is not 2^K, the halves of a subtree differ by one rank.
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! '25, arXiv 2508.17311.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds. The root receives P-1 blocks; the largest subtree's come last.
//!
//! ```text
//! ranks      6  7 [0] 1  2  3  4  5
//! round 1    └──▶  ◀──┘  └──▶  ◀──┘     one block each
//! round 2       └──▶        ◀──┘        b6 b7 and b4 b5
//! round 3          ◀────────┘           b2 b3 b4 b5
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::bine::BineTree;
use crate::shapes::rotated_blocks;

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P-1");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let tree = BineTree::new(r.rank(), c.root, r.size());
    let rotation = rotated_blocks(c, tree.first_of_subtree());
    let subtree_blocks = r.scratch(rotation.len(tree.ranks_of_subtree()));
    r.copy(c.input(r), rotation.part(subtree_blocks, tree.place()..tree.place() + 1)).await;
    for (child, subtree) in tree.subtrees().rev() {
        r.recv(child, rotation.part(subtree_blocks, subtree)).await;
    }
    if let Some((_, parent)) = tree.parent() {
        r.send(parent, subtree_blocks).await;
        return;
    }
    rotation.restore(r, subtree_blocks, c.result(r)).await;
}

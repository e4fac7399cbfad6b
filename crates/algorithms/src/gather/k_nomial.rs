//! k-nomial tree: every rank collects the blocks of its subtree, from up to k-1 children at a time.
//!
//! k is the parameter `radix`; with k = 2 this is the binomial tree. A rank sends the blocks of its subtree to its
//! parent in one message.
//!
//! Source: M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "Generalized collective
//! algorithms for the exascale era", IEEE CLUSTER 2023.
//! Needs: nothing. The blocks of a subtree are contiguous in the order that begins with the block of its topmost rank.
//! Counts: ceil(logk P) rounds of up to k-1 messages at a time, of 1, k, k^2, .. blocks; the messages of the last round
//! are shorter when fewer blocks are left. P-1 messages.
//!
//! ```text
//! P = 9, radix 3    round 1    1, 2 ─▶ 0               4, 5 ─▶ 3     7, 8 ─▶ 6
//!                   round 2    3 ──b3 b4 b5──▶ 0       6 ──b6 b7 b8──▶ 0
//! ```

use hocket_core::{Call, Parameter, Rank};

use crate::About;
use crate::shapes::radix::{counts_by_digits, k_nomial, most_others, radix};
use crate::shapes::rotated_blocks;

const RADIX: Parameter =
    radix(4, "subtrees that a round joins into one: a rank receives from radix - 1 others at a time");

pub const ABOUT: About = About::new("ceil(ports/k)*(rounds*alpha + blocks*n*beta)", "P-1")
    .on_ports(most_others)
    .with_parameters(&[RADIX])
    .completing(counts_by_digits);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let rank = r.rank();
    let (tree, rotation) = (k_nomial(r, c), rotated_blocks(c, rank));
    let subtree_blocks = r.scratch(rotation.len(tree.subtree(rank).len()));
    r.copy(c.input(r), rotation.part(subtree_blocks, 0..1)).await;
    for level in 0..tree.height() {
        let receive = |child| r.recv(child, rotation.part(subtree_blocks, tree.subtree(child)));
        r.join_all(tree.children_at(level).map(receive)).await;
    }
    if let Some(parent) = tree.parent() {
        r.send(parent, subtree_blocks).await;
        return;
    }
    rotation.restore(r, subtree_blocks, c.result(r)).await;
}

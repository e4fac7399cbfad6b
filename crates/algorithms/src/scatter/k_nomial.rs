//! k-nomial tree: every rank sends the blocks of its children's subtrees, to up to k-1 children at a time.
//!
//! k is the parameter `radix`; with k = 2 this is the binomial tree. The blocks of a subtree are one message.
//!
//! Source: M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "Generalized collective
//! algorithms for the exascale era", IEEE CLUSTER 2023.
//! Needs: nothing. The blocks of a subtree are contiguous in the order that begins with the block of its topmost rank.
//! Counts: ceil(logk P) rounds of up to k-1 messages at a time, of .., k^2, k, 1 blocks; the messages of the first
//! round are shorter when there are fewer blocks. P-1 messages.
//!
//! ```text
//! P = 9, radix 3    round 1    0 ──b3 b4 b5──▶ 3       0 ──b6 b7 b8──▶ 6
//!                   round 2    0 ─▶ 1, 2               3 ─▶ 4, 5     6 ─▶ 7, 8
//! ```

use hocket_core::{Call, Parameter, Rank};

use crate::About;
use crate::shapes::radix::{counts_by_digits, k_nomial, most_others, radix};
use crate::shapes::rotated_blocks;

const RADIX: Parameter = radix(4, "subtrees into which a round cuts one: a rank sends to radix - 1 others at a time");

pub const ABOUT: About = About::new("ceil(ports/k)*(rounds*alpha + blocks*n*beta)", "P-1")
    .on_ports(most_others)
    .with_parameters(&[RADIX])
    .completing(counts_by_digits);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let rank = r.rank();
    let (tree, rotation) = (k_nomial(r, c), rotated_blocks(c, rank));
    let subtree_blocks = r.scratch(rotation.len(tree.subtree(rank).len()));
    if let Some(parent) = tree.parent() {
        r.recv(parent, subtree_blocks).await;
        r.copy(rotation.part(subtree_blocks, 0..1), c.result(r)).await;
    } else {
        rotation.rotate(r, c.input(r), subtree_blocks).await;
        r.copy(c.block(c.input(r), rank), c.result(r)).await;
    }
    for level in (0..tree.height()).rev() {
        let send = |child| r.send(child, rotation.part(subtree_blocks, tree.subtree(child)));
        r.join_all(tree.children_at(level).map(send)).await;
    }
}

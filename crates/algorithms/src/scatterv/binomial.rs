//! Binomial: first the sizes go up a binomial tree, then the blocks go down; a subtree's blocks travel together.
//!
//! Only the root knows the sizes of all blocks. A rank whose parent is not the root tells its parent the size of its
//! subtree. It tells the number by the lengths of messages, one message for each digit to the base 2048.
//!
//! Source: J. L. Traeff, "On optimal trees for irregular gather and scatter collectives", IEEE Trans. Parallel and
//! Distributed Systems 30 (2019), which also sends sizes along trees. The tree here is the tree of `scatter/binomial`,
//! for all sizes.
//! Needs: nothing.
//! Counts: P-1 messages with blocks. Each rank that is neither the root nor its child sends one to three short
//! messages, for sizes up to 8 GiB. Blocks leave the root in ceil(log2 P) messages.
//!
//! ```text
//! sizes     3 ──▶ 2   7 ──▶ 6   6, 5 ──▶ 4     the root, 0, knows the sizes of its children's subtrees
//! blocks    0 ──b4 b5 b6 b7──▶ 4 ──b6 b7──▶ 6   0 ──b2 b3──▶ 2 ──b3──▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::subtree_sizes::{counts, subtrees};
use crate::shapes::{BinomialTree, rotated_blocks};

pub const ABOUT: About =
    About::new("rounds*(digits*alpha + digit_bytes*beta) + ceil(log2(P))*alpha + (P-1)*n*beta", "P-1 + sizes")
        .exact_when(|c| c.ranks == 1)
        .completing(counts);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, result) = (r.rank(), c.result(r));
    let tree = BinomialTree::new(rank, c.root, r.size());
    let sizes = subtrees(r, c, &tree).await;
    let Some(parent) = tree.parent() else {
        let (rotation, subtree_blocks) = (rotated_blocks(c, rank), r.scratch(c.total()));
        rotation.rotate(r, c.input(r), subtree_blocks).await;
        r.copy(c.block(c.input(r), rank), result).await;
        for child in tree.children().rev() {
            r.send(child, rotation.part(subtree_blocks, tree.subtree(child))).await;
        }
        return;
    };
    let subtree_blocks = r.scratch(result.len + sizes.iter().sum::<usize>());
    r.recv(parent, subtree_blocks).await;
    r.copy(subtree_blocks.part(0, result.len), result).await;
    let mut end = subtree_blocks.len;
    for (child, size) in tree.children().rev().zip(sizes.into_iter().rev()) {
        end -= size;
        r.send(child, subtree_blocks.part(end, size)).await;
    }
}

//! Binomial tree: every rank sends each child the blocks of the child's whole subtree, in one message.
//!
//! Source: MPICH, `src/mpi/coll/scatter/scatter_intra_binomial.c`.
//! Needs: nothing. The blocks of a subtree are contiguous in the order that begins with the block of its topmost rank.
//! Counts: ceil(log2 P) rounds. The root sends P-1 blocks, the largest subtree's first.
//!
//! ```text
//! round 1    0 ──b4 b5 b6 b7──▶ 4
//! round 2    0 ──b2 b3──▶ 2     4 ──b6 b7──▶ 6
//! round 3    0 ─▶ 1   2 ─▶ 3    4 ─▶ 5   6 ─▶ 7
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::{BinomialTree, rotated_blocks};

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P-1");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let rank = r.rank();
    let (tree, rotation) = (BinomialTree::new(rank, c.root, r.size()), rotated_blocks(c, rank));
    // The blocks leave from their places at rank 0, as in MPICH and Open MPI: as root, it needs no scratch.
    let is_in_place = rank == 0 && c.root == 0;
    let subtree_blocks = if is_in_place { c.input(r) } else { r.scratch(rotation.len(tree.subtree(rank).len())) };
    if let Some(parent) = tree.parent() {
        r.recv(parent, subtree_blocks).await;
        r.copy(rotation.part(subtree_blocks, 0..1), c.result(r)).await;
    } else {
        if !is_in_place {
            rotation.rotate(r, c.input(r), subtree_blocks).await;
        }
        r.copy(c.block(c.input(r), rank), c.result(r)).await;
    }
    for child in tree.children().rev() {
        r.send(child, rotation.part(subtree_blocks, tree.subtree(child))).await;
    }
}

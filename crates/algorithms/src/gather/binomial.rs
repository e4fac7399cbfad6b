//! Binomial tree: every rank collects the blocks of its subtree, and sends them to its parent in one message.
//!
//! Source: MPICH, `src/mpi/coll/gather/gather_intra_binomial.c`.
//! Needs: nothing. The blocks of a subtree are contiguous in the order that begins with the block of its topmost rank.
//! Counts: ceil(log2 P) rounds. The root receives P-1 blocks; the largest subtree's come last.
//!
//! ```text
//! round 1    1 ─▶ 0   3 ─▶ 2    5 ─▶ 4   7 ─▶ 6
//! round 2    2 ──b2 b3──▶ 0     6 ──b6 b7──▶ 4
//! round 3    4 ──b4 b5 b6 b7──▶ 0
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::{BinomialTree, rotated_blocks};

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P-1");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let rank = r.rank();
    let (tree, rotation) = (BinomialTree::new(rank, c.root, r.size()), rotated_blocks(c, rank));
    // The blocks arrive in their places at rank 0, as in MPICH and Open MPI: as root, it needs no scratch.
    let is_in_place = rank == 0 && c.root == 0;
    let subtree_blocks = if is_in_place { c.result(r) } else { r.scratch(rotation.len(tree.subtree(rank).len())) };
    r.copy(c.input(r), rotation.part(subtree_blocks, 0..1)).await;
    for child in tree.children() {
        r.recv(child, rotation.part(subtree_blocks, tree.subtree(child))).await;
    }
    if let Some(parent) = tree.parent() {
        r.send(parent, subtree_blocks).await;
    } else if !is_in_place {
        rotation.restore(r, subtree_blocks, c.result(r)).await;
    }
}

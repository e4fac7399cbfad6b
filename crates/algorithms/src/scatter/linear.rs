//! Linear: the root sends every other rank its block, one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_scatter.c`, `ompi_coll_base_scatter_intra_basic_linear`.
//! Needs: nothing.
//! Counts: P-1 messages of one block, all of them the root's.
//!
//! ```text
//! 0 ──b1──▶ 1, 0 ──b2──▶ 2, 0 ──b3──▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P-1");

pub async fn program(r: &impl Rank, c: &Call) {
    let (rank, input, result) = (r.rank(), c.input(r), c.result(r));
    if rank != c.root {
        r.recv(c.root, result).await;
        return;
    }
    for peer in (0..r.size()).filter(|peer| *peer != rank) {
        r.send(peer, c.block(input, peer)).await;
    }
    r.copy(c.block(input, rank), result).await;
}

//! Linear: the root receives every other rank's block, one after another in rank order.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_gather.c`, `ompi_coll_base_gather_intra_basic_linear`.
//! Needs: nothing.
//! Counts: P-1 messages of one block. The root receives all of them.
//!
//! ```text
//! 1 ──b1──▶ 0, 2 ──b2──▶ 0, 3 ──b3──▶ 0
//! ```

use hocket_core::{Call, Rank};

use crate::About;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P-1");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, input, result) = (r.rank(), c.input(r), c.result(r));
    if rank != c.root {
        r.send(c.root, input).await;
        return;
    }
    r.copy(input, c.block(result, rank)).await;
    for peer in (0..r.size()).filter(|peer| *peer != rank) {
        r.recv(peer, c.block(result, peer)).await;
    }
}

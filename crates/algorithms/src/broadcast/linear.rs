//! Linear: the root sends the message to every other rank, one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_bcast.c`, `ompi_coll_base_bcast_intra_basic_linear`.
//! Needs: nothing.
//! Counts: P-1 messages of n bytes, one after another.
//!
//! ```text
//! 0 ─▶ 1, 0 ─▶ 2, 0 ─▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P-1").exact_when(|_| true);

pub async fn program(r: &impl Rank, c: &Call) {
    let (rank, result) = (r.rank(), c.result(r));
    if rank != c.root {
        r.recv(c.root, result).await;
        return;
    }
    for peer in (0..r.size()).filter(|peer| *peer != rank) {
        r.send(peer, result).await;
    }
}

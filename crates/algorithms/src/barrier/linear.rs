//! Linear: all ranks signal rank 0, which then signals all of them, one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_barrier.c`, `ompi_coll_base_barrier_intra_basic_linear`.
//! Needs: nothing.
//! Counts: P-1 signals to rank 0, and as many from it; 2 (P-1) messages.
//!
//! ```text
//! 1 ─▶ 0, 2 ─▶ 0, 3 ─▶ 0, then 0 ─▶ 1, 0 ─▶ 2, 0 ─▶ 3
//! ```

use hocket_core::{Call, Rank, Span};

use crate::About;

pub const ABOUT: About = About::new("2*(P-1)*alpha", "2*(P-1)").exact_when(|_| true);

pub async fn program(r: &Rank<'_>, _: &Call) {
    if r.rank() > 0 {
        r.send(0, Span::EMPTY).await;
        r.recv(0, Span::EMPTY).await;
        return;
    }
    for peer in 1..r.size() {
        r.recv(peer, Span::EMPTY).await;
    }
    for peer in 1..r.size() {
        r.send(peer, Span::EMPTY).await;
    }
}

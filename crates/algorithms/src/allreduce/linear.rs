//! Linear: rank 0 receives all vectors one after another, and sends the result to the others one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_allreduce.c`, `ompi_coll_base_allreduce_intra_basic_linear`.
//! Needs: nothing; operands are combined in rank order.
//! Counts: 2 (P-1) messages of n bytes. Rank 0 sends or receives all of them.
//!
//! ```text
//! 1 ─▶ 0, 2 ─▶ 0, 3 ─▶ 0, then 0 ─▶ 1, 0 ─▶ 2, 0 ─▶ 3
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;

pub const ABOUT: About =
    About::new("(P-1)*(2*alpha + 2*n*beta + n*gamma)", "2*(P-1)").exact_when(|_| true).combining("linear");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    if r.rank() > 0 {
        r.send(0, c.input(r)).await;
        r.recv(0, result).await;
        return;
    }
    let arrived = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    for peer in 1..r.size() {
        r.recv(peer, arrived).await;
        r.combine(arrived, result, Side::Right).await;
    }
    for peer in 1..r.size() {
        r.send(peer, result).await;
    }
}

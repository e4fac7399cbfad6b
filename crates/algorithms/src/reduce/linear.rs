//! Linear: the root receives the vectors of all other ranks, one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_reduce.c`, `ompi_coll_base_reduce_intra_basic_linear`.
//! Needs: nothing; operands are combined in rank order from rank 0 on, so the result is the same for every root.
//! Counts: P-1 messages of n bytes. The root receives all of them.
//!
//! ```text
//! root 2:    0 ─▶ 2, 1 ─▶ 2, then the root's own vector, then 3 ─▶ 2
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta + n*gamma)", "P-1").exact_when(|_| true).combining("linear");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (root, input, total) = (c.root, c.input(r), c.result(r));
    if r.rank() != root {
        r.send(root, input).await;
        return;
    }
    let (lower, arrived) = (r.scratch(input.len), r.scratch(input.len));
    r.copy(input, total).await;
    if root > 0 {
        r.recv(0, lower).await;
        for peer in 1..root {
            r.recv(peer, arrived).await;
            r.combine(arrived, lower, Side::Right).await;
        }
        r.combine(lower, total, Side::Left).await;
    }
    for peer in root + 1..r.size() {
        r.recv(peer, arrived).await;
        r.combine(arrived, total, Side::Right).await;
    }
}

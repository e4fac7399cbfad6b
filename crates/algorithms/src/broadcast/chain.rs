//! Chain: the message goes from rank to rank in segments; each rank sends one segment while it receives the next.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_bcast.c`, `ompi_coll_base_bcast_intra_pipeline`.
//! Needs: nothing.
//! Counts: P-2+S rounds of one segment, for S segments; S (P-1) messages.
//!
//! ```text
//! round 1    0 ──s0──▶ 1
//! round 2    0 ──s1──▶ 1 ──s0──▶ 2
//! round 3    0 ──s2──▶ 1 ──s1──▶ 2 ──s0──▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, has_equal_segments};
use crate::shapes::Segments;

pub const ABOUT: About =
    About::new("(P - 2 + max(1, ceil(n/segment)))*(alpha + min(n, segment)*beta)", "(P-1)*max(1, ceil(n/segment))")
        .exact_when(has_equal_segments)
        .in_segments();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let (previous, next) = ((rank + size - 1) % size, (rank + 1) % size);
    let segments = Segments::new(c, c.result(r));
    for i in 0..=segments.count() {
        let receive = (rank != c.root && i < segments.count()).then(|| r.recv(previous, segments.get(i)));
        let pass_on = (next != c.root && i > 0).then(|| r.send(next, segments.get(i - 1)));
        r.join_optional(receive, pass_on).await;
    }
}

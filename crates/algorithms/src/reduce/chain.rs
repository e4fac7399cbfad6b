//! Chain: partial sums go from rank to rank to the root in segments; a rank sends one while it receives the next.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_reduce.c`, `ompi_coll_base_reduce_intra_pipeline`.
//! Needs: root 0 or a commutative operator: the chain combines in the order of ranks counted from the root.
//! Counts: P-2+S rounds of one segment, for S segments; S (P-1) messages.
//!
//! ```text
//! round 1    3 ──s0──▶ 2
//! round 2    3 ──s1──▶ 2 ──s0──▶ 1
//! round 3    3 ──s2──▶ 2 ──s1──▶ 1 ──s0──▶ 0
//! ```

use hocket_core::{Call, Rank, Side};

use crate::about::{About, has_equal_segments, needs_root_0_or_commutative};
use crate::shapes::Segments;

pub const ABOUT: About = About::new(
    "(P - 2 + max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(has_equal_segments)
.refusing(needs_root_0_or_commutative)
.in_segments()
.combining("chain");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input) = (r.rank(), r.size(), c.input(r));
    let (previous, next) = ((rank + size - 1) % size, (rank + 1) % size);
    let total = if rank == c.root { c.result(r) } else { r.scratch(input.len) };
    let segments = Segments::new(c, total);
    let arrived = r.scratch(segments.get(0).len);
    r.copy(input, total).await;

    for i in 0..=segments.count() {
        let arriving = (next != c.root && i < segments.count()).then(|| segments.get(i));
        let receive = arriving.map(|segment| r.recv(next, arrived.part(0, segment.len)));
        let pass_on = (rank != c.root && i > 0).then(|| r.send(previous, segments.get(i - 1)));
        r.join_optional(receive, pass_on).await;
        if let Some(segment) = arriving {
            r.combine(arrived.part(0, segment.len), segment, Side::Right).await;
        }
    }
}

//! Chain: sums go from rank to rank in segments; each rank adds its vector and sends on while the next one arrives.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_exscan.c`, `ompi_coll_base_exscan_intra_linear`, with segments.
//! Needs: nothing; operands are combined in rank order.
//! Counts: P-2+S rounds of one segment, for S segments; S (P-1) messages. The first and the last rank combine nothing.
//!
//! ```text
//! round 1    0 ──s0──▶ 1
//! round 2    0 ──s1──▶ 1 ──s0──▶ 2
//! round 3    0 ──s2──▶ 1 ──s1──▶ 2 ──s0──▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, has_equal_segments};
use crate::scan::chain::pass_along;

pub const ABOUT: About = About::new(
    "(P - 2 + max(1, ceil(n/segment)))*(alpha + min(n, segment)*beta) + \
     max(0, P-2)/max(1, P-2)*(P - 3 + max(1, ceil(n/segment)))*min(n, segment)*gamma",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(has_equal_segments)
.in_segments()
.combining("chain");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, before) = (c.input(r), c.result(r));
    let through = r.scratch(input.len);
    r.copy(input, through).await;
    pass_along(r, c, through, |segment| before.part(segment.offset - through.offset, segment.len)).await;
}

//! Chain: sums go from rank to rank in segments; each rank adds its vector and sends on while the next one arrives.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_scan.c`, `ompi_coll_base_scan_intra_linear`, with segments.
//! Needs: nothing; operands are combined in rank order.
//! Counts: P-2+S rounds of one segment, for S segments; S (P-1) messages.
//!
//! ```text
//! round 1    0 ──s0──▶ 1
//! round 2    0 ──s1──▶ 1 ──s0──▶ 2
//! round 3    0 ──s2──▶ 1 ──s1──▶ 2 ──s0──▶ 3
//! ```

use hocket_core::{Call, Rank, Side, Span};

use crate::about::{About, has_equal_segments};
use crate::shapes::Segments;

pub const ABOUT: About = About::new(
    "(P - 2 + max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(has_equal_segments)
.in_segments()
.combining("chain");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    let arrived = r.scratch(Segments::new(c, result).get(0).len);
    r.copy(c.input(r), result).await;
    pass_along(r, c, result, |segment| arrived.part(0, segment.len)).await;
}

/// Adds the vectors of all ranks before this one to `through`, segment by segment, and passes on the sums. A segment
/// arrives in the span that `before` returns.
pub async fn pass_along(r: &Rank<'_>, c: &Call, through: Span, before: impl Fn(Span) -> Span) {
    let (rank, segments) = (r.rank(), Segments::new(c, through));
    let has_next = rank + 1 < r.size();
    let is_sum_needed = has_next || through == c.result(r);
    for i in 0..=segments.count() {
        let takes_in = rank > 0 && i < segments.count();
        let receive = takes_in.then(|| r.recv(rank - 1, before(segments.get(i))));
        let pass_on = (has_next && i > 0).then(|| r.send(rank + 1, segments.get(i - 1)));
        r.join_optional(receive, pass_on).await;
        if takes_in && is_sum_needed {
            r.combine(before(segments.get(i)), segments.get(i), Side::Left).await;
        }
    }
}

//! Double tree: segments go down two binary trees in turn; only the root has children in both.
//!
//! Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
//! Parallel Computing 35 (2009).
//! Needs: nothing.
//! Counts: 2 ceil(log2 P) - 2 + S steps of one segment, for S segments; one step less when P mod 4 is 1 or 2. In a
//! step, a rank sends at most one message and receives at most one. S (P-1) messages.
//!
//! ```text
//! even segments:   0        odd segments:    0       P = 7, ranks counted from the root
//!                  4                         3       step 0    0 ─s0─▶ 4
//!               ┌──┴──┐                   ┌──┴──┐    step 1    0 ─s1─▶ 3   4 ─s0─▶ 6
//!               2     6                   5     1    step 2    0 ─s2─▶ 4   4 ─s0─▶ 2   3 ─s1─▶ 1   6 ─s0─▶ 5
//!             ┌─┴─┐ ┌─┘                 ┌─┴─┐ ┌─┘
//!             1   3 5                   6   4 2
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, has_equal_segments};
use crate::shapes::{DoubleTree, Segments, TreeEdge};

pub const ABOUT: About = About::new(
    "(max(2*ceil(log2(P)) - 2, 0) + max(1, ceil(n/segment)))*(alpha + min(n, segment)*beta)",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|c| c.ranks.is_multiple_of(4) && has_equal_segments(c))
.in_segments();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (size, trees) = (r.size(), DoubleTree::new(r.size()));
    let node = (r.rank() + size - c.root) % size;
    let (parents, children) = (trees.parents(node), trees.children(node));
    let segments = Segments::new(c, c.result(r));
    let crossing = |edges: &[TreeEdge], step| {
        let peer_and_segment = |edge: &TreeEdge| {
            let segment = edge.crossing(step, segments.count())?;
            Some(((edge.peer + c.root) % size, segments.get(segment)))
        };
        edges.iter().find_map(peer_and_segment)
    };

    let last_start = parents.iter().chain(&children).map(|edge| edge.first_step).max().unwrap_or(0);
    for step in 0..last_start + segments.count() {
        let receive = crossing(&parents, step).map(|(parent, segment)| r.recv(parent, segment));
        let pass_on = crossing(&children, step).map(|(child, segment)| r.send(child, segment));
        r.join_optional(receive, pass_on).await;
    }
}

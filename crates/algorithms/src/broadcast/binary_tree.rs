//! Binary tree: segments go down a tree; a rank sends each segment to its two children, one after the other.
//!
//! Source: J. Pjesivac-Grbovic et al., "Performance analysis of MPI collective operations", Cluster Computing 10
//! (2007); Open MPI, `coll_base_bcast.c`: "binary_tree".
//! Needs: nothing.
//! Counts: a segment every second step, S segments, down a tree of height floor(log2 P). A left child is one step
//! behind its parent, a right child two steps. S (P-1) messages.
//!
//! ```text
//! P = 7, ranks counted from the root    step 0    0 ─s0─▶ 1
//!     0                                 step 1    0 ─s0─▶ 4   1 ─s0─▶ 2
//!   ┌─┴─┐                               step 2    0 ─s1─▶ 1   1 ─s0─▶ 3   4 ─s0─▶ 5
//!   1   4                               step 3    0 ─s1─▶ 4   1 ─s1─▶ 2   4 ─s0─▶ 6
//!  ┌┴┐ ┌┴┐
//!  2 3 5 6
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, has_equal_segments};
use crate::shapes::{PreOrderTree, Segments};

pub const ABOUT: About = About::new(
    "ceil((P-1)/P)*(floor(log2(P+1)) + floor(log2(2*(P+1)/3)) - 3 + 2*max(1, ceil(n/segment)))*(alpha + min(n, segment)*beta)",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|c| c.ranks > 2 && has_equal_segments(c))
.in_segments();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let PreOrderTree { parent, left, right } = PreOrderTree::new(r.rank(), c.root, r.size());
    let segments = Segments::new(c, c.result(r));
    for i in 0..=segments.count() {
        let receive = parent.filter(|_| i < segments.count()).map(|parent| r.recv(parent, segments.get(i)));
        let hand_right = right.filter(|_| i > 0).map(|child| r.send(child, segments.get(i - 1)));
        r.join_optional(receive, hand_right).await;
        if let (Some(child), true) = (left, i < segments.count()) {
            r.send(child, segments.get(i)).await;
        }
    }
}

//! Binary tree: segments go up a tree; a rank receives each segment from its two children, one after the other.
//!
//! Source: J. Pjesivac-Grbovic et al., "Performance analysis of MPI collective operations", Cluster Computing 10
//! (2007); Open MPI, `coll_base_reduce.c`: "binary".
//! Needs: root 0 or a commutative operator: the tree combines in the order of ranks counted from the root.
//! Counts: a segment every second step, S segments, up a tree of height floor(log2 P). S (P-1) messages. The formula is
//! an upper bound.
//!
//! ```text
//! P = 7, ranks counted from the root    step 0    2 ─s0─▶ 1   5 ─s0─▶ 4
//!     0                                 step 1    3 ─s0─▶ 1   6 ─s0─▶ 4
//!   ┌─┴─┐                               step 2    1 ─s0─▶ 0   2 ─s1─▶ 1   5 ─s1─▶ 4
//!   1   4                               step 3    4 ─s0─▶ 0   3 ─s1─▶ 1
//!  ┌┴┐ ┌┴┐
//!  2 3 5 6
//! ```

use hocket_core::{Call, Rank, Side};

use crate::about::{About, needs_root_0_or_commutative};
use crate::shapes::{PreOrderTree, Segments};

pub const ABOUT: About = About::new(
    "ceil((P-1)/P)*(floor(log2(P)) + floor(log2(2*P/3)) - 2 + 2*max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.refusing(needs_root_0_or_commutative)
.in_segments()
.combining("binary_tree");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let PreOrderTree { parent, left, right } = PreOrderTree::new(r.rank(), c.root, r.size());
    let input = c.input(r);
    let total = if parent.is_none() { c.result(r) } else { r.scratch(input.len) };
    let segments = Segments::new(c, total);
    let arrived = r.scratch(segments.get(0).len);
    r.copy(input, total).await;
    let add = async |child: Option<usize>, i: usize| {
        if let (Some(child), true) = (child, i < segments.count()) {
            let arrived = arrived.part(0, segments.get(i).len);
            r.recv(child, arrived).await;
            r.combine(arrived, segments.get(i), Side::Right).await;
        }
    };
    for i in 0..=segments.count() {
        let hand_up = async {
            if let (Some(parent), true) = (parent, i > 0) {
                r.send(parent, segments.get(i - 1)).await;
            }
        };
        r.join(add(left, i), hand_up).await;
        add(right, i).await;
    }
}

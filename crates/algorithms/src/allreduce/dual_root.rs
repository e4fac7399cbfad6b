//! Dual root: two trees reduce half of the ranks each; the roots swap their sums and send results down, in segments.
//!
//! The lower half of the ranks forms one binary tree, the upper half another one. Each rank lies between its left and
//! its right subtree, so sums keep the rank order. A rank adds what its two children send, and passes the sum to its
//! parent. The vector travels in segments: results of earlier segments go down while later segments go up the same
//! edges.
//!
//! Source: J. L. Träff, "A doubly-pipelined, dual-root reduction-to-all algorithm and implementation", arXiv
//! 2109.12626.
//! Needs: nothing; operands are combined in rank order.
//! Counts: each rank serves its right child, its parent and its left child in turn. So a segment follows the one before
//! after 3 steps: 3 S steps for S segments, plus about 4 log2 P steps for the first segment to go up and down. The
//! formula is an upper bound. The roots alone take 3 S steps, if both have two children.
//!
//! ```text
//! P = 6: two trees       step    segment 0                              segment 1
//!    1 ◀────▶ 4          0       0 ─▶ 1    3 ─▶ 4
//!   ┌┴┐      ┌┴┐         1       2 ─▶ 1    5 ─▶ 4
//!   0 2      3 5         2       1 ◀─▶ 4   swap sums 0..2 and 3..5
//!                        3       1 ─▶ 0    4 ─▶ 3                       0 ─▶ 1    3 ─▶ 4
//!                        4       1 ─▶ 2    4 ─▶ 5                       2 ─▶ 1    5 ─▶ 4
//!                        5                                              1 ◀─▶ 4
//!                        6                                              1 ─▶ 0    4 ─▶ 3
//!                        7                                              1 ─▶ 2    4 ─▶ 5
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;
use crate::shapes::in_order_tree::{Edge, Subtree};
use crate::shapes::{Segments, exchange};

pub const ABOUT: About = About::new(
    "ceil((P-1)/P)*(2*floor(log2(ceil(P/2))) + floor(log2(ceil(P/2)+1)) + floor(log2(2*(ceil(P/2)+1)/3)) - 3 \
     + 3*max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "2*(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.at_least("min(1, floor(P/6))*3*(ceil(n/segment)*alpha + n*(beta + gamma))")
.in_segments()
.combining("dual_root");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let result = c.result(r);
    r.copy(c.input(r), result).await;
    if size == 1 {
        return;
    }
    let half = size.div_ceil(2);
    let [lower, upper] = [0..half, half..size].map(Subtree::whole);
    let (tree, other, side) = if rank < half { (lower, upper, Side::Right) } else { (upper, lower, Side::Left) };
    let (subtree, parent) = tree.find(rank);
    let levels = half.ilog2() as usize;
    let edge = |subtree: Subtree, peer| Edge { peer, up: Some(subtree.up(levels)), down: Some(subtree.down(levels)) };
    let below = [subtree.left(), subtree.right()].map(|below| below.map(|below| edge(below, below.root())));
    let above = edge(subtree, parent.unwrap_or(other.root()));

    let (segments, arrived) = (Segments::new(c, result), r.scratch(result.len));
    let segment = |i: Option<usize>| i.map(|i| segments.get(i));
    let place = |i: Option<usize>| segment(i).map(|segment| arrived.part(segment.offset - result.offset, segment.len));
    let edges = below.into_iter().flatten().chain([above]);
    for step in 0..edges.map(|edge| edge.end(segments.count())).max().unwrap_or(0) {
        for (edge, side) in below.into_iter().zip([Side::Left, Side::Right]) {
            let Some(edge) = edge else { continue };
            let [up, down] = edge.crossing(step, segments.count());
            exchange(r, edge.peer, segment(down), place(up)).await;
            if let (Some(arrived), Some(sum)) = (place(up), segment(up)) {
                r.combine(arrived, sum, side).await;
            }
        }
        let [up, down] = above.crossing(step, segments.count());
        if parent.is_some() {
            exchange(r, above.peer, segment(up), segment(down)).await;
        } else if let (Some(arrived), Some(sum)) = (place(up), segment(up)) {
            exchange(r, above.peer, Some(sum), Some(arrived)).await;
            r.combine(arrived, sum, side).await;
        }
    }
}

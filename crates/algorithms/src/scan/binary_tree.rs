//! Binary tree: sums of subtrees go up, sums of all ranks before a subtree come down, in segments, both ways at once.
//!
//! Source: P. Sanders, J. L. Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006: the doubly pipelined
//! binary tree.
//! Needs: nothing; operands are combined in rank order.
//! Counts: each rank serves its right child, its parent and its left child in turn. So a segment follows the one before
//! after 3 steps: 3 S steps for S segments, plus about 4 log2 P steps for the first segment to go up and down. Nothing
//! goes up at the right edge of the tree or down at its left edge. The formula is an upper bound.
//!
//! ```text
//! P = 7     3        up    0 ─▶ 1 in step 0, 2 ─▶ 1 and 4 ─▶ 5 in step 1, 1 ─▶ 3 in step 2
//!         ┌─┴─┐      down  3 ─▶ 5 in step 3, 5 ─▶ 4 and 1 ─▶ 2 in step 4, 5 ─▶ 6 in step 5
//!         1   5
//!        ┌┴┐ ┌┴┐     the next segment follows in the steps 3 to 8
//!        0 2 4 6
//! ```

use hocket_core::{Call, Rank, Side, Span};

use crate::About;
use crate::shapes::in_order_tree::{Edge, Subtree};
use crate::shapes::{Segments, exchange};

pub const ABOUT: About = About::new(
    "(2*floor(log2(P)) + floor(log2(P+1)) + floor(log2(2*(P+1)/3)) - 6 + 2*floor(1/P) + 3*max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "(2*P - 1 - floor(log2(P)) - floor(log2(P+1)))*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.in_segments()
.combining("binary_tree");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    r.copy(c.input(r), result).await;
    prefixes(r, c, result, None).await;
}

/// Adds the vectors of all ranks before this one to `through`. If `before` is given, it gets the sum of these vectors.
pub async fn prefixes(r: &Rank<'_>, c: &Call, through: Span, before: Option<Span>) {
    let size = r.size();
    let (subtree, parent) = Subtree::whole(0..size).find(r.rank());
    let edge = |subtree: Subtree, peer| {
        let (levels, ranks) = (size.ilog2() as usize, subtree.ranks());
        // No rank needs the sum of all ranks, so segments come down one segment earlier.
        let down = (ranks.start > 0).then(|| subtree.down(levels) - 3);
        Edge { peer, up: (ranks.end < size).then(|| subtree.up(levels)), down }
    };
    let parent = parent.map(|peer| edge(subtree, peer));
    let [left, right] = [subtree.left(), subtree.right()].map(|below| below.map(|below| edge(below, below.root())));

    let scratch_if = |is_used| r.scratch(if is_used { through.len } else { 0 });
    let own = |is_used| before.filter(|_| is_used);
    let from_left = own(left.is_some()).unwrap_or_else(|| scratch_if(left.is_some()));
    let from_parent = own(left.is_none()).unwrap_or_else(|| scratch_if(parent.is_some()));
    let right_goes_up = right.is_some_and(|right| right.up.is_some());
    let from_right = scratch_if(right_goes_up);
    let sum = if right_goes_up { scratch_if(true) } else { through };
    let is_passed_on = right.is_some() || parent.is_some_and(|parent| parent.up.is_some());

    let segments = Segments::new(c, through);
    let of = |span: Span, i: usize| span.part(segments.get(i).offset - through.offset, segments.get(i).len);
    let edges = [left, right, parent].into_iter().flatten();
    for step in 0..edges.map(|edge| edge.end(segments.count())).max().unwrap_or(0) {
        if let Some(edge) = left {
            let [up, down] = edge.crossing(step, segments.count());
            exchange(r, edge.peer, down.map(|i| of(from_parent, i)), up.map(|i| of(from_left, i))).await;
            if let (Some(i), true) = (up, before.is_none() || is_passed_on) {
                r.combine(of(from_left, i), segments.get(i), Side::Left).await;
            }
        }
        if let Some(edge) = right {
            let [up, down] = edge.crossing(step, segments.count());
            exchange(r, edge.peer, down.map(|i| segments.get(i)), up.map(|i| of(from_right, i))).await;
            if let Some(i) = up {
                r.copy(segments.get(i), of(sum, i)).await;
                r.combine(of(from_right, i), of(sum, i), Side::Right).await;
            }
        }
        if let Some(edge) = parent {
            let [up, down] = edge.crossing(step, segments.count());
            exchange(r, edge.peer, up.map(|i| of(sum, i)), down.map(|i| of(from_parent, i))).await;
            if let Some(i) = down {
                if before.is_none() || right.is_some() {
                    r.combine(of(from_parent, i), segments.get(i), Side::Left).await;
                }
                if before.is_some() && left.is_some() {
                    r.combine(of(from_parent, i), of(from_left, i), Side::Left).await;
                }
            }
        }
    }
}

//! Dual root: segments go up two trees of half of the ranks each, whose roots exchange them, while earlier ones come down.
//!
//! Source: J. L. Träff, "A doubly-pipelined, dual-root reduction-to-all algorithm and implementation", arXiv 2109.12626.
//! Needs: nothing; operands are combined in rank order.
//! Counts: a rank turns to its right child, to its parent and to its left child, over and over: 3 steps for each of S segments, and about
//! 4 log2 P until the first has gone up and down. The time is a bound.
//!
//! ```text
//! P = 6    1 ◀───▶ 4     up      0 ─▶ 1 and 3 ─▶ 4 in step 0, 2 ─▶ 1 and 5 ─▶ 4 in step 1
//!         ┌┴┐     ┌┴┐    step 2  1 and 4 exchange their sums: 0 .. 2 and 3 .. 5
//!         0 2     3 5    down    1 ─▶ 0 and 4 ─▶ 3 in step 3, 1 ─▶ 2 and 4 ─▶ 5 in step 4, while the next segment goes up
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;
use crate::about::SEGMENT;
use crate::shapes::Segments;
use crate::shapes::in_order_tree::{Edge, Subtree};

pub const ABOUT: About = About::new(
    "ceil((P-1)/P)*(2*floor(log2(ceil(P/2))) + floor(log2(ceil(P/2)+1)) + floor(log2(2*(ceil(P/2)+1)/3)) - 3 \
     + 3*max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "2*(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.with_parameters(&[SEGMENT]);

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
            edge.exchange(r, segment(down), place(up)).await;
            if let (Some(arrived), Some(sum)) = (place(up), segment(up)) {
                r.combine(arrived, sum, side).await;
            }
        }
        let [up, down] = above.crossing(step, segments.count());
        if parent.is_some() {
            above.exchange(r, segment(up), segment(down)).await;
        } else if let (Some(arrived), Some(sum)) = (place(up), segment(up)) {
            above.exchange(r, Some(sum), Some(arrived)).await;
            r.combine(arrived, sum, side).await;
        }
    }
}

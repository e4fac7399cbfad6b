//! Binary tree: sums of subtrees go up, sums of all ranks before a subtree come down, in segments, both ways at once.
//!
//! Source: P. Sanders, J. L. Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006: the doubly pipelined
//! binary tree.
//! Needs: nothing; operands are combined in rank order.
//! Counts: as scan binary_tree, where the tree is drawn. A rank with children on both sides combines once more. The
//! formula is an upper bound.
//!
//! ```text
//! P = 7     3        a rank gets two sums: the sum of its left subtree, from its left child, and the sum of all ranks
//!         ┌─┴─┐      before its own subtree, from its parent
//!         1   5      rank 4 gets 0 .. 3 from rank 5, which got it from rank 3
//!        ┌┴┐ ┌┴┐     rank 5 adds the vector of rank 4 to it
//!        0 2 4 6
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::scan::binary_tree::prefixes;

pub const ABOUT: About = About::new(
    "(2*floor(log2(P)) + floor(log2(P+1)) + floor(log2(2*(P+1)/3)) - 6 + 2*floor(1/P) + 3*max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + 2*gamma))",
    "(2*P - 1 - floor(log2(P)) - floor(log2(P+1)))*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.in_segments()
.combining("binary_tree");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, before) = (c.input(r), c.result(r));
    let through = r.scratch(input.len);
    r.copy(input, through).await;
    prefixes(r, c, through, (r.rank() > 0).then_some(before)).await;
}

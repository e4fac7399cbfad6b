//! Binary trees whose ranks are numbered in pre-order.

/// A binary tree in which each rank comes before its left subtree, and this before its right subtree. Ranks are counted
/// from the root. Drawn for 7 ranks.
///
/// ```text
///     0         the left subtree has half of the ranks below, rounded up
///   ┌─┴─┐
///   1   4
///  ┌┴┐ ┌┴┐
///  2 3 5 6
/// ```
pub struct PreOrderTree {
    /// The parent; none for the root.
    pub parent: Option<usize>,
    /// The left child: the next rank.
    pub left: Option<usize>,
    /// The right child: the rank behind the left subtree.
    pub right: Option<usize>,
}

impl PreOrderTree {
    /// The tree as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        let (relative, rank_at) = ((rank + ranks - root) % ranks, |relative| (relative + root) % ranks);
        let (mut top, mut len, mut parent) = (0, ranks, None);
        while top != relative {
            parent = Some(rank_at(top));
            let right = top + 1 + len / 2;
            (top, len) = if relative < right { (top + 1, len / 2) } else { (right, (len - 1) / 2) };
        }
        let left = (len > 1).then(|| rank_at(top + 1));
        let right = (len > 2).then(|| rank_at(top + 1 + len / 2));
        Self { parent, left, right }
    }
}

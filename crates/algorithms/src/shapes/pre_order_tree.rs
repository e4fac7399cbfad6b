//! Binary trees whose ranks are numbered in pre-order.

/// A binary tree in which a rank is followed by its left and then by its right subtree, counted from the root; drawn for 7 ranks.
///
/// ```text
///     0         the left subtree has half of the ranks below, one more if their number is odd
///   ┌─┴─┐
///   1   4
///  ┌┴┐ ┌┴┐
///  2 3 5 6
/// ```
pub struct PreOrderTree {
    /// The parent; none for the root.
    pub parent: Option<usize>,
    /// The child one rank on.
    pub left: Option<usize>,
    /// The child behind the left subtree.
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

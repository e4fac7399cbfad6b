//! Index arithmetic that several algorithms share.

/// A binomial tree over the ranks, rooted at `root`; drawn for 8 ranks and root 0.
///
/// ```text
///            0                 relative rank v = (rank - root) mod P
///    ┌───────┼───┐             parent of v: v without its lowest set bit
///    4       2   1             children of v: v + 2^k for every 2^k below v's lowest set bit (any 2^k for the root)
///  ┌─┴─┐     3                 the subtree of v is the range v .. v + lowest set bit of v, cut off at P
///  6   5
///  7
/// ```
pub struct BinomialTree {
    relative: usize,
    root: usize,
    ranks: usize,
}

impl BinomialTree {
    /// The tree as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        Self { relative: (rank + ranks - root) % ranks, root, ranks }
    }

    /// This rank, counted from the root.
    pub fn relative(&self) -> usize {
        self.relative
    }

    /// The rank at distance `relative` from the root.
    pub fn rank_at(&self, relative: usize) -> usize {
        (relative + self.root) % self.ranks
    }

    /// The parent; none for the root.
    pub fn parent(&self) -> Option<usize> {
        (self.relative > 0).then(|| self.rank_at(self.relative & (self.relative - 1)))
    }

    /// The children, with the largest subtree last.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = usize> {
        let bits = self.reach().trailing_zeros();
        (0..bits).map(|k| self.relative + (1 << k)).filter(|v| *v < self.ranks).map(|v| self.rank_at(v))
    }

    /// Number of ranks in the subtree of `rank`, itself included.
    pub fn subtree(&self, rank: usize) -> usize {
        let tree = Self::new(rank, self.root, self.ranks);
        tree.reach().min(self.ranks - tree.relative)
    }

    /// Room for the subtree if P were a power of two: the lowest set bit, or all ranks for the root.
    fn reach(&self) -> usize {
        if self.relative == 0 { self.ranks.next_power_of_two() } else { 1 << self.relative.trailing_zeros() }
    }
}

/// The largest power of two that is at most `ranks`.
pub fn power_of_two_below(ranks: usize) -> usize {
    1 << ranks.ilog2()
}

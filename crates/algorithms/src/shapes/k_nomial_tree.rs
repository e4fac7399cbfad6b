//! k-nomial trees, including binomial trees.

use std::ops::{Deref, Range};

/// A k-nomial tree over the ranks, rooted at `root`; drawn for radix k = 3, 9 ranks and root 0.
///
/// ```text
///            0                 relative rank v = (rank - root) mod P, in digits to the base k
///    ┌────┬──┴─┬──┐            height of v: how many of its last digits are 0 (root: all); its reach is k^height
///    6    3    2  1            parent of v: v without its last digit that is not 0
///  ┌─┴┐ ┌─┴┐                   children of v at a level below its height: v + j k^level for j = 1 .. k-1
///  8  7 5  4                   the subtree of v is the range v .. v + reach, cut off at P
/// ```
pub struct KnomialTree {
    relative: usize,
    root: usize,
    ranks: usize,
    radix: usize,
    height: u32,
    reach: usize,
}

impl KnomialTree {
    /// The tree as `rank` sees it. All radices of P or more make the same tree.
    pub fn new(rank: usize, root: usize, ranks: usize, radix: usize) -> Self {
        let relative = (rank + ranks - root) % ranks;
        let radix = radix.min(ranks.max(2));
        let (mut height, mut reach) = (0, 1);
        while reach < ranks && relative.is_multiple_of(reach * radix) {
            height += 1;
            reach *= radix;
        }
        Self { relative, root, ranks, radix, height, reach }
    }

    /// This rank, counted from the root.
    pub fn relative(&self) -> usize {
        self.relative
    }

    /// The rank at distance `relative` from the root.
    pub fn rank_at(&self, relative: usize) -> usize {
        (relative + self.root) % self.ranks
    }

    /// Number of levels at which this rank can have children.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The parent; none for the root.
    pub fn parent(&self) -> Option<usize> {
        (self.relative > 0).then(|| self.rank_at(self.relative - self.relative % (self.reach * self.radix)))
    }

    /// The children at a level below the height, the nearest first.
    pub fn children_at(&self, level: u32) -> impl DoubleEndedIterator<Item = usize> {
        let distance = self.radix.pow(level);
        let room = (self.ranks - 1 - self.relative) / distance;
        (1..self.radix.min(room + 1)).map(move |j| self.rank_at(self.relative + j * distance))
    }

    /// The children, with the largest subtrees last.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.height).flat_map(|level| self.children_at(level))
    }

    /// The subtree of `rank`, as distances from this rank. `rank` is this rank, or a rank below it.
    pub fn subtree(&self, rank: usize) -> Range<usize> {
        let tree = Self::new(rank, self.root, self.ranks, self.radix);
        let end = (tree.relative + tree.reach).min(self.ranks);
        tree.relative - self.relative..end - self.relative
    }
}

/// A binomial tree over the ranks, rooted at `root`: the k-nomial tree of radix 2. At each level, a rank communicates
/// with at most one other rank. Drawn for 8 ranks and root 0.
///
/// ```text
///            0
///    ┌───────┼───┐             parent of v: v without its lowest set bit
///    4       2   1             children of v: v + 2^level for every 2^level below v's lowest set bit
///  ┌─┴─┐     3
///  6   5
///  7
/// ```
pub struct BinomialTree(KnomialTree);

impl BinomialTree {
    /// The tree as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        Self(KnomialTree::new(rank, root, ranks, 2))
    }

    /// Number of levels: 2^levels is the least power of two that is at least P.
    pub fn levels(&self) -> u32 {
        self.ranks.next_power_of_two().ilog2()
    }

    /// The parent or the child at a distance of 2^level, if there is one.
    pub fn peer(&self, level: u32) -> Option<usize> {
        if level < self.height {
            self.children_at(level).next()
        } else {
            self.parent().filter(|_| level == self.height)
        }
    }

    /// The children and the parent, each with its level, the nearest first.
    pub fn peers(&self) -> impl DoubleEndedIterator<Item = (u32, usize)> {
        (0..=self.height).filter_map(|level| Some((level, self.peer(level)?)))
    }
}

impl Deref for BinomialTree {
    type Target = KnomialTree;

    fn deref(&self) -> &KnomialTree {
        &self.0
    }
}

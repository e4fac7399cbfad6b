//! A root and all other ranks.

use std::ops::Range;

/// A root that communicates with one other rank in each step, in the order of ranks; as one of the ranks sees it.
pub struct Star {
    rank: usize,
    root: usize,
    ranks: usize,
}

impl Star {
    /// The star as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        Self { rank, root, ranks }
    }

    /// Number of ranks besides the root: one for each step.
    pub fn others(&self) -> usize {
        self.ranks - 1
    }

    /// The other rank of a step.
    pub fn other(&self, step: usize) -> usize {
        step + usize::from(step >= self.root)
    }

    /// The steps of this rank.
    pub fn steps(&self) -> Range<usize> {
        let own = self.rank - usize::from(self.rank > self.root);
        if self.rank == self.root { 0..self.others() } else { own..own + 1 }
    }

    /// The rank with which this rank communicates in a step, if any.
    pub fn peer(&self, step: usize) -> Option<usize> {
        match self.other(step) {
            other if self.rank == self.root => Some(other),
            other => (self.rank == other).then_some(self.root),
        }
    }
}

//! In-order trees: binary trees in which each rank lies between its two subtrees. Segments go up and down in lockstep.
//!
//! Source: P. Sanders, J. L. Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006; J. L. Träff, "A
//! doubly-pipelined, dual-root reduction-to-all algorithm and implementation", arXiv 2109.12626.

use std::ops::Range;

/// A subtree: some ranks in a row. The path from the top to its root goes `lefts` times to the left and `rights` times
/// to the right.
#[derive(Clone, Copy)]
pub struct Subtree {
    first: usize,
    end: usize,
    lefts: usize,
    rights: usize,
}

impl Subtree {
    /// The whole tree over these ranks. There is at least one rank.
    pub fn whole(ranks: Range<usize>) -> Self {
        Self { first: ranks.start, end: ranks.end, lefts: 0, rights: 0 }
    }

    /// The subtree of this tree whose root is `rank`, and the parent of `rank`, if any.
    pub fn find(self, rank: usize) -> (Self, Option<usize>) {
        let (mut subtree, mut parent) = (self, None);
        while rank != subtree.root() {
            parent = Some(subtree.root());
            let below = if rank < subtree.root() { subtree.left() } else { subtree.right() };
            subtree = below.expect("a rank of the tree lies in one half of every subtree that it is in");
        }
        (subtree, parent)
    }

    /// The root: the rank between the two halves.
    pub fn root(self) -> usize {
        usize::midpoint(self.first, self.end)
    }

    /// The ranks of the subtree.
    pub fn ranks(self) -> Range<usize> {
        self.first..self.end
    }

    /// The ranks before the root. They have at least as many levels as the ranks behind the root.
    pub fn left(self) -> Option<Self> {
        (self.first < self.root()).then(|| Self { end: self.root(), lefts: self.lefts + 1, ..self })
    }

    /// The ranks behind the root.
    pub fn right(self) -> Option<Self> {
        (self.root() + 1 < self.end).then(|| Self { first: self.root() + 1, rights: self.rights + 1, ..self })
    }

    /// The step in which the first segment goes up from this subtree's root. The whole tree has `levels` levels below
    /// its top.
    ///
    /// The left child's segment arrives two steps earlier, the right child's segment one step earlier.
    pub fn up(self, levels: usize) -> usize {
        2 * (levels - self.lefts) - self.rights
    }

    /// The step in which the first segment comes down to this subtree's root, if the top has it in step 2 `levels`.
    ///
    /// A rank sends the segment to its left child in the next step, and to its right child one step later. On an edge,
    /// steps up and steps down are a multiple of three apart, so one exchange serves both.
    pub fn down(self, levels: usize) -> usize {
        2 * (levels + self.rights) + self.lefts
    }
}

/// An edge of the tree, as one of its ends sees it. After the first segment, another one follows every third step.
#[derive(Clone, Copy)]
pub struct Edge {
    /// The rank at the other end.
    pub peer: usize,
    /// The step in which the first segment goes up, if segments go up.
    pub up: Option<usize>,
    /// The step in which the first segment comes down, if segments come down.
    pub down: Option<usize>,
}

impl Edge {
    /// The step after the last one, for this many segments.
    pub fn end(self, segments: usize) -> usize {
        self.up.max(self.down).map_or(0, |first| first + 3 * segments - 2)
    }

    /// The segment that goes up in `step` and the segment that comes down, of `segments` segments.
    pub fn crossing(self, step: usize, segments: usize) -> [Option<usize>; 2] {
        [self.up, self.down].map(|first| {
            let steps_since = step.checked_sub(first?)?;
            (steps_since.is_multiple_of(3) && steps_since / 3 < segments).then_some(steps_since / 3)
        })
    }
}

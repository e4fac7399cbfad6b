//! Bine: binomial trees and butterflies with the distances 1, 1, 3, 5, 11, .. of negabinary numbers. These distances
//! are a third shorter than powers of two.
//!
//! Source: D. De Sensi, S. Pichetti, F. Vella, T. De Matteis, Z. Ren, L. Fusco, M. Turisini, D. Cesarini, K. Lust,
//! A. Trivedi, D. Roweth, F. Spiga, S. Di Girolamo, T. Hoefler, "Bine Trees: Enhancing Collective Operations by
//! Optimizing Communication Locality", SC '25, arXiv 2508.17311. The paper covers P = 2^K and even P. Here, P is
//! arbitrary: when P is not 2^K, halves differ by one rank.

use std::ops::Range;

use hocket_core::Call;

use crate::allreduce::swing::swing;
use crate::shapes::{Rotation, rotated_blocks};

/// A Bine tree as one of its ranks sees it; drawn for 8 ranks and root 0.
///
/// ```text
/// positions        6  7 [0] 1  2  3  4  5       the circle of ranks, cut so that every subtree is contiguous
/// round 1                └────────▶             half of the ranks, to the right: their root is the mirror image of 0
/// round 2             ◀──┘        └──▶          quarters: 0 to the left, 3 as its mirror image to the right
/// round 3          ◀──┘  └──▶  ◀──┘  └──▶       7 ─▶ 6, 0 ─▶ 1, 3 ─▶ 2, 4 ─▶ 5
/// ```
pub struct BineTree {
    ranks: usize,
    /// The rank at position 0.
    first: usize,
    own: BineSubtree,
    position: usize,
    /// The parent, and the round in which it sends to this rank.
    parent: Option<(usize, usize)>,
    /// The round of each child, and its subtree; the largest first.
    below: Vec<(usize, BineSubtree)>,
}

/// A subtree: some positions in a row.
#[derive(Clone, Copy)]
struct BineSubtree {
    start: usize,
    len: usize,
    /// Whether the subtree is mirrored: left and right are swapped in its levels.
    is_mirrored: bool,
    /// Levels below, in the deepest part of the tree.
    height: u32,
}

impl BineSubtree {
    /// The half with the root, which is not the smaller one, and the other half, whose root is a child.
    fn halves(self) -> Option<[Self; 2]> {
        let (larger, smaller) = (self.len.div_ceil(2), self.len / 2);
        let (is_smaller_right, height) =
            (self.height % 2 == u32::from(!self.is_mirrored), self.height.saturating_sub(1));
        let starts =
            if is_smaller_right { [self.start, self.start + larger] } else { [self.start + smaller, self.start] };
        let half = |start, len, is_mirrored| Self { start, len, is_mirrored, height };
        (smaller > 0).then(|| [half(starts[0], larger, self.is_mirrored), half(starts[1], smaller, !self.is_mirrored)])
    }

    fn root(self) -> usize {
        self.halves().map_or(self.start, |[larger, _]| larger.root())
    }

    fn contains(self, position: usize) -> bool {
        (self.start..self.start + self.len).contains(&position)
    }
}

impl BineTree {
    /// The tree over `ranks` ranks, rooted at `root`, as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        let whole = BineSubtree { start: 0, len: ranks, is_mirrored: false, height: ranks.next_power_of_two().ilog2() };
        let first = (root + ranks - whole.root()) % ranks;
        let position = (rank + ranks - first) % ranks;
        let (mut own, mut parent, mut below) = (whole, None, Vec::new());
        let (mut part, mut round) = (whole, 0);
        while let Some([larger, smaller]) = part.halves() {
            if smaller.contains(position) {
                if smaller.root() == position {
                    (own, parent) = (smaller, Some((round, (first + larger.root()) % ranks)));
                }
                part = smaller;
            } else {
                if larger.root() == position {
                    below.push((round, smaller));
                }
                part = larger;
            }
            round += 1;
        }
        Self { ranks, first, own, position, parent, below }
    }

    /// Number of rounds from the root to the last rank.
    pub fn rounds(&self) -> usize {
        self.ranks.next_power_of_two().ilog2() as usize
    }

    /// The rank with which this rank communicates in a round, if any.
    pub fn peer(&self, round: usize) -> Option<usize> {
        self.parent.into_iter().chain(self.children()).find(|(of, _)| *of == round).map(|(_, peer)| peer)
    }

    /// The parent, and its round; none for the root.
    pub fn parent(&self) -> Option<(usize, usize)> {
        self.parent
    }

    /// The children, each with its round; children with larger subtrees come first.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        self.below.iter().map(|(round, below)| (*round, (self.first + below.root()) % self.ranks))
    }

    /// The first rank of this rank's subtree, whose ranks are consecutive on the circle.
    pub fn first_of_subtree(&self) -> usize {
        (self.first + self.own.start) % self.ranks
    }

    /// Number of ranks in this rank's subtree, itself included.
    pub fn ranks_of_subtree(&self) -> usize {
        self.own.len
    }

    /// This rank, counted from the first rank of its subtree.
    pub fn place(&self) -> usize {
        self.position - self.own.start
    }

    /// The children and their subtrees, counted from the first rank of this subtree; the largest first.
    pub fn subtrees(&self) -> impl DoubleEndedIterator<Item = (usize, Range<usize>)> {
        let positions_in_subtree =
            |below: &BineSubtree| below.start - self.own.start..below.start + below.len - self.own.start;
        self.below.iter().map(move |(_, below)| ((self.first + below.root()) % self.ranks, positions_in_subtree(below)))
    }
}

/// A step of a butterfly. Blocks are numbered in the order of [`Butterfly::blocks`].
pub struct Exchange {
    /// The partner.
    pub peer: usize,
    /// The blocks that this rank can reach in the lower steps.
    pub own: Range<usize>,
    /// The blocks that the partner can reach in the lower steps.
    pub its: Range<usize>,
}

/// A Bine butterfly as one of its ranks sees it. The distance of the partner in step s is the sum of (-2)^i for
/// i = 0 .. s. Drawn for ranks 0 and 1 of 8: the blocks that they can reach in the steps below s.
///
/// ```text
/// s = 3    0: 6 7 [0] 1 2 3 4 5        1: 4 5 6 7 0 [1] 2 3     all blocks, in the rank's own order
/// s = 2    0: 6 7 [0] 1                1:         0 [1] 2 3     partner 3 has 2 3 4 5, partner 6 has 4 5 6 7
/// s = 1    0:     [0] 1                1:         0 [1]         partner 7 has 6 7, partner 2 has 2 3
/// s = 0    0:     [0]                  1:           [1]         each other's partner
/// ```
pub struct Butterfly {
    rank: usize,
    ranks: usize,
}

impl Butterfly {
    /// The butterfly over `ranks` ranks, a power of two, as `rank` sees it.
    pub fn new(rank: usize, ranks: usize) -> Self {
        Self { rank, ranks }
    }

    /// Number of steps.
    pub fn steps(&self) -> u32 {
        self.ranks.ilog2()
    }

    /// All blocks, in the order in which each range is contiguous.
    pub fn blocks(&self, c: &Call) -> Rotation<impl Fn(usize) -> usize> {
        rotated_blocks(c, self.first(self.rank, self.steps()))
    }

    /// The place of this rank's own block in this order.
    pub fn place(&self) -> usize {
        (self.rank + self.ranks - self.first(self.rank, self.steps())) % self.ranks
    }

    /// The exchange of step s.
    pub fn exchange(&self, s: u32) -> Exchange {
        let peer = swing(self.rank, s, self.ranks);
        let start = self.first(self.rank, self.steps());
        let range = |rank| {
            let first = (self.first(rank, s) + self.ranks - start) % self.ranks;
            first..first + (1 << s)
        };
        Exchange { peer, own: range(self.rank), its: range(peer) }
    }

    /// The first of the 2^s blocks that `rank` can reach in the steps below s. Even ranks reach 2 + 8 + .. to the left
    /// and 1 + 4 + .. to the right; odd ranks reach the mirror image.
    fn first(&self, rank: usize, s: u32) -> usize {
        let alternate: usize = if rank.is_multiple_of(2) { 0xaaaa_aaaa_aaaa_aaaa } else { 0x5555_5555_5555_5555 };
        (rank + self.ranks - (alternate & ((1 << s) - 1))) % self.ranks
    }
}

//! In-order trees: binary trees in which a rank lies between its two subtrees, for segments that go up and down in lockstep.
//!
//! Source: P. Sanders, J. L. Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006; J. L. Träff, "A
//! doubly-pipelined, dual-root reduction-to-all algorithm and implementation", arXiv 2109.12626.

use std::ops::Range;

use hocket_core::{Rank, Span};

/// Some ranks in a row: one goes `lefts` times to the left and `rights` times to the right, from the top, to their root.
#[derive(Clone, Copy)]
pub struct Subtree {
    first: usize,
    end: usize,
    lefts: usize,
    rights: usize,
}

impl Subtree {
    /// The whole tree over these ranks, of which there is one at least.
    pub fn whole(ranks: Range<usize>) -> Self {
        Self { first: ranks.start, end: ranks.end, lefts: 0, rights: 0 }
    }

    /// The subtree below `rank` in this one, and the rank above it, if any is.
    pub fn find(self, rank: usize) -> (Self, Option<usize>) {
        let (mut subtree, mut parent) = (self, None);
        while rank != subtree.root() {
            parent = Some(subtree.root());
            let below = if rank < subtree.root() { subtree.left() } else { subtree.right() };
            subtree = below.expect("a rank of the tree lies in one half of every subtree that it is in");
        }
        (subtree, parent)
    }

    /// The rank between the halves.
    pub fn root(self) -> usize {
        usize::midpoint(self.first, self.end)
    }

    /// The ranks.
    pub fn ranks(self) -> Range<usize> {
        self.first..self.end
    }

    /// Those before the root; it has no fewer levels than those behind.
    pub fn left(self) -> Option<Self> {
        (self.first < self.root()).then(|| Self { end: self.root(), lefts: self.lefts + 1, ..self })
    }

    /// Those behind the root.
    pub fn right(self) -> Option<Self> {
        (self.root() + 1 < self.end).then(|| Self { first: self.root() + 1, rights: self.rights + 1, ..self })
    }

    /// The step in which the first segment goes up from the root, in a tree with so many levels below its top.
    ///
    /// What comes from the left child arrives two steps before that, what comes from the right one a step before.
    pub fn up(self, levels: usize) -> usize {
        2 * (levels - self.lefts) - self.rights
    }

    /// The step in which the first segment comes down to the root, if the top has it in step 2 `levels`.
    ///
    /// The root hands it to its left child in the next step, and to its right child in the one after that. A step down an edge
    /// comes a multiple of three after one up, so both are exchanges.
    pub fn down(self, levels: usize) -> usize {
        2 * (levels + self.rights) + self.lefts
    }
}

/// An edge of the tree, as one of its ends sees it. After the first segment, the others follow every third step.
#[derive(Clone, Copy)]
pub struct Edge {
    /// The rank at the other end.
    pub peer: usize,
    /// The step in which the first segment goes up, if any does.
    pub up: Option<usize>,
    /// The step in which the first segment comes down, if any does.
    pub down: Option<usize>,
}

impl Edge {
    /// The step after the last one, for so many segments.
    pub fn end(self, segments: usize) -> usize {
        self.up.max(self.down).map_or(0, |first| first + 3 * segments - 2)
    }

    /// The segments that go up and down in `step`, of `segments`.
    pub fn crossing(self, step: usize, segments: usize) -> [Option<usize>; 2] {
        [self.up, self.down].map(|first| {
            let since = step.checked_sub(first?)?;
            (since.is_multiple_of(3) && since / 3 < segments).then_some(since / 3)
        })
    }

    /// Sends and receives at once what there is.
    pub async fn exchange(self, r: &Rank<'_>, to_send: Option<Span>, to_receive: Option<Span>) {
        let send = async {
            if let Some(segment) = to_send {
                r.send(self.peer, segment).await;
            }
        };
        let receive = async {
            if let Some(segment) = to_receive {
                r.recv(self.peer, segment).await;
            }
        };
        r.join(send, receive).await;
    }
}

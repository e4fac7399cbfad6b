//! The numbers of elements in the blocks of a call.

use std::ops::Range;
use std::sync::Arc;

use crate::{Buffer, Neighbors, Span};

/// The number of elements in each block.
#[derive(Clone, Debug, PartialEq)]
pub enum Counts {
    /// Every block has this many.
    Equal(usize),
    /// Each block has its own count: the `ranks + 1` offsets at which blocks begin and the last one ends.
    Offsets(Arc<[usize]>),
    /// Only the own block is known and has this many: for ranks that are not the root of gatherv or scatterv, as in
    /// MPI.
    Own(usize),
    /// The block from each rank to each other has its own count.
    Pairs(Arc<Pairs>),
    /// Each edge between neighbours has its own block.
    Neighbors(Arc<Neighbors>),
}

/// The blocks that ranks have for each other: of all ranks, or only to and from one rank, as MPI tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// The first rank whose blocks are known.
    first: usize,
    /// For each known rank, the offsets of its blocks to every rank and of its blocks from every rank, with the ends.
    offsets_by_rank: Vec<[Box<[usize]>; 2]>,
    largest: usize,
}

/// Offsets of blocks of these sizes, with the end of the last.
fn offsets(counts: impl IntoIterator<Item = usize>) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(counts.into_iter().scan(0, |end, count| {
        *end += count;
        Some(*end)
    }))
}

impl Pairs {
    /// The blocks of all ranks; `count(from, to)` elements go from one rank to another.
    pub fn all_pairs(ranks: usize, count: impl Fn(usize, usize) -> usize) -> Self {
        let offsets_of = |rank| {
            [
                offsets((0..ranks).map(|to| count(rank, to))).collect(),
                offsets((0..ranks).map(|from| count(from, rank))).collect(),
            ]
        };
        Self::new(0, (0..ranks).map(offsets_of).collect())
    }

    /// The blocks to and from one rank.
    pub fn one_rank(rank: usize, to: &[usize], from: &[usize]) -> Self {
        Self::new(rank, vec![[to, from].map(|counts| offsets(counts.iter().copied()).collect())])
    }

    fn new(first: usize, offsets_by_rank: Vec<[Box<[usize]>; 2]>) -> Self {
        let counts =
            offsets_by_rank.iter().flatten().flat_map(|offsets| offsets.windows(2).map(|ends| ends[1] - ends[0]));
        let largest = counts.max().unwrap_or(0);
        Self { first, offsets_by_rank, largest }
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.offsets_by_rank[0][0].len() - 1
    }

    /// Number of non-empty blocks from known ranks to others.
    pub fn messages(&self) -> u64 {
        let others = |(index, [to, _]): (usize, &[Box<[usize]>; 2])| {
            let is_sent = |(rank, ends): &(usize, &[usize])| ends[0] < ends[1] && *rank != self.first + index;
            to.windows(2).enumerate().filter(is_sent).count() as u64
        };
        self.offsets_by_rank.iter().enumerate().map(others).sum()
    }

    /// The largest known block.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// The range of the block of `rank` to another rank, among its blocks to all.
    pub(crate) fn range_to(&self, rank: usize, to: usize) -> Range<usize> {
        let [offsets, _] = &self.offsets_by_rank[rank - self.first];
        offsets[to]..offsets[to + 1]
    }

    /// The range of the block of `rank` from another rank, among its blocks from all.
    pub(crate) fn range_from(&self, rank: usize, from: usize) -> Range<usize> {
        let [_, offsets] = &self.offsets_by_rank[rank - self.first];
        offsets[from]..offsets[from + 1]
    }

    /// Whether each known rank sends as much to each rank as it receives from it.
    pub(crate) fn are_symmetric(&self) -> bool {
        self.offsets_by_rank.iter().all(|[to, from]| to == from)
    }
}

impl Counts {
    /// Blocks of these sizes.
    pub fn each(counts: &[usize]) -> Self {
        Self::Offsets(offsets(counts.iter().copied()).collect())
    }

    /// A vector of `total` elements cut into `blocks` parts as even as possible, see [`Span::chunk`].
    pub fn even(total: usize, blocks: usize) -> Self {
        if total.is_multiple_of(blocks) {
            return Self::Equal(total / blocks);
        }
        let whole = Span::new(Buffer::Input, total);
        Self::each(&(0..blocks).map(|i| whole.chunk(i, blocks).len).collect::<Vec<_>>())
    }
}

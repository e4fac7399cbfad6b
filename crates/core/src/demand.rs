//! The demands of a collective on each of its algorithms: the facts from which lower bounds follow.

use crate::Call;

/// A set of ranks.
pub type RankSet<'a> = &'a dyn Fn(usize) -> bool;

/// The demands of a collective. A message carries whole elements, unchanged or combined.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// The spread of data from one rank or to one rank; none if no rank needs data of another.
    pub spread: fn(&Call) -> Option<Spread>,
    /// The least number of elements that have to leave a set of ranks.
    pub leaving: fn(&Call, RankSet<'_>) -> usize,
    /// The least number of elements that all ranks together have to send.
    pub sent_elements: fn(&Call) -> usize,
    /// The least number of times that two elements have to be combined.
    pub combinations: fn(&Call) -> usize,
}

/// Ranks that all need data of one rank, directly or through others; or ranks whose data one rank needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The one rank.
    pub rank: usize,
    /// Number of ranks, including the one.
    pub ranks: usize,
    /// Whether the one rank receives from the others; otherwise it sends to them.
    pub is_gathering: bool,
}

impl Spread {
    /// This many ranks need data of `rank`, itself included.
    pub fn from_rank(rank: usize, ranks: usize) -> Option<Self> {
        (ranks > 1).then_some(Self { rank, ranks, is_gathering: false })
    }

    /// `rank` needs data of this many ranks, itself included.
    pub fn to_rank(rank: usize, ranks: usize) -> Option<Self> {
        Self::from_rank(rank, ranks).map(|spread| Self { is_gathering: true, ..spread })
    }
}

/// The ranks of a collective with one vector: all, or one if the vector is empty.
pub fn ranks_of_vector(c: &Call) -> usize {
    if c.count(0) > 0 { c.ranks } else { 1 }
}

/// The number of ranks that are the root or have a block that is not empty.
pub fn ranks_of_blocks(c: &Call) -> usize {
    (0..c.ranks).filter(|rank| *rank == c.root || c.count(*rank) > 0).count()
}

/// Whether a set has some of the ranks of a call, but not all.
pub fn is_split(c: &Call, within: RankSet<'_>) -> bool {
    let first = within(0);
    (1..c.ranks).any(|rank| within(rank) != first)
}

/// Number of elements in the blocks of the ranks of a set.
pub fn blocks_of(c: &Call, within: RankSet<'_>) -> usize {
    (0..c.ranks).filter(|rank| within(*rank)).map(|rank| c.count(rank)).sum()
}

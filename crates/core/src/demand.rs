//! The demands of a collective on every algorithm, whichever it is: the facts that lower bounds follow from.

use crate::Call;

/// A set of ranks.
pub type Within<'a> = &'a dyn Fn(usize) -> bool;

/// The demands of a collective. Messages carry elements unchanged, combined or not, and no fraction of an element.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// The ranks that have to hear of one rank, or of which one rank has to hear; none if no rank has to hear of another.
    pub spread: fn(&Call) -> Option<Spread>,
    /// How many elements have to leave a set of ranks, at least.
    pub leaving: fn(&Call, Within<'_>) -> usize,
    /// How many elements all ranks together have to send, at least.
    pub carried: fn(&Call) -> usize,
    /// How many times two elements have to be combined, at least.
    pub combined: fn(&Call) -> usize,
}

/// Ranks that have to hear of one, directly or by others; or of which one has to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The one rank.
    pub rank: usize,
    /// How many there are, the one included.
    pub ranks: usize,
    /// Whether the one rank has to hear of the others, rather than the others of the one.
    pub is_gathering: bool,
}

impl Spread {
    /// So many ranks have to hear of this one, itself included.
    pub fn from_rank(rank: usize, ranks: usize) -> Option<Self> {
        (ranks > 1).then_some(Self { rank, ranks, is_gathering: false })
    }

    /// This rank has to hear of so many, itself included.
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
pub fn is_split(c: &Call, within: Within<'_>) -> bool {
    let first = within(0);
    (1..c.ranks).any(|rank| within(rank) != first)
}

/// Elements of the blocks of the ranks of a set.
pub fn blocks_of(c: &Call, within: Within<'_>) -> usize {
    (0..c.ranks).filter(|rank| within(*rank)).map(|rank| c.count(rank)).sum()
}

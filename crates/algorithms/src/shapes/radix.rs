//! Algorithms that generalise powers of two to powers of a radix: the numbers of ranks, and the values in formulas.

use hocket_core::{Call, Domain, Parameter, Rank, Unit};

use crate::shapes::{Fold, KnomialTree};

/// The parameter of these algorithms, with its meaning in each of them.
pub const fn radix(default: u64, meaning: &'static str) -> Parameter {
    Parameter { name: "radix", unit: Unit::Count, default, least: 2, tries: &[2, 3], domain: Domain::Ranks, meaning }
}

/// The radix of a call.
pub fn radix_of(c: &Call) -> usize {
    usize::try_from(c.parameter("radix")).unwrap_or(usize::MAX)
}

/// The powers of the radix that are less than P: one for each digit of the numbers of ranks.
pub fn powers(c: &Call) -> impl Iterator<Item = usize> {
    let (ranks, radix) = (c.ranks, radix_of(c));
    std::iter::successors(Some(1_usize), move |power| power.checked_mul(radix)).take_while(move |power| *power < ranks)
}

/// The most ranks with which a rank communicates at a time: one for each value of a digit, except 0.
pub fn most_others(c: &Call) -> usize {
    others(c, 1)
}

/// The number of ranks at the distances j `power` < P, for j = 1 .. k-1.
fn others(c: &Call, power: usize) -> usize {
    ((c.ranks - 1) / power).min(radix_of(c) - 1)
}

/// The distances of a round: multiples of `power`.
pub fn distances(c: &Call, power: usize) -> impl Iterator<Item = usize> + Clone {
    (1..=others(c, power)).map(move |j| j * power)
}

/// The k-nomial tree of a call, as this rank sees it.
pub fn k_nomial(r: &Rank<'_>, c: &Call) -> KnomialTree {
    KnomialTree::new(r.rank(), c.root, r.size(), radix_of(c))
}

/// The values in formulas with a round for each digit. `rounds`; `others`: the ranks with which a rank, or the root,
/// communicates in all rounds; `blocks`: the blocks of the largest messages of all rounds.
pub fn counts_by_digits(c: &Call) -> Vec<(&'static str, u64)> {
    let values = [
        ("rounds", powers(c).count()),
        ("others", powers(c).map(|power| others(c, power)).sum()),
        ("blocks", powers(c).map(|power| power.min(c.ranks - power)).sum()),
    ];
    values.map(|(name, value)| (name, value as u64)).into()
}

/// Recursive multiplying, which joins up to k groups of ranks in each step. It runs on Q = m k^i <= P virtual ranks,
/// with the largest m <= k that fits. The digits of a virtual rank are to the base k, except the first one, to the base
/// m. The other ranks fold, see [`Fold`]. Drawn for k = 3, P = 6.
///
/// ```text
/// step 0, of 3    [0 1 2] [3 4 5]         position of a rank in its group: its last digit
/// step 1, of 2    [0 3] [1 4] [2 5]       its first digit
/// ```
pub struct Multiplying {
    /// How P ranks act as Q virtual ranks.
    pub fold: Fold,
    /// The steps.
    pub steps: Vec<RadixGroups>,
}

impl Multiplying {
    /// Recursive multiplying of a call.
    pub fn of(c: &Call) -> Self {
        let bases = powers(c).map(|distance| RadixGroups { distance, size: radix_of(c).min(c.ranks / distance) });
        let steps: Vec<_> = bases.filter(|groups| groups.size > 1).collect();
        Self { fold: Fold::to_active(steps.iter().map(|groups| groups.size).product(), c.ranks), steps }
    }

    /// The values in formulas: `active` virtual ranks, `steps`, the `others` in a rank's groups of all steps, and
    /// whether it `folds`.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let values = [
            ("active", self.fold.active()),
            ("steps", self.steps.len()),
            ("others", self.steps.iter().map(|groups| groups.size - 1).sum()),
            ("folds", usize::from(self.fold.first_rank(1) > 1)),
        ];
        values.map(|(name, value)| (name, value as u64)).into()
    }

    /// The most other members that a group has.
    pub fn most_others(&self) -> usize {
        self.steps.iter().map(|groups| groups.size - 1).max().unwrap_or(0)
    }
}

/// The groups of one step. Their members are virtual ranks that differ in one digit only.
#[derive(Clone, Copy, Debug)]
pub struct RadixGroups {
    /// The distance from one member to the next.
    pub distance: usize,
    /// Number of members of a group.
    pub size: usize,
}

impl RadixGroups {
    /// The position of a virtual rank in its group.
    pub fn position(&self, rank: usize) -> usize {
        rank / self.distance % self.size
    }

    /// All members of its group, in order.
    pub fn members(&self, rank: usize) -> impl Iterator<Item = usize> + use<> {
        let Self { distance, size } = *self;
        let first = rank - self.position(rank) * distance;
        (0..size).map(move |position| first + position * distance)
    }

    /// The other members of its group, each with its position, from the next one on and round the group.
    pub fn others(&self, rank: usize) -> impl Iterator<Item = (usize, usize)> + Clone {
        let (Self { distance, size }, own) = (*self, self.position(rank));
        let first = rank - own * distance;
        (1..size).map(move |i| (own + i) % size).map(move |position| (position, first + position * distance))
    }
}

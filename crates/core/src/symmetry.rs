//! Symmetries of programs: which ranks do the same as others, so that one of them stands for all.

/// The largest number of axes of a [`Translation`].
const MOST_AXES: usize = 6;

/// Ranks are renumbered, and the program of every rank stays what it was, with its peers renumbered likewise. The lowest
/// of the ranks that become each other is their *representative*: it stands for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// A multiple of this period is added to every rank, modulo the number of ranks. The ranks below the period, which
    /// divides the number of ranks, stand for all others.
    Rotation(usize),
    /// The bits of every rank that make a multiple of this period are flipped. Period and ranks are powers of two.
    Flips(usize),
    /// A torus of ranks is moved along its axes.
    Translation(Translation),
}

/// Along each axis of a torus, a multiple of its period is added to the coordinate of every rank, modulo the size of the
/// axis. The first coordinate of successive ranks changes fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    sizes: [usize; MOST_AXES],
    periods: [usize; MOST_AXES],
}

impl Translation {
    /// The sizes and periods of axes of more than one rank; none if there are too many.
    fn new(axes: impl Iterator<Item = (usize, usize)>) -> Option<Self> {
        let (mut sizes, mut periods) = ([1; MOST_AXES], [1; MOST_AXES]);
        for (number, (size, period)) in axes.filter(|(size, _)| *size > 1).enumerate() {
            (*sizes.get_mut(number)?, periods[number]) = (size, period);
        }
        Some(Self { sizes, periods })
    }

    /// The stride, the size and the period of each axis.
    fn axes(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        self.sizes.iter().zip(self.periods).scan(1, |next, (size, period)| {
            let stride = *next;
            *next *= size;
            Some((stride, *size, period))
        })
    }

    /// The rotations of ranks by multiples of `period` that are such translations: they are along the last axis.
    fn and_rotation(mut self, period: usize) -> Option<Self> {
        let last = self.sizes.iter().rposition(|size| *size > 1)?;
        let plane: usize = self.sizes[..last].iter().product();
        let along_last = common_multiple(period, plane)? / plane;
        self.periods[last] = common_multiple(self.periods[last], along_last)?;
        self.periods[..last].copy_from_slice(&self.sizes[..last]);
        Some(self)
    }

    fn and(self, other: Self) -> Option<Self> {
        let pairs = self.periods.into_iter().zip(other.periods);
        let periods: Vec<_> = pairs.map(|(one, other)| common_multiple(one, other)).collect::<Option<_>>()?;
        (self.sizes == other.sizes).then(|| Self::new(self.sizes.into_iter().zip(periods)))?
    }

    fn image(&self, [from, to]: [usize; 2]) -> [usize; 2] {
        self.axes().fold([0, 0], |[sender, receiver], (stride, size, period)| {
            let [from, to] = [from, to].map(|rank| rank / stride % size);
            let moved = (from + size - (to - to % period)) % size;
            [sender + stride * moved, receiver + stride * (to % period)]
        })
    }
}

impl Symmetry {
    /// Under every rotation, the program is the same on all ranks.
    pub const ROTATION: Self = Self::Rotation(1);

    /// Under every flip of bits, if the number of ranks is a power of two.
    pub fn flips(ranks: usize) -> Option<Self> {
        ranks.is_power_of_two().then_some(Self::Flips(1))
    }

    /// Under every translation of a torus of these sizes by multiples of `period`, or of the whole size if that is less.
    /// None if the torus has too many axes.
    pub fn translation(sizes: &[usize], period: usize) -> Option<Self> {
        Translation::new(sizes.iter().map(|size| (*size, period.min(*size)))).map(Self::Translation)
    }

    /// Whether there are so many ranks that the symmetry has a meaning.
    pub fn divides(self, ranks: usize) -> bool {
        match self {
            Self::Rotation(period) | Self::Flips(period) => ranks.is_multiple_of(period),
            Self::Translation(on_torus) => {
                let is_whole = on_torus.axes().all(|(_, size, period)| size.is_multiple_of(period));
                is_whole && on_torus.sizes.iter().product::<usize>() == ranks
            }
        }
    }

    /// The number of representatives.
    pub fn representatives(self) -> usize {
        match self {
            Self::Rotation(period) | Self::Flips(period) => period,
            Self::Translation(on_torus) => on_torus.periods.iter().product(),
        }
    }

    /// The number of ranks up to the last representative.
    pub fn ranks_to_keep(self) -> usize {
        match self {
            Self::Rotation(period) | Self::Flips(period) => period,
            Self::Translation(on_torus) => {
                on_torus.axes().map(|(stride, _, period)| stride * (period - 1)).sum::<usize>() + 1
            }
        }
    }

    /// The representative of a rank.
    #[inline]
    pub fn representative(self, rank: usize) -> usize {
        match self {
            Self::Rotation(period) | Self::Flips(period) => rank % period,
            Self::Translation(on_torus) => on_torus.image([rank, rank])[1],
        }
    }

    /// Whether a rank is its own representative.
    #[inline]
    pub fn is_representative(self, rank: usize) -> bool {
        self.representative(rank) == rank
    }

    /// The number of lower representatives than that of a rank.
    pub fn place(self, rank: usize) -> usize {
        let Self::Translation(on_torus) = self else { return self.representative(rank) };
        let mut next = 1;
        let place_on_axis = |(stride, size, period)| {
            let place = rank / stride % size % period * next;
            next *= period;
            place
        };
        on_torus.axes().map(place_on_axis).sum()
    }

    /// The symmetry of two programs that run one after the other, or of a program and a network, if they have one in
    /// common.
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Rotation(one), Self::Rotation(other)) => common_multiple(one, other).map(Self::Rotation),
            (Self::Flips(one), Self::Flips(other)) => Some(Self::Flips(one.max(other))),
            (Self::Translation(one), Self::Translation(other)) => one.and(other).map(Self::Translation),
            (Self::Translation(on_torus), Self::Rotation(period))
            | (Self::Rotation(period), Self::Translation(on_torus)) => {
                on_torus.and_rotation(period).map(Self::Translation)
            }
            _ => None,
        }
    }

    /// The symmetry on nodes of this many successive ranks, of which each has its own.
    pub fn on_nodes(self, ranks_per_node: usize) -> Option<Self> {
        match self {
            Self::Rotation(_) => self.and(Self::Rotation(ranks_per_node)),
            Self::Flips(_) => ranks_per_node.is_power_of_two().then_some(Self::Flips(ranks_per_node))?.and(self),
            Self::Translation(_) => (ranks_per_node == 1).then_some(self),
        }
    }

    /// The symmetry of groups of this many successive ranks, if this is the symmetry of the groups.
    pub fn of_groups(self, ranks_per_group: usize) -> Option<Self> {
        match self {
            Self::Rotation(period) => Some(Self::Rotation(period * ranks_per_group)),
            Self::Flips(period) => ranks_per_group.is_power_of_two().then_some(Self::Flips(period * ranks_per_group)),
            Self::Translation(_) => None,
        }
    }

    /// Of the images of a message from one of `ranks` ranks to another, the sender and the receiver of the one whose
    /// receiver is a representative.
    #[inline]
    pub fn image(self, [from, to]: [usize; 2], ranks: usize) -> [usize; 2] {
        match self {
            Self::Rotation(period) => [(from + ranks - (to - to % period)) % ranks, to % period],
            Self::Flips(period) => [from ^ (to - to % period), to % period],
            Self::Translation(on_torus) => on_torus.image([from, to]),
        }
    }
}

/// The least multiple of both numbers, unless it is too large.
fn common_multiple(one: usize, other: usize) -> Option<usize> {
    (1..=other).map_while(|times| one.checked_mul(times)).find(|multiple| multiple.is_multiple_of(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_keeps_the_way_between_its_ranks() {
        assert_eq!(Symmetry::Rotation(2).image([1, 11], 12), [3, 1]);
        assert_eq!(Symmetry::Rotation(2).image([11, 4], 12), [7, 0]);
        assert_eq!(Symmetry::Flips(2).image([1, 14], 16), [15, 0]);
        for from in 0..16 {
            for to in 0..16 {
                let [sender, receiver] = Symmetry::Rotation(4).image([from, to], 16);
                assert_eq!((receiver + 16 - sender) % 16, (to + 16 - from) % 16);
                assert_eq!((receiver, sender % 4), (to % 4, from % 4));
                let [sender, receiver] = Symmetry::Flips(4).image([from, to], 16);
                assert_eq!((receiver ^ sender, sender % 4), (to ^ from, from % 4));
            }
        }
    }

    #[test]
    fn symmetries_in_common() {
        assert_eq!(Symmetry::Rotation(4).and(Symmetry::Rotation(6)), Some(Symmetry::Rotation(12)));
        assert_eq!(Symmetry::Flips(4).and(Symmetry::Flips(2)), Some(Symmetry::Flips(4)));
        assert_eq!(Symmetry::ROTATION.and(Symmetry::Flips(1)), None);
        assert_eq!(Symmetry::ROTATION.on_nodes(3), Some(Symmetry::Rotation(3)));
        assert_eq!(Symmetry::Flips(1).on_nodes(3), None);
        assert_eq!(Symmetry::Flips(1).on_nodes(4), Some(Symmetry::Flips(4)));
        assert_eq!(Symmetry::Rotation(2).of_groups(6), Some(Symmetry::Rotation(12)));
        assert_eq!(Symmetry::Flips(2).of_groups(4), Some(Symmetry::Flips(8)));
        assert_eq!(Symmetry::Flips(1).of_groups(3), None);
    }

    #[test]
    fn ranks_of_a_torus_stand_for_those_a_period_away_along_each_axis() {
        let symmetry = Symmetry::translation(&[4, 1, 6], 2).unwrap();
        let representatives: Vec<_> = (0..24).filter(|rank| symmetry.representative(*rank) == *rank).collect();
        assert_eq!(representatives, [0, 1, 4, 5]);
        assert_eq!((symmetry.representatives(), symmetry.ranks_to_keep()), (4, 6));
        assert!((0..24).all(|rank| representatives[symmetry.place(rank)] == symmetry.representative(rank)));
        assert_eq!(symmetry.image([0, 3 + 4 * 5], 24), [2 + 4 * 2, 1 + 4]);
        assert!(symmetry.divides(24) && !symmetry.divides(48));
        assert!(!Symmetry::translation(&[3, 4], 2).unwrap().divides(12));
        assert!(Symmetry::translation(&[1, 2], 4).unwrap().divides(2));
    }

    #[test]
    fn rotations_of_a_torus_are_along_its_last_axis() {
        let torus = Symmetry::translation(&[2, 3, 4, 1], 1);
        let rotations = |period| torus.and_then(|torus| torus.and(Symmetry::Rotation(period)));
        assert_eq!(rotations(1), Translation::new([(2, 2), (3, 3), (4, 1)].into_iter()).map(Symmetry::Translation));
        assert_eq!(rotations(4), Translation::new([(2, 2), (3, 3), (4, 2)].into_iter()).map(Symmetry::Translation));
        assert_eq!(Symmetry::translation(&[8], 2).unwrap().and(Symmetry::ROTATION), Symmetry::translation(&[8], 2));
        assert_eq!(torus.unwrap().and(Symmetry::translation(&[4, 3, 2], 1).unwrap()), None);
        for (from, to) in (0..24).flat_map(|from| (0..24).map(move |to| (from, to))) {
            let by_ranks = Symmetry::Rotation(6).image([from, to], 24);
            assert_eq!(rotations(1).unwrap().image([from, to], 24), by_ranks);
        }
    }
}

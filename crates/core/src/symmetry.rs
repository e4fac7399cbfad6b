//! Symmetries of programs: which ranks do the same as others, so that one of them stands for all.

/// Ranks are renumbered, and the program of every rank stays what it was, with its peers renumbered likewise. A period
/// divides the number of ranks, and the ranks below it stand for all others: rank r for r plus multiples of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// A multiple of this period is added to every rank, modulo the number of ranks.
    Rotation(usize),
    /// The bits of every rank that make a multiple of this period are flipped. Period and ranks are powers of two.
    Flips(usize),
}

impl Symmetry {
    /// Under every rotation, the program is the same on all ranks.
    pub const ROTATION: Self = Self::Rotation(1);

    /// Under every flip of bits, if the number of ranks is a power of two.
    pub fn flips(ranks: usize) -> Option<Self> {
        ranks.is_power_of_two().then_some(Self::Flips(1))
    }

    /// The period: the number of ranks that stand for all.
    pub fn period(self) -> usize {
        let (Self::Rotation(period) | Self::Flips(period)) = self;
        period
    }

    /// The symmetry of two programs that run one after the other, if they have one in common.
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Rotation(one), Self::Rotation(other)) => {
                (1..=other).map(|times| one * times).find(|multiple| multiple.is_multiple_of(other)).map(Self::Rotation)
            }
            (Self::Flips(one), Self::Flips(other)) => Some(Self::Flips(one.max(other))),
            _ => None,
        }
    }

    /// The symmetry on nodes of this many successive ranks, of which each has its own.
    pub fn on_nodes(self, ranks_per_node: usize) -> Option<Self> {
        match self {
            Self::Rotation(_) => self.and(Self::Rotation(ranks_per_node)),
            Self::Flips(_) => ranks_per_node.is_power_of_two().then_some(Self::Flips(ranks_per_node))?.and(self),
        }
    }

    /// Of the images of a message from one of `ranks` ranks to another, the sender and the receiver of the one whose
    /// receiver is below the period.
    #[inline]
    pub fn image(self, [from, to]: [usize; 2], ranks: usize) -> [usize; 2] {
        match self {
            Self::Rotation(period) => {
                let receiver = to % period;
                [(from + ranks - (to - receiver)) % ranks, receiver]
            }
            Self::Flips(period) => {
                let receiver = to % period;
                [from ^ (to - receiver), receiver]
            }
        }
    }
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
    }
}

//! The point that a branch of a program has reached.

/// A place in the program of a rank. It is the same in all worlds and at all times. Operations of one branch are
/// numbered one after another; each branch starts far away from all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position(pub u64);

impl Position {
    /// The first place of every program.
    pub const START: Self = Self(0);

    /// The place after this one.
    #[inline]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The first place of branch `index` of those that begin here.
    #[inline]
    pub fn branch(self, index: usize) -> Self {
        let mixed =
            (self.0 ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD1B5_4A32_D192_ED03);
        Self(mixed ^ (mixed >> 29))
    }

    /// The place at which a program continues after branches that ended at these two places.
    #[inline]
    pub fn join(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

/// The point that a branch of a program has reached: a virtual time and a place in the program. A world with its own
/// order of moments (see [`Moments`]) stores two words of its own instead.
///
/// `join` and `first` start every branch at the moment at which they were reached. `join` continues at the latest of
/// the branches' moments, `first` at the earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    // A float and an integer, rather than two integers: the compiler copies two integers as one 16-byte load right
    // after two 8-byte stores, and such a load stalls the processor.
    time_s: f64,
    place: u64,
}

impl Moment {
    /// A time in seconds, and a place.
    #[inline]
    pub fn at(time_s: f64, position: Position) -> Self {
        Self { time_s, place: position.0 }
    }

    /// Two words whose meaning one world defines.
    #[inline]
    pub fn of([first, place]: [u64; 2]) -> Self {
        Self { time_s: f64::from_bits(first), place }
    }

    /// The two words.
    #[inline]
    pub fn words(self) -> [u64; 2] {
        [self.time_s.to_bits(), self.place]
    }

    /// The time in seconds.
    #[inline]
    pub fn time_s(self) -> f64 {
        self.time_s
    }

    /// The place in the program.
    #[inline]
    pub fn position(self) -> Position {
        Position(self.place)
    }

    #[inline]
    pub(crate) fn later(self, other: Self) -> Self {
        Self::at(later_s(self.time_s, other.time_s), self.position().join(other.position()))
    }

    #[inline]
    pub(crate) fn branch(self, index: usize) -> Self {
        Self::at(self.time_s(), self.position().branch(index))
    }

    #[inline]
    pub(crate) fn after_first(self, winner: Self) -> Self {
        Self::at(later_s(self.time_s, winner.time_s), self.position().next())
    }
}

/// The later of two times. A single instruction, because it does not check for NaN as `f64::max` does.
#[inline]
pub fn later_s(one: f64, other: f64) -> f64 {
    if other > one { other } else { one }
}

/// The order of moments in a world without times, or with unknown ones: the rules for `join` and `first`.
pub trait Moments {
    /// The moment at which both have been reached.
    fn later(&mut self, one: Moment, other: Moment) -> Moment;
    /// Whether `one` is certainly before `other`; false for ties and incomparable moments.
    fn is_before(&mut self, _one: Moment, _other: Moment) -> bool {
        false
    }
    /// The moment at which branch `index` of several starts.
    fn branch(&mut self, start: Moment, _index: usize) -> Moment {
        start
    }
    /// The moment at which a `join` reached at `start` continues; `end` is the latest end of its branches.
    fn after_join(&mut self, _start: Moment, end: Moment) -> Moment {
        end
    }
    /// The moment at which the branches of a `first` reached at `now` start.
    fn racing(&mut self, now: Moment) -> Moment {
        now
    }
    /// The moment at which a `first` reached at `now` continues: the same point of the program whichever branch won.
    fn after_first(&mut self, now: Moment, winner: Moment) -> Moment {
        self.later(now, winner)
    }
    /// Adjusts the moment `earlier` at which a `first` continues, and the moment `later` at which its rest ends.
    fn settle_first(&mut self, earlier: Moment, later: Moment) -> (Moment, Moment) {
        (earlier, later)
    }
}

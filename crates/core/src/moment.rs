//! The point that a branch of a program has reached.

/// A place in the program of a rank: the same whatever the world, and whatever the times. Operations of one branch are
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
    pub fn joined(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

/// The point that a branch of a program has reached: a virtual time and a place in the program. A world that orders its
/// moments otherwise (see [`Moments`]) stores two words of its own instead.
///
/// `join` and `first` start every branch at the moment at which they were reached, and continue at the later of the
/// branches' moments, or at the earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    // A number and a word, not two words: two words would be copied as one, right after they were written one by one,
    // and such a copy stalls processors for long.
    time_s: f64,
    place: u64,
}

impl Moment {
    /// A time in seconds, and a place.
    #[inline]
    pub fn at(time_s: f64, position: Position) -> Self {
        Self { time_s, place: position.0 }
    }

    /// Two words that mean something to one world.
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
        Self::at(later_s(self.time_s, other.time_s), self.position().joined(other.position()))
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

/// The later of two times. One instruction, where `f64::max` also looks for what is not a number.
#[inline]
pub fn later_s(one: f64, other: f64) -> f64 {
    if other > one { other } else { one }
}

/// The order of moments in a world that keeps no time, or does not know it: the rules for `join` and `first`.
pub trait Moments {
    /// The moment at which both have been reached.
    fn later(&mut self, one: Moment, other: Moment) -> Moment;
    /// Whether `one` is certainly before `other`; ties and incomparable moments are not.
    fn is_before(&mut self, _one: Moment, _other: Moment) -> bool {
        false
    }
    /// The moment at which branch `index` of several starts.
    fn branch(&mut self, start: Moment, _index: usize) -> Moment {
        start
    }
    /// The moment at which a `join` that was reached at `start` continues, `end` being the latest of its branches' ends.
    fn after_join(&mut self, _start: Moment, end: Moment) -> Moment {
        end
    }
    /// The moment at which the branches of a `first` start that is reached at `now`.
    fn racing(&mut self, now: Moment) -> Moment {
        now
    }
    /// The moment at which a `first` that was reached at `now` continues; it is the same point of the program whichever
    /// branch won.
    fn after_first(&mut self, now: Moment, winner: Moment) -> Moment {
        self.later(now, winner)
    }
    /// The earlier moment, at which a `first` continues, and the later one, at which its rest ends; `earlier` was found to
    /// be the earlier.
    fn decided(&mut self, earlier: Moment, later: Moment) -> (Moment, Moment) {
        (earlier, later)
    }
}

//! What a point in virtual time is: a number; a number with a place in the program, where noise needs it; or a symbol.

use std::cmp::Ordering;

use hocket_core::Moment;
use hocket_machine::Noise;
use hocket_machine::noise::{Draws, Model, Operation, Resource};

/// A point in virtual time.
pub trait Clock: Moment + Copy {
    /// The later of the two.
    fn max(self, other: Self) -> Self;
    /// So many seconds later.
    fn plus(self, seconds: f64) -> Self;
    /// How it lies to `other`; none when that is not known.
    fn order(self, other: Self) -> Option<Ordering>;
    /// Whether what is issued at this time certainly comes after what was issued at `other`.
    fn is_issued_after(self, other: Self) -> bool {
        self.order(other) == Some(Ordering::Greater)
    }
    /// The place in the program at which the operation begins that is issued now.
    fn position(self) -> u64;
    /// This time, at the place after the operation that was issued at `start`.
    fn following(self, start: Self) -> Self;
    /// The value in seconds; not a number when that is not known.
    fn seconds(self) -> f64;
}

impl Clock for f64 {
    fn max(self, other: Self) -> Self {
        Self::max(self, other)
    }

    fn plus(self, seconds: f64) -> Self {
        self + seconds
    }

    fn order(self, other: Self) -> Option<Ordering> {
        self.partial_cmp(&other)
    }

    fn position(self) -> u64 {
        0
    }

    fn following(self, _: Self) -> Self {
        self
    }

    fn seconds(self) -> f64 {
        self
    }
}

/// A place in the program of a rank: the same whatever the engine, and whatever the times. Operations of one branch are
/// numbered one after another; each branch starts far away from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(pub u64);

impl Position {
    pub const START: Self = Self(0);

    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Where branch `index` of those that begin here starts.
    pub fn branch(self, index: usize) -> Self {
        let mixed =
            (self.0 ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD1B5_4A32_D192_ED03);
        Self(mixed ^ (mixed >> 29))
    }

    /// Where the program goes on after branches that ended here and there.
    pub fn joined(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

/// A number of seconds and a place in the program.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub time_s: f64,
    pub position: Position,
}

impl Placed {
    pub fn at(time_s: f64) -> Self {
        Self { time_s, position: Position::START }
    }
}

impl Moment for Placed {
    fn later(self, other: Self) -> Self {
        Self { time_s: self.time_s.max(other.time_s), position: self.position.joined(other.position) }
    }

    fn is_before(&self, other: &Self) -> bool {
        self.time_s < other.time_s
    }

    fn branch(self, index: usize) -> Self {
        Self { position: self.position.branch(index), ..self }
    }

    fn after_first(self, winner: Self) -> Self {
        Self { time_s: self.time_s.max(winner.time_s), position: self.position.next() }
    }
}

impl Clock for Placed {
    fn max(self, other: Self) -> Self {
        Self { time_s: self.time_s.max(other.time_s), ..self }
    }

    fn plus(self, seconds: f64) -> Self {
        Self { time_s: self.time_s + seconds, ..self }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        self.time_s.partial_cmp(&other.time_s)
    }

    fn position(self) -> u64 {
        self.position.0
    }

    fn following(self, start: Self) -> Self {
        Self { position: start.position.next(), ..self }
    }

    fn seconds(self) -> f64 {
        self.time_s
    }
}

/// What an operation occupies, for how long, and whose noise delays it.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    pub resource: Resource,
    pub length_s: f64,
    /// The rank that is hit.
    pub victim: usize,
    /// The rank that began the operation, and where in its program.
    pub origin: usize,
    pub position: u64,
}

impl Passage {
    /// A message on its way.
    pub fn transfer(sender: usize, position: u64, receiver: usize, length_s: f64) -> Self {
        Self { resource: Resource::Network, length_s, victim: receiver, origin: sender, position }
    }

    /// What a processor does.
    pub fn work(rank: usize, position: u64, length_s: f64) -> Self {
        Self { resource: Resource::Processor, length_s, victim: rank, origin: rank, position }
    }
}

/// Makes operations take time.
pub trait Timing {
    type Clock: Clock;
    /// The common start.
    fn start(&self) -> Self::Clock;
    /// When an operation that starts at `start` ends.
    fn pass(&self, passage: Passage, start: Self::Clock) -> Self::Clock;
}

/// A machine without noise.
pub struct Quiet;

impl Timing for Quiet {
    type Clock = f64;

    fn start(&self) -> f64 {
        0.0
    }

    fn pass(&self, passage: Passage, start: f64) -> f64 {
        start + passage.length_s
    }
}

/// One trial on a machine with noise.
pub struct Trial<'a> {
    pub noise: &'a Noise,
    pub seed: u64,
    pub trial: u64,
    pub ranks: usize,
}

impl Trial<'_> {
    /// When a passage that started at `start_s` ends, which would be at `end_s` without noise.
    pub fn delayed_s(&self, passage: Passage, start_s: f64, end_s: f64) -> f64 {
        let Some(model) = self.noise.on(passage.resource) else { return end_s };
        let Passage { resource, length_s, victim, origin, position } = passage;
        let draws = Draws {
            key: Noise::key(self.seed, resource),
            who: model.draw(victim, origin, position),
            first_trial: self.trial,
            ranks: self.ranks,
            known: &[],
        };
        let operation = Operation { length_s, weight: model.weight(length_s) };
        let mut end_s = [end_s];
        model.delay(operation, &draws, &[start_s], &mut end_s);
        end_s[0]
    }
}

impl Timing for Trial<'_> {
    type Clock = Placed;

    fn start(&self) -> Placed {
        Placed::at(0.0)
    }

    fn pass(&self, passage: Passage, start: Placed) -> Placed {
        let end_s = start.time_s + passage.length_s;
        Placed { time_s: self.delayed_s(passage, start.time_s, end_s), ..start }
    }
}

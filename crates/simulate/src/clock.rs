//! Points in virtual time: a number; a number with a place in the program, for noise; or a symbol.

use std::cmp::Ordering;

use hocket_core::{Moment, Moments, Position, later_s};
use hocket_machine::Noise;
use hocket_machine::noise::{Draws, Model, Operation, Resource};

/// A point in virtual time.
pub trait Clock: Copy {
    /// What is kept of the time of an issue, to check that later operations come after it.
    type Issue: Copy;
    /// The [`Clock::Issue`] of an operation issued now.
    fn issue(self) -> Self::Issue;
    /// The later of the two.
    fn max(self, other: Self) -> Self;
    /// The time this many seconds later.
    fn plus(self, seconds: f64) -> Self;
    /// The time this many seconds earlier.
    fn less(self, seconds: f64) -> Self;
    /// The order of this point and `other`; none when it is not known.
    fn order(self, other: Self) -> Option<Ordering>;
    /// Whether this point is later than `other`, or, if `or_with`, no earlier. An answer that depends on the trial is
    /// assumed to be true, and results hold only for the trials in which it is.
    fn comes_after(self, other: Self, or_with: bool) -> bool {
        self.order(other).is_some_and(|order| order.is_gt() || or_with && order.is_eq())
    }
    /// Whether this point is certainly at the same time as `other`.
    fn is_at(self, other: Self) -> bool {
        self.order(other) == Some(Ordering::Equal)
    }
    /// Whether this point is certainly later than `other`.
    fn exceeds(self, other: Self) -> bool {
        self.order(other) == Some(Ordering::Greater)
    }
    /// Whether an operation issued now certainly comes after an earlier one.
    fn is_issued_after(self, earlier: Self::Issue) -> bool;
    /// Notes that a rank has reached a mark; only needed by clocks without a value in seconds.
    fn note(self, _mark: u16) {}
    /// The place in the program at which the operation issued now begins.
    fn position(self) -> u64;
    /// The value in seconds; NaN if it is unknown.
    fn seconds(self) -> f64;
}

impl Clock for f64 {
    type Issue = Self;

    fn issue(self) -> Self {
        self
    }

    fn is_issued_after(self, earlier: Self) -> bool {
        self > earlier
    }

    fn max(self, other: Self) -> Self {
        later_s(self, other)
    }

    fn plus(self, seconds: f64) -> Self {
        self + seconds
    }

    fn less(self, seconds: f64) -> Self {
        self - seconds
    }

    fn order(self, other: Self) -> Option<Ordering> {
        self.partial_cmp(&other)
    }

    fn position(self) -> u64 {
        0
    }

    fn seconds(self) -> f64 {
        self
    }
}

/// A number of seconds and a place in the program.
#[derive(Clone, Copy, Debug)]
pub struct PlacedTime {
    pub time_s: f64,
    pub position: Position,
}

impl PlacedTime {
    pub fn at(time_s: f64) -> Self {
        Self { time_s, position: Position::START }
    }
}

impl From<Moment> for PlacedTime {
    fn from(moment: Moment) -> Self {
        Self { time_s: moment.time_s(), position: moment.position() }
    }
}

impl Clock for PlacedTime {
    type Issue = f64;

    fn issue(self) -> f64 {
        self.time_s
    }

    fn is_issued_after(self, earlier_s: f64) -> bool {
        self.time_s > earlier_s
    }

    fn max(self, other: Self) -> Self {
        Self { time_s: later_s(self.time_s, other.time_s), ..self }
    }

    fn plus(self, seconds: f64) -> Self {
        Self { time_s: self.time_s + seconds, ..self }
    }

    fn less(self, seconds: f64) -> Self {
        Self { time_s: self.time_s - seconds, ..self }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        self.time_s.partial_cmp(&other.time_s)
    }

    fn position(self) -> u64 {
        self.position.0
    }

    fn seconds(self) -> f64 {
        self.time_s
    }
}

/// An operation that takes time: its resource and length, and the identity that determines its noise.
#[derive(Clone, Copy, Debug)]
pub struct Occupation {
    pub resource: Resource,
    pub length_s: f64,
    /// The rank that the noise hits.
    pub victim: usize,
    /// The rank that began the operation, and the operation's place in its program.
    pub origin: usize,
    pub position: u64,
}

impl Occupation {
    /// A message on its way.
    pub fn transfer(sender: usize, position: u64, receiver: usize, length_s: f64) -> Self {
        Self { resource: Resource::Network, length_s, victim: receiver, origin: sender, position }
    }

    /// The work of a processor.
    pub fn work(rank: usize, position: u64, length_s: f64) -> Self {
        Self { resource: Resource::Processor, length_s, victim: rank, origin: rank, position }
    }
}

/// Makes operations take time.
pub trait Timing {
    type Clock: Clock;
    /// Whether moments are ordered by [`Timing::moments`].
    const HAS_MOMENTS: bool = false;
    /// The common start.
    fn start(&self) -> Self::Clock;
    /// The time at this moment.
    fn time(&self, moment: Moment) -> Self::Clock;
    /// The place in the program at this moment.
    fn place(&self, moment: Moment) -> Position {
        moment.position()
    }
    /// The moment after an operation that was issued at `start` and was done at `end`.
    fn after(&self, start: Moment, end: Self::Clock) -> Moment;
    /// The order of moments, if [`Timing::HAS_MOMENTS`].
    fn moments(&mut self) -> &mut dyn Moments {
        unreachable!("asked for where there is one")
    }
    /// The end of an operation that starts at `start`.
    fn pass(&self, occupation: Occupation, start: Self::Clock) -> Self::Clock;
    /// Whether noise delays processors.
    fn interrupts(&self) -> bool;
    /// When an operation whose processor is free at `free` begins: later by all of its delay.
    fn begin(&self, occupation: Occupation, free: Self::Clock) -> Self::Clock;
}

/// A machine without noise.
pub struct Quiet;

impl Timing for Quiet {
    type Clock = f64;

    fn start(&self) -> f64 {
        0.0
    }

    fn time(&self, moment: Moment) -> f64 {
        moment.time_s()
    }

    fn after(&self, start: Moment, end: f64) -> Moment {
        Moment::at(end, start.position().next())
    }

    fn pass(&self, occupation: Occupation, start: f64) -> f64 {
        start + occupation.length_s
    }

    fn interrupts(&self) -> bool {
        false
    }

    fn begin(&self, _: Occupation, free: f64) -> f64 {
        free
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
    /// The end of an occupation that starts at `start_s` and would end at `end_s` without noise.
    #[inline(always)]
    pub fn delayed_s(&self, occupation: Occupation, start_s: f64, end_s: f64) -> f64 {
        let Some(model) = self.noise.on(occupation.resource) else { return end_s };
        let Occupation { resource, length_s, victim, origin, position } = occupation;
        let draws = Draws {
            key: Noise::key(self.seed, resource),
            who: model.draw(victim, origin, position),
            first_trial: self.trial,
            ranks: self.ranks,
            first_words: &[],
            first_gap: None,
        };
        let operation = Operation { length_s, weight: model.weight(length_s) };
        let mut end_s = [end_s];
        model.delay(operation, &draws, &[start_s], &mut end_s);
        end_s[0]
    }
}

impl Timing for Trial<'_> {
    type Clock = PlacedTime;

    fn start(&self) -> PlacedTime {
        PlacedTime::at(0.0)
    }

    fn time(&self, moment: Moment) -> PlacedTime {
        moment.into()
    }

    fn after(&self, start: Moment, end: PlacedTime) -> Moment {
        Moment::at(end.time_s, start.position().next())
    }

    fn pass(&self, occupation: Occupation, start: PlacedTime) -> PlacedTime {
        let end_s = start.time_s + occupation.length_s;
        PlacedTime { time_s: self.delayed_s(occupation, start.time_s, end_s), ..start }
    }

    fn interrupts(&self) -> bool {
        self.noise.os.is_some()
    }

    fn begin(&self, occupation: Occupation, free: PlacedTime) -> PlacedTime {
        if self.noise.on_message(occupation.length_s).is_none() {
            return free;
        }
        PlacedTime { time_s: self.delayed_s(occupation, free.time_s, free.time_s), ..free }
    }
}

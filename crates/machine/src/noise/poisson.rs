//! Poisson: events at random, `interval` apart on average, `duration` long, as of a network that others use too.
//!
//! Keys: `interval`, `duration`; `overlap`; and, for "arrival", `events` = "every" (the default: each event that begins in
//! an operation adds its duration) or "one" (an operation is hit or not).
//!
//! Under "arrival" every operation draws for itself, since such a process has no memory: with x = l / interval it meets k
//! events with probability exp(-x) x^k / k!. Under "stall" the events have a place in time: a cell of the length of the
//! interval holds a Poisson number of them, 1 on average, each at random.

use hocket_core::Result;

use super::{Draws, Model, Operation, Overlap, mix, positive_s, stall_s};
use crate::Section;

/// The model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Mean time from the start of one event to that of the next, in seconds.
    pub interval_s: f64,
    /// Length of an event, in seconds.
    pub duration_s: f64,
    /// Whether an operation is hit by one event at most.
    pub is_hit_once: bool,
    overlap: Overlap,
}

/// Far more events than an operation can meet before the uniform numbers cannot tell them apart.
const MOST_EVENTS: u32 = 4096;

impl Poisson {
    pub(super) fn read(section: &Section) -> Result<Self> {
        let overlap = Overlap::read(section)?;
        let is_hit_once =
            overlap == Overlap::Arrival && section.choice("events", &[("every", false), ("one", true)])?;
        let interval_s = positive_s(section, "interval")?;
        Ok(Self { interval_s, duration_s: section.time_s("duration")?, is_hit_once, overlap })
    }

    /// When the events of a cell start, in order, in seconds.
    fn cell(&self, index: i64, draws: &Draws) -> Vec<f64> {
        let own = Draws { who: mix(draws.who as usize, index as u64), ..*draws };
        let [u] = own.uniform::<1>(0);
        let place = |i| (index as f64 + own.uniform::<1>(1 + i)[0]) * self.interval_s;
        let mut starts: Vec<_> = (0..events(u, libm::exp(-1.0), 1.0)).map(place).collect();
        starts.sort_unstable_by(f64::total_cmp);
        starts
    }

    fn stall_s(&self, start_s: f64, length_s: f64, draws: &Draws) -> f64 {
        let cell_of = |time_s: f64| (time_s / self.interval_s).floor() as i64;
        stall_s(start_s, length_s, |now| {
            let cells = cell_of(now - self.duration_s)..;
            let mut starts = cells.flat_map(|index| self.cell(index, draws));
            let next = starts.find(|start| start + self.duration_s > now);
            (next.expect("a Poisson process never ends"), self.duration_s)
        })
    }
}

/// Number of events for a uniform number: the smallest k whose distribution function, with mean `x`, lies above it.
fn events(uniform: f64, none: f64, x: f64) -> u32 {
    let (mut k, mut term, mut below) = (0, none, none);
    while uniform >= below && k < MOST_EVENTS {
        k += 1;
        term *= x / f64::from(k);
        below += term;
    }
    k
}

impl Model for Poisson {
    fn draw(&self, victim: usize, origin: usize, position: u64) -> u64 {
        match self.overlap {
            Overlap::Arrival => mix(origin, position),
            Overlap::Stall => victim as u64,
        }
    }

    /// The probability to meet no event.
    fn weight(&self, length_s: f64) -> f64 {
        libm::exp(-length_s / self.interval_s)
    }

    #[inline(always)]
    fn delay_s<const L: usize>(&self, operation: Operation, draws: &Draws, start_s: [f64; L]) -> [f64; L] {
        let Operation { length_s, weight: none } = operation;
        if self.overlap == Overlap::Stall {
            let lane = |i: usize| Draws { first_trial: draws.first_trial + i as u64, ..*draws };
            return std::array::from_fn(|i| self.stall_s(start_s[i], length_s, &lane(i)));
        }
        let uniform: [f64; L] = draws.uniform(0);
        let mut delay_s = [0.0; L];
        let mut hits = 0;
        for i in 0..L {
            let is_hit = uniform[i] >= none;
            delay_s[i] = if is_hit { self.duration_s } else { 0.0 };
            hits += u32::from(is_hit);
        }
        if hits > 0 && !self.is_hit_once {
            return uniform.map(|u| self.duration_s * f64::from(events(u, none, length_s / self.interval_s)));
        }
        delay_s
    }
}

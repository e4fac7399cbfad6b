//! Pareto: every operation is delayed by a time with a heavy tail: longer than x with probability (minimum / x)^shape.
//!
//! Keys: `minimum`, `shape` (a number above 0; below 2 the variance is infinite, up to 1 also the mean); `interval`
//! (optional): only operations that meet an event are delayed, and an operation of length l meets one with probability
//! 1 - exp(-l / interval).

use hocket_core::Result;

use super::{Draws, Model, Operation, chance, is_hit, mix};
use crate::Section;

/// The model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    /// The shortest delay, in seconds.
    pub minimum_s: f64,
    /// The exponent of the tail.
    pub shape: f64,
    /// Mean time between events, in seconds; none when every operation is delayed.
    pub interval_s: Option<f64>,
}

impl Pareto {
    pub(super) fn read(section: &Section) -> Result<Self> {
        let shape = section.number("shape")?;
        if shape <= 0.0 {
            return Err(section.reject("shape", "a number above 0"));
        }
        Ok(Self { minimum_s: section.time_s("minimum")?, shape, interval_s: section.optional_time_s("interval")? })
    }
}

impl Model for Pareto {
    fn draw(&self, _victim: usize, origin: usize, position: u64) -> u64 {
        mix(origin, position)
    }

    fn weight(&self, length_s: f64) -> f64 {
        chance(length_s, self.interval_s)
    }

    #[inline(always)]
    fn delay_s<const L: usize>(&self, operation: Operation, draws: &Draws, _start_s: [f64; L]) -> [f64; L] {
        let is_hit: [bool; L] = is_hit(operation, draws);
        let uniform: [f64; L] = draws.uniform(1);
        let delay_s = |u: f64| self.minimum_s * libm::pow(u, -1.0 / self.shape);
        std::array::from_fn(|i| if is_hit[i] { delay_s(uniform[i]) } else { 0.0 })
    }
}

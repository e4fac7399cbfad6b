//! Pareto: every operation is delayed by a heavy-tailed time, longer than x with probability (minimum / x)^shape.
//!
//! Keys: `minimum`; `shape` (at least 0.1; up to 2 the variance is infinite, up to 1 also the mean); `interval`
//! (optional): an operation of length l is then delayed only with probability 1 - exp(-l / interval).

use hocket_core::Result;

use super::{Draws, Model, Operation, Resource, chance, delay_hit, optional_between_s};
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

/// With a smaller shape, the longest delay would overflow.
const LEAST_SHAPE: f64 = 0.1;

impl Pareto {
    pub(super) fn read(section: &Section, _: Resource) -> Result<Self> {
        let shape = section.number("shape")?;
        section.ensure(shape >= LEAST_SHAPE, "shape", &format!("a number of at least {LEAST_SHAPE}"))?;
        Ok(Self { minimum_s: section.time_s("minimum")?, shape, interval_s: optional_between_s(section, "interval")? })
    }
}

impl Model for Pareto {
    fn weight(&self, length_s: f64) -> f64 {
        chance(length_s, self.interval_s)
    }

    #[inline(always)]
    fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, _start_s: &[f64; L], end_s: &mut [f64; L]) {
        let hits = draws.hits::<L>(operation.weight);
        if hits == 0 {
            return;
        }
        let uniform: [f64; L] = draws.uniform(1);
        delay_hit(hits, end_s, |i| self.minimum_s * libm::pow(uniform[i], -1.0 / self.shape));
    }
}

//! Gaussian: every operation is delayed by a normally distributed time, or not at all if that time is negative.
//!
//! Keys: `mean`, `deviation`, `interval` (optional). With `interval`, an operation of length l is delayed only with
//! probability 1 - exp(-l / interval). Source of the transformation: G. E. P. Box, M. E. Muller, "A note on the
//! generation of random normal deviates", Annals of Mathematical Statistics 29 (1958).

use hocket_core::Result;

use super::{Draws, Model, Operation, Resource, chance, delay_hit, optional_between_s};
use crate::Section;

/// The model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    /// Mean of the normal distribution, in seconds.
    pub mean_s: f64,
    /// Its standard deviation, in seconds.
    pub deviation_s: f64,
    /// Mean time between events, in seconds; none when every operation is delayed.
    pub interval_s: Option<f64>,
}

impl Gaussian {
    pub(super) fn read(section: &Section, _: Resource) -> Result<Self> {
        Ok(Self {
            mean_s: section.time_s("mean")?,
            deviation_s: section.time_s("deviation")?,
            interval_s: optional_between_s(section, "interval")?,
        })
    }
}

impl Model for Gaussian {
    fn weight(&self, length_s: f64) -> f64 {
        chance(length_s, self.interval_s)
    }

    #[inline(always)]
    fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, _start_s: &[f64; L], end_s: &mut [f64; L]) {
        let hits = draws.hits::<L>(operation.weight);
        if hits == 0 {
            return;
        }
        let (radius, angle): ([f64; L], [f64; L]) = (draws.uniform(1), draws.uniform(2));
        delay_hit(hits, end_s, |i| {
            let normal = libm::sqrt(-2.0 * libm::log(radius[i])) * libm::cos(std::f64::consts::TAU * angle[i]);
            (self.mean_s + self.deviation_s * normal).max(0.0)
        });
    }
}

//! Periodic: an event of length `duration` every `period`, like the ticks and daemons of an operating system.
//!
//! Keys: `period`, `duration`; `phase` = "random" (each rank its own, the default), "common" or "staggered"; `overlap`.
//! Events begin at phase + k period for all whole k. Under "arrival" an operation in [t, t + l) is delayed by
//! duration (ceil((t + l - phase) / period) - ceil((t - phase) / period)): on average duration l / period.

use hocket_core::Result;

use super::{Draws, Model, Operation, Overlap, Phase, Resource, between_s};
use crate::Section;

/// The model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Periodic {
    /// Time from the start of one event to the start of the next, in seconds.
    pub period_s: f64,
    /// Length of an event, in seconds.
    pub duration_s: f64,
    phase: Phase,
    overlap: Overlap,
}

impl Periodic {
    pub(super) fn read(section: &Section, resource: Resource) -> Result<Self> {
        let read = Self {
            period_s: between_s(section, "period")?,
            duration_s: section.time_s("duration")?,
            phase: Phase::read(section)?,
            overlap: Overlap::read(section, resource)?,
        };
        let can_run = read.overlap == Overlap::Arrival || read.duration_s < read.period_s;
        section.ensure(can_run, "duration", "a time below the period, or else programs would never run")?;
        Ok(read)
    }

    #[inline(always)]
    fn stall_s(&self, start_s: f64, Operation { length_s, weight: per_s }: Operation, first_s: f64) -> f64 {
        let begin_s = start_s - first_s;
        let since_s = (begin_s - (begin_s * per_s).floor() * self.period_s).max(0.0);
        let wait = (self.duration_s - since_s).max(0.0);
        let left = length_s - (self.period_s - since_s.max(self.duration_s));
        let interruptions = (left / (self.period_s - self.duration_s)).ceil().max(0.0);
        wait + interruptions * self.duration_s
    }
}

impl Model for Periodic {
    fn is_of_rank(&self) -> bool {
        true
    }

    fn stalls(&self) -> bool {
        self.overlap == Overlap::Stall
    }

    fn weight(&self, _length_s: f64) -> f64 {
        1.0 / self.period_s
    }

    #[inline(always)]
    fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, start_s: &[f64; L], end_s: &mut [f64; L]) {
        let Operation { length_s, weight: per_s } = operation;
        let share: [f64; L] = self.phase.share(draws);
        if self.overlap == Overlap::Stall {
            for i in 0..L {
                end_s[i] += self.stall_s(start_s[i], operation, share[i] * self.period_s);
            }
            return;
        }
        for i in 0..L {
            let begin = start_s[i] - share[i] * self.period_s;
            end_s[i] += self.duration_s * (((begin + length_s) * per_s).ceil() - (begin * per_s).ceil());
        }
    }
}

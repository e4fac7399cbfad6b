//! Poisson: random events of length `duration`, `interval` apart on average, as in a network shared with others.
//!
//! Keys: `interval`, `duration`, `overlap`. For "arrival" also `events`: "every" (each event that begins in an
//! operation adds its duration; the default) or "one" (at most one event does).
//!
//! Under "arrival", every operation draws for itself, since the process has no memory: with x = l / interval, it meets
//! k events with probability exp(-x) x^k / k!. Under "stall", the events have fixed times: each cell of one interval's
//! length holds a Poisson number of them, 1 on average, each at random. Events may overlap, so an operation takes
//! exp(duration / interval) times as long on average; the duration must be shorter than the interval.

use hocket_core::Result;

use super::{Draws, Model, Operation, Overlap, Resource, between_s, chance, delay_hit, mix, stall_s};
use crate::Section;

/// The model's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Mean time from the start of one event to the start of the next, in seconds.
    pub interval_s: f64,
    /// Length of an event, in seconds.
    pub duration_s: f64,
    /// Whether at most one event delays an operation.
    pub is_hit_once: bool,
    overlap: Overlap,
}

/// From this mean number of events on, their number is drawn by an expansion about the normal distribution.
const MANY_EVENTS: f64 = 500.0;
/// Operations longer than this many intervals are stalled for the mean time: the standard deviation is below 1 % of it.
const MANY_CELLS: f64 = 65536.0;
/// At most this many successive cells are searched for an event: all are empty with probability exp(-64).
const MOST_EMPTY_CELLS: i64 = 64;

impl Poisson {
    pub(super) fn read(section: &Section, resource: Resource) -> Result<Self> {
        let overlap = Overlap::read(section, resource)?;
        let is_hit_once =
            overlap == Overlap::Arrival && section.choice("events", &[("every", false), ("one", true)])?;
        let (interval_s, duration_s) = (between_s(section, "interval")?, section.time_s("duration")?);
        let can_run = overlap == Overlap::Arrival || duration_s < interval_s;
        section.ensure(can_run, "duration", "a time below the interval, as programs would hardly ever run")?;
        Ok(Self { interval_s, duration_s, is_hit_once, overlap })
    }

    /// The starts of the events of a cell, ascending, in seconds.
    fn cell(&self, index: i64, draws: &Draws) -> Vec<f64> {
        let own = Draws { who: mix(draws.who as usize, index as u64), ..*draws };
        let [u] = own.uniform::<1>(0);
        let place = |i| (index as f64 + own.uniform::<1>(1 + i)[0]) * self.interval_s;
        let mut starts: Vec<_> = (0..few_events(u, libm::exp(-1.0), 1.0)).map(place).collect();
        starts.sort_unstable_by(f64::total_cmp);
        starts
    }

    fn stall_s(&self, start_s: f64, length_s: f64, draws: &Draws) -> f64 {
        if length_s > MANY_CELLS * self.interval_s {
            return length_s * libm::expm1(self.duration_s / self.interval_s);
        }
        stall_s(start_s, length_s, |now| {
            let first = ((now - self.duration_s) / self.interval_s).floor() as i64;
            let cells = (0..MOST_EMPTY_CELLS).map(|more| first.saturating_add(more));
            let mut starts = cells.flat_map(|index| self.cell(index, draws));
            let next = starts.find(|start| start + self.duration_s > now);
            (next.unwrap_or(f64::INFINITY), self.duration_s)
        })
    }
}

/// The number of events for a uniform number: the smallest k whose distribution function with mean `x` exceeds it.
fn event_count(uniform: f64, none: f64, x: f64) -> f64 {
    if x < MANY_EVENTS { f64::from(few_events(uniform, none, x)) } else { many_events(uniform, x) }
}

fn few_events(uniform: f64, none: f64, x: f64) -> u32 {
    let (mut k, mut term, mut below) = (0, none, none);
    // The loop ends because the sum comes within 1e-12 of 1, and uniform numbers stay 2^-33 away from it.
    while uniform >= below {
        k += 1;
        term *= x / f64::from(k);
        below += term;
    }
    k
}

/// The number of events where exp(-x) underflows. Source: E. A. Cornish, R. A. Fisher, "Moments and cumulants in the
/// specification of distributions", Revue de l'Institut International de Statistique 5 (1938), to the second term.
fn many_events(uniform: f64, x: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    while high - low > 1e-12 {
        let middle = (low + high) / 2.0;
        let below = 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2);
        *(if below < uniform { &mut low } else { &mut high }) = middle;
    }
    (x + low * x.sqrt() + (low * low - 1.0) / 6.0 - 0.5).ceil().max(0.0)
}

impl Model for Poisson {
    fn is_of_rank(&self) -> bool {
        self.stalls()
    }

    fn stalls(&self) -> bool {
        self.overlap == Overlap::Stall
    }

    fn weight(&self, length_s: f64) -> f64 {
        chance(length_s, Some(self.interval_s))
    }

    #[inline(always)]
    fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, start_s: &[f64; L], end_s: &mut [f64; L]) {
        let Operation { length_s, weight: chance } = operation;
        if self.overlap == Overlap::Stall {
            let lane = |i: usize| Draws { first_trial: draws.first_trial + i as u64, ..*draws };
            for i in 0..L {
                end_s[i] += self.stall_s(start_s[i], length_s, &lane(i));
            }
            return;
        }
        let hits = draws.hits::<L>(chance);
        if hits == 0 {
            return;
        }
        if self.is_hit_once {
            return delay_hit(hits, end_s, |_| self.duration_s);
        }
        let (uniform, mean): ([f64; L], _) = (draws.uniform(1), length_s / self.interval_s);
        let none = libm::exp(-mean);
        delay_hit(hits, end_s, |i| self.duration_s * event_count(none + chance * uniform[i], none, mean).max(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_events_are_numbers_of_one_distribution() {
        let x = MANY_EVENTS - 1.0;
        for i in 0..1000 {
            let uniform = (f64::from(i) + 0.5) / 1000.0;
            let (few, many) = (f64::from(few_events(uniform, libm::exp(-x), x)), many_events(uniform, x));
            assert!((few - many).abs() <= 1.0, "{few} and {many} events for {uniform}");
        }
    }
}

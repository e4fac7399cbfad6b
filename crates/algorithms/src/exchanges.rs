//! The best number of redundant exchanges: `T=auto`. The jitter page of the docs derives the formulas.

use std::sync::Arc;

use hocket_core::{Call, Result};

use crate::automatic::{Automatic, Decide, Surroundings};
use crate::redundancy::EXCHANGES;

/// The T of the least expected time on a machine with Poisson noise; 0 without noise.
pub const AUTOMATIC: Automatic = Automatic { parameter: EXCHANGES.name, on };

/// Durations of noise, at most, by which a result is expected to be late.
const MOST_DURATIONS: u32 = 6;
/// From here on a result is late for certain, so that powers need not be larger.
const MOST_HAZARD: f64 = 4.0;
const MOST_CLASSES: u64 = 64;

fn on(surroundings: &Surroundings) -> Result<Decide> {
    let Some(noise) = surroundings.noise.clone()? else { return Ok(Arc::new(|_| 0)) };
    let messages = surroundings.messages.clone()?;
    Ok(Arc::new(move |call: &Call| {
        let transfer_s = (messages.transfer_s)(call.size_bytes());
        let exchanges = Exchanges {
            steps: call.ranks.ilog2(),
            transfer_s,
            overhead_s: messages.overhead_s,
            duration_s: noise.duration_s,
            hit: -(-transfer_s / noise.interval_s).exp_m1(),
        };
        exchanges.best().into()
    }))
}

/// The quantities that determine the best number of redundant exchanges.
struct Exchanges {
    /// K: steps of the butterfly.
    steps: u32,
    /// c: how long a transfer takes.
    transfer_s: f64,
    /// o: how long it occupies its sender.
    overhead_s: f64,
    /// d: how long an event of noise takes.
    duration_s: f64,
    /// p: the probability that an event hits a transfer.
    hit: f64,
}

impl Exchanges {
    /// The T of the least expected time.
    fn best(&self) -> u32 {
        if self.overhead_s == 0.0 {
            return self.steps;
        }
        let by_time = |a: &u32, b: &u32| self.expected_s(*a).total_cmp(&self.expected_s(*b));
        (0..=self.steps).min_by(by_time).unwrap_or(0)
    }

    /// f(T): the expected time beyond that without noise and without redundant exchanges.
    fn expected_s(&self, exchanges: u32) -> f64 {
        let late_s = self.duration_s * (1..=MOST_DURATIONS).map(|m| self.late(m, exchanges)).sum::<f64>();
        if exchanges == 0 {
            return late_s;
        }
        let steps = f64::from(self.steps);
        let any_hit = -(-steps.exp2() * self.hit * steps).exp_m1();
        f64::from(exchanges) * self.overhead_s + any_hit * (self.transfer_s - self.overhead_s).max(0.0) + late_s
    }

    /// P(N_T >= m).
    fn late(&self, durations: u32, exchanges: u32) -> f64 {
        if exchanges == 0 {
            let fewest = (1..=durations).map(|m| self.paths(m)).fold(f64::INFINITY, f64::min);
            return -(-fewest).exp_m1();
        }
        if durations == 1 {
            return self.all_classes(exchanges, self.steps, 1);
        }
        let left = self.steps.saturating_sub(exchanges).max(1);
        let classes = 1 << exchanges;
        -(-(classes as f64) * f64::from(left * left) * power(self.hazard(self.steps, durations), classes)).exp_m1()
    }

    /// The mean number of paths from the first step to the last with so many hits.
    fn paths(&self, hits: u32) -> f64 {
        let (ranks, p) = (f64::from(self.steps).exp2(), self.hit);
        if hits == 1 {
            return ranks * p * f64::from(self.steps);
        }
        let with_gap = |g: u32| {
            let places = f64::from(self.steps - g) * binomial(g - 1, hits - 2);
            places * p.powf(f64::from(hits)) * f64::from(g).exp2()
        };
        ranks * (hits - 1..self.steps).map(with_gap).sum::<f64>()
    }

    /// phi_T: the probability that all ranks of one of so many classes, with so many steps, are held up.
    fn all_classes(&self, exchanges: u32, steps: u32, classes: u64) -> f64 {
        if exchanges == 0 || steps == 0 {
            let cases = (classes as f64 * f64::from(steps.max(1))).powf(1.0 / classes as f64);
            return -(-cases * self.hazard(steps, 1)).exp_m1();
        }
        let not_first = (-f64::from(steps - 1).exp2() * self.hit).exp();
        (1.0 - not_first * (1.0 - self.all_classes(exchanges - 1, steps - 1, 2 * classes))).powi(2)
    }

    /// h: a rank is not held up by so many durations, after so many steps, with probability exp(-h).
    fn hazard(&self, steps: u32, durations: u32) -> f64 {
        let mut at_least = vec![0.0; durations as usize + 1];
        at_least[0] = 1.0;
        for _ in 0..steps {
            let worse: Vec<f64> = at_least.iter().map(|x: &f64| 1.0 - (1.0 - x).powi(2)).collect();
            for m in 1..at_least.len() {
                at_least[m] = worse[m] + self.hit * (worse[m - 1] - worse[m]);
            }
        }
        -(-at_least[durations as usize].min(1.0 - 1e-12)).ln_1p()
    }
}

fn power(hazard: f64, classes: u64) -> f64 {
    hazard.min(MOST_HAZARD).powf(classes.min(MOST_CLASSES) as f64)
}

/// In how many ways k of n can be chosen.
fn binomial(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |ways, i| ways * f64::from(n - i) / f64::from(i + 1))
}

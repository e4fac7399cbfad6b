//! The best number of redundant exchanges: `T=auto`.
//!
//! A few seeded trials of the equations of the redundant butterfly (see the jitter page of the docs) give the time for all T
//! at once: the state after exchange T is the same however many follow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hocket_core::{Call, Result, later_s};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::automatic::{Automatic, Decide, Surroundings};
use crate::redundancy::EXCHANGES;

/// The T of the least expected time on a machine with Poisson noise; 0 without noise.
pub const AUTOMATIC: Automatic = Automatic { parameter: EXCHANGES.name, on };

/// Exchanges of ranks in all trials together, about: a tenth of a second.
const MOST_UPDATES: usize = 1 << 25;
const LEAST_TRIALS: usize = 16;
const MOST_TRIALS: usize = 100_000;

fn on(surroundings: &Surroundings) -> Result<Decide> {
    let Some(noise) = surroundings.noise.clone()? else { return Ok(Arc::new(|_| 0)) };
    let messages = surroundings.messages.clone()?;
    let known = Mutex::new(HashMap::new());
    Ok(Arc::new(move |call: &Call| {
        let steps = call.ranks.ilog2();
        let transfer_s = (messages.transfer_s)(call.size_bytes());
        let exchanges = Exchanges {
            steps,
            transfer_s,
            overhead_s: messages.overhead_s,
            duration_s: noise.duration_s,
            hit: -(-transfer_s / noise.interval_s).exp_m1(),
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry((steps, transfer_s.to_bits())).or_insert_with(|| exchanges.best())
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
    /// The T of the least mean time.
    fn best(&self) -> u64 {
        if self.overhead_s == 0.0 {
            return self.steps.into();
        }
        let updates = (2 * self.steps as usize) << self.steps;
        let trials = (MOST_UPDATES / updates.max(1)).clamp(LEAST_TRIALS, MOST_TRIALS);
        let mut sums_s = vec![0.0; self.steps as usize + 1];
        let mut ranks = Ranks { times_s: vec![0.0; 1 << self.steps], next_s: vec![0.0; 1 << self.steps] };
        for trial in 0..trials {
            self.add_trial(trial as u64, &mut ranks, &mut sums_s);
        }
        let times_s = (0..).zip(&sums_s);
        times_s.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(exchanges, _)| exchanges)
    }

    /// Adds to each sum the time with so many redundant exchanges.
    fn add_trial(&self, trial: u64, ranks: &mut Ranks, sums_s: &mut [f64]) {
        let mut hits = Hits { random: ChaCha8Rng::seed_from_u64(trial), missed_ln: libm::log1p(-self.hit) };
        let [plain_s, late_s] = [self.transfer_s, self.transfer_s + self.duration_s];
        ranks.times_s.fill(0.0);
        for step in 0..self.steps {
            let own = |own_s: f64, other_s: f64, transfer_s: f64| later_s(own_s, other_s) + transfer_s;
            ranks.meet(step, &mut hits, [plain_s, late_s], own);
        }
        sums_s[0] += ranks.latest_s();
        for (exchange, sum_s) in (0..).zip(&mut sums_s[1..]) {
            let copy = |own_s: f64, other_s: f64, transfer_s: f64| {
                let (sent_s, copied_s) = (own_s + self.overhead_s, other_s + transfer_s);
                if copied_s < sent_s { copied_s } else { sent_s }
            };
            ranks.meet(exchange, &mut hits, [plain_s, late_s], copy);
            *sum_s += ranks.latest_s();
        }
    }
}

/// The times of all ranks.
struct Ranks {
    times_s: Vec<f64>,
    /// Room for the times after an exchange.
    next_s: Vec<f64>,
}

impl Ranks {
    /// Each rank meets the rank whose number differs in this bit, after transfers of these lengths: without a hit, and with
    /// one. `after` gives a rank's time after its own, that of the other rank, and the length of the transfer.
    fn meet(&mut self, bit: u32, hits: &mut Hits, transfers_s: [f64; 2], after: impl Fn(f64, f64, f64) -> f64) {
        let Self { times_s, next_s } = self;
        let [plain_s, late_s] = transfers_s;
        let half = 1 << bit;
        for (now, next) in times_s.chunks_exact(2 * half).zip(next_s.chunks_exact_mut(2 * half)) {
            let (lower, upper) = now.split_at(half);
            let (next_lower, next_upper) = next.split_at_mut(half);
            for rank in 0..half {
                next_lower[rank] = after(lower[rank], upper[rank], plain_s);
                next_upper[rank] = after(upper[rank], lower[rank], plain_s);
            }
        }
        hits.each(times_s.len(), |rank| next_s[rank] = after(times_s[rank], times_s[rank ^ half], late_s));
        std::mem::swap(times_s, next_s);
    }

    fn latest_s(&self) -> f64 {
        self.times_s.iter().copied().fold(0.0, later_s)
    }
}

/// Which transfers noise hits.
struct Hits {
    random: ChaCha8Rng,
    /// The logarithm of the probability that a transfer is not hit.
    missed_ln: f64,
}

impl Hits {
    /// Calls `hit` with those of so many transfers that are hit. The gaps between them are geometrically distributed.
    fn each(&mut self, transfers: usize, mut hit: impl FnMut(usize)) {
        let mut next = self.gap();
        while next < transfers {
            hit(next);
            next = next.saturating_add(1).saturating_add(self.gap());
        }
    }

    fn gap(&mut self) -> usize {
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / 2f64.powi(53);
        (libm::log(uniform) / self.missed_ln) as usize
    }
}

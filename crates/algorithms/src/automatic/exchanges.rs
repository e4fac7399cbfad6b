//! The best number of redundant exchanges: `T=auto`.
//!
//! A few seeded trials of the equations of the redundant butterfly (see the jitter page of the docs) give the time for
//! all T at once: the state after exchange T does not depend on later exchanges.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hocket_core::{Call, Result, later_s};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::automatic::{Automatic, Decide, Formula, Noise, Surroundings};
use crate::shapes::redundancy::EXCHANGES;

/// The T with the least expected time on a machine with Poisson noise; 0 without noise.
pub const AUTOMATIC: Automatic = Automatic { parameter: EXCHANGES.name, read };

/// About how many exchanges all ranks make in all trials together: these take a tenth of a second.
const MOST_UPDATES: usize = 1 << 25;
const LEAST_TRIALS: usize = 64;
const MOST_TRIALS: usize = 100_000;

fn read(_: Formula, surroundings: &Surroundings) -> Result<Decide> {
    let Some(noise) = surroundings.noise.clone()? else { return Ok(Arc::new(|_| 0)) };
    let (messages, processor_noise) = (surroundings.messages.clone()?, surroundings.processor_noise);
    let cache = Mutex::new(HashMap::new());
    Ok(Arc::new(move |call: &Call| {
        let steps = call.ranks.ilog2();
        let transfer_s = (messages.transfer_s)(call.size_bytes());
        let exchanges = Exchanges {
            steps,
            transfer_s,
            overhead_s: messages.overhead_s,
            late: Hit::new(noise, transfer_s),
            processor_hit: processor_noise.map_or(Hit::NEVER, |noise| Hit::new(noise, messages.overhead_s)),
        };
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        *cache.entry((steps, transfer_s.to_bits())).or_insert_with(|| exchanges.best())
    }))
}

/// The quantities that determine the best number of redundant exchanges.
struct Exchanges {
    /// K: steps of the butterfly.
    steps: u32,
    /// c: how long a transfer takes.
    transfer_s: f64,
    /// o: how long a transfer occupies its sender.
    overhead_s: f64,
    /// The effect of noise on a transfer.
    late: Hit,
    /// The effect of noise on a processor that sends.
    processor_hit: Hit,
}

/// A hit by an event of noise.
#[derive(Clone, Copy)]
struct Hit {
    probability: f64,
    /// d: how long the event takes.
    duration_s: f64,
}

impl Hit {
    const NEVER: Self = Self { probability: 0.0, duration_s: 0.0 };

    /// The hit of an operation that takes this time.
    fn new(noise: Noise, time_s: f64) -> Self {
        Self { probability: -(-time_s / noise.interval_s).exp_m1(), duration_s: noise.duration_s }
    }
}

impl Exchanges {
    /// The T with the least mean time.
    fn best(&self) -> u64 {
        if self.overhead_s == 0.0 {
            return self.steps.into();
        }
        let updates = (2 * self.steps as usize) << self.steps;
        let trials = (MOST_UPDATES / updates.max(1)).clamp(LEAST_TRIALS, MOST_TRIALS);
        let mut sums_s = vec![0.0; self.steps as usize + 1];
        let mut ranks = Ranks { times_s: vec![0.0; 1 << self.steps], before_s: vec![0.0; 1 << self.steps] };
        for trial in 0..trials {
            self.add_trial(trial as u64, &mut ranks, &mut sums_s);
        }
        let times_s = (0..).zip(&sums_s);
        times_s.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(exchanges, _)| exchanges)
    }

    /// Adds to `sums_s[T]` the time of this trial with T redundant exchanges.
    fn add_trial(&self, trial: u64, ranks: &mut Ranks, sums_s: &mut [f64]) {
        let random = ChaCha8Rng::seed_from_u64(trial);
        let mut late = Hits::new(random.clone(), 0, self.late);
        let mut processor_hits = Hits::new(random, 1, self.processor_hit);
        let transfers_s = [self.transfer_s, self.transfer_s + self.late.duration_s];
        ranks.times_s.fill(0.0);
        let mut suspend = |ranks: &mut Ranks| {
            processor_hits.each(ranks.times_s.len(), |rank| ranks.times_s[rank] += self.processor_hit.duration_s);
        };
        for step in 0..self.steps {
            suspend(ranks);
            ranks.meet(step, &mut late, transfers_s, later_s);
        }
        sums_s[0] += ranks.latest_s();
        for (exchange, sum_s) in (0..).zip(&mut sums_s[1..]) {
            suspend(ranks);
            ranks.meet(exchange, &mut late, transfers_s, |_, other_s| other_s);
            ranks.send(self.overhead_s);
            *sum_s += ranks.latest_s();
        }
    }
}

/// The times of all ranks.
struct Ranks {
    times_s: Vec<f64>,
    /// The times before the latest exchange.
    before_s: Vec<f64>,
}

impl Ranks {
    /// Each rank meets the rank whose number differs in this bit. `transfers_s`: how long a transfer takes without a
    /// hit, and with one. `begin` computes the start of a transfer from the times of this rank and of the other rank.
    fn meet(&mut self, bit: u32, hits: &mut Hits, transfers_s: [f64; 2], begin: impl Fn(f64, f64) -> f64) {
        std::mem::swap(&mut self.times_s, &mut self.before_s);
        let Self { times_s, before_s } = self;
        let [plain_s, late_s] = transfers_s;
        let half = 1 << bit;
        for (before, after) in before_s.chunks_exact(2 * half).zip(times_s.chunks_exact_mut(2 * half)) {
            let (lower, upper) = before.split_at(half);
            let (after_lower, after_upper) = after.split_at_mut(half);
            for rank in 0..half {
                after_lower[rank] = begin(lower[rank], upper[rank]) + plain_s;
                after_upper[rank] = begin(upper[rank], lower[rank]) + plain_s;
            }
        }
        hits.each(times_s.len(), |rank| times_s[rank] = begin(before_s[rank], before_s[rank ^ half]) + late_s);
    }

    /// If a rank has its own result before the copy of the other rank, it goes on when it has sent the result, which takes
    /// `overhead_s`.
    fn send(&mut self, overhead_s: f64) {
        let Self { times_s, before_s } = self;
        for (time_s, own_s) in times_s.iter_mut().zip(before_s) {
            let sent_s = *own_s + overhead_s;
            *time_s = if *time_s < sent_s { *time_s } else { sent_s };
        }
    }

    fn latest_s(&self) -> f64 {
        self.times_s.iter().copied().fold(0.0, later_s)
    }
}

/// Chooses which transfers, or which sends, noise hits.
struct Hits {
    random: ChaCha8Rng,
    /// The logarithm of the probability that noise misses a transfer or send.
    missed_ln: f64,
}

impl Hits {
    /// Hits from the random numbers of a stream.
    fn new(mut random: ChaCha8Rng, stream: u64, hit: Hit) -> Self {
        random.set_stream(stream);
        Self { random, missed_ln: libm::log1p(-hit.probability) }
    }

    /// Calls `hit` with the number of each of `count` operations that noise hits. The gaps between hits are
    /// geometrically distributed.
    fn each(&mut self, count: usize, mut hit: impl FnMut(usize)) {
        let mut next = self.gap();
        while next < count {
            hit(next);
            next = next.saturating_add(1).saturating_add(self.gap());
        }
    }

    fn gap(&mut self) -> usize {
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / 2f64.powi(53);
        (libm::log(uniform) / self.missed_ln) as usize
    }
}

//! Exploration of the orders of messages.

use std::fmt;
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Limits on the number of message orders to try, and on the length of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Up to this many orders, all are tried.
    pub most_exhaustive: usize,
    /// Number of random orders if there are more.
    pub samples: usize,
    /// Number of decisions after which the exhaustive search is given up.
    pub most_decisions: usize,
    /// Number of decisions after which drawing ends, except for a few orders, to bound the time of a verification.
    pub most_drawn: usize,
    /// Seed of the draw.
    pub seed: u64,
    /// Number of steps of one rank after which a program counts as endless; ten more are allowed for each rank, and for
    /// each element of the rank's input and result.
    pub most_steps: usize,
    /// The work of a step besides that of its elements, in elements.
    pub work_per_step: usize,
    /// The most work of one run: it then ends with [`Error::lateness`](hocket_core::Error::lateness).
    pub most_work: usize,
    /// When all runs end, as if the user had stopped them.
    pub deadline: Option<Instant>,
    /// Whether a program is run twice to check that it repeats: for programs that can read a clock.
    pub runs_again: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            most_exhaustive: 2000,
            samples: 500,
            most_decisions: 20_000,
            most_drawn: 2000,
            seed: 0,
            most_steps: 20_000,
            work_per_step: 32,
            most_work: usize::MAX,
            deadline: None,
            runs_again: false,
        }
    }
}

impl Limits {
    /// Whether the deadline is over.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// These limits with at most `most` decisions, after which a few orders are still drawn.
    pub fn with_decisions(self, most: usize) -> Self {
        Self { most_decisions: self.most_decisions.min(most), most_drawn: self.most_drawn.min(most), ..self }
    }
}

/// How orders of messages were tried, up to the counterexample if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exploration {
    /// There is only one order: no receive takes from any source, and nothing races.
    #[default]
    Deterministic,
    /// All orders.
    Exhaustive,
    /// A seeded sample.
    Sampled,
}

impl Exploration {
    /// The printed name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::Exhaustive => "exhaustive",
            Self::Sampled => "sampled",
        }
    }
}

/// The exhaustive search stops at once if the estimated number of orders exceeds its limit by this factor: it would
/// vary only the last decisions, while random orders vary all.
const HOPELESS: f64 = 1000.0;

/// The least number of random orders, however many decisions they take.
const LEAST_SAMPLES: usize = 4;

/// The decisions of one run: a prefix from earlier runs, then the first alternatives; or random ones.
pub struct Choices {
    limits: Limits,
    runs: usize,
    /// Number of decisions in abandoned exhaustive runs, and in the other runs.
    abandoned_decisions: usize,
    decisions: usize,
    sampler: Option<ChaCha8Rng>,
    script: Script,
    /// The decisions of this run that had alternatives.
    trail: Vec<Decision>,
    has_changed: bool,
}

/// A decision between orders of messages.
#[derive(Clone, Copy)]
pub struct Decision {
    pub rank: usize,
    /// The step that goes on, counted from 1, if steps are known.
    pub step: Option<usize>,
    /// The rank whose message it takes, if it takes one.
    pub from: Option<u32>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.step {
            write!(f, "step {step} of ")?;
        }
        write!(f, "rank {}", self.rank)?;
        match self.from {
            Some(from) => write!(f, " takes a message of rank {from}"),
            None => f.write_str(" ends"),
        }
    }
}

#[derive(Default)]
struct Script {
    /// Decision taken and number of alternatives, in order.
    decisions: Vec<(usize, usize)>,
    at: usize,
}

impl Script {
    /// An estimate of the number of orders, as if all had the decisions and alternatives of this one.
    fn orders(&self) -> f64 {
        self.decisions.iter().map(|(_, alternatives)| *alternatives as f64).product()
    }
}

impl Choices {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            runs: 0,
            abandoned_decisions: 0,
            decisions: 0,
            sampler: None,
            script: Script::default(),
            trail: Vec::new(),
            has_changed: false,
        }
    }

    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes the next decision, one of `alternatives`.
    pub fn decide(&mut self, alternatives: usize) -> usize {
        self.decisions += 1;
        if let Some(sampler) = &mut self.sampler {
            return sampler.next_u64() as usize % alternatives;
        }
        let script = &mut self.script;
        if script.at == script.decisions.len() {
            script.decisions.push((0, alternatives));
        }
        let (choice, before) = script.decisions[script.at];
        script.at += 1;
        self.has_changed |= alternatives != before;
        choice.min(alternatives - 1)
    }

    /// Whether a decision had another number of alternatives in an earlier run with the same previous decisions.
    pub const fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Notes a decision that had alternatives.
    pub fn note(&mut self, decision: Decision) {
        self.trail.push(decision);
    }

    /// The decisions of this run as text.
    pub fn descriptions(&self) -> Vec<String> {
        const MOST: usize = 8;
        let Some(more) = self.trail.len().checked_sub(MOST + 1) else {
            return self.trail.iter().map(|decision| format!("order: {decision}")).collect();
        };
        let latest = &self.trail[more + 1..];
        let gap = format!("order: {} decisions, and then", more + 1);
        std::iter::once(gap).chain(latest.iter().map(|decision| format!("order: {decision}"))).collect()
    }

    /// Advances to the next order of messages. Returns true if there is one left to try.
    pub fn advance(&mut self) -> bool {
        self.runs += 1;
        self.trail.clear();
        if self.sampler.is_some() {
            let is_long = self.decisions >= self.limits.most_drawn;
            return self.runs < self.limits.samples && (!is_long || self.runs < LEAST_SAMPLES);
        }
        let script = &mut self.script;
        let is_long = self.decisions >= self.limits.most_decisions;
        let is_hopeless = script.orders() > HOPELESS * self.limits.most_exhaustive as f64;
        script.at = 0;
        while let Some((choice, alternatives)) = script.decisions.pop() {
            if choice + 1 < alternatives {
                script.decisions.push((choice + 1, alternatives));
                break;
            }
        }
        if script.decisions.is_empty() {
            return false;
        }
        if self.runs == self.limits.most_exhaustive || is_long || is_hopeless {
            self.runs = 0;
            self.abandoned_decisions = std::mem::take(&mut self.decisions);
            self.sampler = Some(ChaCha8Rng::seed_from_u64(self.limits.seed));
            return self.limits.samples > 0;
        }
        true
    }

    /// After the first run, the expected number of runs, and of their decisions, as if all were like the first.
    pub fn expected(&self) -> (usize, usize) {
        let (orders, each) = (self.script.orders(), self.decisions.max(1));
        let Limits { most_exhaustive, most_decisions, most_drawn, samples, .. } = self.limits;
        let most = most_exhaustive.min(most_decisions.div_ceil(each)).max(1);
        let runs = if orders <= most as f64 {
            orders as usize
        } else {
            let in_order = if orders > HOPELESS * most_exhaustive as f64 { 1 } else { most };
            in_order + samples.min((most_drawn / each).max(LEAST_SAMPLES))
        };
        (runs, runs * self.decisions)
    }

    /// Number of decisions in all runs.
    pub const fn decisions(&self) -> usize {
        self.abandoned_decisions + self.decisions
    }

    pub fn exploration(&self) -> Exploration {
        match (&self.sampler, self.runs) {
            (Some(_), _) => Exploration::Sampled,
            (None, 0 | 1) if self.script.decisions.iter().all(|(_, alternatives)| *alternatives == 1) => {
                Exploration::Deterministic
            }
            _ => Exploration::Exhaustive,
        }
    }
}

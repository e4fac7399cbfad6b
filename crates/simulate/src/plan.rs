//! Plans: the operations of a tape, evaluated for many trials side by side.

use std::sync::atomic::{AtomicBool, Ordering};

use hocket_machine::Noise;
use hocket_machine::noise::{self, Draws, Model, Operation, Resource};
use multiversion::multiversion;

/// Trials evaluated side by side.
pub const LANES: usize = noise::GROUP;

/// The operation of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The common start.
    Start,
    /// The later of two.
    Later,
    /// The earlier of two.
    Earlier,
    /// A time plus a length.
    Plus,
    /// The end of work of a processor, with its noise.
    Compute,
    /// The arrival of a message, with the network's noise.
    Transfer,
}

impl Kind {
    /// Whether the second operand is a length.
    pub fn has_length(self) -> bool {
        matches!(self, Self::Plus | Self::Compute | Self::Transfer)
    }

    /// Whether the step meets noise.
    pub fn draws(self) -> bool {
        matches!(self, Self::Compute | Self::Transfer)
    }
}

/// One step: the places of its operands, or the number of a length, and the place of its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub kind: Kind,
    pub a: u32,
    pub b: u32,
    pub out: u32,
}

/// The steps that compute the end of each rank.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// The source of the draws, for each step that meets noise.
    pub draws: Vec<u64>,
    pub lengths_s: Vec<f64>,
    /// Number of places; the first holds the common start.
    pub places: usize,
    /// The place of the end of each rank.
    pub ends: Vec<u32>,
}

/// The times at which the ranks ended, in one trial, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ends {
    /// The first of them.
    pub first_s: f64,
    /// Their mean.
    pub mean_s: f64,
    /// The last.
    pub last_s: f64,
}

impl Ends {
    /// Of ranks that ended at these times.
    pub fn of(times_s: impl ExactSizeIterator<Item = f64>) -> Self {
        let ranks = times_s.len();
        times_s.fold(Self::NONE, Self::and).of_ranks(ranks)
    }

    /// Of no ranks, where the mean is a sum as yet.
    const NONE: Self = Self { first_s: f64::INFINITY, mean_s: 0.0, last_s: 0.0 };

    fn and(self, time_s: f64) -> Self {
        Self {
            first_s: if time_s < self.first_s { time_s } else { self.first_s },
            mean_s: self.mean_s + time_s,
            last_s: if time_s > self.last_s { time_s } else { self.last_s },
        }
    }

    /// Turns the sum into the mean.
    fn of_ranks(self, ranks: usize) -> Self {
        Self { mean_s: (self.mean_s / ranks as f64).clamp(self.first_s, self.last_s), ..self }
    }
}

/// Steps between two looks at whether to stop.
const STEPS_PER_LOOK: usize = 1 << 14;

/// The clocks of [`LANES`] trials.
pub type Lanes = [f64; LANES];

impl Plan {
    /// Evaluates the trials `first_trial..first_trial + LANES`, in places that are reused from one call to the next.
    /// Returns none if it was stopped.
    pub fn evaluate(
        &self,
        noise: &Noise,
        seed: u64,
        first_trial: u64,
        places: &mut Vec<Lanes>,
        stop: &AtomicBool,
    ) -> Option<[Ends; LANES]> {
        places.resize(self.places, [0.0; LANES]);
        places[0] = [0.0; LANES];
        let known = [Resource::Processor, Resource::Network].map(|resource| {
            let draws = self.draws(seed, resource, first_trial);
            let is_of_rank = noise.on(resource).is_some_and(Model::is_of_rank);
            if is_of_rank { draws.of_ranks() } else { Vec::new() }
        });
        let side = |resource, known| Side {
            model: noise.on(resource),
            draws: Draws { known, ..self.draws(seed, resource, first_trial) },
            operations: self.operations(noise, resource),
        };
        let sides = [side(Resource::Processor, &known[0]), side(Resource::Network, &known[1])];
        let mut draws = self.draws.as_slice();
        for steps in self.steps.chunks(STEPS_PER_LOOK) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            draws = run(steps, draws, &self.lengths_s, &sides, places);
        }
        Some(self.ends_of(places))
    }

    /// When the ranks ended, for each lane; all lanes are looked at together, rank by rank.
    fn ends_of(&self, places: &[Lanes]) -> [Ends; LANES] {
        let mut all = [Ends::NONE; LANES];
        for place in &self.ends {
            for (ends, time_s) in all.iter_mut().zip(&places[*place as usize]) {
                *ends = ends.and(*time_s);
            }
        }
        all.map(|ends| ends.of_ranks(self.ends.len()))
    }

    fn draws(&self, seed: u64, resource: Resource, first_trial: u64) -> Draws<'static> {
        Draws { key: Noise::key(seed, resource), who: 0, first_trial, ranks: self.ends.len(), known: &[] }
    }

    fn operations(&self, noise: &Noise, resource: Resource) -> Vec<Operation> {
        let weight = |length_s: f64| noise.on(resource).map_or(0.0, |model| model.weight(length_s));
        self.lengths_s.iter().map(|length_s| Operation { length_s: *length_s, weight: weight(*length_s) }).collect()
    }
}

/// One kind of noise, and its operations for each length.
struct Side<'a> {
    model: Option<&'a hocket_machine::NoiseModel>,
    draws: Draws<'a>,
    operations: Vec<Operation>,
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn run<'d, 's>(
    steps: &[Step],
    mut draws: &'d [u64],
    lengths_s: &[f64],
    sides: &[Side<'s>; 2],
    places: &mut [Lanes],
) -> &'d [u64] {
    for step in steps {
        let Step { kind, a, b, out } = *step;
        let (a, b, out) = (a as usize, b as usize, out as usize);
        match kind {
            Kind::Start => places[out] = [0.0; LANES],
            Kind::Later => zip(places, a, b, out, |a, b| if a > b { a } else { b }),
            Kind::Earlier => zip(places, a, b, out, |a, b| if a < b { a } else { b }),
            Kind::Plus => zip(places, a, a, out, |a, _| a + lengths_s[b]),
            Kind::Compute | Kind::Transfer => {
                let side = &sides[usize::from(kind == Kind::Transfer)];
                let (who, rest) = draws.split_first().expect("a draw for each step that meets noise");
                draws = rest;
                let operation = side.operations[b];
                let (mut start_s, mut end_s) = ([0.0; LANES], [0.0; LANES]);
                for (i, from_s) in places[a].iter().enumerate() {
                    start_s[i] = *from_s;
                    end_s[i] = *from_s + operation.length_s;
                }
                if let Some(model) = side.model {
                    model.delay(operation, &Draws { who: *who, ..side.draws }, &start_s, &mut end_s);
                }
                for (i, to_s) in places[out].iter_mut().enumerate() {
                    *to_s = end_s[i];
                }
            }
        }
    }
    draws
}

#[inline(always)]
fn zip(places: &mut [Lanes], a: usize, b: usize, out: usize, f: impl Fn(f64, f64) -> f64) {
    for i in (0..LANES).step_by(8) {
        let mut found = [0.0; 8];
        for (j, found) in found.iter_mut().enumerate() {
            *found = f(places[a][i + j], places[b][i + j]);
        }
        places[out][i..i + 8].copy_from_slice(&found);
    }
}

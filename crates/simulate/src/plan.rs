//! Plans: the operations of a tape, evaluated for many trials side by side.

use std::sync::atomic::{AtomicBool, Ordering};

use hocket_machine::noise::{self, Draws, Model, Operation, Resource, SOURCES, TrialWords};
use hocket_machine::{Noise, NoiseModel};
use multiversion::multiversion;

/// Number of trials evaluated side by side.
pub const LANES: usize = noise::GROUP;

/// The operation of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StepKind {
    /// The common start.
    Start,
    /// The later of two.
    Later,
    /// The earlier of two.
    Earlier,
    /// A time plus a length.
    Plus,
    /// A time minus a length.
    Less,
    /// A check: the trial is valid only if the first time is after the second one.
    After,
    /// A check: the trial is valid only if the first time is not before the second one.
    NotBefore,
    /// The beginning of a processor's part of a message, with the delay of this part by noise.
    Begin,
    /// The end of work of a processor, with its noise.
    Compute,
    /// The arrival of a message, with the network's noise.
    Transfer,
    /// A rank has reached a mark.
    Mark,
}

impl StepKind {
    /// Whether the second operand is the number of a length or of a mark.
    pub fn has_number(self) -> bool {
        matches!(self, Self::Plus | Self::Less | Self::Begin | Self::Compute | Self::Transfer | Self::Mark)
    }

    /// Whether the result of the step is a time.
    pub fn has_result(self) -> bool {
        !matches!(self, Self::Mark | Self::After | Self::NotBefore)
    }

    /// The noise that the step meets: 0 for processors, 1 for the network.
    pub fn side(self) -> Option<usize> {
        match self {
            Self::Begin | Self::Compute => Some(0),
            Self::Transfer => Some(1),
            Self::Start | Self::Later | Self::Earlier | Self::Plus | Self::Less => None,
            Self::Mark | Self::After | Self::NotBefore => None,
        }
    }
}

/// One step: the places of its operands (or the number of a length or mark), and the place of its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub kind: StepKind,
    pub a: u32,
    pub b: u32,
    pub out: u32,
}

/// The steps that compute the end of each rank.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// The sources of the draws, for each step with noise of processors, and of the network.
    pub sources: [Vec<u64>; 2],
    pub lengths_s: Vec<f64>,
    /// Number of places; the first holds the common start.
    pub places: usize,
    /// The place of the start of each rank's timer; empty where all timers start at the common start.
    pub begins: Vec<u32>,
    /// The place of the end of each rank.
    pub ends: Vec<u32>,
    /// Number of marks.
    pub marks: usize,
}

/// The times at which the ranks ended, in one trial, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// The first of them.
    pub first_s: f64,
    /// Their mean.
    pub mean_s: f64,
    /// The last.
    pub last_s: f64,
    /// When the last rank ended, from the common start. Other times are from the start of each rank's timer.
    pub end_s: f64,
    /// When the last rank reached each mark of the program.
    pub marks_s: Vec<f64>,
}

impl Ends {
    /// The ends for ranks that took these times, and reached marks at these. The last one ended at `end_s`.
    pub fn of(times_s: impl ExactSizeIterator<Item = f64>, end_s: f64, marks_s: Vec<f64>) -> Self {
        let mut sums = Sums::<1>::NONE;
        let ranks = times_s.len();
        times_s.for_each(|time_s| sums.add(&[time_s], &[end_s]));
        Self { marks_s, ..sums.ends(0, ranks) }
    }
}

/// The first, the last and the sum of some ranks' times, and the last of their ends, in trials side by side.
struct Sums<const TRIALS: usize> {
    first_s: [f64; TRIALS],
    sum_s: [f64; TRIALS],
    last_s: [f64; TRIALS],
    end_s: [f64; TRIALS],
}

impl<const TRIALS: usize> Sums<TRIALS> {
    const NONE: Self =
        Self { first_s: [f64::INFINITY; TRIALS], sum_s: [0.0; TRIALS], last_s: [0.0; TRIALS], end_s: [0.0; TRIALS] };

    fn add(&mut self, times_s: &[f64; TRIALS], ends_s: &[f64; TRIALS]) {
        for (trial, time_s) in times_s.iter().enumerate() {
            self.first_s[trial] = if *time_s < self.first_s[trial] { *time_s } else { self.first_s[trial] };
            self.sum_s[trial] += time_s;
            self.last_s[trial] = if *time_s > self.last_s[trial] { *time_s } else { self.last_s[trial] };
            self.end_s[trial] = if ends_s[trial] > self.end_s[trial] { ends_s[trial] } else { self.end_s[trial] };
        }
    }

    fn ends(&self, trial: usize, ranks: usize) -> Ends {
        let (first_s, last_s) = (self.first_s[trial], self.last_s[trial]);
        let mean_s = (self.sum_s[trial] / ranks as f64).clamp(first_s, last_s);
        Ends { first_s, mean_s, last_s, end_s: self.end_s[trial], marks_s: Vec::new() }
    }
}

/// Number of steps between two checks of `stop`.
const STEPS_PER_LOOK: usize = 1 << 14;

/// The clocks of [`LANES`] trials, aligned to cache lines: access across two lines takes twice as long.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes([f64; LANES]);

impl Lanes {
    const START: Self = Self([0.0; LANES]);
}

/// Memory that is reused between evaluations.
#[derive(Default)]
pub struct Memory {
    places: Vec<Lanes>,
    marks: Vec<Lanes>,
    /// For [`Draws::first_words`]: the first words of all ranks, for noise of processors and of the network.
    first_words: [Vec<TrialWords>; 2],
}

impl Plan {
    /// Evaluates the trials `first_trial..first_trial + LANES`. Returns none if stopped; a trial is none if its times
    /// have another order than the plan assumes.
    pub fn evaluate(
        &self,
        noise: &Noise,
        seed: u64,
        first_trial: u64,
        Memory { places, marks, first_words }: &mut Memory,
        stop: &AtomicBool,
    ) -> Option<[Option<Ends>; LANES]> {
        places.resize(self.places, Lanes::START);
        places[0] = Lanes::START;
        marks.clear();
        marks.resize(self.marks, Lanes::START);
        let side = |number, resource, first_words| {
            let key = Noise::key(seed, resource);
            let draws = Draws { key, who: 0, first_trial, ranks: self.ends.len(), first_words: &[], first_gap: None };
            self.side(noise.on(resource), number, draws, first_words)
        };
        let [of_processors, of_network] = first_words;
        let mut counts = [true; LANES];
        let mut sides = [side(0, Resource::Processor, of_processors), side(1, Resource::Network, of_network)];
        for steps in self.steps.chunks(STEPS_PER_LOOK) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            run(steps, &self.lengths_s, &mut sides, places, marks, &mut counts);
        }
        let mut counts = counts.into_iter();
        Some(self.ends_of(places, marks).map(|ends| Some(ends).filter(|_| counts.next() == Some(true))))
    }

    /// The ends of each lane. The loop is over ranks, each for all lanes.
    fn ends_of(&self, places: &[Lanes], marks: &[Lanes]) -> [Ends; LANES] {
        let mut sums = Sums::<LANES>::NONE;
        let mut begins = self.begins.iter();
        for end in &self.ends {
            let begin = begins.next().map_or(Lanes::START, |place| places[*place as usize]);
            let end = places[*end as usize];
            sums.add(&std::array::from_fn(|lane| end.0[lane] - begin.0[lane]), &end.0);
        }
        std::array::from_fn(|lane| Ends {
            marks_s: marks.iter().map(|mark| mark.0[lane]).collect(),
            ..sums.ends(lane, self.ends.len())
        })
    }

    fn side<'a>(
        &'a self,
        model: Option<&'a NoiseModel>,
        number: usize,
        draws: Draws<'a>,
        first_words: &'a mut Vec<TrialWords>,
    ) -> Side<'a> {
        if model.is_some_and(Model::is_of_rank) {
            first_words.resize(draws.ranks, TrialWords::default());
            fill_words(&draws, first_words);
        }
        let weight = |length_s: f64| model.map_or(0.0, |model| model.weight(length_s));
        let operation = |length_s: &f64| Operation { length_s: *length_s, weight: weight(*length_s) };
        Side {
            model,
            draws: Draws { first_words, ..draws },
            operations: self.lengths_s.iter().map(operation).collect(),
            sources: &self.sources[number],
            next: 0,
            first_gaps: [0.0; SOURCES],
        }
    }
}

/// One kind of noise: the operation of each length, and the sources of the draws.
struct Side<'a> {
    model: Option<&'a NoiseModel>,
    draws: Draws<'a>,
    operations: Vec<Operation>,
    sources: &'a [u64],
    /// The index of the next draws' source.
    next: usize,
    /// The first gaps of that source and its neighbours, if operations draw for themselves.
    first_gaps: [f64; SOURCES],
}

impl<'a> Side<'a> {
    /// The draws of the next step that meets this noise.
    #[inline(always)]
    fn next_draws(&mut self, model: &NoiseModel) -> Draws<'a> {
        let (number, place) = (self.next, self.next % SOURCES);
        self.next += 1;
        if model.is_of_rank() {
            return Draws { who: self.sources[number], ..self.draws };
        }
        if place == 0 {
            let mut sources = [0; SOURCES];
            let rest = &self.sources[number..];
            let count = rest.len().min(SOURCES);
            sources[..count].copy_from_slice(&rest[..count]);
            self.first_gaps = self.draws.first_gaps(sources);
        }
        Draws { who: self.sources[number], first_gap: Some(self.first_gaps[place]), ..self.draws }
    }
}

/// Computes the first words of all ranks, for [`Draws::first_words`].
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn fill_words<'d>(draws: &Draws<'d>, first_words: &mut [TrialWords]) {
    for (who, words) in first_words.iter_mut().enumerate() {
        words.0 = Draws { who: who as u64, ..*draws }.words(0);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn run<'s>(
    steps: &[Step],
    lengths_s: &[f64],
    sides: &mut [Side<'s>; 2],
    places: &mut [Lanes],
    marks: &mut [Lanes],
    counts: &mut [bool; LANES],
) {
    for step in steps {
        let Step { kind, a, b, out } = *step;
        let (a, b, out) = (a as usize, b as usize, out as usize);
        match kind {
            StepKind::Start => places[out] = Lanes::START,
            StepKind::Later => zip(places, a, b, out, |a, b| if a > b { a } else { b }),
            StepKind::Earlier => zip(places, a, b, out, |a, b| if a < b { a } else { b }),
            StepKind::Plus => zip(places, a, a, out, |a, _| a + lengths_s[b]),
            StepKind::Less => zip(places, a, a, out, |a, _| a - lengths_s[b]),
            StepKind::After => check(places, a, b, counts, |a, b| a > b),
            StepKind::NotBefore => check(places, a, b, counts, |a, b| a >= b),
            StepKind::Mark => {
                for (latest_s, time_s) in marks[b].0.iter_mut().zip(&places[a].0) {
                    *latest_s = if *time_s > *latest_s { *time_s } else { *latest_s };
                }
            }
            StepKind::Begin | StepKind::Compute | StepKind::Transfer => {
                let side = &mut sides[usize::from(kind == StepKind::Transfer)];
                let operation = side.operations[b];
                let length_s = if kind == StepKind::Begin { 0.0 } else { operation.length_s };
                let Lanes(start_s) = places[a];
                let Lanes(end_s) = &mut places[out];
                for (end_s, start_s) in end_s.iter_mut().zip(&start_s) {
                    *end_s = start_s + length_s;
                }
                if let Some(model) = side.model {
                    model.delay(operation, &side.next_draws(model), &start_s, end_s);
                }
            }
        }
    }
}

#[inline(always)]
fn check(places: &[Lanes], a: usize, b: usize, counts: &mut [bool; LANES], f: impl Fn(f64, f64) -> bool) {
    for (counts, (a, b)) in counts.iter_mut().zip(places[a].0.iter().zip(&places[b].0)) {
        *counts &= f(*a, *b);
    }
}

#[inline(always)]
fn zip(places: &mut [Lanes], a: usize, b: usize, out: usize, f: impl Fn(f64, f64) -> f64) {
    for i in (0..LANES).step_by(8) {
        let mut values = [0.0; 8];
        for (j, value) in values.iter_mut().enumerate() {
            *value = f(places[a].0[i + j], places[b].0[i + j]);
        }
        places[out].0[i..i + 8].copy_from_slice(&values);
    }
}

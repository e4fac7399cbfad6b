//! Simulation: the gaps of an algorithm's steps, the prediction of its formula, and the program in virtual time.

use std::mem::take;

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Error, Result, ensure};
use hocket_record::Schedule;
use hocket_simulate::{Fault, Many, Options, Outcome, Platform, Trials, with_call_overhead};
use serde::Serialize;

use crate::arrivals::{Arrivals, Arriving};
use crate::benchmark::Way;
use crate::cadence::{Cadence, InCadence};
use crate::critical_path::{FirstTrial, PathMachines, PathStep};
use crate::pacing::{Gap, Step, pace};
use crate::price::{Predicted, predict};

/// The subject of a simulation.
pub enum Subject<'a> {
    /// An algorithm of the catalogue.
    Entry(&'static Entry),
    /// A program of the user.
    Own(&'a dyn AnyProgram),
    /// A schedule; the machine's `call_overhead` is not added.
    Schedule(&'a Schedule),
}

/// Who calls when, how often, over which links, and how the time is measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// How a benchmark measures the time.
    pub way: Way,
    /// When the ranks begin an isolated call; none if all begin at the same time.
    pub arrivals: Option<Arrivals>,
    /// When the ranks begin each of several isolated calls; none for one call. Not together with arrivals.
    pub cadence: Option<Cadence>,
    /// The faults of links.
    pub faults: Vec<Fault>,
}

impl From<Way> for Scene {
    fn from(way: Way) -> Self {
        Self { way, ..Self::default() }
    }
}

/// The result of a simulation.
pub struct Simulated {
    /// The call, with the gaps of its steps.
    pub call: Call,
    /// The steps, if the algorithm has steps and the machine a topology.
    pub steps: Vec<Step>,
    /// The prediction of the algorithm's formula, if it applies to the machine.
    pub predicted: Option<Predicted>,
    /// The trials.
    pub many: Many,
    /// The time of each trial, as the scene measures it.
    pub times_s: Vec<f64>,
    /// With arrivals: the time from the first to the last arrival, in each trial.
    pub arriving_s: Vec<f64>,
    /// With a cadence: its calls.
    pub repeated: Option<Repeated>,
    /// The critical path of the first trial, if it was asked for.
    pub critical_path: Vec<PathStep>,
}

impl Simulated {
    /// With the critical path of the first trial, if machines are given; the operations have been recorded. `simulate_quietly` simulates
    /// the first trial on another machine, the one without noise.
    ///
    /// # Errors
    /// Several calls; as [`PathMachines::path`]; or as `simulate_quietly`.
    pub fn with_path(
        mut self,
        machines: Option<&PathMachines>,
        scene: &Scene,
        platform: &Platform,
        simulate_quietly: impl FnOnce(&Platform) -> Result<Self>,
    ) -> Result<Self> {
        let Some(machines) = machines else { return Ok(self) };
        ensure(
            scene.cadence.is_none(),
            || "cadence: got several calls, expected none, as a critical path is of one call",
        )?;
        let is_quiet = platform.noise.is_quiet();
        let without_noise = if is_quiet { None } else { Some(simulate_quietly(&machines.first.machine)?) };
        let trial = FirstTrial {
            ranks: self.call.ranks,
            records: &self.many.first.trace,
            time_s: self.times_s[0],
            arriving_s: self.arriving_s.first().copied().unwrap_or(0.0),
        };
        let records = without_noise.as_ref().map(|quiet| &quiet.many.first.trace[..]);
        self.critical_path = machines.path(&trial, &scene.faults, records)?;
        Ok(self)
    }
}

/// The calls of a cadence. The time of a call counts from when it is due, or else from when the last rank begins it,
/// until the last rank ends it.
#[derive(Serialize)]
pub struct Repeated {
    /// The time of each call, mean over the trials.
    pub calls_s: Vec<f64>,
    /// The mean interval between the ends of two calls in the second half of them, in each trial.
    pub intervals_s: Vec<f64>,
    /// The time of an isolated call, in each trial.
    pub isolated_s: Vec<f64>,
    /// The part of an isolated call that costs nothing during a computation; none where there is no such part.
    pub hidden_share: Option<f64>,
}

/// Runs an algorithm in virtual time, see [`hocket_simulate::simulate`]. It does not run if its formula is exact and says
/// that it is later than the deadline.
pub fn simulate(entry: &Entry, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    if options.until_s.is_finite() {
        check_deadline(predict(entry, call, platform)?, platform, options.until_s)?;
    }
    with_call_overhead(entry.program(), platform, |program| hocket_simulate::simulate(program, call, platform, options))
}

/// Runs a subject in virtual time, once per trial, see [`hocket_simulate::simulate_trials`]. `gap` is the gap between
/// packets, for algorithms with steps. Formulas predict only isolated calls that all ranks begin at the same time.
///
/// # Errors
/// As there; or a gap for a subject without steps, or on a machine without packets; or arrivals of other ranks; or
/// faults of links that the machine does not have.
pub fn simulate_trials(
    subject: &Subject<'_>,
    call: &Call,
    platform: &Platform,
    gap: Gap,
    scene: &Scene,
    trials: Trials,
    options: Options<'_>,
) -> Result<Simulated> {
    let faulty = platform.with_faults(&scene.faults)?;
    let run = |program: &dyn AnyProgram, call: &Call, options| {
        SceneRun { program, call, platform: &faulty, trials, options }.play(scene)
    };
    match subject {
        Subject::Entry(entry) => {
            let (call, steps) = pace(entry, call, platform, gap)?;
            let predicted = if *scene == Scene::default() { predict(entry, &call, platform)? } else { None };
            check_deadline(predicted, platform, options.until_s)?;
            let options = Options { winners_are_alike: true, ..options };
            let outcome = with_call_overhead(entry.program(), platform, |program| run(program, &call, options))?;
            Ok(Simulated { call, steps, predicted, ..outcome })
        }
        Subject::Own(program) => with_call_overhead(*program, platform, |program| run(program, call, options)),
        Subject::Schedule(schedule) => run(*schedule, call, options),
    }
}

/// Ends a run that has not begun if it is later than its deadline.
fn check_deadline(predicted: Option<Predicted>, platform: &Platform, until_s: f64) -> Result<()> {
    let is_later = platform.is_certain() && predicted.is_some_and(|predicted| predicted.is_later_than(until_s));
    if is_later { Err(Error::lateness()) } else { Ok(()) }
}

/// A program that is simulated in a scene.
struct SceneRun<'a> {
    program: &'a dyn AnyProgram,
    call: &'a Call,
    platform: &'a Platform,
    trials: Trials,
    options: Options<'a>,
}

impl SceneRun<'_> {
    fn play(&self, scene: &Scene) -> Result<Simulated> {
        match (&scene.arrivals, scene.cadence) {
            (None, None) => self.measure(scene.way),
            (None, Some(cadence)) => self.repeat(cadence),
            (Some(arrivals), None) => {
                arrivals.check(self.call.ranks)?;
                self.play_arrivals(arrivals)
            }
            (Some(_), Some(_)) => Err(Error::new("cadence: expected none, as arrivals are given")),
        }
    }

    fn measure(&self, way: Way) -> Result<Simulated> {
        let Self { program, call, platform, trials, options } = *self;
        let options = Options { time_s: &way.time_s(), ..options };
        let mut many = way.measure(program, call, platform, |program| {
            hocket_simulate::simulate_trials(program, call, platform, trials, options)
        })?;
        many.ends.iter_mut().for_each(|ends| *ends = way.of_one_call(take(ends)));
        let times_s = many.ends.iter().map(way.time_s()).collect();
        Ok(self.result(many, times_s))
    }

    fn repeat(&self, cadence: Cadence) -> Result<Simulated> {
        let Self { program, call, platform, trials, options } = *self;
        cadence.check_memory(trials)?;
        let in_cadence = InCadence { program, cadence };
        let options_in_cadence = Options { time_s: &|ends| cadence.time_s(ends), ..options };
        let mut many = hocket_simulate::simulate_trials(&in_cadence, call, platform, trials, options_in_cadence)?;
        let as_many = Trials { count: many.ends.len() as u64, until_interval: None, ..trials };
        let silent_options = Options { trace: false, passages: false, on_trials: &|_| (), ..options };
        let isolated_call = Self { trials: as_many, options: silent_options, ..*self }.measure(Way::Isolated)?;
        let times_s = many.ends.iter().map(|ends| cadence.time_s(ends)).collect();
        let intervals_s: Vec<_> = many.ends.iter().map(|ends| cadence.interval_s(ends)).collect();
        let repeated = Repeated {
            calls_s: mean(many.ends.iter().map(|ends| cadence.times_s(ends))),
            hidden_share: cadence.hidden_share(average(&intervals_s), average(&isolated_call.times_s)),
            intervals_s,
            isolated_s: isolated_call.times_s,
        };
        many.ends.iter_mut().for_each(|ends| ends.marks_s.clear());
        Ok(Simulated { repeated: Some(repeated), ..self.result(many, times_s) })
    }

    fn play_arrivals(&self, arrivals: &Arrivals) -> Result<Simulated> {
        let Self { trials, options, .. } = *self;
        let times_s = |trial| arrivals.times_s(self.call.ranks, trials.seed, trial);
        let many = if arrivals.are_drawn() {
            self.one_by_one(times_s)?
        } else {
            self.after(&times_s(trials.first), trials, options)?
        };
        let arriving_s = (trials.first..).take(many.ends.len()).map(|trial| last_of(&times_s(trial))).collect();
        let times_s = many.ends.iter().map(|ends| ends.end_s).collect();
        Ok(Simulated { arriving_s, ..self.result(many, times_s) })
    }

    /// The trials one after the other, each with its own arrivals.
    fn one_by_one(&self, times_s: impl Fn(u64) -> Vec<f64>) -> Result<Many> {
        let Self { trials, options, .. } = *self;
        let mut first = None;
        let mut run = |trial| {
            let observes = first.is_none();
            let trial_options = Options {
                trace: options.trace && observes,
                passages: options.passages && observes,
                on_trials: &|_| (),
                ..options
            };
            let one_trial = Trials { first: trial, ..trials.one() };
            let many = self.after(&times_s(trial), one_trial, trial_options)?;
            first.get_or_insert(many.first);
            (options.on_trials)(trial + 1 - trials.first);
            Ok(many.ends)
        };
        let ends =
            trials.enough(|ends| ends.end_s, |range| Ok(range.map(&mut run).collect::<Result<Vec<_>>>()?.concat()))?;
        Ok(Many { ends, first: first.ok_or_else(|| Error::new("trials: got 0, expected at least 1"))? })
    }

    /// Trials after these arrivals. Their ends and marks count from the last arrival; a mark before it is 0.
    fn after(&self, times_s: &[f64], trials: Trials, options: Options<'_>) -> Result<Many> {
        let last_s = last_of(times_s);
        let options = Options { time_s: &|ends| ends.end_s - last_s, ..options };
        let program = Arriving { program: self.program, times_s };
        let mut many = hocket_simulate::simulate_trials(&program, self.call, self.platform, trials, options)?;
        for ends in &mut many.ends {
            ends.end_s -= last_s;
            ends.marks_s.iter_mut().for_each(|mark_s| *mark_s = (*mark_s - last_s).max(0.0));
        }
        Ok(many)
    }

    fn result(&self, many: Many, times_s: Vec<f64>) -> Simulated {
        let call = self.call.clone();
        Simulated {
            call,
            steps: Vec::new(),
            predicted: None,
            many,
            times_s,
            arriving_s: Vec::new(),
            repeated: None,
            critical_path: Vec::new(),
        }
    }
}

/// The mean of the rows, column by column.
fn mean(rows: impl ExactSizeIterator<Item = Vec<f64>>) -> Vec<f64> {
    let count = rows.len() as f64;
    let sum = |sums: Vec<f64>, row: Vec<f64>| sums.iter().zip(row).map(|(sum, value)| sum + value).collect();
    rows.reduce(sum).unwrap_or_default().into_iter().map(|sum| sum / count).collect()
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The last of these arrivals, of which the first is at 0 s.
fn last_of(times_s: &[f64]) -> f64 {
    times_s.iter().copied().fold(0.0, f64::max)
}

//! Many trials of one call on a machine with noise, on all cores.

use std::mem::take;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hocket_core::{AnyProgram, Call, Error, Result};
use hocket_machine::{Node, Noise};

use crate::clock::Trial;
use crate::dataflow::{self, How, Order};
use crate::events::{self, Run};
use crate::in_time::Outcome;
use crate::network::{self, Network};
use crate::options::{Engine, Failure, Options};
use crate::plan::{Ends, LANES, Memory, Plan};
use crate::platform::Platform;
use crate::single::{either, simulate};
use crate::tape::{Recording, Symbol, Tape, Winners};

/// Which trials to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trials {
    /// The seed of all randomness.
    pub seed: u64,
    /// The first trial. Trial t is the same in every run.
    pub first: u64,
    /// The number of trials; with `until_interval`, the largest number.
    pub count: u64,
    /// Stop when the confidence interval of the mean time (95 %, normal) reaches no farther from the mean than this
    /// share of it. Checked after 64, 128, 256, ... trials.
    pub until_interval: Option<f64>,
    /// Number of threads.
    pub threads: usize,
}

impl Default for Trials {
    fn default() -> Self {
        Self { seed: 0, first: 0, count: 1, until_interval: None, threads: 1 }
    }
}

/// The trials after which an interval may end them.
const FIRST_ROUND: u64 = 64;

impl Trials {
    /// The first trial.
    pub fn one(self) -> Self {
        Self { count: 1, until_interval: None, ..self }
    }

    /// Number of trials that run in any case.
    pub fn sure(&self) -> u64 {
        if self.until_interval.is_some() { self.count.min(FIRST_ROUND) } else { self.count }
    }

    /// As many trials as requested, in rounds that `run` runs. `time_s` is the time of a trial.
    pub fn enough(
        &self,
        time_s: impl Fn(&Ends) -> f64,
        mut run: impl FnMut(Range<u64>) -> Result<Vec<Ends>>,
    ) -> Result<Vec<Ends>> {
        let Self { first, count, until_interval, .. } = *self;
        let Some(share) = until_interval else { return run(first..first + count) };
        let mut ends = Vec::new();
        loop {
            let trials_done = ends.len() as u64;
            let next = if trials_done == 0 { self.sure() } else { (2 * trials_done).min(count) };
            ends.extend(run(first + trials_done..first + next)?);
            if next == count || interval_share(&ends, &time_s) <= share {
                return Ok(ends);
            }
        }
    }
}

/// The outcome of many trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Many {
    /// The times at which the ranks ended, for each trial.
    pub ends: Vec<Ends>,
    /// The rest of the outcome of the first trial.
    pub first: Outcome,
}

/// Runs `program` on `platform` in virtual time, once per trial; only once where all trials are alike.
///
/// # Errors
/// A deadlock, an interruption, a requested engine that does not apply, times that overflow, or the end of any trial at
/// the deadline.
pub fn simulate_trials(
    program: &dyn AnyProgram,
    call: &Call,
    platform: &Platform,
    trials: Trials,
    options: Options<'_>,
) -> Result<Many> {
    let Platform { network, node, noise, .. } = platform;
    if platform.is_certain() {
        let mut first = simulate(program, call, platform, options)?;
        let ends = vec![ends_of(&mut first); trials.count as usize];
        return Ok(Many { ends, first });
    }
    platform.check_ranks(call.ranks)?;
    let many = network.visit(Repeated { program, call, node, noise, trials, options })?;
    platform.check_times(many.ends.iter().map(|end| end.mean_s))?;
    let is_late = many.ends.iter().any(|ends| ends.last_s > options.until_s);
    if is_late { Err(Error::lateness()) } else { Ok(many) }
}

struct Repeated<'a> {
    program: &'a dyn AnyProgram,
    call: &'a Call,
    node: &'a Node,
    noise: &'a Noise,
    trials: Trials,
    options: Options<'a>,
}

impl network::Visitor for Repeated<'_> {
    type Output = Result<Many>;

    fn visit<N: Network>(self, network: &N) -> Result<Many> {
        let many = either(self.options.engine, || self.by_dataflow(network), || self.by_events(network))?;
        self.add_observations(network, many)
    }
}

impl Repeated<'_> {
    fn by_dataflow<N: Network>(&self, network: &N) -> std::result::Result<Many, Failure> {
        let (plan, first) = self.plan(network, Winners::First)?;
        let ends = self.enough(|trials| self.with_all_orders(network, trials.start, self.evaluate(&plan, trials)?));
        Ok(Many { ends: ends.map_err(Failure::Other)?, first })
    }

    /// The trials from `first` on. The events engine runs those whose times have another order than the plan's.
    fn with_all_orders<N: Network>(&self, network: &N, first: u64, ends: Vec<Option<Ends>>) -> Result<Vec<Ends>> {
        let options = Options { trace: false, passages: false, ..self.options };
        let in_another_order = |trial| match self.options.engine {
            Engine::Dataflow => Err(Failure::Inapplicable(OTHER_ORDER.to_owned()).into_error("dataflow")),
            _ => Ok(ends_of(&mut self.event_run(network, trial, options)?)),
        };
        (first..).zip(ends).map(|(trial, ends)| ends.map_or_else(|| in_another_order(trial), Ok)).collect()
    }

    /// Adds the trace and the passages of the first trial, if requested.
    fn add_observations<N: Network>(&self, network: &N, mut many: Many) -> Result<Many> {
        if self.options.trace || self.options.passages {
            let run = self.event_run(network, self.trials.first, self.options)?;
            (many.first.trace, many.first.passages) = (run.trace, run.passages);
        }
        Ok(many)
    }

    fn by_events<N: Network>(&self, network: &N) -> Result<Many> {
        let mut first = None;
        let options = Options { trace: false, passages: false, ..self.options };
        let ends = self.enough(|trials| {
            let one = |trial| {
                let mut run = self.event_run(network, trial, options)?;
                let ends = ends_of(&mut run);
                first.get_or_insert(run);
                (self.options.on_trials)(trial + 1 - self.trials.first);
                Ok(ends)
            };
            trials.map(one).collect()
        })?;
        let first = first.ok_or_else(|| Error::new("trials: got 0, expected at least 1"))?;
        Ok(Many { ends, first })
    }

    /// As [`Trials::enough`].
    fn enough(&self, run: impl FnMut(Range<u64>) -> Result<Vec<Ends>>) -> Result<Vec<Ends>> {
        self.trials.enough(self.options.time_s, run)
    }

    /// Writes the plan of the program. If the program uses `first` and its winners may matter, the plan is written
    /// again with other winners and compared.
    fn plan<N: Network>(&self, network: &N, winners: Winners) -> std::result::Result<(Plan, Outcome), Failure> {
        match self.plan_in(Order::OfRanks, network, winners) {
            Err(Failure::Unordered(_)) => self.plan_in(Order::OfPairs, network, winners),
            other => other,
        }
    }

    fn plan_in<N: Network>(
        &self,
        order: Order,
        network: &N,
        winners: Winners,
    ) -> std::result::Result<(Plan, Outcome), Failure> {
        let tape = Tape::new(self.noise, winners);
        let options = Options { trace: false, ..self.options };
        let (timing, how) = (Recording(&tape), How { order, symmetry: None });
        let (timers, mut first) = dataflow::run(self.program, self.call, network, timing, self.node, how, options)?;
        (first.rank_times_s, first.end_s, first.marks_s) = Default::default();
        let nodes = |times: Vec<_>| times.into_iter().map(Symbol::node).collect::<Vec<_>>();
        let has_first = tape.has_first();
        let (begins, ends) = (nodes(timers.begins), nodes(timers.ends));
        let plan = tape.plan(&begins, &ends);
        if has_first && winners == Winners::First && !self.options.winners_are_alike {
            for others in [Winners::Second, Winners::Mixed] {
                if self.plan_in(order, network, others)?.0 != plan {
                    let why = "the steps of the program after a first depend on which branch ended earlier";
                    return Err(Failure::Inapplicable(why.to_owned()));
                }
            }
        }
        Ok((plan, first))
    }

    /// Evaluates trials. Each lane has a fixed trial, so the result is independent of the threads.
    fn evaluate(&self, plan: &Plan, trials: Range<u64>) -> Result<Vec<Option<Ends>>> {
        let lanes = LANES as u64;
        let groups = trials.start / lanes..trials.end.div_ceil(lanes);
        let (next, stop) = (AtomicU64::new(groups.start), AtomicBool::new(false));
        let ends_by_group = Mutex::new(Vec::new());
        let (noise, seed) = (self.noise, self.trials.seed);
        let work = || {
            let mut memory = Memory::default();
            loop {
                let group = next.fetch_add(1, Ordering::Relaxed);
                if group >= groups.end {
                    return;
                }
                let Some(ends) = plan.evaluate(noise, seed, group * lanes, &mut memory, &stop) else { return };
                ends_by_group.lock().unwrap_or_else(PoisonError::into_inner).push((group, ends));
            }
        };
        let threads = (self.trials.threads as u64).min(groups.end - groups.start);
        let tell = || {
            let trials_done = ends_by_group.lock().unwrap_or_else(PoisonError::into_inner).len() as u64 * lanes;
            (self.options.on_trials)(trials.start - self.trials.first + trials_done.min(trials.end - trials.start));
        };
        thread::scope(|scope| {
            let (at_work, end) = mpsc::channel::<()>();
            for (number, at_work) in vec![at_work; threads as usize].into_iter().enumerate() {
                let worker = move || {
                    work();
                    drop(at_work);
                };
                match thread::Builder::new().spawn_scoped(scope, worker) {
                    Err(error) if number == 0 => return Err(Error::of_thread(&error)),
                    Err(_) => break, // fewer threads take longer
                    Ok(_) => {}
                }
            }
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if (self.options.is_interrupted)() {
                    stop.store(true, Ordering::Relaxed);
                }
                tell();
            }
            Ok(())
        })?;
        tell();
        if stop.load(Ordering::Relaxed) {
            return Err(Error::interruption());
        }
        let mut ends_by_group = ends_by_group.into_inner().unwrap_or_else(PoisonError::into_inner);
        ends_by_group.sort_unstable_by_key(|(group, _)| *group);
        let all = ends_by_group.into_iter().flat_map(|(_, ends)| ends);
        Ok(all.skip((trials.start % lanes) as usize).take((trials.end - trials.start) as usize).collect())
    }

    fn event_run<N: Network>(&self, network: &N, trial: u64, options: Options<'_>) -> Result<Outcome> {
        let Self { program, call, node, noise, .. } = *self;
        let trial = &Trial { noise, seed: self.trials.seed, trial, ranks: call.ranks };
        events::run(&Run { program, call, network, trial, node, options })
    }
}

/// Takes the times from an outcome.
fn ends_of(outcome: &mut Outcome) -> Ends {
    let (times_s, end_s) = (take(&mut outcome.rank_times_s), take(&mut outcome.end_s));
    Ends::of(times_s.into_iter(), end_s, take(&mut outcome.marks_s))
}

const OTHER_ORDER: &str = "the order of a rank's operations depends on noise";

/// Time between two calls of `is_interrupted`.
const LOOK: Duration = Duration::from_micros(500);

/// Half the length of the mean time's confidence interval, as a share of the mean.
fn interval_share(ends: &[Ends], time_s: impl Fn(&Ends) -> f64) -> f64 {
    let count = ends.len() as f64;
    let mean = ends.iter().map(&time_s).sum::<f64>() / count;
    let variance = ends.iter().map(|end| (time_s(end) - mean).powi(2)).sum::<f64>() / (count - 1.0);
    if variance == 0.0 { 0.0 } else { 1.96 * (variance / count).sqrt() / mean }
}

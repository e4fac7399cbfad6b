//! Many trials of one call on a machine with noise, on all cores.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hocket_core::{Call, Program, Result};
use hocket_machine::Noise;

use crate::clock::{Clock, Trial};
use crate::dataflow::{self, Failure, Order};
use crate::network::{self, Network};
use crate::plan::{Ends, LANES, Plan};
use crate::tape::{Recording, Symbol, Tape};
use crate::{Node, Options, Platform, either, events, interrupted};

/// Which trials to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trials {
    /// The seed of all randomness.
    pub seed: u64,
    /// The first one: trial t is the same in whichever run it is asked for.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// On how many threads.
    pub threads: usize,
}

/// What many trials found.
#[derive(Clone, Debug, PartialEq)]
pub struct Many {
    /// The engine that ran: "dataflow" or "events".
    pub engine: &'static str,
    /// When the ranks ended, for each trial.
    pub ends: Vec<Ends>,
    /// Messages sent by all ranks, in one trial.
    pub messages: u64,
    /// Bytes of these messages.
    pub message_bytes: u64,
}

/// Runs `program` on `platform` in virtual time, once per trial.
///
/// # Errors
/// A deadlock, an interruption, or an engine that was asked for and does not apply.
pub fn simulate_trials(
    program: &impl Program,
    call: &Call,
    platform: &Platform,
    trials: Trials,
    options: Options<'_>,
) -> Result<Many> {
    let Platform { network, node, noise, .. } = platform;
    network.visit(Repeated { program, call, node: *node, noise, trials, options })
}

struct Repeated<'a, P> {
    program: &'a P,
    call: &'a Call,
    node: Node,
    noise: &'a Noise,
    trials: Trials,
    options: Options<'a>,
}

impl<P: Program> network::Visitor for Repeated<'_, P> {
    type Output = Result<Many>;

    fn visit<N: Network + Sync>(self, network: &N) -> Result<Many> {
        either(self.options.engine, || self.by_dataflow(network), || self.by_events(network))
    }
}

impl<P: Program> Repeated<'_, P> {
    fn by_dataflow<N: Network>(&self, network: &N) -> std::result::Result<Many, Failure> {
        let (plan, messages, message_bytes) = self.plan(network, false)?;
        let ends = self.evaluate(&plan).map_err(Failure::Other)?;
        Ok(Many { engine: "dataflow", ends, messages, message_bytes })
    }

    /// Writes the plan of the program, and once more with the other branch winning each `first`.
    fn plan<N: Network>(&self, network: &N, other_wins: bool) -> std::result::Result<(Plan, u64, u64), Failure> {
        let tape = Tape::new(self.noise, other_wins);
        let run = dataflow::run(
            self.program,
            self.call,
            network,
            &Recording(&tape),
            self.node,
            Order::OfPairs,
            self.options,
        )?;
        let (messages, message_bytes) = (run.messages, run.message_bytes);
        let ends: Vec<_> = run.ends.into_iter().map(Symbol::node).collect();
        let has_first = tape.has_first();
        let plan = tape.plan(&ends);
        if has_first && !other_wins && self.plan(network, true)?.0 != plan {
            let why = "what the program does after a first depends on which branch ended earlier";
            return Err(Failure::Inapplicable(why.to_owned()));
        }
        Ok((plan, messages, message_bytes))
    }

    /// Evaluates all trials. Lanes belong to fixed trials, so that it does not matter which thread takes which.
    fn evaluate(&self, plan: &Plan) -> Result<Vec<Ends>> {
        let Trials { seed, first, count, threads } = self.trials;
        let lanes = LANES as u64;
        let groups = first / lanes..(first + count).div_ceil(lanes);
        let (next, stop) = (AtomicU64::new(groups.start), AtomicBool::new(false));
        let found = Mutex::new(Vec::new());
        let work = || {
            let mut places = Vec::new();
            loop {
                let group = next.fetch_add(1, Ordering::Relaxed);
                if group >= groups.end {
                    return;
                }
                let Some(ends) = plan.evaluate(self.noise, seed, group * lanes, &mut places, &stop) else { return };
                found.lock().unwrap_or_else(PoisonError::into_inner).push((group, ends));
            }
        };
        let threads = (threads as u64).clamp(1, groups.end - groups.start);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            while !workers.iter().all(|worker| worker.is_finished()) {
                std::thread::sleep(std::time::Duration::from_micros(200));
                if (self.options.is_interrupted)() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        if stop.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|(group, _)| *group);
        let skipped = (first % lanes) as usize;
        Ok(found.into_iter().flat_map(|(_, ends)| ends).skip(skipped).take(count as usize).collect())
    }

    fn by_events<N: Network>(&self, network: &N) -> Result<Many> {
        let Self { program, call, node, noise, trials, options } = *self;
        let mut ends = Vec::new();
        let (mut messages, mut message_bytes) = (0, 0);
        for trial in trials.first..trials.first + trials.count {
            let trial = Trial { noise, seed: trials.seed, trial, ranks: call.ranks };
            let run = events::run(program, call, network, &trial, node, options)?;
            ends.push(Ends::of(run.ends.iter().map(|end| end.seconds())));
            (messages, message_bytes) = (run.messages, run.message_bytes);
        }
        Ok(Many { engine: "events", ends, messages, message_bytes })
    }
}

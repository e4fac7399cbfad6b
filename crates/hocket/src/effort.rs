//! Estimates of the time to simulate or verify calls: the numbers of messages and of copies and reductions, times the
//! cost of one.

use std::time::Instant;

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, At, Buffer, Call, Progress, Received, Result, Source, Span, Step, World, run};
use hocket_machine::Work;
use hocket_simulate::{Engine, NetworkModel, Options, Platform, Trials, check_size, simulate, symmetry};
use hocket_verify::{Limits, estimate_runs};

use crate::arrivals::Arrivals;
use crate::benchmark::Way;
use crate::cadence::Cadence;
use crate::price::{messages, sent_bytes};
use crate::simulation::Scene;
use crate::verification::{MOST_DECISIONS, with_less_work};

/// The cost of beginning the program of a rank, in seconds of one core.
const RANK_S: f64 = 1e-7;
/// The cost of a message in dataflow.
const APART_S: f64 = 1.4e-7;
/// The cost of a message as events, without contention.
const EVENTS_S: f64 = 1.5e-6;
/// The cost of recording a message: as a task of a schedule, or once for many trials.
const RECORDED_S: f64 = 5e-7;
/// The cost of a recorded message in a further trial.
const REPEATED_S: f64 = 3e-9;
/// The cost of a message with contention.
const SHARED_S: f64 = 2.5e-6;
/// The cost of each switch by way of which a part of a message goes.
const DETOUR_S: f64 = 4e-6;
/// The cost of a packet on all links of its route together.
const PACKET_S: f64 = 2e-7;
/// The cost of a copy or reduction that takes no time or is in dataflow, and as an event.
const WORK_S: f64 = 3e-8;
const WORK_EVENT_S: f64 = 2e-7;

/// The most steps of a rank that is run to count them.
const MOST_STEPS: f64 = 65536.0;

/// The cost of verifying a message, under both protocols, and of verifying an element of inputs and results.
const VERIFIED_S: f64 = 1.5e-6;
const CHECKED_S: f64 = 1.5e-7;
/// Number of calls that represent all calls to verify at one number of ranks.
const VERIFIED_FOR_ALL: usize = 16;
/// As [`VERIFIED_FOR_ALL`], of a program without formulas, which is run to see how long it takes.
const RUN_FOR_ALL: usize = 2;
/// The most work of a run that shows how long it takes, and the number of elements from which a call is run for itself.
const WORK_OF_ESTIMATE: usize = 1 << 26;
const MANY_ELEMENTS: usize = 1 << 12;
/// The largest number of ranks that are run to see whether they can stand for all.
const FEW_RANKS: usize = 64;
/// Number of runs of a call after the first calls have taken all decisions.
const FEW_RUNS: usize = 10;

/// An estimate of the seconds for a simulation on one core of a computer of 2026, for the trials that run in any case;
/// correct within a factor of about three.
///
/// # Errors
/// A formula that cannot be evaluated, or a call for which there is no memory.
pub fn effort_s(
    entry: &Entry,
    call: &Call,
    platform: &Platform,
    scene: &Scene,
    trials: Trials,
    engine: Engine,
) -> Result<f64> {
    let Scene { way, arrivals, cadence, .. } = scene;
    let calls = cadence.map_or(way.calls(), Cadence::simulated_calls);
    // A part of a computation takes no longer than a message.
    let parts = cadence.map_or(0.0, |cadence| cadence.simulated_parts(call.ranks));
    let barrier_messages = match way.barrier(platform, call.ranks)? {
        Some((barrier, call)) => messages(barrier, &call)?,
        None => 0.0,
    };
    let all_messages = calls * messages(entry, call)? + barrier_messages + parts;
    let takes_symmetry = engine.takes_symmetry() && arrivals.is_none();
    let period = if takes_symmetry { period(entry, call, platform, *way) } else { None };
    let meets = platform.network.fabric().is_some();
    let by_events = (period.is_none() || meets) && takes_events(entry, call, platform, engine);
    let ranks = period.unwrap_or(call.ranks);
    way.measure(entry.program(), call, platform, |program| check_size(program, call, platform, ranks, by_events))?;
    let share = ranks as f64 / call.ranks as f64;
    let messages = all_messages * share;
    let is_certain = platform.is_certain();
    let count = trials.sure() as f64;
    let are_one_by_one = arrivals.as_ref().is_some_and(Arrivals::are_drawn);
    let runs = if is_certain && !are_one_by_one { 1.0 } else { count };
    let work_s = |takes_time: bool| if by_events && takes_time { WORK_EVENT_S } else { WORK_S };
    let [copies, reductions] = work(entry, call)?;
    let [copy_s, reduction_s] =
        [&platform.node.copy, &platform.node.reduce].map(|work| work_s(*work != Work::default()));
    let ranks_s = share * calls * (call.ranks as f64 * RANK_S + copies * copy_s + reductions * reduction_s);
    if !by_events {
        return Ok(match (is_certain, are_one_by_one) {
            (true, _) => runs * (messages * APART_S + ranks_s),
            (false, true) => runs * (messages * RECORDED_S + ranks_s),
            (false, false) => messages * (RECORDED_S + count * REPEATED_S / trials.threads as f64) + ranks_s,
        });
    }
    let detours = platform.network.shared_network().map_or(0, |network| network.detours());
    let message_s = if meets { SHARED_S + detours as f64 * DETOUR_S } else { EVENTS_S };
    let packets = match &platform.network {
        NetworkModel::Packets(network) => calls * sent_bytes(entry, call)? / network.packet_bytes,
        _ => 0.0,
    };
    Ok((messages * message_s + packets * PACKET_S + ranks_s) * runs)
}

/// Whether messages are events: where they share links, or the algorithm can use more ports than dataflow keeps apart.
/// Under `LogGP`, most calls issue messages in another order than dataflow needs.
fn takes_events(entry: &Entry, call: &Call, platform: &Platform, engine: Engine) -> bool {
    engine == Engine::Events
        || match &platform.network {
            NetworkModel::Hockney(network) => network.ports.is_some_and(|ports| entry.ports(call) > ports),
            _ => true,
        }
}

/// The numbers of copies and reductions of all ranks: of the root, and of the others as on average of three of them. If a
/// rank takes too many steps, of all messages as of those of its first steps.
fn work(entry: &Entry, call: &Call) -> Result<[f64; 2]> {
    let others = call.ranks - 1;
    let few = (1..=others.min(3)).map(|number| (call.root + number * others / others.min(3)) % call.ranks);
    let ranks = std::iter::once(call.root).chain(few).collect();
    let counts = run(entry.program(), call, Counting { ranks, counts: Vec::new() }).counts;
    let total = |of_ranks: &[Steps], kind: usize| of_ranks.iter().map(|steps| steps[kind]).sum::<f64>();
    if counts.iter().any(are_too_many) {
        let (sends, all_messages) = (total(&counts, SENDS).max(1.0), messages(entry, call)?);
        return Ok([COPIES, REDUCTIONS].map(|kind| all_messages * total(&counts, kind) / sends));
    }
    let (of_root, of_others) = counts.split_at(1);
    let all = |kind| total(of_root, kind) + total(of_others, kind) / of_others.len().max(1) as f64 * others as f64;
    Ok([COPIES, REDUCTIONS].map(all))
}

/// The numbers of steps of a rank: copies, reductions, sends, and others.
type Steps = [f64; 4];
const COPIES: usize = 0;
const REDUCTIONS: usize = 1;
const SENDS: usize = 2;
const OTHERS: usize = 3;

fn are_too_many(steps: &Steps) -> bool {
    steps.iter().sum::<f64>() >= MOST_STEPS
}

/// A world in which a few ranks run one after the other. Each message arrives at once, with nothing in it.
struct Counting {
    ranks: Vec<usize>,
    /// The steps of each rank that has begun.
    counts: Vec<Steps>,
}

impl World for Counting {
    fn next(&mut self) -> Option<usize> {
        let rank = *self.ranks.get(self.counts.len())?;
        self.counts.push([0.0; 4]);
        Some(rank)
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        let source = if let Step::Recv { from: Source::Rank(from), .. } = *step { from } else { 0 };
        let kind = match step {
            Step::Copy { .. } => COPIES,
            Step::Combine { .. } => REDUCTIONS,
            Step::Send { .. } => SENDS,
            _ => OTHERS,
        };
        match self.counts.last_mut().filter(|steps| !are_too_many(steps)) {
            Some(steps) => steps[kind] += 1.0,
            None => return Progress::Never,
        }
        Progress::Done((at.now, Received { source, len: 0 }))
    }

    fn scratch(&mut self, _: At, len: usize) -> Span {
        Span { buffer: Buffer::Scratch, offset: 0, len }
    }
}

/// The number of ranks that stand for all. Whether the engine symmetry applies is found by running it, if that takes the
/// time of few ranks.
fn period(entry: &Entry, call: &Call, platform: &Platform, way: Way) -> Option<usize> {
    let options = Options { engine: Engine::Symmetry, ..Options::default() };
    let representatives = way.measure(entry.program(), call, platform, |program| {
        let ranks = symmetry(program, call, platform).map(|symmetry| symmetry.representatives());
        let applies = |ranks: &usize| *ranks <= FEW_RANKS && simulate(program, call, platform, options).is_ok();
        Ok(ranks.filter(applies))
    });
    representatives.ok().flatten()
}

/// An estimate of the seconds for recording a call.
pub fn recording_effort_s(entry: &Entry, call: &Call) -> Result<f64> {
    Ok(messages(entry, call)? * RECORDED_S)
}

/// An estimate of the seconds for verifying an algorithm on the calls that it accepts, from a few representative ones.
pub fn verification_effort_s(entry: &Entry, calls: &[Call]) -> Result<f64> {
    let every = calls.len().div_ceil(VERIFIED_FOR_ALL).max(1);
    let mut tried_s = 0.0;
    for call in calls.iter().step_by(every) {
        let parameters: Vec<_> = call.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let Ok(call) = entry.accept(call, &parameters) else { continue };
        let elements: usize = (0..call.ranks).map(|rank| call.input_len(rank) + call.result_len(rank)).sum();
        tried_s += messages(entry, &call)? * VERIFIED_S + elements as f64 * CHECKED_S;
    }
    Ok(tried_s * every as f64)
}

/// An estimate of the seconds for verifying a program without formulas on calls that it accepts: it is run on a few, and
/// on fewer elements if they take too much work.
pub fn program_effort_s(
    program: &dyn AnyProgram,
    calls: Vec<Call>,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<f64> {
    let (long, short): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|call| call.input_of(call.root).len >= MANY_ELEMENTS);
    let short_limits = Limits { most_work: WORK_OF_ESTIMATE.min(limits.most_work), ..limits };
    let (mut effort_s, mut decisions_left) = (0.0, MOST_DECISIONS);
    for (calls, samples) in [(short, RUN_FOR_ALL), (long, 1)] {
        for alike in calls.chunks(calls.len().div_ceil(samples).max(1)) {
            let call = alike[alike.len() / 2].clone();
            let measure = |call: &Call| {
                let start = Instant::now();
                let runs = estimate_runs(program, call, short_limits, is_interrupted)?;
                Ok((start.elapsed().as_secs_f64(), runs))
            };
            let elements = call.input_of(call.root).len;
            let sample = with_less_work(call, |call| Ok(call.clone()), measure)?;
            let Some((sample_call, (run_s, (runs, decisions)))) = sample else { continue };
            let share = if limits.most_work < usize::MAX {
                1.0
            } else {
                elements as f64 / sample_call.input_of(sample_call.root).len.max(1) as f64
            };
            let explored_calls =
                decisions_left.checked_div(decisions).map_or(alike.len(), |most| most.min(alike.len()));
            decisions_left -= explored_calls * decisions;
            let sampled_runs = runs.min(FEW_RUNS) * (alike.len() - explored_calls);
            effort_s += share * run_s * (explored_calls * runs + sampled_runs) as f64;
        }
    }
    Ok(effort_s)
}

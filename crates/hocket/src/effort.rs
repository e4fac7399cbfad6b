//! Estimates of the time to simulate or verify calls: the number of messages times the cost of one.

use std::time::Instant;

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Result};
use hocket_simulate::{Engine, NetworkModel, Options, Platform, Trials, simulate, symmetry};
use hocket_verify::{Limits, sound};

use crate::arrivals::Arrivals;
use crate::cadence::Cadence;
use crate::measured::Way;
use crate::price::{messages, sent_bytes};
use crate::simulation::Scene;
use crate::verification::MOST_DECISIONS;

/// The cost of a message without contention, in seconds of one core.
const APART_S: f64 = 1e-7;
/// The cost of recording a message: as a task of a schedule, or once for many trials.
const RECORDED_S: f64 = 5e-7;
/// The cost of a recorded message in a further trial.
const REPEATED_S: f64 = 3e-9;
/// The cost of a message with contention.
const SHARED_S: f64 = 2e-6;
/// The cost of a packet on all links of its route together.
const PACKET_S: f64 = 2e-7;

/// The cost of verifying a message, under both protocols, and of verifying an element of inputs and results.
const VERIFIED_S: f64 = 1.5e-6;
const CHECKED_S: f64 = 1.5e-7;
/// Number of calls that represent all calls to verify at one number of ranks.
const VERIFIED_FOR_ALL: usize = 16;
/// As [`VERIFIED_FOR_ALL`], of a program without formulas, which is run to see how long it takes.
const RUN_FOR_ALL: usize = 2;
/// Number of runs of a call after the first calls have taken all decisions.
const FEW_RUNS: usize = 10;

/// An estimate of the seconds for a simulation on one core of a computer of 2026, for the trials that run in any case;
/// correct within a factor of about three.
///
/// # Errors
/// A formula that cannot be evaluated.
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
    let all_messages = calls * messages(entry, call)? + way.barrier_messages(call.ranks) + parts;
    let takes_symmetry = engine.takes_symmetry() && arrivals.is_none();
    let share = if takes_symmetry { simulated_share(entry, call, platform, *way) } else { 1.0 };
    let messages = all_messages * share;
    let is_quiet = platform.noise.is_quiet();
    let count = trials.sure() as f64;
    let are_one_by_one = arrivals.as_ref().is_some_and(Arrivals::are_drawn);
    let runs = if is_quiet && !are_one_by_one { 1.0 } else { count };
    if platform.network.fabric().is_none() {
        let message_s = match (is_quiet, are_one_by_one) {
            (true, _) => runs * APART_S,
            (false, true) => runs * RECORDED_S,
            (false, false) => RECORDED_S + count * REPEATED_S / trials.threads as f64,
        };
        return Ok(messages * message_s);
    }
    let packets = match &platform.network {
        NetworkModel::Packets(network) => calls * sent_bytes(entry, call)? / network.packet_bytes,
        _ => 0.0,
    };
    Ok((messages * SHARED_S + packets * PACKET_S) * runs)
}

/// The share of the ranks that are simulated. Whether the engine symmetry applies is found by running it, which takes
/// the time of few ranks.
fn simulated_share(entry: &Entry, call: &Call, platform: &Platform, way: Way) -> f64 {
    let options = Options { engine: Engine::Symmetry, ..Options::default() };
    let symmetry = way.measure(entry.program(), call, |program| {
        symmetry(program, call, platform).filter(|_| simulate(program, call, platform, options).is_ok())
    });
    symmetry.map_or(1.0, |symmetry| symmetry.period() as f64 / call.ranks as f64)
}

/// An estimate of the seconds for recording a call.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn recording_effort_s(entry: &Entry, call: &Call) -> Result<f64> {
    Ok(messages(entry, call)? * RECORDED_S)
}

/// An estimate of the seconds for verifying an algorithm on the calls that it accepts, from a few representative ones.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn verification_effort_s(entry: &Entry, calls: &[Call]) -> Result<f64> {
    let every = calls.len().div_ceil(VERIFIED_FOR_ALL).max(1);
    let mut tried_s = 0.0;
    for call in calls.iter().step_by(every) {
        let given: Vec<_> = call.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let Ok(call) = entry.accept(call, &given) else { continue };
        let elements: usize = (0..call.ranks).map(|rank| call.input_len(rank) + call.result_len(rank)).sum();
        tried_s += messages(entry, &call)? * VERIFIED_S + elements as f64 * CHECKED_S;
    }
    Ok(tried_s * every as f64)
}

/// An estimate of the seconds for verifying a program without formulas on calls that it accepts: it is run on a few.
///
/// # Errors
/// As [`sound`].
pub fn program_effort_s(
    program: &dyn AnyProgram,
    calls: &[Call],
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<f64> {
    let every = calls.len().div_ceil(RUN_FOR_ALL).max(1);
    let (mut effort_s, mut decisions_left) = (0.0, MOST_DECISIONS);
    for alike in calls.chunks(every) {
        let call = &alike[alike.len() / 2];
        let start = Instant::now();
        let (runs, decisions) = sound(program, call, limits, is_interrupted)?;
        let run_s = start.elapsed().as_secs_f64();
        let explored = decisions_left.checked_div(decisions).map_or(alike.len(), |most| most.min(alike.len()));
        decisions_left -= explored * decisions;
        let sampled = runs.min(FEW_RUNS) * (alike.len() - explored);
        effort_s += run_s * (explored * runs + sampled) as f64;
    }
    Ok(effort_s)
}

//! Simulation, once for everybody: the gaps of an algorithm's steps, what its formula says, and the program in virtual time.

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Result};
use hocket_record::Schedule;
use hocket_simulate::{Many, Options, Outcome, Platform, Trials, as_call};

use crate::pacing::{Gap, Step, pace};
use crate::price::{Predicted, predict};

/// What can be simulated.
pub enum Subject<'a> {
    /// An algorithm of the catalogue.
    Listed(&'static Entry),
    /// A program of the user's own.
    Own(&'a dyn AnyProgram),
    /// A schedule: the machine's `call_overhead` is not added to what was recorded.
    Recorded(&'a Schedule),
}

/// What a simulation found.
pub struct Simulated {
    /// The call, with the gaps of its steps.
    pub call: Call,
    /// The steps of an algorithm that has some, on a machine with a topology.
    pub steps: Vec<Step>,
    /// What the algorithm's formula says, where there is one for the machine.
    pub predicted: Option<Predicted>,
    /// The trials.
    pub many: Many,
}

/// Runs an algorithm in virtual time, see [`hocket_simulate::simulate`].
///
/// # Errors
/// As there.
pub fn simulate(entry: &Entry, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    as_call(entry.program(), platform, |program| hocket_simulate::simulate(program, call, platform, options))
}

/// Runs what can be simulated in virtual time, once per trial, see [`hocket_simulate::simulate_trials`]; the gap is that
/// between the packets of an algorithm with steps.
///
/// # Errors
/// As there; or a gap for what has no steps, or on a machine without packets.
pub fn simulate_trials(
    subject: &Subject<'_>,
    call: &Call,
    platform: &Platform,
    gap: Gap,
    trials: Trials,
    options: Options<'_>,
) -> Result<Simulated> {
    let run = |program: &dyn AnyProgram, call: &Call, options| {
        hocket_simulate::simulate_trials(program, call, platform, trials, options)
    };
    let alone = |many| Simulated { call: call.clone(), steps: Vec::new(), predicted: None, many };
    match subject {
        Subject::Listed(entry) => {
            let (call, steps) = pace(entry, call, platform, gap)?;
            let predicted = predict(entry, &call, platform)?;
            let options = Options { winners_are_alike: true, ..options };
            let many = as_call(entry.program(), platform, |program| run(program, &call, options))?;
            Ok(Simulated { call, steps, predicted, many })
        }
        Subject::Own(program) => as_call(*program, platform, |program| run(program, call, options)).map(alone),
        Subject::Recorded(schedule) => run(*schedule, call, options).map(alone),
    }
}

//! Simulation: the gaps of an algorithm's steps, the prediction of its formula, and the program in virtual time.

use std::mem::take;

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Result};
use hocket_record::Schedule;
use hocket_simulate::{Many, Options, Outcome, Platform, Trials, as_call};

use crate::measured::Way;
use crate::pacing::{Gap, Step, pace};
use crate::price::{Predicted, predict};

/// The subject of a simulation.
pub enum Subject<'a> {
    /// An algorithm of the catalogue.
    Listed(&'static Entry),
    /// A program of the user.
    Own(&'a dyn AnyProgram),
    /// A schedule; the machine's `call_overhead` is not added.
    Recorded(&'a Schedule),
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
}

/// Runs an algorithm in virtual time, see [`hocket_simulate::simulate`].
///
/// # Errors
/// As there.
pub fn simulate(entry: &Entry, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    as_call(entry.program(), platform, |program| hocket_simulate::simulate(program, call, platform, options))
}

/// Runs a subject in virtual time, once per trial, see [`hocket_simulate::simulate_trials`]. `gap` is the gap between
/// packets, for algorithms with steps. `way` is how the time is measured; formulas predict only the isolated time.
///
/// # Errors
/// As there; or a gap for a subject without steps, or on a machine without packets.
pub fn simulate_trials(
    subject: &Subject<'_>,
    call: &Call,
    platform: &Platform,
    gap: Gap,
    way: Way,
    trials: Trials,
    options: Options<'_>,
) -> Result<Simulated> {
    let options = Options { time_s: way.time_s(), ..options };
    let run = |program: &dyn AnyProgram, call: &Call, options| {
        let mut many = way.measure(program, call, |program| {
            hocket_simulate::simulate_trials(program, call, platform, trials, options)
        })?;
        many.ends.iter_mut().for_each(|ends| *ends = way.of_one_call(take(ends)));
        Ok(many)
    };
    let alone = |many| Simulated { call: call.clone(), steps: Vec::new(), predicted: None, many };
    match subject {
        Subject::Listed(entry) => {
            let (call, steps) = pace(entry, call, platform, gap)?;
            let predicted = if way == Way::Isolated { predict(entry, &call, platform)? } else { None };
            let options = Options { winners_are_alike: true, ..options };
            let many = as_call(entry.program(), platform, |program| run(program, &call, options))?;
            Ok(Simulated { call, steps, predicted, many })
        }
        Subject::Own(program) => as_call(*program, platform, |program| run(program, call, options)).map(alone),
        Subject::Recorded(schedule) => run(*schedule, call, options).map(alone),
    }
}

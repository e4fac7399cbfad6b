//! An MPI application's trace, replayed in virtual time.

mod accounts;
mod application;
mod collective_calls;
mod collectives;
mod program;
mod reading;

pub use accounts::{Accounts, AlgorithmUse, FunctionUse, RankUse};
pub use collectives::{CallArguments, DEFAULT_RULES};
pub use reading::{Columns, TraceTables};

use std::cell::Cell;

use hocket_algorithms::rules::Rules;
use hocket_core::{Call, Collective, Error, Result};
use hocket_simulate::{Engine, Many, Platform, Trials, simulate_trials};
use serde::Serialize;

use application::Application;
use program::{Replay, Times};

/// The options of a replay.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Factor for the traced computing times.
    pub scale_compute: f64,
    /// Which trials.
    pub trials: Trials,
    /// Whether to report the operations of each rank.
    pub trace: bool,
    /// Asked from time to time; the replay stops when it returns true.
    pub is_interrupted: &'a dyn Fn() -> bool,
}

/// The result of a replay. Calls and accounts are from the first trial.
#[derive(Clone, Debug)]
pub struct ReplayResult {
    /// Times, messages and links, as of a simulation.
    pub many: Many,
    /// The use of time.
    pub accounts: Accounts,
    /// The calls of each rank, as rows of a trace; empty unless requested.
    pub calls: Vec<CallRow>,
}

/// One call of one rank.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct CallRow {
    pub rank: usize,
    pub function: String,
    pub start_s: f64,
    pub end_s: f64,
}

/// Replays a trace on a platform; each of `columns` has the calls of one rank.
///
/// # Errors
/// An inconsistent trace, or a deadlock; the message has rank and call.
pub fn replay(
    tables: TraceTables,
    columns: &[Columns<'_>],
    rules: &Rules,
    platform: &Platform,
    options: Options<'_>,
) -> Result<ReplayResult> {
    platform.check_ranks(columns.len())?;
    let application = reading::read(tables, columns, rules, &platform.nodes(columns.len())?)?;
    let (many, times_s) = Run { application: &application, platform, options }.trials()?;
    let calls = if options.trace { rows(&application, &times_s) } else { Vec::new() };
    Ok(ReplayResult { many, accounts: Accounts::new(&application, &times_s), calls })
}

/// One replay.
struct Run<'a> {
    application: &'a Application,
    platform: &'a Platform,
    options: Options<'a>,
}

impl Run<'_> {
    /// Runs the trials. Returns also when the calls of the first one began and returned.
    fn trials(&self) -> Result<(Many, Times)> {
        let Options { trials, trace, .. } = self.options;
        let (many, times_s) = self.run_once(trials, trace)?;
        if trials.count == 1 || self.platform.is_certain() {
            return Ok((many, times_s));
        }
        let (_, times_s) = self.run_once(Trials { count: 1, until_interval: None, ..trials }, false)?;
        Ok((many, times_s))
    }

    fn run_once(&self, trials: Trials, trace: bool) -> Result<(Many, Times)> {
        let replay = Replay::new(self.application, self.options.scale_compute, self.platform.node.call_overhead_s);
        let call = Call::new(Collective::Barrier, self.application.ranks.len(), 0);
        let has_stopped = Cell::new(false);
        let is_interrupted = || {
            has_stopped.set((self.options.is_interrupted)());
            has_stopped.get()
        };
        let (engine, is_interrupted) = (Engine::Events, &is_interrupted);
        let options = hocket_simulate::Options { engine, trace, is_interrupted, ..Default::default() };
        let outcome = simulate_trials(&replay, &call, self.platform, trials, options);
        let many =
            outcome.map_err(|error| if has_stopped.get() { error } else { self.locate_error(&replay, error) })?;
        Ok((many, replay.times_s()))
    }

    /// The error with the calls of ranks that had begun and not ended.
    fn locate_error(&self, replay: &Replay<'_>, error: Error) -> Error {
        let application = self.application;
        let mut waiting = (0..application.ranks.len()).filter_map(|rank| {
            let call = application.ranks[rank].calls.get(replay.calls_returned(rank)?)?;
            Some(application.describe(rank, call))
        });
        let who = match (waiting.next(), waiting.next()) {
            (None, _) => return error,
            (Some(call), None) => format!("{call} waits for ever"),
            (Some(call), Some(other)) => format!("{call} waits for ever, and so does {other}"),
        };
        // The calls tell what ranks wait for, but not what the network lacks.
        let why = error.to_string();
        Error::new(if why.starts_with("deadlock: rank") { who } else { format!("{who}: {why}") })
    }
}

fn rows(application: &Application, times_s: &Times) -> Vec<CallRow> {
    let of_rank = |(rank, times_s): (usize, &Vec<[f64; 2]>)| {
        let calls = application.ranks[rank].calls.iter().zip(times_s);
        let row = |(call, [start_s, end_s]): (&application::Call, &[f64; 2])| CallRow {
            rank,
            function: application.functions[call.function as usize].clone(),
            start_s: *start_s,
            end_s: *end_s,
        };
        calls.map(row).collect::<Vec<_>>()
    };
    times_s.iter().enumerate().flat_map(of_rank).collect()
}

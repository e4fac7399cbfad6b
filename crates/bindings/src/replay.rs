//! Replays of traces.

use hocket_algorithms::automatic::Surroundings;
use hocket_algorithms::rules::Rules;
use hocket_replay::{Columns, DEFAULT_RULES, Options, ReplayResult, TraceTables};
use hocket_simulate::{Many, Platform};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::machine::PythonMachine;
use crate::request::TrialsRequest;
use crate::result::{Replay, ReplayTrace, TrialsResult};
use crate::watch::Watch;
use crate::wire::{Plain, raise};
use crate::worker::in_worker;

/// The options of a replay.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// What the numbers in the columns of the trace stand for.
    tables: TraceTables,
    /// Texts of rules that choose algorithms, and their names in errors; earlier texts win.
    rules: Vec<(String, String)>,
    scale_compute: f64,
    trials: TrialsRequest,
    /// Whether to report the operations of each rank.
    trace: bool,
}

impl ReplayRequest {
    fn replay(
        self,
        platform: &Platform,
        surroundings: &Surroundings,
        columns: &[Columns<'_>],
        is_interrupted: &dyn Fn() -> bool,
    ) -> hocket_core::Result<ReplayTrace> {
        let Self { tables, rules, scale_compute, trials, trace } = self;
        let seed = trials.seed;
        let trials = trials.trials()?;
        let rules = rules.iter().try_fold(Rules::default(), |rules, (text, file)| {
            rules.with_fallback(Rules::parse_on(text, file, surroundings)?)
        })?;
        let options = Options { scale_compute, trials, trace, is_interrupted };
        let ReplayResult { many: Many { ends, mut first }, accounts, calls } =
            hocket_replay::replay(tables, columns, &rules, platform, options)?;
        let events = std::mem::take(&mut first.trace);
        let result = TrialsResult::new(first, ends.iter().map(|ends| ends.last_s).collect(), platform, seed);
        Ok(ReplayTrace { replay: Replay { ranks: columns.len(), scale_compute, accounts, result }, events, calls })
    }
}

/// Replays a trace: four columns of numbers for each rank, see [`Columns`].
#[pyfunction]
pub fn replay(
    py: Python<'_>,
    machine: &PythonMachine,
    request: Plain<ReplayRequest>,
    columns: Vec<[Vec<u8>; 4]>,
) -> PyResult<Plain<ReplayTrace>> {
    let Plain(request) = request;
    let (platform, surroundings) = (machine.platform(), machine.surroundings());
    let result = in_worker(py, move || {
        let columns: Vec<_> = columns
            .iter()
            .map(|[compute_s, functions, lines, words]| Columns { compute_s, functions, lines, words })
            .collect();
        let watch = Watch::default();
        request
            .replay(&platform, &surroundings, &columns, &|| watch.says_stop())
            .map_err(|error| watch.why(raise(error)))
    })?;
    Ok(Plain(result))
}

/// The rules for calls that no rule of the user decides.
#[pyfunction]
pub fn replay_rules() -> &'static str {
    DEFAULT_RULES
}

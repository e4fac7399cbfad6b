//! An MPI application's trace, replayed in virtual time.

mod accounts;
mod application;
mod collectives;
mod program;
mod reading;
mod together;

pub use accounts::{AlgorithmUse, FunctionUse, RankUse};
pub use collectives::{DEFAULT_RULES, Said};
pub use reading::{Columns, Meaning};

use std::cell::Cell;

use hocket_algorithms::rules::Rules;
use hocket_core::{Call, Collective, Error, Result};
use hocket_simulate::{Many, Options, Platform, Trials, simulate_in_order};
use serde::{Deserialize, Serialize};

use crate::request::{MachineRequest, SimulateResult, TrialsRequest};
use crate::surroundings;
use application::Application;
use program::{Replay, Times};

/// A trace to replay, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The meaning of the columns of the trace.
    pub meaning: Meaning,
    /// On which machine.
    pub machine: MachineRequest,
    /// Rules that choose algorithms, and the name that each text has in errors; the first ones come first.
    pub rules: Vec<(String, String)>,
    /// The time of computing, as a factor of the traced time.
    pub scale_compute: f64,
    /// Which trials.
    #[serde(default)]
    pub trials: TrialsRequest,
    /// Whether to report what each rank did.
    #[serde(default)]
    pub trace: bool,
}

/// The result of a replay. Calls, ranks and the trace are those of the first trial.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayResult {
    /// Times, messages and links, as of a simulation.
    #[serde(flatten)]
    pub simulation: SimulateResult,
    /// The times of calls.
    pub functions: Vec<FunctionUse>,
    /// How ranks spent their time.
    pub rank_uses: Vec<RankUse>,
    /// Which algorithms did the collective calls.
    pub algorithms: Vec<AlgorithmUse>,
    /// The calls of each rank, as rows of a trace; empty unless asked for.
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

impl ReplayRequest {
    /// Replays a trace, a rank's calls in each of `columns`.
    ///
    /// # Errors
    /// A request that makes no sense, a trace that does not fit together, a deadlock: in which call of which rank.
    pub fn replay(self, columns: &[Columns<'_>], is_interrupted: &dyn Fn() -> bool) -> Result<ReplayResult> {
        let platform = self.machine.platform()?;
        let trials = self.trials.trials()?;
        let surroundings = surroundings(&self.machine.machine()?)?;
        let rules = self.rules.iter().try_fold(Rules::default(), |rules, (text, file)| {
            Ok::<_, Error>(rules.followed_by(Rules::parse_on(text, file, &surroundings)?))
        })?;
        let application = reading::read(self.meaning, columns, &rules)?;
        let run = Run { application: &application, platform: &platform, scale: self.scale_compute, is_interrupted };
        let (many, times_s) = run.trials(trials, self.trace)?;
        let (functions, rank_uses) = accounts::uses(&application, &times_s);
        Ok(ReplayResult {
            simulation: SimulateResult::new(application.ranks.len(), &many, &platform, None, false),
            functions,
            rank_uses,
            algorithms: accounts::algorithms(&application),
            calls: if self.trace { rows(&application, &times_s) } else { Vec::new() },
        })
    }
}

/// One replay.
struct Run<'a> {
    application: &'a Application,
    platform: &'a Platform,
    scale: f64,
    is_interrupted: &'a dyn Fn() -> bool,
}

impl Run<'_> {
    /// Runs the trials, and tells when the calls of the first one began and returned.
    fn trials(&self, trials: Trials, trace: bool) -> Result<(Many, Times)> {
        let (many, times_s) = self.once(trials, trace)?;
        if trials.count == 1 || self.platform.noise.is_quiet() {
            return Ok((many, times_s));
        }
        let (_, times_s) = self.once(Trials { count: 1, until_interval: None, ..trials }, false)?;
        Ok((many, times_s))
    }

    fn once(&self, trials: Trials, trace: bool) -> Result<(Many, Times)> {
        let replay = Replay::new(self.application, self.scale);
        let call = Call::new(Collective::Barrier, self.application.ranks.len(), 0);
        let has_stopped = Cell::new(false);
        let is_interrupted = || {
            has_stopped.set((self.is_interrupted)());
            has_stopped.get()
        };
        let options = Options { trace, is_interrupted: &is_interrupted, ..Options::default() };
        let found = simulate_in_order(&replay, &call, self.platform, trials, options);
        let many = found.map_err(|error| if has_stopped.get() { error } else { self.told(&replay, error) })?;
        Ok((many, replay.times_s()))
    }

    /// The error with the call in which a rank was, if one had begun and not ended.
    fn told(&self, replay: &Replay<'_>, error: Error) -> Error {
        let application = self.application;
        let mut waiting = (0..application.ranks.len()).filter_map(|rank| {
            let call = application.ranks[rank].calls.get(replay.returned(rank)?)?;
            Some(application.told(rank, call))
        });
        let who = match (waiting.next(), waiting.next()) {
            (None, _) => return error,
            (Some(told), None) => format!("{told} waits for ever"),
            (Some(told), Some(other)) => format!("{told} waits for ever, and so does {other}"),
        };
        // What ranks wait for is told by their calls, what the network lacks is not.
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

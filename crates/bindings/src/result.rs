//! Results for Python: their keys are the fields of its classes.

use std::mem::take;

use hocket::critical_path::PathStep;
use hocket::pacing::Step;
use hocket::request::CallRequest;
use hocket::{Repeated, Simulated};
use hocket_replay::Accounts;
use hocket_simulate::{Ends, Fabric, Outcome, Passage, Platform, Record};
use serde::Serialize;

use crate::request::{How, ResultValues};
use crate::scene::SceneTexts;
use crate::wire::VERSION;

/// The result of trials on a machine, including all fields of [`Outcome`].
#[derive(Serialize)]
pub struct TrialsResult {
    pub machine: String,
    pub seed: u64,
    pub trials: usize,
    /// The time of each trial.
    pub times_s: Vec<f64>,
    /// The load of links in the first trial, in networks with contention.
    pub links: Option<Links>,
    pub version: &'static str,
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl TrialsResult {
    pub fn new(outcome: Outcome, times_s: Vec<f64>, platform: &Platform, seed: u64) -> Self {
        Self {
            machine: platform.name.clone(),
            seed,
            trials: times_s.len(),
            times_s,
            links: platform.network.fabric().map(|_| Links::new(&outcome.links)),
            version: VERSION,
            outcome,
        }
    }
}

/// `hocket.Simulation`.
#[derive(Serialize)]
pub struct Simulation {
    #[serde(flatten)]
    pub call: CallRequest,
    #[serde(flatten)]
    pub scene: SceneTexts,
    /// For a catalogue algorithm: given, default, or automatic values.
    pub parameters: ResultValues,
    pub engine: &'static str,
    pub measured_as: &'static str,
    /// With arrivals: the time from the first to the last arrival, in each trial.
    pub arriving_s: Vec<f64>,
    /// With a cadence: its calls.
    pub repeated: Option<Repeated>,
    pub formula_s: Option<f64>,
    pub formula_is_exact: bool,
    pub formula_is_bound: bool,
    pub rank_time_s: RankTime,
    /// When the last rank reached each mark of the program, in each trial.
    pub marks_s: Vec<Vec<f64>>,
    pub steps: Vec<Step>,
    /// What was kept of the first trial.
    pub events: Vec<Record>,
    pub critical_path: Vec<PathStep>,
    pub link_uses: Vec<LinkUse>,
    pub passages: Vec<Passage>,
    #[serde(flatten)]
    pub result: TrialsResult,
}

/// The times at which the first, the mean and the last rank ended, as means over the trials, in seconds.
#[derive(Serialize)]
pub struct RankTime {
    min: f64,
    mean: f64,
    max: f64,
}

impl RankTime {
    fn new(ends: &[Ends]) -> Self {
        let mean = |time_s: fn(&Ends) -> f64| ends.iter().map(time_s).sum::<f64>() / ends.len() as f64;
        Self { min: mean(|ends| ends.first_s), mean: mean(|ends| ends.mean_s), max: mean(|ends| ends.last_s) }
    }
}

fn marks_s(ends: &[Ends]) -> Vec<Vec<f64>> {
    let marks = ends.iter().map(|ends| ends.marks_s.len()).min().unwrap_or(0);
    (0..marks).map(|mark| ends.iter().map(|ends| ends.marks_s[mark]).collect()).collect()
}

impl Simulation {
    /// The simulation of a call, with the requested observations of its first trial.
    pub fn new(call: CallRequest, parameters: ResultValues, result: Simulated, platform: &Platform, how: &How) -> Self {
        let Simulated { steps, predicted, mut many, times_s, arriving_s, repeated, critical_path, .. } = result;
        let fabric = platform.network.fabric().filter(|_| how.links);
        Self {
            call,
            scene: how.scene.texts.clone(),
            parameters,
            engine: many.first.engine,
            measured_as: how.measured_as.name(),
            arriving_s,
            repeated,
            formula_s: predicted.map(|predicted| predicted.time_s),
            formula_is_exact: predicted.is_some_and(|predicted| predicted.is_exact),
            formula_is_bound: predicted.is_some_and(|predicted| predicted.is_bound),
            rank_time_s: RankTime::new(&many.ends),
            marks_s: marks_s(&many.ends),
            steps,
            events: if how.events { take(&mut many.first.trace) } else { Vec::new() },
            critical_path,
            link_uses: fabric.map_or_else(Vec::new, |fabric| LinkUse::all(&many.first.links, fabric)),
            passages: take(&mut many.first.passages),
            result: TrialsResult::new(many.first, times_s, platform, how.trials.seed),
        }
    }
}

/// `hocket.Replay`, without the fields that Python knows; and the requested observations of the first trial.
#[derive(Serialize)]
pub struct ReplayTrace {
    pub replay: Replay,
    pub events: Vec<Record>,
    pub calls: Vec<hocket_replay::CallRow>,
}

#[derive(Serialize)]
pub struct Replay {
    pub ranks: usize,
    pub scale_compute: f64,
    #[serde(flatten)]
    pub accounts: Accounts,
    #[serde(flatten)]
    pub result: TrialsResult,
}

/// `hocket.Links`.
#[derive(Serialize)]
pub struct Links {
    links: usize,
    used_links: usize,
    contended_links: usize,
    most_bytes: f64,
    most_busy_s: f64,
    waiting_s: f64,
}

impl Links {
    fn new(uses: &[hocket_simulate::LinkUse]) -> Self {
        let most = |of: fn(&hocket_simulate::LinkUse) -> f64| uses.iter().map(of).fold(0.0, f64::max);
        Self {
            links: uses.len(),
            used_links: uses.iter().filter(|link| is_used(link)).count(),
            contended_links: uses.iter().filter(|link| link.waiting_s > 0.0).count(),
            most_bytes: most(|link| link.bytes),
            most_busy_s: most(|link| link.busy_s),
            waiting_s: uses.iter().map(|link| link.waiting_s).sum(),
        }
    }
}

/// `hocket.LinkUse`.
#[derive(Serialize)]
pub struct LinkUse {
    link: usize,
    name: String,
    #[serde(flatten)]
    load: hocket_simulate::LinkUse,
}

impl LinkUse {
    /// The uses of the links that carried something.
    fn all(uses: &[hocket_simulate::LinkUse], fabric: &Fabric) -> Vec<Self> {
        let row = |(link, load): (usize, &hocket_simulate::LinkUse)| Self {
            link,
            name: fabric.topology.link_name(link),
            load: *load,
        };
        uses.iter().enumerate().filter(|(_, load)| is_used(load)).map(row).collect()
    }
}

fn is_used(load: &hocket_simulate::LinkUse) -> bool {
    load.busy_s > 0.0 || load.bytes > 0.0
}

/// `hocket.simulating.pacing.StepTime`.
#[derive(Serialize)]
pub struct StepTime {
    #[serde(flatten)]
    pub step: Step,
    pub time_s: f64,
    pub message_bytes: u64,
}

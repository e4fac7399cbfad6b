//! Several calls at once.

use hocket::{Cadence, Demand, Part, Place, Together, simulate_together};
use hocket_core::Call;
use hocket_simulate::{Engine, Fabric, Fault, LinkUse, Options, Platform};
use pyo3::prelude::*;
use serde::Serialize;

use crate::call::PythonCall;
use crate::machine::PythonMachine;
use crate::request::{TrialsRequest, engine};
use crate::runnable::Runnable;
use crate::scene::{read_cadence, read_faults};
use crate::watch::Watch;
use crate::wire::{Plain, raise};
use crate::worker::in_worker_unless_python;

/// A job: a call on each of some groups of its ranks.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct JobRequest {
    /// The call of one group.
    call: Py<PythonCall>,
    /// The ranks of each group, which are numbers in the job.
    groups: Vec<Vec<usize>>,
    /// The cadence of the calls.
    #[pyo3(from_py_with = read_cadence)]
    cadence: Option<Cadence>,
    /// The nodes of the job, if it names any.
    nodes: Option<Vec<usize>>,
}

/// A call of a job, on ranks of the machine.
struct PlacedCall {
    job: usize,
    runnable: Runnable,
    call: Call,
    cadence: Option<Cadence>,
    ranks: Vec<usize>,
}

/// Assigns ranks of the machine to jobs. Each job has a number of ranks, and may name its nodes.
#[pyfunction]
pub fn places(
    machine: &PythonMachine,
    jobs: Vec<(usize, Option<Vec<usize>>)>,
    #[pyo3(from_py_with = place)] place: Place,
    seed_and_trial: (u64, u64),
) -> PyResult<Vec<Vec<usize>>> {
    let demands: Vec<_> = jobs.into_iter().map(|(ranks, nodes)| Demand { ranks, nodes }).collect();
    place.ranks(&demands, &machine.platform(), seed_and_trial).map_err(raise)
}

fn place(name: &Bound<'_, PyAny>) -> PyResult<Place> {
    let name = name.extract::<String>()?;
    Ok(Place::ALL.into_iter().find(|(each, _)| *each == name).expect("a place that Python has checked").1)
}

/// Simulates jobs at once, and each of their calls alone, in one trial.
#[pyfunction(name = "simulate_together")]
pub fn simulate_jobs(
    py: Python<'_>,
    machine: &PythonMachine,
    jobs: Vec<JobRequest>,
    #[pyo3(from_py_with = place)] place: Place,
    #[pyo3(from_py_with = engine)] engine: Engine,
    trials: TrialsRequest,
    #[pyo3(from_py_with = read_faults)] faults: Vec<Fault>,
) -> PyResult<Plain<TogetherResult>> {
    let platform = machine.platform();
    let ranks = |job: &JobRequest| job.groups.iter().map(Vec::len).sum();
    let demands: Vec<_> = jobs.iter().map(|job| Demand { ranks: ranks(job), nodes: job.nodes.clone() }).collect();
    let places = place.ranks(&demands, &platform, (trials.seed, trials.first)).map_err(raise)?;
    let all_ranks = places.concat();
    let platform = platform.for_jobs().of_ranks(&all_ranks).into_owned();
    let nodes = platform.nodes(all_ranks.len()).map_err(raise)?;
    let (mut calls, mut first) = (Vec::new(), 0);
    for (number, (job, places)) in jobs.iter().zip(&places).enumerate() {
        let job_ranks = first..first + places.len();
        first = job_ranks.end;
        for group in &job.groups {
            let ranks: Vec<_> = group.iter().map(|rank| job_ranks.start + rank).collect();
            let call = job.call.get();
            calls.push(PlacedCall {
                job: number,
                runnable: call.runnable(py)?,
                call: call.on_ranks(machine, nodes.select(&ranks)).map_err(raise)?,
                cadence: job.cadence,
                ranks,
            });
        }
    }
    let is_python = calls.iter().any(|call| matches!(call.runnable, Runnable::Python(_)));
    in_worker_unless_python(py, is_python, move || {
        let platform = platform.with_faults(&faults).map_err(raise)?;
        simulate(&calls, demands.len(), &platform, engine, trials)
    })
    .map(Plain)
}

fn simulate(
    calls: &[PlacedCall],
    jobs: usize,
    platform: &Platform,
    engine: Engine,
    trials: TrialsRequest,
) -> PyResult<TogetherResult> {
    let watch = Watch::default();
    let are_listed = calls.iter().all(|call| call.runnable.entry().is_some());
    let options =
        Options { engine, winners_are_alike: are_listed, is_interrupted: &|| watch.says_stop(), ..Options::default() };
    let parts = calls.iter().map(|PlacedCall { runnable, call, cadence, ranks, .. }| Part {
        program: runnable.program(),
        call: call.clone(),
        cadence: *cadence,
        ranks: ranks.clone(),
    });
    let parts: Vec<_> = parts.collect();
    let together = trials.trials().and_then(|trials| simulate_together(&parts, platform, trials, options));
    calls.iter().try_for_each(|call| call.runnable.check())?;
    let together = together.map_err(|error| watch.why(raise(error)))?;
    Ok(TogetherResult::new(&together, calls, jobs, platform))
}

/// `hocket.Together` in one trial.
#[derive(Serialize)]
pub struct TogetherResult {
    engine: &'static str,
    messages: u64,
    message_bytes: u64,
    /// When the last rank of each job ends.
    times_s: Vec<f64>,
    /// The same for its slowest call by itself.
    alone_s: Vec<f64>,
    /// The links on which calls meet; none where messages do not share links.
    shared_links: Option<Vec<SharedLink>>,
}

/// `hocket.SharedLink`.
#[derive(Serialize)]
struct SharedLink {
    link: usize,
    name: String,
    job_bytes: Vec<f64>,
    busy_s: f64,
    waiting_s: f64,
}

impl TogetherResult {
    fn new(together: &Together, calls: &[PlacedCall], jobs: usize, platform: &Platform) -> Self {
        let slowest = |times_s: &mut dyn Iterator<Item = f64>| {
            let mut slowest_s = vec![0.0; jobs];
            for (call, time_s) in calls.iter().zip(times_s) {
                slowest_s[call.job] = time_s.max(slowest_s[call.job]);
            }
            slowest_s
        };
        let shared_link = |fabric: &Fabric, link: usize, link_use: &LinkUse| {
            let bytes = || together.isolated_calls.iter().map(|call| call.links_bytes[link]);
            let sharing_calls = bytes().filter(|bytes| *bytes > 0.0).count();
            let mut job_bytes = vec![0.0; jobs];
            calls.iter().zip(bytes()).for_each(|(call, bytes)| job_bytes[call.job] += bytes);
            let LinkUse { busy_s, waiting_s, .. } = *link_use;
            let name = fabric.topology.link_name(link);
            (sharing_calls > 1).then_some(SharedLink { link, name, job_bytes, busy_s, waiting_s })
        };
        Self {
            engine: together.outcome.engine,
            messages: together.outcome.messages,
            message_bytes: together.outcome.message_bytes,
            times_s: slowest(&mut together.times_s.iter().copied()),
            alone_s: slowest(&mut together.isolated_calls.iter().map(|call| call.time_s)),
            shared_links: platform.network.fabric().map(|fabric| {
                let links = together.outcome.links.iter().enumerate();
                links.filter_map(|(link, link_use)| shared_link(fabric, link, link_use)).collect()
            }),
        }
    }
}

//! Verification: requests and verdicts.

use std::collections::BTreeMap;

use hocket::cases::{self, Wanted};
use hocket_algorithms::find;
use hocket_core::{Call, Collective};
use hocket_verify::{Counterexample, Limits};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::aside::aside_unless_python;
use crate::request;
use crate::runnable::{self, Runnable};
use crate::schedule::PythonSchedule;
use crate::watch::Watch;
use crate::wire::{Error, raise, read, write};

/// What to verify.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifyRequest {
    collective: String,
    algorithm: String,
    ranks: usize,
    /// For each parameter, the values to try.
    parameters: BTreeMap<String, Vec<u64>>,
    count: Option<usize>,
    root: Option<usize>,
    element_bytes: usize,
}

impl VerifyRequest {
    fn collective(&self) -> PyResult<Collective> {
        request::collective(&self.collective).map_err(raise)
    }

    /// The calls to try.
    fn calls(&self) -> PyResult<impl Iterator<Item = Call> + use<>> {
        let (collective, ranks) = (self.collective()?, self.ranks);
        if ranks == 0 || ranks > 1 << 16 {
            return Err(Error::new_err(format!("ranks: got {ranks}, expected 1 to 65536")));
        }
        let wanted = Wanted { count: self.count, root: self.root, element_bytes: Some(self.element_bytes) };
        wanted.check(collective, ranks).map_err(raise)?;
        let values = self.parameters.clone().into_iter().map(|(name, values)| (runnable::interned(&name), values));
        Ok(cases::combinations(values).into_iter().enumerate().flat_map(move |(number, parameters)| {
            let calls = cases::calls_to_verify(collective, ranks, wanted);
            let calls = calls.filter(move |call| number == 0 || wanted.takes_other_values(call));
            calls.map(move |call| Call { parameters: parameters.clone(), ..call })
        }))
    }
}

fn call_json(call: &Call) -> Value {
    let counts: Vec<_> = (0..call.ranks).map(|i| call.count(i)).collect();
    let count = if counts.iter().all(|count| *count == counts[0]) { json!(counts[0]) } else { json!(counts) };
    let destinations = |rank| call.neighbors().of(rank).to.iter().map(|edge| edge.rank).collect::<Vec<_>>();
    let neighbors = call.collective.has_neighbors().then(|| (0..call.ranks).map(destinations).collect::<Vec<_>>());
    json!({
        "count": count,
        "neighbors": neighbors,
        "root": call.root,
        "element_bytes": call.element_bytes,
        "in_place": call.in_place,
        "commutative": call.commutative,
        "parameters": call.parameters.iter().copied().collect::<BTreeMap<_, _>>(),
    })
}

/// Verifies an algorithm at one number of ranks. For an algorithm written in Python, `refuses` is the precondition: it
/// takes a call as keywords and returns a reason or None. `told` turns an exception of the program into one line.
#[pyfunction]
#[pyo3(signature = (request, program = None, refuses = None, told = None))]
pub fn verify(
    py: Python<'_>,
    request: &str,
    program: Option<Py<PyAny>>,
    refuses: Option<Py<PyAny>>,
    told: Option<Py<PyAny>>,
) -> PyResult<String> {
    let request: VerifyRequest = read(request)?;
    let calls = request.calls()?;
    let runnable = Runnable::to_verify(request.collective()?, &request.algorithm, program, told)?;
    let is_python = runnable.entry().is_none();
    let work = move || runnable.verify(calls, refuses.as_ref());
    let report = aside_unless_python(py, is_python, work)?;
    let counterexample = report.counterexample.map(|(call, found)| {
        let (collective, algorithm) = (&request.collective, &request.algorithm);
        let place =
            json!({"collective": collective, "algorithm": algorithm, "ranks": request.ranks, "call": call_json(&call)});
        with_finding(place, &found)
    });
    write(&json!({
        "checked": report.checked,
        "refused": report.refused,
        "exploration": (report.checked > 0).then(|| report.exploration.name()),
        "orders": report.orders,
        "overtaking": report.overtaking,
        "counterexamples": counterexample.into_iter().collect::<Vec<_>>(),
    }))
}

/// An estimate of the seconds for verifying an algorithm of the catalogue at one number of ranks.
#[pyfunction]
pub fn verification_effort_s(py: Python<'_>, request: &str) -> PyResult<f64> {
    let request: VerifyRequest = read(request)?;
    let calls = request.calls()?;
    let entry = find(request.collective()?, &request.algorithm).map_err(raise)?;
    py.detach(|| hocket::verification_effort_s(entry, &calls.collect::<Vec<_>>())).map_err(raise)
}

/// Verifies the messages of a schedule; `name` is its name in the verdict.
#[pyfunction]
pub fn verify_schedule(py: Python<'_>, name: &str, schedule: &Bound<'_, PythonSchedule>) -> PyResult<String> {
    let schedule = schedule.get().content();
    let verdict = py.detach(|| {
        let watch = Watch::default();
        let verdict = hocket::verify_schedule(&schedule, Limits::default(), &|| watch.says_stop());
        verdict.map_err(|error| watch.why(raise(error)))
    })?;
    let counterexample = verdict.counterexample.map(|found| {
        let (algorithm, ranks) = (name, schedule.ranks());
        with_finding(json!({"collective": "schedule", "algorithm": algorithm, "ranks": ranks, "call": null}), &found)
    });
    write(&json!({
        "checked": 1,
        "refused": null,
        "exploration": verdict.exploration.name(),
        "orders": verdict.orders,
        "overtaking": 0,
        "counterexamples": counterexample.into_iter().collect::<Vec<_>>(),
    }))
}

/// A counterexample: its place and its finding.
fn with_finding(place: Value, found: &Counterexample) -> Value {
    let mut entry = place;
    let finding = json!({
        "kind": found.kind.name(),
        "protocol": if found.is_rendezvous { "rendezvous" } else { "eager" },
        "at_ranks": found.ranks,
        "step": found.step,
        "span": found.span,
        "expected": found.expected,
        "got": found.got,
        "details": found.details,
        "message": found.to_string(),
    });
    if let (Value::Object(entry), Value::Object(finding)) = (&mut entry, finding) {
        entry.extend(finding);
    }
    entry
}

//! Verification: requests and verdicts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hocket::Report;
use hocket::cases::{Restriction, Values};
use hocket::request::collective;
use hocket_algorithms::{Entry, find};
use hocket_core::{Call, Collective, Counts};
use hocket_verify::{Counterexample, Limits};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::PythonCall;
use crate::program::PythonProgram;
use crate::request;
use crate::runnable::Runnable;
use crate::schedule::PythonSchedule;
use crate::watch::Watch;
use crate::wire::{Error, Plain, interned, raise};
use crate::worker::in_worker_unless_python;

/// The subject of a verification: an algorithm, or a schedule by its name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    collective: String,
    algorithm: String,
    ranks: usize,
}

/// What to verify.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    subject: Subject,
    /// For each parameter, values of which all combinations are tried.
    parameters: BTreeMap<String, Vec<Value>>,
    /// For some parameters, a value that is tried in one call only.
    extra: BTreeMap<String, Value>,
    count: Option<usize>,
    root: Option<usize>,
    element_bytes: usize,
    /// Whether to verify one call only.
    is_one: bool,
    /// Seconds until which the verification ends, whether all is checked or not.
    most_s: Option<f64>,
}

impl VerifyRequest {
    fn collective(&self) -> PyResult<Collective> {
        collective(&self.subject.collective).map_err(raise)
    }

    /// The subject for a world that reports exceptions of a Python program as findings, in the words of `explain`.
    fn runnable(&self, program: Option<Py<PyAny>>, explain: Option<Py<PyAny>>) -> PyResult<Runnable> {
        match program {
            None => find(self.collective()?, &self.subject.algorithm).map(Runnable::Entry).map_err(raise),
            Some(function) => Ok(Runnable::Python(PythonProgram::to_verify(function, explain))),
        }
    }

    /// The calls to try.
    fn calls(&self, entry: Option<&Entry>) -> PyResult<impl Iterator<Item = Call> + use<>> {
        let (collective, ranks) = (self.collective()?, self.subject.ranks);
        let element_bytes = Some(self.element_bytes);
        let restriction = Restriction { count: self.count, root: self.root, element_bytes, is_one: self.is_one };
        restriction.check(collective, ranks).map_err(raise)?;
        let number = |name: &str, value: &Value| number(entry, name, value);
        let numbers =
            |name: &str, values: &[Value]| values.iter().map(|value| number(name, value)).collect::<PyResult<Vec<_>>>();
        let combined = self.parameters.iter().map(|(name, values)| Ok((interned(name), numbers(name, values)?)));
        let extra = self.extra.iter().map(|(name, value)| Ok((interned(name), number(name, value)?)));
        let values = Values { combined: combined.collect::<PyResult<_>>()?, extra: extra.collect::<PyResult<_>>()? };
        Ok(restriction.to_verify(collective, ranks, values))
    }
}

/// A value as a number: for the word of a switch, its number.
fn number(entry: Option<&Entry>, name: &str, value: &Value) -> PyResult<u64> {
    let number = match (entry.and_then(|entry| entry.about.parameter(name)), value) {
        (Some(parameter), Value::String(word)) => parameter.number_of(word).ok(),
        _ => value.as_u64(),
    };
    number.ok_or_else(|| Error::new_err(format!("parameter {name}: got {value}, expected a whole number or a word")))
}

/// The number of elements if all blocks have the same; else that of each block, or of each rank's blocks to others.
fn count_json(call: &Call) -> Value {
    let blocks: Vec<Vec<usize>> = match &call.counts {
        Counts::Pairs(_) => {
            let to = |rank| (0..call.ranks).map(move |to| call.block_to(call.input_of(rank), rank, to).len);
            (0..call.ranks).map(|rank| to(rank).collect()).collect()
        }
        Counts::Neighbors(neighbors) => {
            let to = |rank| neighbors.of(rank).to.iter().map(|edge| edge.elements.len());
            (0..call.ranks).map(|rank| to(rank).collect()).collect()
        }
        _ => vec![(0..call.ranks).map(|block| call.count(block)).collect()],
    };
    let mut counts = blocks.iter().flatten();
    let first = counts.next().copied().unwrap_or(0);
    match &blocks[..] {
        _ if counts.all(|count| *count == first) => json!(first),
        [counts] => json!(counts),
        blocks => json!(blocks),
    }
}

fn call_json(call: &Call, entry: Option<&Entry>) -> Value {
    let destinations = |rank| call.neighbors().of(rank).to.iter().map(|edge| edge.rank).collect::<Vec<_>>();
    let neighbors = call.collective.has_neighbors().then(|| (0..call.ranks).map(destinations).collect::<Vec<_>>());
    let parameter = |name: &str| entry?.about.parameter(name);
    let value = |(name, value): &(&'static str, u64)| (*name, request::value_json(parameter(name), *value));
    json!({
        "count": count_json(call),
        "neighbors": neighbors,
        "root": call.root,
        "element_bytes": call.element_bytes,
        "in_place": call.in_place,
        "commutative": call.commutative,
        "parameters": call.parameters.iter().map(value).collect::<BTreeMap<_, _>>(),
    })
}

/// Verifies an algorithm at one number of ranks. For an algorithm written in Python, `refuses` is the precondition: it
/// takes a call as keywords and returns a reason or None; `explain` turns an exception of the program into one line;
/// `second_program` is the program with ranks that share no state.
#[pyfunction]
#[pyo3(signature = (request, program = None, refuses = None, explain = None, second_program = None))]
pub fn verify(
    py: Python<'_>,
    request: Plain<VerifyRequest>,
    program: Option<Py<PyAny>>,
    refuses: Option<Py<PyAny>>,
    explain: Option<Py<PyAny>>,
    second_program: Option<Py<PyAny>>,
) -> PyResult<Plain<Value>> {
    let Plain(request) = request;
    let explain_second = explain.as_ref().map(|explain| explain.clone_ref(py));
    let second_program = second_program.map(|function| PythonProgram::to_verify(function, explain_second));
    let runnable = request.runnable(program, explain)?;
    let entry = runnable.entry();
    let (calls, is_python) = (request.calls(entry)?, entry.is_none());
    let deadline = request.most_s.map(|most_s| Instant::now() + Duration::from_secs_f64(most_s));
    let limits = Limits { deadline, ..runnable.limits(request.count.is_some()) };
    let work = move || runnable.verify(second_program.as_ref(), calls, refuses.as_ref(), limits);
    let report = in_worker_unless_python(py, is_python, work)?;
    Ok(finding(&request.subject, &report, |call| call_json(call, entry)))
}

/// An estimate of the seconds for verifying an algorithm at one number of ranks. One written in Python, as for `verify`,
/// is run on a few calls.
#[pyfunction]
#[pyo3(signature = (request, program = None, refuses = None, explain = None))]
pub fn verification_effort_s(
    py: Python<'_>,
    request: Plain<VerifyRequest>,
    program: Option<Py<PyAny>>,
    refuses: Option<Py<PyAny>>,
    explain: Option<Py<PyAny>>,
) -> PyResult<f64> {
    let Plain(request) = request;
    let runnable = request.runnable(program, explain)?;
    let (calls, is_python) = (request.calls(runnable.entry())?, runnable.entry().is_none());
    let limits = runnable.limits(request.count.is_some());
    in_worker_unless_python(py, is_python, move || runnable.verification_effort_s(calls, refuses.as_ref(), limits))
}

/// Verifies the messages of a schedule; `name` is its name in the verdict. If `sends_wait`, sends are also rendezvous.
/// With a call, whose result is known, verifies the data with eager sends instead.
#[pyfunction]
#[pyo3(signature = (name, schedule, sends_wait, call = None))]
pub fn verify_schedule(
    py: Python<'_>,
    name: &str,
    schedule: &Bound<'_, PythonSchedule>,
    sends_wait: bool,
    call: Option<&Bound<'_, PythonCall>>,
) -> PyResult<Plain<Value>> {
    let schedule = schedule.get().content();
    let ranks = schedule.ranks();
    let call = call.map(|call| call.get().content());
    let report = py.detach(|| {
        let watch = Watch::default();
        let (limits, is_interrupted) = (Limits::default(), || watch.says_stop());
        let report = match &call {
            Some(call) => hocket::verify_schedule_as(&schedule, call, limits, &is_interrupted),
            None => hocket::verify_schedule(&schedule, sends_wait, limits, &is_interrupted),
        };
        report.map_err(|error| watch.why(raise(error)))
    })?;
    let subject = Subject { collective: "schedule".to_owned(), algorithm: name.to_owned(), ranks };
    Ok(finding(&subject, &report, |_| Value::Null))
}

/// `hocket.Finding`; `call` is the form of a call that goes wrong.
fn finding(subject: &Subject, report: &Report, call: impl Fn(&Call) -> Value) -> Plain<Value> {
    let Subject { collective, algorithm, ranks } = subject;
    let counterexample = |(wrong, counterexample): &(Call, Counterexample)| {
        json!({
            "collective": collective,
            "algorithm": algorithm,
            "ranks": ranks,
            "call": call(wrong),
            "kind": counterexample.kind.name(),
            "protocol": if counterexample.is_rendezvous { "rendezvous" } else { "eager" },
            "at_ranks": counterexample.ranks,
            "step": counterexample.step,
            "span": counterexample.span,
            "expected": counterexample.expected,
            "got": counterexample.got,
            "details": counterexample.details,
            "message": counterexample.to_string(),
        })
    };
    Plain(json!({
        "collective": collective,
        "algorithm": algorithm,
        "ranks": ranks,
        "checked": report.calls,
        "refused": report.refused,
        "exploration": (report.calls > 0).then(|| report.exploration.name()),
        "orders": report.orders,
        "overtaking": report.overtaking,
        "fewer_elements": report.fewer_elements,
        "calls_left": report.calls_left,
        "counterexamples": report.counterexample.iter().map(counterexample).collect::<Vec<_>>(),
    }))
}

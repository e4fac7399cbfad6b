//! The interface between Rust and Python: handles of machines, calls and schedules go in, results come out as Python's
//! own objects.

mod call;
mod machine;
mod multicast;
mod number;
mod program;
mod question;
mod replay;
mod request;
mod result;
mod runnable;
mod scene;
mod schedule;
mod simulation;
mod together;
mod topology;
mod verification;
mod watch;
mod wire;
mod worker;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use call::PythonCall;
use hocket::pacing::{self, Step};
use hocket::request::CallRequest;
use hocket_algorithms::automatic::Links;
use hocket_algorithms::automatic::segments::{Pipeline, TRINARYX3};
use hocket_algorithms::rules::{OF_LIBRARIES, Rule, Rules};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Collective, Domain, Stencil, Unit, budget, names, units};
use hocket_memory::Operator;
use hocket_simulate::Options;
use machine::PythonMachine;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use request::ResultValues;
use result::StepTime;
use serde_json::{Value, json};
use wire::{Error, Plain, raise};
use worker::{in_worker, in_worker_unless_python};

fn describe(entry: &Entry) -> Value {
    let parameter = |p: &hocket_core::Parameter| {
        let unit = match p.unit {
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Choice(_) => "choice",
        };
        json!({
            "name": p.name,
            "unit": unit,
            "choices": p.words(),
            "default": request::value_json(Some(p), p.default),
            "least": p.least,
            "tries": p.tries.iter().map(|value| request::value_json(Some(p), *value)).collect::<Vec<_>>(),
            "counts": match p.domain {
                Domain::Ranks => &[2, 3, 4, 8, 16],
                Domain::Among(counts) => counts,
                Domain::Size | Domain::Word | Domain::Given => &[],
            },
            "meaning": p.meaning,
        })
    };
    let gap = entry.about.steps.map(|_| {
        let meaning =
            "idle packet times between two packets: a number, auto for G_i of each step, or auto-2, auto+1 ..";
        json!({"name": "gap", "unit": "gap", "default": 0, "least": 0, "tries": [], "counts": [], "meaning": meaning})
    });
    json!({
        "collective": entry.collective.name(),
        "name": entry.name,
        "summary": entry.summary(),
        "header": entry.header(),
        "listing": entry.listing(),
        "cost": entry.about.cost,
        "messages": entry.about.messages,
        "order": entry.about.order,
        "topology": entry.about.topology,
        "parameters": entry.about.parameters.iter().map(parameter).chain(gap).collect::<Vec<_>>(),
    })
}

/// Every algorithm of the catalogue.
#[pyfunction]
fn catalogue() -> Plain<Vec<Value>> {
    Plain(CATALOGUE.iter().map(describe).collect())
}

/// A size such as "64KiB", in bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    units::parse_bytes(text).map_err(raise)
}

/// The hint for an unknown name, such as similar known names.
#[pyfunction]
fn hint(name: &str, candidates: Vec<String>) -> String {
    names::hint(name, candidates.iter().map(String::as_str))
}

/// The line of each key of a TOML file.
#[pyfunction]
fn lines_of_keys(text: &str) -> BTreeMap<String, usize> {
    hocket_machine::lines_of_keys(text)
}

/// A time such as "1.27 us", in seconds.
#[pyfunction]
fn parse_time(text: &str) -> PyResult<f64> {
    units::parse_time_s(text).map_err(raise)
}

/// A time such as "30m", in seconds.
#[pyfunction]
fn parse_duration(text: &str) -> PyResult<f64> {
    units::parse_duration_s(text).map_err(raise)
}

/// A rate such as "100 Gbit/s", in bytes per second.
#[pyfunction]
fn parse_bytes_per_s(text: &str) -> PyResult<f64> {
    units::parse_bytes_per_s(text).map_err(raise)
}

/// Refuses work that needs more memory than there is.
#[pyfunction]
fn check_memory(what: &str, more_bytes: f64) -> PyResult<()> {
    budget::check(what, more_bytes).map_err(raise)
}

/// A message as one line, in which long texts are cut.
#[pyfunction]
fn one_line(message: &str) -> String {
    hocket_core::one_line(message)
}

/// The properties of all collectives, in their order.
#[pyfunction]
fn collectives() -> Plain<Vec<Value>> {
    let facts = |collective: Collective| {
        json!({
            "name": collective.name(),
            "mpi_names": collective.mpi_names(),
            "reduces": collective.reduces(),
            "has_root": collective.has_root(),
            "has_neighbors": collective.has_neighbors(),
            "has_size": collective.has_size(),
            "size_is_known": collective.size_is_known(),
            "size_is_one_block": collective.size_is_one_block(),
            "is_from_root": collective.is_from_root(),
            "sends_blocks": collective.sends_blocks(),
            "with_equal_blocks": collective.with_equal_blocks().name(),
        })
    };
    Plain(Collective::ALL.map(facts).to_vec())
}

/// Checks rules that choose algorithms; `file` names them in errors.
#[pyfunction]
fn check_rules(text: &str, file: &str) -> PyResult<()> {
    Rules::parse(text, file).map(drop).map_err(raise)
}

/// The rules of a text; `file` names it in errors. Ranges end before their second value, null if open.
#[pyfunction]
fn rules(text: &str, file: &str) -> PyResult<Plain<Value>> {
    let range = |range: &Range<u64>| (range.start, Some(range.end).filter(|end| *end < u64::MAX));
    let rule = |rule: &Rule| {
        let unit = |name: &str| Some(rule.entry()?.about.parameter(name)?.unit);
        let value = |(name, text): &(String, String)| {
            let number = match unit(name) {
                Some(Unit::Bytes) => units::parse_bytes(text).ok(),
                _ => text.parse().ok(),
            };
            (name.clone(), number.map_or_else(|| json!(text), |number: u64| json!(number)))
        };
        json!({
            "line": rule.line,
            "collective": rule.collective.name(),
            "is_nonblocking": rule.is_nonblocking,
            "algorithm": rule.entry().map(|entry| entry.name),
            "parameters": rule.value_texts.iter().map(value).collect::<Vec<_>>(),
            "ranks": range(&rule.condition.ranks),
            "power_of_two": rule.condition.needs_power_of_two,
            "elements": rule.condition.elements.map(|elements| (elements.are_fewer, elements.than_power_of_two)),
            "size": rule.condition.size_bytes.as_ref().map(range),
            "total": rule.condition.total_bytes.as_ref().map(range),
        })
    };
    let rules = Rules::parse(text, file).map_err(raise)?;
    let all: Vec<_> = rules.iter().cloned().chain(rules.of_other_forms()).collect();
    let all: Vec<_> = all.iter().map(rule).collect();
    Ok(Plain(json!({ "order_is_fixed": rules.order_is_fixed(), "rules": all })))
}

/// The dimensions of a stencil (see `Stencil::parse`; default: a torus), and its number of neighbours per rank.
#[pyfunction]
fn neighbors(text: Option<&str>, ranks: usize) -> PyResult<(Vec<usize>, usize)> {
    let stencil = Stencil::parse(text.unwrap_or("torus"), ranks).map_err(raise)?;
    Ok((stencil.dims, stencil.offsets.len()))
}

/// The choices of MPI libraries as rules: names and texts.
#[pyfunction]
fn rules_of_libraries() -> Vec<(&'static str, &'static str)> {
    OF_LIBRARIES.to_vec()
}

/// The algorithm that rules choose for a call, and the values of its parameters; None if they leave the call to MPI.
#[pyfunction]
fn choose(rules: &str, file: &str, call: &PythonCall) -> PyResult<Option<(&'static str, Plain<ResultValues>)>> {
    let rules = Rules::parse(rules, file).map_err(raise)?;
    let Ok((entry, call)) = rules.decide(&call.content(), false) else { return Ok(None) };
    Ok(Some((entry.name, Plain(ResultValues::of(entry, &call)))))
}

/// For each step of an algorithm of the catalogue, its M_i and its gap.
#[pyfunction]
fn steps(py: Python<'_>, machine: &PythonMachine, call: &PythonCall) -> PyResult<Plain<Vec<Step>>> {
    let (platform, entry, gap) = (machine.platform(), call.entry()?, call.gap().map_err(raise)?);
    let call = call.content();
    let (_, steps) = in_worker(py, move || pacing::pace(entry, &call, &platform, gap).map_err(raise))?;
    Ok(Plain(steps))
}

/// The lower bounds of calls on a machine: latency, bandwidth if known, and computation, in seconds; or why there is none.
#[pyfunction]
fn bounds(py: Python<'_>, machine: &PythonMachine, calls: Vec<Plain<CallRequest>>) -> PyResult<Plain<Vec<Value>>> {
    let platform = machine.platform();
    in_worker(py, move || {
        let bound = |Plain(request): Plain<CallRequest>| match request
            .call()
            .and_then(|call| hocket::bound(&call, &platform))
        {
            Ok(bound) => json!([bound.latency_s, bound.bandwidth_s, bound.computation_s]),
            Err(error) => json!(error.to_string()),
        };
        Ok(Plain(calls.into_iter().map(bound).collect()))
    })
}

/// Simulates one step of an algorithm of the catalogue by itself: its M_i, its gap and its time.
#[pyfunction]
fn simulate_step(py: Python<'_>, machine: &PythonMachine, call: &PythonCall, step: usize) -> PyResult<Plain<StepTime>> {
    let (platform, entry, gap) = (machine.platform(), call.entry()?, call.gap().map_err(raise)?);
    let call = call.content();
    let (step, outcome) = in_worker(py, move || {
        pacing::simulate_step(entry, &call, &platform, gap, step, Options::default()).map_err(raise)
    })?;
    Ok(Plain(StepTime { step, time_s: outcome.time_s(), message_bytes: outcome.message_bytes }))
}

/// The bytes per segment with which Trinaryx3 takes the least time, see [`Pipeline::best_segment_bytes`].
#[pyfunction]
fn best_segment_bytes(
    collective: &str,
    size_bytes: f64,
    height_links: f64,
    latency_s: f64,
    link_bytes_per_s: f64,
    reduce_bytes_per_s: f64,
) -> PyResult<f64> {
    let links = Links { latency_s, link_bytes_per_s, reduce_bytes_per_s };
    let collective = hocket::request::collective(collective).map_err(raise)?;
    Ok(Pipeline { size_bytes, height_links, trees: TRINARYX3, links }.best_segment_bytes(collective))
}

/// Runs a call on real data, one byte string per rank.
#[pyfunction]
fn run(
    py: Python<'_>,
    call: &PythonCall,
    data_type: &str,
    operator: &str,
    inputs: Vec<Vec<u8>>,
) -> PyResult<Vec<Vec<u8>>> {
    let operator = hocket_memory::operator(data_type, operator).map_err(raise)?;
    let call = call.with_elements(py, operator.element_bytes, operator.commutative)?;
    let (runnable, call) = (call.runnable(py)?, call.content());
    let is_python = runnable.entry().is_none();
    in_worker_unless_python(py, is_python, move || runnable.run(&call, &operator, &inputs))
}

/// Runs a call on real data with a user's operator: a function of two byte strings, the operand of lower ranks first.
#[pyfunction]
fn run_with(py: Python<'_>, call: &PythonCall, operator: Py<PyAny>, inputs: Vec<Vec<u8>>) -> PyResult<Vec<Vec<u8>>> {
    let (runnable, call) = (call.runnable(py)?, call.content());
    let failure = Arc::new(Mutex::new(None));
    let combine = python_operator(operator, failure.clone());
    let operator = Operator::new(call.element_bytes, call.commutative, combine);
    let results = py.detach(move || runnable.run(&call, &operator, &inputs));
    let exception = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    exception.map_or(results, Err)
}

fn python_operator(
    operator: Py<PyAny>,
    failure: Arc<Mutex<Option<PyErr>>>,
) -> impl Fn(&[u8], &[u8], &mut [u8]) + Send + Sync {
    move |left, right, out| {
        let combined = Python::attach(|py| -> PyResult<Vec<u8>> {
            let operands = (PyBytes::new(py, left), PyBytes::new(py, right));
            let combined: Vec<u8> = operator.call1(py, operands)?.extract(py)?;
            if combined.len() == out.len() {
                return Ok(combined);
            }
            let (got, expected) = (combined.len(), out.len());
            Err(Error::new_err(format!("operator: got a result of {got} bytes, expected {expected}")))
        });
        match combined {
            Ok(combined) => out.copy_from_slice(&combined),
            Err(error) => drop(failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error)),
        }
    }
}

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    use crate::wire::Error;

    #[pymodule_export]
    use super::{
        best_segment_bytes, bounds, catalogue, check_memory, check_rules, choose, collectives, hint, lines_of_keys,
        neighbors, one_line, parse_bytes, parse_bytes_per_s, parse_duration, parse_time, rules, rules_of_libraries,
        run, run_with, simulate_step, steps,
    };
    #[pymodule_export]
    use crate::call::{PythonCall, complete};
    #[pymodule_export]
    use crate::machine::{PythonMachine, nodes_of_ranks, shape_of_job, skeleton_quantities};
    #[pymodule_export]
    use crate::multicast::simulate_multicast;
    #[pymodule_export]
    use crate::question::Question;
    #[pymodule_export]
    use crate::replay::{replay, replay_rules};
    #[pymodule_export]
    use crate::scene::PythonScene;
    #[pymodule_export]
    use crate::schedule::{PythonSchedule, record, recording_effort_s};
    #[pymodule_export]
    use crate::simulation::Request;
    #[pymodule_export]
    use crate::together::{places, simulate_jobs};
    #[pymodule_export]
    use crate::verification::{verification_effort_s, verify, verify_schedule};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("Error", module.py().get_type::<Error>())
    }

    /// The version of Hocket.
    #[pymodule_export]
    const VERSION: &str = crate::wire::VERSION;
}

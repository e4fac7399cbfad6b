//! The one place where Rust meets Python: JSON requests in, JSON results out.

use std::cell::Cell;

use hocket::request::{CallRequest, MachineRequest, SimulateRequest, SimulateResult};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Unit, units};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

pyo3::create_exception!(
    hocket._native,
    Error,
    PyValueError,
    "Inability to do what was asked, in one line: what, where, and what was expected."
);

fn raise(error: hocket_core::Error) -> PyErr {
    Error::new_err(error.to_string())
}

fn read<'a, T: serde::Deserialize<'a>>(request: &'a str) -> PyResult<T> {
    serde_json::from_str(request).map_err(|e| Error::new_err(format!("request: {e}")))
}

fn write(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| Error::new_err(format!("result: {e}")))
}

/// Whether the user pressed Ctrl-C; the exception is kept for later.
struct Interrupt(Cell<Option<PyErr>>);

impl Interrupt {
    fn new() -> Self {
        Self(Cell::new(None))
    }

    fn is_pending(&self) -> bool {
        let signal = Python::attach(|py| py.check_signals().err());
        let is_pending = signal.is_some();
        if is_pending {
            self.0.set(signal);
        }
        is_pending
    }

    fn raise_or(self, error: hocket_core::Error) -> PyErr {
        self.0.take().unwrap_or_else(|| raise(error))
    }
}

fn describe(entry: &Entry) -> Value {
    let parameter = |p: &hocket_core::Parameter| {
        let unit = match p.unit {
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        };
        json!({"name": p.name, "unit": unit, "default": p.default, "least": p.least, "meaning": p.meaning})
    };
    json!({
        "collective": entry.collective.name(),
        "name": entry.name,
        "summary": entry.summary(),
        "header": entry.header(),
        "listing": entry.listing(),
        "cost": entry.about.cost,
        "messages": entry.about.messages,
        "parameters": entry.about.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

/// Every algorithm of the catalogue.
#[pyfunction]
fn catalogue() -> PyResult<String> {
    write(&CATALOGUE.iter().map(describe).collect::<Vec<_>>())
}

/// A size such as "64KiB", in bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    units::parse_bytes(text).map_err(raise)
}

/// A time such as "1.27 us", in seconds.
#[pyfunction]
fn parse_time(text: &str) -> PyResult<f64> {
    units::parse_time_s(text).map_err(raise)
}

/// Checks the text of a machine file.
#[pyfunction]
fn machine(text: String, file: String) -> PyResult<String> {
    let platform = MachineRequest { text, file }.platform().map_err(raise)?;
    write(&json!({"name": platform.name, "model": platform.network.name()}))
}

/// Simulates an algorithm of the catalogue.
#[pyfunction]
fn simulate(py: Python<'_>, request: &str) -> PyResult<String> {
    let request: SimulateRequest<CallRequest> = read(request)?;
    let (entry, call) = request.call.resolve().map_err(raise)?;
    let platform = request.machine.platform().map_err(raise)?;
    let predicted = hocket::predict(entry, &call, &platform).map_err(raise)?;
    let interrupt = py.detach(|| {
        let interrupt = Interrupt::new();
        let options = hocket_simulate::Options {
            engine: request.engine.into(),
            trace: request.trace,
            is_interrupted: &|| interrupt.is_pending(),
        };
        match hocket::simulate(entry, &call, &platform, options) {
            Ok(outcome) => Ok(SimulateResult::new(&outcome, &platform, predicted)),
            Err(error) => Err(interrupt.raise_or(error)),
        }
    })?;
    let mut result = serde_json::to_value(&interrupt).expect("plain data");
    result["collective"] = json!(request.call.collective);
    result["algorithm"] = json!(request.call.algorithm);
    result["size_bytes"] = json!(request.call.size_bytes);
    write(&result)
}

/// Runs an algorithm of the catalogue on real data.
#[pyfunction]
fn run(py: Python<'_>, request: &str, data_type: &str, operator: &str, inputs: Vec<Vec<u8>>) -> PyResult<Vec<Vec<u8>>> {
    let operator = hocket_memory::operator(data_type, operator).map_err(raise)?;
    let mut request: CallRequest = read(request)?;
    request.element_bytes = operator.element_bytes;
    request.commutative = operator.commutative;
    let (entry, call) = request.resolve().map_err(raise)?;
    py.detach(|| hocket::run(entry, &call, Some(&operator), &inputs)).map_err(raise)
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Error, catalogue, machine, parse_bytes, parse_time, run, simulate};
}

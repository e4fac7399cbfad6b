//! Replays of traces.

use std::cell::Cell;

use hocket::replay::{Columns, DEFAULT_RULES, ReplayRequest};
use pyo3::prelude::*;

use crate::wire::{raise, read, write};

/// Replays a trace: of each rank four columns of numbers, see [`Columns`].
#[pyfunction]
pub fn replay(py: Python<'_>, request: &str, columns: Vec<[Vec<u8>; 4]>) -> PyResult<String> {
    let request: ReplayRequest = read(request)?;
    let result = py.detach(move || {
        let columns: Vec<_> = columns
            .iter()
            .map(|[compute_s, functions, lines, words]| Columns { compute_s, functions, lines, words })
            .collect();
        let signal = Cell::new(None);
        let is_interrupted = || {
            let raised = Python::attach(|py| py.check_signals().err());
            let is_raised = raised.is_some();
            signal.set(raised);
            is_raised
        };
        let found = request.replay(&columns, &is_interrupted);
        found.map_err(|error| signal.take().unwrap_or_else(|| raise(error)))
    })?;
    write(&result)
}

/// The rules of calls that no rule of the user's decides.
#[pyfunction]
pub fn replay_rules() -> &'static str {
    DEFAULT_RULES
}

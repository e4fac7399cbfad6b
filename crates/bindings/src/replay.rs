//! Replays of traces.

use hocket::replay::{Columns, DEFAULT_RULES, ReplayRequest};
use pyo3::prelude::*;

use crate::watch::Watch;
use crate::wire::{read, write};

/// Replays a trace: of each rank four columns of numbers, see [`Columns`].
#[pyfunction]
pub fn replay(py: Python<'_>, request: &str, columns: Vec<[Vec<u8>; 4]>) -> PyResult<String> {
    let request: ReplayRequest = read(request)?;
    let result = py.detach(move || {
        let columns: Vec<_> = columns
            .iter()
            .map(|[compute_s, functions, lines, words]| Columns { compute_s, functions, lines, words })
            .collect();
        let watch = Watch::default();
        request.replay(&columns, &|| watch.says_stop()).map_err(|error| watch.why(error))
    })?;
    write(&result)
}

/// The rules of calls that no rule of the user's decides.
#[pyfunction]
pub fn replay_rules() -> &'static str {
    DEFAULT_RULES
}

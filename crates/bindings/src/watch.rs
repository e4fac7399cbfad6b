//! Checks of long work: has the user pressed Ctrl-C, is there still memory?

use std::cell::Cell;
use std::time::{Duration, Instant};

use hocket_core::budget;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::wire::raise;
use crate::worker::is_left;

/// Time between two checks of memory, each of which takes about 0.1 ms.
const LOOK: Duration = Duration::from_millis(10);

/// Remembers why work must stop.
#[derive(Default)]
pub struct Watch {
    why: Cell<Option<PyErr>>,
    latest_look: Cell<Option<Instant>>,
    latest_call: Cell<Option<Instant>>,
}

impl Watch {
    /// Whether the work must stop; stays true from then on.
    pub fn says_stop(&self) -> bool {
        let why = self
            .why
            .take()
            .or_else(|| is_left().then(|| PyKeyboardInterrupt::new_err(())))
            .or_else(|| Python::attach(|py| py.check_signals().err()))
            .or_else(|| self.look_at_memory().err().map(raise));
        let is_some = why.is_some();
        self.why.set(why);
        is_some
    }

    /// Calls back into Python, at most once per [`LOOK`]; an exception stops the work.
    pub fn call(&self, callback: impl FnOnce(Python<'_>) -> PyResult<()>) {
        if !is_left() && self.is_time(&self.latest_call) {
            let exception = Python::attach(callback).err();
            self.why.set(self.why.take().or(exception));
        }
    }

    fn is_time(&self, latest: &Cell<Option<Instant>>) -> bool {
        let is_time = latest.get().is_none_or(|latest| latest.elapsed() >= LOOK);
        if is_time {
            latest.set(Some(Instant::now()));
        }
        is_time
    }

    fn look_at_memory(&self) -> hocket_core::Result<()> {
        if self.is_time(&self.latest_look) { budget::look() } else { Ok(()) }
    }

    /// The reason seen here for stopping, or else `error`.
    pub fn why(self, error: PyErr) -> PyErr {
        self.why.into_inner().unwrap_or(error)
    }
}

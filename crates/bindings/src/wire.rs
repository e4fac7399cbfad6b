//! JSON text and errors across the language boundary.

use std::sync::{Mutex, PoisonError};

use hocket_core::budget;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    hocket,
    Error,
    PyValueError,
    "Inability to do what was asked, in one line: what, where, and what was expected."
);

/// The version in results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn raise(error: hocket_core::Error) -> PyErr {
    Error::new_err(error.to_string())
}

/// The least memory of an operation on its way to Python, as text and as objects.
const OPERATION_BYTES: f64 = 1300.0;

/// Refuses to pass this many operations to Python if there is no memory for them.
pub fn check_operations(operations: f64) -> PyResult<()> {
    budget::check(format_args!("{operations:.0} operations"), operations * OPERATION_BYTES).map_err(raise)
}

pub fn read<'a, T: serde::Deserialize<'a>>(request: &'a str) -> PyResult<T> {
    serde_json::from_str(request).map_err(|e| Error::new_err(format!("request: {}", hocket_record::in_words(&e))))
}

pub fn write(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| Error::new_err(format!("result: {e}")))
}

/// The same text with static lifetime; each name is kept once.
pub fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = names.iter().find(|other| **other == name) {
        return name;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.push(name);
    name
}

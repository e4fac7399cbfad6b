//! Values and errors across the language boundary.

use std::sync::{Mutex, PoisonError};

use hocket_core::budget;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pythonize::{PythonizeTypes, PythonizeUnnamedMappingAdapter, depythonize, pythonize_custom};
use serde::Serialize;
use serde::de::DeserializeOwned;

pyo3::import_exception!(hocket.base.error, Error);

/// The version in results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A value that Python has as its own dictionaries, tuples, texts and numbers.
pub struct Plain<T>(pub T);

/// Lists become tuples, as results do not change.
struct Unchanging;

impl PythonizeTypes for Unchanging {
    type Map = PyDict;
    type NamedMap = PythonizeUnnamedMappingAdapter<PyDict>;
    type List = PyTuple;
}

impl<'py, T: Serialize> IntoPyObject<'py> for Plain<T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(pythonize_custom::<Unchanging, _>(py, &self.0)?)
    }
}

impl<'py, T: DeserializeOwned> FromPyObject<'_, 'py> for Plain<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        depythonize(&object).map(Self).map_err(|error| Error::new_err(format!("request: {error}")))
    }
}

pub fn raise(error: hocket_core::Error) -> PyErr {
    Error::new_err(error.to_string())
}

/// The least memory of an operation on its way to Python.
pub const OPERATION_BYTES: f64 = 1300.0;

/// Refuses this many operations if there is no memory for them.
pub fn check_operations(operations: f64, bytes_of_each: f64) -> PyResult<()> {
    budget::check(format_args!("{operations:.0} operations"), operations * bytes_of_each).map_err(raise)
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

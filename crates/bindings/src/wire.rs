//! JSON text and errors across the language boundary.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    hocket,
    Error,
    PyValueError,
    "Inability to do what was asked, in one line: what, where, and what was expected."
);

pub fn raise(error: hocket_core::Error) -> PyErr {
    Error::new_err(error.to_string())
}

pub fn read<'a, T: serde::Deserialize<'a>>(request: &'a str) -> PyResult<T> {
    serde_json::from_str(request).map_err(|e| Error::new_err(format!("request: {}", hocket_record::in_words(&e))))
}

pub fn write(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| Error::new_err(format!("result: {e}")))
}

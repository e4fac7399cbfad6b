//! Whole numbers from programs. Numbers out of range are refused where they are used, with a message for that place.

use std::fmt;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// A whole number of any size and sign.
pub enum Number {
    Natural(usize),
    /// A negative number, or one that is too large for a count, as text.
    Other(String),
}

impl Number {
    pub fn natural(&self) -> Option<usize> {
        match self {
            Self::Natural(number) => Some(*number),
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Natural(number) => number.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract() {
            Ok(number) => Ok(Self::Natural(number)),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(Self::Other(short_text(&object))),
            Err(error) => Err(error),
        }
    }
}

/// A number as text, cut if it is long; Python refuses to print the longest ones.
fn short_text(number: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 24;
    let Ok(text) = number.str() else { return "…".to_owned() };
    let text = text.to_string();
    if text.len() <= MOST { text } else { text.chars().take(MOST).chain(['…']).collect() }
}

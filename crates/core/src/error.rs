//! The only error type.

use std::fmt;

/// A request that cannot be fulfilled. The message is one line: the given value, its place, and the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

/// `Result` with Hocket's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this message; line breaks are folded so that it stays one line.
    pub fn new(message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self(message.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The error of work that the user has stopped.
    pub fn interrupted() -> Self {
        Self::new("interrupted")
    }

    /// The same error, met at `place` (a file, a line, a key).
    pub fn at(self, place: impl fmt::Display) -> Self {
        Self::new(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

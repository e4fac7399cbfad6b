//! The file formats of schedules.

use std::io::{self, BufWriter, Read, Write};

use hocket_core::Result;
use serde::Deserialize;

use crate::goal::{Costs, from_goal, to_goal};
use crate::goal_binary::{MAGIC, from_goal_binary, to_goal_binary};
use crate::json::{from_json, to_json};
use crate::schedule::Schedule;
use crate::words::unreadable;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// GOAL text.
    Goal,
    /// GOAL's binary format.
    GoalBinary,
    /// Hocket's own format.
    Json,
}

impl Schedule {
    /// Reads a file: JSON if its name ends in .json, else GOAL; the magic number tells the binary format.
    ///
    /// # Errors
    /// An invalid file; the message has file, line and the expected text.
    pub fn read(mut stream: impl Read, file: &str) -> Result<Self> {
        if file.ends_with(".json") {
            return from_json(io::BufReader::new(stream), file);
        }
        let mut start = Vec::new();
        let magic = MAGIC.to_le_bytes();
        stream.by_ref().take(magic.len() as u64).read_to_end(&mut start).map_err(|e| unreadable(e).at(file))?;
        if start == magic { from_goal_binary(stream, file) } else { from_goal(start.chain(stream), file) }
    }

    /// Writes the schedule. In GOAL, reductions and copies take the times of `costs`.
    ///
    /// # Errors
    /// A calculation that is too long for GOAL, or an error of `out`.
    pub fn write(&self, form: Form, costs: Costs<'_>, out: impl Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        match form {
            Form::Goal => to_goal(self, costs, &mut out)?,
            Form::GoalBinary => to_goal_binary(self, costs, &mut out)?,
            Form::Json => to_json(self, &mut out)?,
        }
        out.flush()
    }
}

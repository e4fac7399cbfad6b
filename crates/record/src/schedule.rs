//! Static schedules: tasks and their dependencies.

use hocket_core::{Buffer, Error, Result, Side, Span, Tag};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The tasks of every rank. As a program it runs in any world, see [`hocket_core::Program`].
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Version of this format.
    pub format: u32,
    /// Size of an element, in bytes.
    pub element_bytes: usize,
    /// Elements of working memory of each rank.
    pub scratch: Vec<usize>,
    /// The tasks of each rank, every task behind those it waits for.
    pub ranks: Vec<Vec<Task>>,
}

/// One task of a rank.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The action of the task.
    pub action: Action,
    /// Earlier tasks of the rank that must have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
    /// Earlier tasks of the rank that must have started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_start: Vec<u32>,
}

/// The action of a task.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Action {
    Send {
        to: u32,
        tag: Tag,
        #[serde(with = "Piece")]
        data: Span,
    },
    Recv {
        from: u32,
        tag: Tag,
        #[serde(with = "Piece")]
        into: Span,
    },
    /// target = source ∘ target if `is_source_left`, else target ∘ source.
    Combine {
        #[serde(with = "Piece")]
        source: Span,
        #[serde(with = "Piece")]
        target: Span,
        is_source_left: bool,
    },
    Copy {
        #[serde(with = "Piece")]
        source: Span,
        #[serde(with = "Piece")]
        target: Span,
    },
    Compute {
        time_s: f64,
    },
}

impl Action {
    pub(crate) fn combine(source: Span, target: Span, side: Side) -> Self {
        Self::Combine { source, target, is_source_left: side == Side::Left }
    }
}

/// The written form of a [`Span`].
#[derive(Deserialize, Serialize)]
#[serde(remote = "Span", deny_unknown_fields)]
struct Piece {
    #[serde(with = "BufferName")]
    buffer: Buffer,
    offset: usize,
    len: usize,
}

#[derive(Deserialize, Serialize)]
#[serde(remote = "Buffer", rename_all = "snake_case")]
enum BufferName {
    Input,
    Result,
    Scratch,
}

impl Task {
    /// The pieces of buffers that the action touches.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &Span> {
        let spans = match &self.action {
            Action::Send { data: one, .. } | Action::Recv { into: one, .. } => [Some(one), None],
            Action::Combine { source, target, .. } | Action::Copy { source, target } => [Some(source), Some(target)],
            Action::Compute { .. } => [None, None],
        };
        spans.into_iter().flatten()
    }
}

impl Schedule {
    /// The version that this program writes and reads.
    pub const FORMAT: u32 = 1;

    /// Reads the JSON that [`Schedule`] is written as; `file` is the name that messages give.
    ///
    /// # Errors
    /// Not JSON, another format, or a schedule that makes no sense: file, line, and the expected value.
    pub fn from_json(text: &str, file: &str) -> Result<Self> {
        let place = |e: &serde_json::Error| format!("{file}:{}:{}", e.line(), e.column());
        let schedule: Self = serde_json::from_str(text).map_err(|e| Error::new(in_words(&e)).at(place(&e)))?;
        schedule.check().map_err(|e| e.at(file))?;
        Ok(schedule)
    }

    /// Checks that peers and tasks exist, that tasks wait for earlier ones only, and that lengths fit.
    ///
    /// # Errors
    /// The first task that does not make sense.
    pub fn check(&self) -> Result<()> {
        if self.format != Self::FORMAT {
            return Err(Error::new(format!("format: got {}, expected {}", self.format, Self::FORMAT)));
        }
        if self.ranks.is_empty() || self.element_bytes == 0 || self.scratch.len() != self.ranks.len() {
            return Err(Error::new("expected at least one rank, elements of at least 1 B, and scratch for every rank"));
        }
        for (rank, tasks) in self.ranks.iter().enumerate() {
            for (number, task) in tasks.iter().enumerate() {
                self.check_task(rank, number, task).map_err(|e| e.at(format!("rank {rank}, task {number}")))?;
            }
        }
        self.check_messages()
    }

    /// Checks that the longest message of each pair and tag fits its longest receive: else it is truncated, whichever
    /// receive it meets. The run finds messages that meet no receive at all.
    fn check_messages(&self) -> Result<()> {
        let mut room = FxHashMap::default();
        let tasks = || self.ranks.iter().enumerate().flat_map(|(rank, tasks)| tasks.iter().map(move |t| (rank, t)));
        for (rank, task) in tasks() {
            if let Action::Recv { from, tag, into } = &task.action {
                let most = room.entry((*from as usize, rank, *tag)).or_insert(0);
                *most = into.len.max(*most);
            }
        }
        for (rank, task) in tasks() {
            let Action::Send { to, tag, data } = &task.action else { continue };
            let Some(most) = room.get(&(rank, *to as usize, *tag)) else { continue };
            if data.len > *most {
                let (sent, most) = (data.len * self.element_bytes, most * self.element_bytes);
                return Err(Error::new(format!(
                    "rank {rank} sends {sent} B to rank {to} (tag {tag}), which receives at most {most} B: truncated"
                )));
            }
        }
        Ok(())
    }

    fn check_task(&self, rank: usize, number: usize, task: &Task) -> Result<()> {
        if let Some(late) = task.after.iter().chain(&task.after_start).find(|other| **other as usize >= number) {
            return Err(Error::new(format!("waits for task {late}, expected an earlier one")));
        }
        let most = usize::MAX / self.element_bytes / 2;
        if task.spans().any(|span| span.offset > most || span.len > most) {
            return Err(Error::new("a span beyond any memory"));
        }
        let room = self.scratch[rank];
        if let Some(span) = task.spans().find(|s| s.buffer == Buffer::Scratch && s.offset + s.len > room) {
            return Err(Error::new(format!("{span}, expected a span of the rank's scratch of {room} elements")));
        }
        match &task.action {
            Action::Compute { time_s } if !(time_s.is_finite() && *time_s >= 0.0) => {
                Err(Error::new(format!("computes for {time_s} s, expected a time")))
            }
            Action::Combine { source, target, .. } | Action::Copy { source, target } if source.len != target.len => {
                Err(Error::new(format!("{} elements into {}, expected spans of one length", source.len, target.len)))
            }
            Action::Send { to: peer, .. } | Action::Recv { from: peer, .. } if *peer as usize >= self.ranks.len() => {
                Err(Error::new(format!("peer {peer}, expected a rank below {}", self.ranks.len())))
            }
            _ => Ok(()),
        }
    }
}

/// The error in JSON text, in the words of JSON and without the place.
pub fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let Some((got, expected)) = text.rsplit_once(", expected ") else { return text.to_owned() };
    let expected = match expected {
        "u32" | "u64" | "usize" => "a whole number, not negative",
        "f64" => "a number",
        "a sequence" => "a list",
        _ if expected.contains("struct") || expected.contains("enum") => "an object",
        _ => expected,
    };
    format!("{got}, expected {expected}")
}

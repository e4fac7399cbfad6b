//! Hocket's own format of schedules, which keeps everything.

use std::fmt;
use std::io::{self, Read, Write};

use hocket_core::{Buffer, Error, Result, Source, ensure};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::draft::{Action, Draft, Wait};
use crate::schedule::{Builder, Schedule};

/// The version of the format.
const FORMAT: u32 = 1;
/// More elements than any buffer has.
const MOST_ELEMENTS: usize = 1 << 53;
const BEYOND_MEMORY: &str = "a span exceeds any memory, expected smaller offsets and lengths";

/// Writes a schedule as JSON, rank by rank.
pub fn to_json(schedule: &Schedule, mut out: impl Write) -> io::Result<()> {
    let scratch: Vec<_> = (0..schedule.ranks()).map(|rank| schedule.scratch(rank)).collect();
    write!(out, "{{\"format\":{FORMAT},\"element_bytes\":{},\"scratch\":", schedule.element_bytes())?;
    serde_json::to_writer(&mut out, &scratch)?;
    out.write_all(b",\"ranks\":[")?;
    let mut draft = Draft::default();
    for rank in 0..schedule.ranks() {
        schedule.unpack(rank, &mut draft);
        let tasks: Vec<_> = draft.tasks().map(|(action, waits)| Task::new(*action, waits)).collect();
        out.write_all(if rank == 0 { b"" } else { b"," })?;
        serde_json::to_writer(&mut out, &tasks)?;
    }
    out.write_all(b"]}\n")
}

/// Reads the JSON of `to_json`; `file` is the file's name in messages.
///
/// # Errors
/// Not JSON, another version, or an invalid schedule; the message has file, line and the expected value.
pub fn from_json(text: impl Read, file: &str) -> Result<Schedule> {
    let place = |e: &serde_json::Error| match e.line() {
        0 => file.to_owned(),
        line => format!("{file}:{line}:{}", e.column()),
    };
    let form: JsonForm = serde_json::from_reader(text).map_err(|e| Error::new(describe_error(&e)).at(place(&e)))?;
    form.schedule().map_err(|e| e.at(file))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonForm {
    format: u32,
    element_bytes: usize,
    scratch: Vec<usize>,
    ranks: Ranks,
}

impl JsonForm {
    fn schedule(self) -> Result<Schedule> {
        let Self { format, element_bytes, scratch, ranks: Ranks { builder, count } } = self;
        ensure(format == FORMAT, || format!("format: got {format}, expected {FORMAT}"))?;
        ensure(
            count > 0 && element_bytes > 0 && scratch.len() == count,
            || "expected at least one rank, elements of at least 1 B, and scratch for every rank",
        )?;
        let schedule = builder.schedule(scratch, element_bytes);
        let mut outcome = Ok(());
        schedule.each_action(|rank, task, action| {
            if outcome.is_ok() {
                outcome = check(action, &schedule, rank).map_err(|e| e.at(format!("rank {rank}, task {task}")));
            }
        });
        outcome?;
        Ok(schedule)
    }
}

/// Checks an action of `rank` against the rest of the schedule.
fn check(action: &Action, schedule: &Schedule, rank: usize) -> Result<()> {
    let most = usize::MAX / schedule.element_bytes() / 2;
    ensure(action.spans().all(|span| span.offset.max(span.len) <= most), || BEYOND_MEMORY)?;
    let room = schedule.scratch(rank);
    if let Some(span) = action.spans().find(|s| s.buffer == Buffer::Scratch && s.offset + s.len > room) {
        return Err(Error::new(format!("got {span}, expected a span within the rank's {room} elements of scratch")));
    }
    match action {
        Action::Send { to: peer, .. } | Action::Recv { from: Source::Rank(peer), .. }
            if *peer as usize >= schedule.ranks() =>
        {
            Err(Error::new(format!("peer: got {peer}, expected a rank below {}", schedule.ranks())))
        }
        _ => Ok(()),
    }
}

/// The tasks of all ranks, packed as they are read.
struct Ranks {
    builder: Builder,
    count: usize,
}

impl<'de> Deserialize<'de> for Ranks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_seq(Self { builder: Builder::default(), count: 0 })
    }
}

impl<'de> Visitor<'de> for Ranks {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut ranks: A) -> std::result::Result<Self, A::Error> {
        while let Some(tasks) = ranks.next_element::<Vec<Task>>()? {
            let draft = draft(self.count, tasks);
            draft.and_then(|draft| self.builder.set(self.count, &draft)).map_err(de::Error::custom)?;
            self.count += 1;
        }
        Ok(self)
    }
}

fn draft(rank: usize, tasks: Vec<Task>) -> Result<Draft> {
    let mut draft = Draft::default();
    for Task { action, after, after_start } in tasks {
        let task = draft.actions.len() as u32;
        let refuse = |why| Err(Error::new(why).at(format!("rank {rank}, task {task}")));
        if let Some(late) = after.iter().chain(&after_start).find(|other| **other >= task) {
            return refuse(format!("waits for task {late}, expected an earlier task"));
        }
        if action.spans().any(|span| span.offset.max(span.len) > MOST_ELEMENTS) {
            return refuse(BEYOND_MEMORY.to_owned());
        }
        match action {
            Action::Compute { time_s } if !(time_s.is_finite() && time_s >= 0.0) => {
                return refuse(format!("computes for {time_s} s, expected a finite time of at least 0 s"));
            }
            Action::Combine { source, target, .. } | Action::Copy { source, target } if source.len != target.len => {
                return refuse(format!(
                    "got spans of {} and {} elements, expected equal lengths",
                    source.len, target.len
                ));
            }
            _ => {}
        }
        draft.push(action);
        draft.waits.extend(after.into_iter().map(|other| Wait { task, is_for_start: false, other }));
        draft.waits.extend(after_start.into_iter().map(|other| Wait { task, is_for_start: true, other }));
    }
    draft.sort()?;
    Ok(draft)
}

/// The written form of a task.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Task {
    action: Action,
    /// Earlier tasks of the rank that must have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<u32>,
    /// Earlier tasks of the rank that must have started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after_start: Vec<u32>,
}

impl Task {
    fn new(action: Action, waits: &[Wait]) -> Self {
        let (ends, starts) = waits.split_at(waits.partition_point(|wait| !wait.is_for_start));
        let others = |waits: &[Wait]| waits.iter().map(|wait| wait.other).collect();
        Self { action, after: others(ends), after_start: others(starts) }
    }
}

/// The error in JSON text, in terms of JSON and without its position.
pub fn describe_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let Some((got, expected)) = text.rsplit_once(", expected ") else { return text.to_owned() };
    let expected = match expected {
        "u32" | "u64" | "usize" => "a whole number of at least 0",
        "f64" => "a number",
        "a sequence" => "a list",
        _ if expected.contains("struct") || expected.contains("enum") => "an object",
        _ => expected,
    };
    format!("{got}, expected {expected}")
}

//! Trace: events recorded on a machine, repeated without end.
//!
//! Keys: `file`, beside the machine file: a line per event with its start and duration in seconds, in order of start,
//! as recorded by noise benchmarks such as netgauge; `#` begins a comment. `length`: the recorded time, by default
//! until the end of the last event. `phase` = "random" (each rank begins elsewhere in the recording; the default),
//! "common" or "staggered". `overlap`.

use std::sync::Arc;

use hocket_core::{Error, Result};

use super::{Draws, Model, Operation, Overlap, Phase, Resource, SHORTEST_S, stall_s};
use crate::Section;

/// A recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The starts of events, ascending, in seconds.
    starts_s: Arc<[f64]>,
    /// The total duration of the events before each event, and of all events, in seconds.
    durations_s: Arc<[f64]>,
    length_s: f64,
    phase: Phase,
    overlap: Overlap,
}

impl Trace {
    pub(super) fn read(section: &Section, resource: Resource) -> Result<Self> {
        let (file, text) = section.file("file")?;
        let events = read_events(&text, &file)?;
        let end_s = events.iter().map(|(start, duration)| start + duration).fold(0.0, f64::max);
        let length_s = section.optional_time_s("length")?.unwrap_or(end_s);
        let is_long = length_s >= end_s.max(SHORTEST_S);
        section.ensure(is_long, "length", "at least the end of the last event, and at least 1 ps")?;
        let overlap = Overlap::read(section, resource)?;
        let can_run =
            overlap == Overlap::Arrival || events.iter().map(|(_, duration)| duration).sum::<f64>() < length_s;
        let expected = "a time above the sum of all durations, or else programs would never run";
        section.ensure(can_run, "length", expected)?;
        let durations = events.iter().scan(0.0, |total, (_, duration)| {
            *total += duration;
            Some(*total)
        });
        let durations_s = std::iter::once(0.0).chain(durations).collect();
        let starts_s = events.iter().map(|(start, _)| *start).collect();
        Ok(Self { starts_s, durations_s, length_s, phase: Phase::read(section)?, overlap })
    }

    /// The total duration of the events that start in a stretch of time.
    fn durations_between_s(&self, begin_s: f64, end_s: f64) -> f64 {
        let ((first, before), (last, after)) = (self.durations_before(begin_s), self.durations_before(end_s));
        (last - first) * self.all_durations_s() + (after - before)
    }

    /// The number of whole rounds before `time_s`, and the total duration of the events since then.
    fn durations_before(&self, time_s: f64) -> (f64, f64) {
        let rounds = (time_s / self.length_s).floor();
        let within = time_s - rounds * self.length_s;
        (rounds, self.durations_s[self.starts_s.partition_point(|start| *start < within)])
    }

    fn all_durations_s(&self) -> f64 {
        self.durations_s[self.starts_s.len()]
    }

    /// The delay under "stall". A round of the recording leaves the same time for work from any start: whole rounds are
    /// counted, and only the rest is followed event by event.
    fn stall_s(&self, start_s: f64, length_s: f64) -> f64 {
        let free_s = self.length_s - self.all_durations_s();
        let rounds = ((length_s / free_s).ceil() - 1.0).max(0.0);
        let rest_s = (length_s - rounds * free_s).max(0.0);
        rounds * self.all_durations_s() + stall_s(start_s, rest_s, |now| self.next_after(now))
    }

    /// The start and duration of the first event that ends after `time_s`. Events do not overlap.
    fn next_after(&self, time_s: f64) -> (f64, f64) {
        if self.starts_s.is_empty() {
            return (f64::INFINITY, 0.0);
        }
        let round = (time_s / self.length_s).floor();
        let event = |round: f64, i: usize| {
            (round * self.length_s + self.starts_s[i], self.durations_s[i + 1] - self.durations_s[i])
        };
        let all = (0..3).flat_map(|more| (0..self.starts_s.len()).map(move |i| (round + f64::from(more), i)));
        let first = self.starts_s.partition_point(|start| *start < time_s - round * self.length_s).saturating_sub(1);
        let mut later = all.skip(first).map(|(round, i)| event(round, i));
        later.find(|(start, duration)| start + duration > time_s).unwrap_or((f64::INFINITY, 0.0))
    }
}

/// The longest recording: 30 years.
const LONGEST_S: f64 = 1e9;

fn read_events(text: &str, file: &str) -> Result<Vec<(f64, f64)>> {
    let mut events: Vec<(f64, f64)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let refuse = |why: &str| Error::new(why.to_owned()).at(format!("{file}:{}", number + 1));
        let line = line.split('#').next().unwrap_or_default();
        let fields: Vec<_> = line.split_whitespace().map(str::parse::<f64>).collect();
        let (start, duration) = match fields.as_slice() {
            [] => continue,
            [Ok(start), Ok(duration)] => (*start, *duration),
            _ => return Err(refuse("expected the start and the duration of an event, in seconds")),
        };
        if !(start >= 0.0 && duration > 0.0 && start + duration <= LONGEST_S) {
            return Err(refuse(
                "expected a start of at least 0 s and a duration above 0 s, whose sum is at most 1e9 s",
            ));
        }
        if events.last().is_some_and(|(last, duration)| start < last + duration) {
            return Err(refuse("the event starts before the previous event ends, expected increasing times"));
        }
        events.push((start, duration));
    }
    Ok(events)
}

impl Model for Trace {
    fn is_of_rank(&self) -> bool {
        true
    }

    fn stalls(&self) -> bool {
        self.overlap == Overlap::Stall
    }

    fn weight(&self, _length_s: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, start_s: &[f64; L], end_s: &mut [f64; L]) {
        let share: [f64; L] = self.phase.share(draws);
        for i in 0..L {
            let begin = start_s[i] + share[i] * self.length_s;
            end_s[i] += match self.overlap {
                Overlap::Arrival => self.durations_between_s(begin, begin + operation.length_s),
                Overlap::Stall => self.stall_s(begin, operation.length_s),
            };
        }
    }
}

//! Cadence: when the calls of a series begin, how many run at a time, and what the ranks compute meanwhile.

use std::cell::Cell;

use hocket_core::units::parse_time_s;
use hocket_core::{AnyProgram, Call, Error, Program, Rank, Result, Symmetry, Tokens, View, budget};
use hocket_simulate::{Ends, Trials};

use crate::benchmark::{DISTINCT, with_own_tags};

/// When the ranks begin each of several calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cadence {
    /// The number of calls.
    pub calls: u16,
    /// The time between two calls that are due one after the other, in seconds; none if all are due at once.
    pub every_s: Option<f64>,
    /// How many calls a rank may have begun and not ended.
    pub at_a_time: u16,
    /// What a rank computes during each call; none if it computes nothing.
    pub computation: Option<Computation>,
}

/// A computation that a rank begins when it has begun a call. It begins the next call after the computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// How long it takes alone, in seconds.
    pub time_s: f64,
    /// The number of its equal parts. Between two parts, the processor serves messages.
    pub parts: u32,
}

/// The largest number of calls.
const MOST: u16 = 10_000;

/// The largest number of parts of a computation.
const MOST_PARTS: u32 = 10_000;

/// The longest time between two calls, and of a computation, in seconds.
const MOST_S: f64 = 1e6;

/// The memory of the time of one call in one trial: its two marks, and its time.
const TIME_BYTES: f64 = 24.0;

impl Cadence {
    /// Reads "16 calls", and after it, each if there is one and in this order, "every 100 us", "2 at a time", and
    /// "computing 50 us" or "computing 50 us in 10 parts".
    ///
    /// # Errors
    /// Anything else; no calls, or more than 10000; more than 32 at a time, or more than there are; a time above a
    /// million seconds; or no parts, or more than 10000.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |expected: &str| Error::new(format!("cadence: got {text:?}, expected {expected}"));
        let mut words = text.split(',').map(str::trim).peekable();
        let unknown = || refused(FORMS);
        let calls = words.next().and_then(|text| number(text, &[" calls", " call"])).ok_or_else(unknown)?;
        let mut next = |is_next: &dyn Fn(&str) -> bool| words.next_if(|text| is_next(text));
        let every = next(&|text| text.starts_with(EVERY));
        let at_a_time = next(&|text| text.ends_with(AT_A_TIME));
        let computing = next(&|text| text.starts_with(COMPUTING));
        if words.next().is_some() {
            return Err(unknown());
        }
        let every_s = every.map(|text| time_s(&text[EVERY.len()..]).ok_or_else(unknown)).transpose()?;
        let at_a_time = at_a_time.map_or(Some(1), |text| number(text, &[AT_A_TIME])).ok_or_else(unknown)?;
        let computation = computing.map(|text| Computation::parse(text).ok_or_else(unknown)).transpose()?;
        if calls == 0 || calls > u32::from(MOST) {
            return Err(refused(&format!("1 to {MOST} calls")));
        }
        let most = calls.min(DISTINCT);
        if at_a_time == 0 || at_a_time > most {
            return Err(refused(&format!("1 to {most} at a time")));
        }
        if computation.is_some_and(|computation| !(1..=MOST_PARTS).contains(&computation.parts)) {
            return Err(refused(&format!("1 to {MOST_PARTS} parts")));
        }
        Ok(Self { calls: calls as u16, every_s, at_a_time: at_a_time as u16, computation })
    }

    /// How many calls a simulation makes: these, and an isolated one to compare with.
    pub(crate) fn simulated_calls(self) -> f64 {
        f64::from(self.calls) + 1.0
    }

    /// How many parts of computations a simulation has.
    pub(crate) fn simulated_parts(self, ranks: usize) -> f64 {
        let parts = self.computation.map_or(0, |computation| computation.parts);
        f64::from(self.calls) * f64::from(parts) * ranks as f64
    }

    /// The part of an isolated call that costs nothing during a computation, from 0 to 1: the interval exceeds the
    /// computation by the rest of the call, as OSU's benchmarks count. None without a computation, and where the
    /// interval does not depend on one call: with times at which calls are due, and with several calls at a time.
    pub(crate) fn hidden_share(self, interval_s: f64, isolated_s: f64) -> Option<f64> {
        let computation = self.computation.filter(|_| self.every_s.is_none() && self.at_a_time == 1)?;
        let rest_s = interval_s - computation.time_s;
        (isolated_s > 0.0 && computation.time_s > 0.0).then(|| (1.0 - rest_s / isolated_s).clamp(0.0, 1.0))
    }

    /// Checks that there is memory for the times of all calls in all trials.
    pub(crate) fn check_memory(self, trials: Trials) -> Result<()> {
        let times = f64::from(self.calls) * trials.count as f64;
        budget::check(format_args!("{} calls in each of {} trials", self.calls, trials.count), times * TIME_BYTES)
    }

    /// When a call is due, in seconds; none if it is due at once.
    fn due_s(&self, number: u16) -> Option<f64> {
        self.every_s.map(|every_s| f64::from(number) * every_s)
    }

    /// The time of each call: from when it is due, or else from when the last rank begins it, until the last rank ends
    /// it.
    pub(crate) fn times_s(&self, ends: &Ends) -> Vec<f64> {
        let (ends_s, begins_s) = ends.marks_s.split_at(self.calls.into());
        let time_s = |number: u16| {
            let begin_s = self.due_s(number).unwrap_or(begins_s[usize::from(number)]);
            ends_s[usize::from(number)] - begin_s
        };
        (0..self.calls).map(time_s).collect()
    }

    /// The mean time of the calls.
    pub(crate) fn time_s(&self, ends: &Ends) -> f64 {
        self.times_s(ends).iter().sum::<f64>() / f64::from(self.calls)
    }

    /// The mean interval between the ends of two calls, in the second half. Calls that run at a time may end together,
    /// so the interval is between whole groups of as many calls; with fewer than two groups, it counts from the start.
    pub(crate) fn interval_s(&self, ends: &Ends) -> f64 {
        let (calls, group) = (usize::from(self.calls), usize::from(self.at_a_time));
        let groups = calls / group;
        let (from, to) = if groups < 2 { (0, calls) } else { (groups / 2 * group, groups * group) };
        let end_s = |calls: usize| ends.marks_s[..calls].iter().copied().fold(0.0, f64::max);
        (end_s(to) - end_s(from)) / (to - from) as f64
    }
}

impl Computation {
    /// Reads "computing 50 us" or "computing 50 us in 10 parts".
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix(COMPUTING)?;
        let (time, parts) = match text.split_once(" in ") {
            Some((time, parts)) => (time, number(parts, &[" parts", " part"])?),
            None => (text, 1),
        };
        Some(Self { time_s: time_s(time)?, parts })
    }

    async fn run(self, r: &Rank<'_>) {
        for _ in 0..self.parts {
            r.compute(self.time_s / f64::from(self.parts)).await;
        }
    }
}

const EVERY: &str = "every ";
const AT_A_TIME: &str = " at a time";
const COMPUTING: &str = "computing ";
const FORMS: &str = "a number of calls, such as \"16 calls\", \"16 calls, every 100 us\", \"16 calls, every 100 us, 2 at \
                     a time\" or \"16 calls, computing 50 us in 10 parts\"";

/// The number before one of these endings.
fn number(text: &str, endings: &[&str]) -> Option<u32> {
    let digits = endings.iter().find_map(|ending| text.strip_suffix(ending))?.trim_end();
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn time_s(text: &str) -> Option<f64> {
    parse_time_s(text).ok().filter(|time_s| (0.0..=MOST_S).contains(time_s))
}

/// A program over and over, in a cadence. Mark k is the end of call k; the marks of all ends are followed by those of
/// all begins.
pub(crate) struct InCadence<'a> {
    pub program: &'a dyn AnyProgram,
    pub cadence: Cadence,
}

impl Program for InCadence<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let lanes = self.cadence.at_a_time;
        let in_turn = if self.cadence.computation.is_some() { lanes } else { 0 };
        let turns: Vec<_> = (0..in_turn).map(|lane| r.tokens((lane == 0).into())).collect();
        match lanes {
            1 => self.every(r, c, 0, &turns).await,
            _ => drop(r.join_all((0..lanes).map(|lane| self.every(r, c, lane, &turns))).await),
        }
    }

    fn symmetry(&self, c: &Call, with_copies: bool) -> Option<Symmetry> {
        self.program.symmetry(c, with_copies)
    }
}

impl InCadence<'_> {
    /// One call after the other: the first one, and every one that is a multiple of those at a time later. Each of
    /// these lanes has tags of its own, which alternate from call to call with at most 16 lanes. Where ranks compute,
    /// each lane has a turn: a call begins after the computation of the call before.
    async fn every(&self, r: &Rank<'_>, c: &Call, first: u16, turns: &[Tokens<'_>]) {
        let Cadence { calls, at_a_time, computation, .. } = self.cadence;
        let distinct = DISTINCT / u32::from(at_a_time);
        for (turn, number) in (0..).zip((first..calls).step_by(at_a_time.into())) {
            if let Some(turn) = turns.get(usize::from(first)) {
                turn.take().await;
            }
            if let Some(due_s) = self.cadence.due_s(number) {
                r.wait_until(due_s).await;
            }
            r.mark(calls + number);
            let run = async |call: &Rank<'_>, c: &Call| marking(self.program, (call, c), r, number).await;
            let call = with_own_tags(run, (r, c), u32::from(first) * distinct + turn % distinct);
            let Some(computation) = computation else {
                call.await;
                continue;
            };
            let compute = async {
                computation.run(r).await;
                turns[usize::from((first + 1) % at_a_time)].put();
            };
            r.join(call, compute).await;
        }
    }
}

/// Runs a program whose completion is a mark of the outer rank. Programs that still serve other ranks are complete
/// before they end.
pub(crate) async fn marking(program: &dyn AnyProgram, (r, c): (&Rank<'_>, &Call), outer: &Rank<'_>, number: u16) {
    let mark = CompletionMark { rank: r, outer, number, is_complete: Cell::new(false) };
    program.steps(&Rank::through(&mark), c).await;
    mark.complete();
}

struct CompletionMark<'a> {
    rank: &'a Rank<'a>,
    outer: &'a Rank<'a>,
    number: u16,
    is_complete: Cell<bool>,
}

impl View for CompletionMark<'_> {
    fn below(&self) -> &Rank<'_> {
        self.rank
    }

    fn complete(&self) {
        if !self.is_complete.replace(true) {
            self.outer.mark(self.number);
        }
    }
}

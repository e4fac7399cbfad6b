//! Verification of an algorithm at one number of ranks (roots, counts, in place, operators), or of a schedule.

use std::iter::successors;

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Collective, Counts, Error, Result, Source};
use hocket_record::{Action, Schedule, Unordered};
use hocket_verify::{Counterexample, Exploration, Kind, Limits, Verdict, check_room, verify_messages, verify_tasks};

use crate::cases;
use crate::symmetry::check_symmetry;

/// Number of decisions for all calls of one number of ranks. After that, each call is tried in a few orders only, to
/// bound the time of programs with many decisions.
pub(crate) const MOST_DECISIONS: usize = 100_000;

/// The result of verifying an algorithm at one number of ranks, or a schedule.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of calls that were run.
    pub calls: usize,
    /// Why no call was run, when the algorithm refused them all.
    pub refused: Option<String>,
    /// How orders of messages were tried.
    pub exploration: Exploration,
    /// Number of these orders, of all calls together.
    pub orders: usize,
    /// Messages received before an earlier one of the same two ranks with another tag: legal, but noteworthy.
    pub overtaking: usize,
    /// A call that goes wrong, with its counterexample.
    pub counterexample: Option<(Call, Counterexample)>,
    /// A number of elements that takes too much work, and the number that was checked instead.
    pub fewer_elements: Option<[usize; 2]>,
    /// Number of calls that were not run, as they take too much work or the deadline was over.
    pub calls_left: usize,
}

impl Report {
    /// The report of a schedule, whose messages are identified by their tags and may overtake each other.
    fn of_schedule(call: &Call, verdict: Verdict) -> Self {
        let Verdict { exploration, orders, counterexample, .. } = verdict;
        let counterexample = counterexample.map(|counterexample| (call.clone(), counterexample));
        Self { calls: 1, exploration, orders, counterexample, ..Self::default() }
    }

    /// The report, with the verdict on a further call.
    fn add_verdict(mut self, call: &Call, verdict: Verdict) -> Self {
        self.calls += 1;
        self.refused = None;
        self.exploration = self.exploration.max(verdict.exploration);
        self.orders += verdict.orders;
        self.overtaking = self.overtaking.max(verdict.overtaking);
        self.counterexample = verdict.counterexample.map(|counterexample| (call.clone(), counterexample));
        self
    }
}

/// The result of `run` on a call, or on the same call with fewer elements where `run` takes too much work. No result if
/// none is short enough, or `accept` refuses the shorter call.
pub(crate) fn with_less_work<T>(
    mut call: Call,
    accept: impl Fn(&Call) -> Result<Call>,
    mut run: impl FnMut(&Call) -> Result<T>,
) -> Result<Option<(Call, T)>> {
    loop {
        match run(&call) {
            Err(error) if error == Error::lateness() => {}
            result => return result.map(|result| Some((call, result))),
        }
        let Some(shorter) = with_count(&call, call.count(0) / 4 + 1).filter(|_| call.count(0) > 1) else {
            return Ok(None);
        };
        let Ok(shorter) = accept(&shorter) else { return Ok(None) };
        call = shorter;
    }
}

/// The call with this number of elements in each block; none if its blocks have different sizes.
fn with_count(call: &Call, count: usize) -> Option<Call> {
    matches!(call.counts, Counts::Equal(_)).then(|| Call { counts: Counts::Equal(count), ..call.clone() })
}

/// All numbers of elements up to this one are tried, to find the smallest counterexample.
const FEW_ELEMENTS: usize = 16;

/// Number of decisions of the verification of a call that may be a smaller counterexample, and the work of one run.
const DECISIONS_TO_SHRINK: usize = 200;
const WORK_TO_SHRINK: usize = 1 << 22;

/// The counterexample with the fewest elements that few runs find: among small numbers and powers of two, then between one
/// that is right and one that is wrong.
fn shrunk(
    wrong: (Call, Counterexample),
    accept: impl Fn(&Call) -> Result<Call>,
    verify: impl Fn(&Call) -> Result<Verdict>,
) -> (Call, Counterexample) {
    let call = wrong.0.clone();
    let at_count = |count: usize| {
        let call = accept(&with_count(&call, count)?).ok()?;
        let counterexample = verify(&call).ok()?.counterexample?;
        Some((call, counterexample))
    };
    let most = with_count(&call, 0).map_or(0, |_| call.count(0));
    let (mut smallest, mut right, mut end) = (wrong, 0, most);
    let powers = successors(Some(2 * FEW_ELEMENTS), |count| Some(2 * count));
    for count in (1..=FEW_ELEMENTS).chain(powers).take_while(|count| *count < most) {
        if let Some(one) = at_count(count) {
            (smallest, end) = (one, count);
            break;
        }
        right = count;
    }
    while end > right + 1 {
        let middle = right + (end - right) / 2;
        match at_count(middle) {
            Some(one) => (smallest, end) = (one, middle),
            None => right = middle,
        }
    }
    smallest
}

/// Verifies an algorithm of the catalogue at `ranks` ranks, up to the first counterexample.
pub fn verify(entry: &Entry, ranks: usize, parameters: &[(String, u64)], limits: Limits) -> Result<Report> {
    let calls = cases::calls_to_verify(entry.collective, ranks);
    verify_calls(entry.program(), None, calls, |call| entry.accept(call, parameters), limits, &|| false)
}

/// Verifies a program on the calls that `accept` accepts, up to the first counterexample. The ranks of
/// `second_program`, the same program, share no state.
pub fn verify_calls(
    program: &dyn AnyProgram,
    second_program: Option<&dyn AnyProgram>,
    mut calls: impl Iterator<Item = Call>,
    accept: impl Fn(&Call) -> Result<Call>,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Report> {
    let mut report = Report::default();
    let mut decisions = 0;
    while let Some(call) = calls.next() {
        let call = match accept(&call) {
            Ok(call) => call,
            Err(sentence) => {
                if report.calls == 0 {
                    report.refused.get_or_insert_with(|| sentence.to_string());
                }
                continue;
            }
        };
        let limits = limits.with_decisions(MOST_DECISIONS.saturating_sub(decisions));
        let verify = |call: &Call, limits| hocket_verify::verify(program, second_program, call, limits, is_interrupted);
        let verdict = with_less_work(call.clone(), &accept, |call| verify(call, limits));
        if verdict.is_err() && limits.is_late() && !is_interrupted() {
            report.calls_left += 1 + calls.filter(|call| accept(call).is_ok()).count();
            break;
        }
        let Some((actual, verdict)) = verdict? else {
            report.calls_left += 1;
            continue;
        };
        if actual.count(0) < call.count(0) {
            report.fewer_elements = Some([call.count(0), actual.count(0)]);
        }
        decisions += verdict.decisions;
        report = report.add_verdict(&actual, verdict);
        if report.counterexample.is_some() {
            if limits.most_work < usize::MAX {
                let limits = Limits { most_work: WORK_TO_SHRINK, ..limits.with_decisions(DECISIONS_TO_SHRINK) };
                report.counterexample =
                    report.counterexample.map(|wrong| shrunk(wrong, &accept, |call| verify(call, limits)));
            }
            break;
        }
        check_symmetry(program, &actual)?;
    }
    Ok(report)
}

/// Verifies the messages of a schedule, up to the first counterexample; see [`verify_messages`]. A schedule does not
/// define the expected data.
pub fn verify_schedule(
    schedule: &Schedule,
    sends_wait: bool,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Report> {
    let call = Call { element_bytes: schedule.element_bytes(), ..Call::new(Collective::Barrier, schedule.ranks(), 0) };
    let verdict = verify_messages(schedule, &call, sends_wait, limits, is_interrupted)?;
    let counterexample = verdict.counterexample.or_else(|| Some(ambiguity(schedule, schedule.unordered()?)));
    Ok(Report::of_schedule(&call, Verdict { counterexample, ..verdict }))
}

/// Verifies the data of a schedule as those of a call, with eager sends; see [`verify_tasks`].
pub fn verify_schedule_as(
    schedule: &Schedule,
    call: &Call,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Report> {
    let tasks = schedule.task_count();
    check_room(call, tasks as f64 / 2.0)?;
    let limits = Limits { most_steps: limits.most_steps.max(tasks as usize), ..limits };
    Ok(Report::of_schedule(call, verify_tasks(schedule, call, limits, is_interrupted)?))
}

fn ambiguity(schedule: &Schedule, Unordered { rank, tasks }: Unordered) -> Counterexample {
    let actions = schedule.tasks(rank).actions;
    let description = |action: Action| {
        let bytes = |len: usize| len * schedule.element_bytes();
        match action {
            Action::Send { to, tag, data } => format!("send {} B to rank {to} (tag {tag})", bytes(data.len)),
            Action::Recv { from: Source::Rank(from), tag, into } => {
                format!("recv {} B from rank {from} (tag {tag})", bytes(into.len))
            }
            _ => "recv from any rank".to_owned(),
        }
    };
    let details = tasks.map(|task| format!("task {task}: {}", description(actions[task as usize]))).to_vec();
    let expected = "messages of the same two ranks and tag one after another, or of equal length";
    let got = "both in flight at the same time";
    Counterexample { details, ..Counterexample::new(Kind::AmbiguousOrder, false, vec![rank], expected, got) }
}

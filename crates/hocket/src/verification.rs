//! Verification of an algorithm at one number of ranks (roots, counts, in place, operators), or of a schedule.

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Collective, Result, Source};
use hocket_record::{Action, Schedule, Unordered};
use hocket_verify::{Counterexample, Exploration, Kind, Limits, Verdict, check_room, verify_messages, verify_tasks};

use crate::cases;
use crate::symmetry::check_symmetry;

/// Number of decisions for all calls of one number of ranks. After that, each call is tried in a few orders only, to
/// bound the time of programs with many decisions.
pub(crate) const MOST_DECISIONS: usize = 100_000;

/// The result of verifying an algorithm at one number of ranks, or a schedule.
#[derive(Clone, Debug)]
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
    /// The first call that goes wrong, with its counterexample.
    pub counterexample: Option<(Call, Counterexample)>,
}

impl Report {
    /// The report of a schedule, whose messages are identified by their tags and may overtake each other.
    fn of_schedule(call: &Call, verdict: Verdict) -> Self {
        let Verdict { exploration, orders, counterexample, .. } = verdict;
        let counterexample = counterexample.map(|counterexample| (call.clone(), counterexample));
        Self { calls: 1, refused: None, exploration, orders, overtaking: 0, counterexample }
    }
}

/// Verifies an algorithm of the catalogue at `ranks` ranks, up to the first counterexample.
///
/// # Errors
/// Too little memory.
pub fn verify(entry: &Entry, ranks: usize, parameters: &[(String, u64)], limits: Limits) -> Result<Report> {
    let calls = cases::calls_to_verify(entry.collective, ranks);
    verify_calls(entry.program(), None, calls, |call| entry.accept(call, parameters), limits, &|| false)
}

/// Verifies a program on the calls that `accept` accepts, up to the first counterexample. The ranks of
/// `second_program`, the same program, share no state.
///
/// # Errors
/// As [`hocket_verify::verify`] and [`check_symmetry`].
pub fn verify_calls(
    program: &dyn AnyProgram,
    second_program: Option<&dyn AnyProgram>,
    calls: impl Iterator<Item = Call>,
    accept: impl Fn(&Call) -> Result<Call>,
    limits: Limits,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Report> {
    let mut report = Report {
        calls: 0,
        refused: None,
        exploration: Exploration::Deterministic,
        orders: 0,
        overtaking: 0,
        counterexample: None,
    };
    let mut decisions = 0;
    for call in calls {
        let call = match accept(&call) {
            Ok(call) => call,
            Err(sentence) => {
                report.refused.get_or_insert_with(|| sentence.to_string());
                continue;
            }
        };
        let left = MOST_DECISIONS.saturating_sub(decisions);
        let verdict =
            hocket_verify::verify(program, second_program, &call, limits.with_decisions(left), is_interrupted)?;
        decisions += verdict.decisions;
        report.calls += 1;
        report.exploration = report.exploration.max(verdict.exploration);
        report.orders += verdict.orders;
        report.overtaking = report.overtaking.max(verdict.overtaking);
        if let Some(counterexample) = verdict.counterexample {
            report.counterexample = Some((call, counterexample));
            break;
        }
        check_symmetry(program, &call)?;
    }
    if report.calls > 0 {
        report.refused = None;
    }
    Ok(report)
}

/// Verifies the messages of a schedule, up to the first counterexample; see [`verify_messages`]. A schedule does not
/// define the expected data.
///
/// # Errors
/// As [`verify_messages`].
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
///
/// # Errors
/// As [`verify_tasks`].
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
    let in_words = |action: Action| {
        let bytes = |len: usize| len * schedule.element_bytes();
        match action {
            Action::Send { to, tag, data } => format!("send {} B to rank {to} (tag {tag})", bytes(data.len)),
            Action::Recv { from: Source::Rank(from), tag, into } => {
                format!("recv {} B from rank {from} (tag {tag})", bytes(into.len))
            }
            _ => "recv from any rank".to_owned(),
        }
    };
    Counterexample {
        kind: Kind::AmbiguousOrder,
        is_rendezvous: false,
        ranks: vec![rank],
        step: None,
        span: None,
        expected: "messages of the same two ranks and tag one after another, or of equal length".to_owned(),
        got: "both in flight at the same time".to_owned(),
        details: tasks.map(|task| format!("task {task}: {}", in_words(actions[task as usize]))).to_vec(),
    }
}

//! Verifying an algorithm at one number of ranks: every root, several counts, in place, both kinds of operators.

use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Result};
use hocket_verify::{Counterexample, Exploration, Limits};

use crate::cases::{self, Wanted};

/// Decisions between orders of messages that the calls of one number of ranks may take together, after which each
/// call is tried in a few orders only: programs that leave much to the order of messages are not to take for ever.
const MOST_DECISIONS: usize = 100_000;

/// The result of verifying one number of ranks.
#[derive(Clone, Debug)]
pub struct Report {
    /// Calls that were run.
    pub checked: usize,
    /// Why no call was run, when the algorithm refused them all.
    pub refused: Option<String>,
    /// Which orders of messages were tried.
    pub exploration: Exploration,
    /// How many they were, of all calls together.
    pub orders: usize,
    /// Messages received before an earlier one of the same pair that had another tag: legal, but worth knowing.
    pub overtaking: usize,
    /// The first call that goes wrong, and how.
    pub counterexample: Option<(Call, Counterexample)>,
}

/// Verifies an algorithm of the catalogue at `ranks` ranks, up to the first counterexample.
pub fn verify(entry: &Entry, ranks: usize, parameters: &[(String, u64)], limits: Limits) -> Report {
    let calls = cases::calls_to_verify(entry.collective, ranks, Wanted::default());
    verify_calls(entry.program(), calls, |call| entry.accept(call, parameters), limits)
}

/// Verifies a program on those of `calls` that `accept` takes, up to the first counterexample.
pub fn verify_calls(
    program: &dyn AnyProgram,
    calls: impl Iterator<Item = Call>,
    accept: impl Fn(&Call) -> Result<Call>,
    limits: Limits,
) -> Report {
    let mut report = Report {
        checked: 0,
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
        let verdict = hocket_verify::verify(program, &call, limits.with_decisions(left));
        decisions += verdict.decisions;
        report.checked += 1;
        report.exploration = report.exploration.max(verdict.exploration);
        report.orders += verdict.orders;
        report.overtaking = report.overtaking.max(verdict.overtaking);
        if let Some(counterexample) = verdict.counterexample {
            report.counterexample = Some((call, counterexample));
            break;
        }
    }
    if report.checked > 0 {
        report.refused = None;
    }
    report
}

//! Verifying an algorithm at one number of ranks: every root, several counts, in place, both kinds of operators.

use hocket_algorithms::{Entry, Visitor, with_program};
use hocket_core::{Call, Program, Result};
use hocket_verify::{Counterexample, Exploration, Limits};

use crate::cases;

/// What the verification of one number of ranks found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Calls that were run.
    pub checked: usize,
    /// Why no call was run, when the algorithm refused them all.
    pub refused: Option<String>,
    /// Which orders of messages were tried.
    pub exploration: Exploration,
    /// Messages received before an earlier one of the same pair that had another tag: legal, but worth knowing.
    pub overtaking: usize,
    /// The first call that goes wrong, and how.
    pub counterexample: Option<(Call, Counterexample)>,
}

/// Verifies an algorithm of the catalogue at `ranks` ranks, up to the first counterexample.
pub fn verify(entry: &Entry, ranks: usize, parameters: &[(String, u64)], limits: Limits) -> Report {
    struct Verified<'a>(&'a Entry, usize, &'a [(String, u64)], Limits);
    impl Visitor for Verified<'_> {
        type Output = Report;
        fn visit(self, program: &impl Program) -> Report {
            let Self(entry, ranks, parameters, limits) = self;
            let calls = cases::calls_to_verify(entry.collective, ranks);
            verify_calls(program, calls, |call| entry.accept(call, parameters), limits)
        }
    }
    with_program(entry, Verified(entry, ranks, parameters, limits))
}

/// Verifies a program on those of `calls` that `accept` takes, up to the first counterexample.
pub fn verify_calls(
    program: &impl Program,
    calls: impl Iterator<Item = Call>,
    accept: impl Fn(&Call) -> Result<Call>,
    limits: Limits,
) -> Report {
    let mut report = Report {
        checked: 0,
        refused: None,
        exploration: Exploration::Deterministic,
        overtaking: 0,
        counterexample: None,
    };
    for call in calls {
        let call = match accept(&call) {
            Ok(call) => call,
            Err(sentence) => {
                report.refused.get_or_insert_with(|| sentence.to_string());
                continue;
            }
        };
        let verdict = hocket_verify::verify(program, &call, limits);
        report.checked += 1;
        report.exploration = report.exploration.max(verdict.exploration);
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

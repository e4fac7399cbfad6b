//! Every algorithm of the catalogue in the verify world.

use crate::sweeps;
use hocket::{cases, verify_calls};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_verify::Limits;

use crate::turns;

/// Verifies an algorithm on all calls, or on those of long sweeps: with other values of parameters than the first on every
/// fourth.
fn check(entry: &Entry, is_complete: bool) {
    let (mut checked, parameters) = (0, cases::parameters(entry));
    for ranks in cases::rank_counts() {
        let has_all = is_complete || sweeps::has_all_values_in_long_sweeps(ranks);
        let values = if has_all { &parameters[..] } else { &parameters[..1] };
        for (value, given) in values.iter().enumerate() {
            let turns = if is_complete || value == 0 { 1 } else { 4 };
            let calls = cases::calls_to_verify(entry.collective, ranks)
                .filter(|call| is_complete || sweeps::is_for_long_sweeps(call));
            let calls =
                calls.enumerate().filter(|(number, _)| turns::takes(number + value, turns)).map(|(_, call)| call);
            let accept = |call: &_| entry.accept(call, given);
            let report = verify_calls(entry.program(), None, calls, accept, Limits::default(), &|| false).unwrap();
            checked += report.calls;
            if let Some((call, counterexample)) = report.counterexample {
                panic!("{entry} is wrong: {counterexample}\nin {call:?}");
            }
        }
    }
    assert!(checked > 0, "{entry} refused every call");
}

/// On more than a few ranks, with the defaults of parameters.
#[test]
fn every_algorithm_that_reduces_is_right() {
    CATALOGUE.iter().filter(|entry| entry.collective.reduces()).for_each(|entry| check(entry, false));
}

#[test]
fn every_algorithm_that_does_not_reduce_is_right() {
    CATALOGUE.iter().filter(|entry| !entry.collective.reduces()).for_each(|entry| check(entry, false));
}

#[test]
#[ignore = "long: make test-long"]
fn every_algorithm_is_right_at_every_root_with_every_value_of_parameters() {
    CATALOGUE.iter().for_each(|entry| check(entry, true));
}

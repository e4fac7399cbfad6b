//! Every algorithm of the catalogue in the verify world.

use hocket::{cases, verify_calls};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_verify::Limits;

/// Verifies an algorithm on all calls, or on those of long sweeps.
fn check(entry: &Entry, is_complete: bool) {
    let (mut checked, parameters) = (0, cases::parameters(entry));
    for ranks in cases::rank_counts() {
        let has_all = is_complete || cases::has_all_values_in_long_sweeps(ranks);
        for given in if has_all { &parameters[..] } else { &parameters[..1] } {
            let calls = cases::calls_to_verify(entry.collective, ranks)
                .filter(|call| is_complete || cases::is_for_long_sweeps(call));
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

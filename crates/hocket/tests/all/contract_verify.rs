//! Every algorithm of the catalogue in the verify world.

use hocket::{cases, verify};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_verify::Limits;

fn check(entry: &Entry) {
    let mut checked = 0;
    for ranks in cases::rank_counts() {
        for parameters in cases::parameters(entry) {
            let report = verify(entry, ranks, &parameters, Limits::default()).unwrap();
            checked += report.checked;
            if let Some((call, counterexample)) = report.counterexample {
                panic!("{entry} is wrong: {counterexample}\nin {call:?}");
            }
        }
    }
    assert!(checked > 0, "{entry} refused every call");
}

#[test]
fn every_algorithm_that_reduces_is_right() {
    CATALOGUE.iter().filter(|entry| entry.collective.reduces()).for_each(check);
}

#[test]
fn every_algorithm_that_does_not_reduce_is_right() {
    CATALOGUE.iter().filter(|entry| !entry.collective.reduces()).for_each(check);
}

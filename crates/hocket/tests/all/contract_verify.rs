//! Every algorithm of the catalogue in the verify world.

use hocket::{cases, verify};
use hocket_algorithms::CATALOGUE;
use hocket_verify::Limits;

#[test]
fn every_algorithm_is_right() {
    for entry in CATALOGUE {
        let mut checked = 0;
        for ranks in cases::rank_counts() {
            for parameters in cases::parameters(entry) {
                let report = verify(entry, ranks, &parameters, Limits::default());
                checked += report.checked;
                if let Some((call, counterexample)) = report.counterexample {
                    panic!("{entry} is wrong: {counterexample}\nin {call:?}");
                }
            }
        }
        assert!(checked > 0, "{entry} refused every call");
    }
}

//! The automatic values of all algorithms belong to declared parameters.

use hocket_algorithms::CATALOGUE;

#[test]
fn automatic_values_are_of_parameters_that_are_declared() {
    for entry in CATALOGUE {
        for automatic in entry.about.automatic {
            assert!(entry.about.parameters.iter().any(|declared| declared.name == automatic.parameter), "{entry}");
        }
    }
}

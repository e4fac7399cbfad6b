//! The world of the docs' example runs the whole catalogue.

use hocket_algorithms::CATALOGUE;
use hocket_core::Call;

#[path = "../../examples/traffic.rs"]
mod traffic;

#[test]
fn the_example_world_sees_the_messages_that_the_formulas_count() {
    for entry in CATALOGUE {
        for ranks in [1, 2, 3, 4, 7, 8, 9] {
            let Ok(call) = entry.accept(&Call::new(entry.collective, ranks, 9), &[]) else { continue };
            let seen: u64 = traffic::Traffic::of(entry.program(), &call).messages.iter().sum();
            assert_eq!(seen as f64, hocket::messages(entry, &call).unwrap(), "{entry} on {ranks} ranks");
        }
    }
}

//! Algorithms made of algorithms: on nodes of any kind, of any parts, and priced on machines of two levels.

use hocket::{cases, predict, simulate, verify_calls};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Nodes};
use hocket_machine::Machine;
use hocket_simulate::{Options, Platform};
use hocket_verify::Limits;

fn composed() -> impl Iterator<Item = &'static Entry> {
    CATALOGUE.iter().filter(|entry| entry.about.parameters.iter().any(|parameter| parameter.name == "outer"))
}

/// Verifies an algorithm on ranks that share nodes in this way; returns how many calls it takes.
fn check(entry: &Entry, ranks: usize, nodes: &Nodes, given: &[(String, u64)]) -> usize {
    let calls = cases::calls_to_verify(entry.collective, ranks);
    let calls = calls.map(|call| Call { nodes: nodes.clone(), ..call });
    let accept = |call: &Call| entry.accept(call, given);
    let report = verify_calls(entry.program(), None, calls, accept, Limits::default(), &|| false).unwrap();
    if let Some((call, counterexample)) = report.counterexample {
        panic!("{entry} is wrong: {counterexample}\nin {call:?}");
    }
    report.checked
}

#[test]
fn nodes_may_have_any_ranks() {
    let placements: [fn(i32) -> i32; 4] = [
        |rank| rank % 3,
        |rank| i32::from(rank == 0),
        |rank| [0, 1, 1, 1, 2, 2, 3, 1][rank as usize % 8],
        |rank| rank / 3,
    ];
    for entry in composed() {
        let mut checked = [0; 4];
        for ranks in 1..=9 {
            for (place, checked) in placements.iter().zip(&mut checked) {
                let nodes = Nodes::of(&(0..ranks).map(place).collect::<Vec<_>>());
                *checked += check(entry, ranks as usize, &nodes, &[]);
            }
        }
        assert!(checked.iter().all(|checked| *checked > 0), "{entry} refused all calls of a placement");
    }
}

#[test]
#[ignore = "long: make test-long"]
fn any_algorithm_can_be_a_part() {
    for entry in composed() {
        for parameter in entry.about.parameters.iter().filter(|parameter| !parameter.words().is_empty()) {
            for value in 0..parameter.words().len() as u64 {
                let given = [(parameter.name.to_owned(), value), ("segment".to_owned(), 3)];
                let has_segment = entry.about.parameters.iter().any(|parameter| parameter.name == "segment");
                let given = if has_segment { &given[..] } else { &given[..1] };
                let checked: usize = (2..=9).map(|ranks| check(entry, ranks, &Nodes::Equal(2), given)).sum();
                let needs_more =
                    ["edge_disjoint_trees", "swing_torus", "torus_bucket", "trinaryx3", "trinaryx3_overlapped"];
                let word = parameter.words()[value as usize];
                assert!(checked > 0 || needs_more.contains(&word), "{entry} with {} = {word}", parameter.name);
            }
        }
    }
}

/// Groups of nodes: hierarchical between groups that are made of groups.
#[test]
fn groups_may_be_grouped() {
    for entry in composed() {
        let network = entry.about.parameters.iter().find(|parameter| parameter.name == "network").expect("declared");
        let Ok(hierarchical) = network.number_of("hierarchical") else { panic!("{entry}: no hierarchical network") };
        let given =
            [("network", hierarchical), ("outer", 2), ("group", 2)].map(|(name, value)| (name.to_owned(), value));
        let checked: usize = [7, 8, 12, 13].iter().map(|ranks| check(entry, *ranks, &Nodes::Unknown, &given)).sum();
        assert!(checked > 0, "{entry}");
    }
}

#[test]
fn formulas_of_parts_add_up_on_nodes() {
    let platforms = [3, 4].map(|ranks_per_node| {
        let text = format!(
            "name = \"two\"\n[network]\nmodel = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n\
             ranks_per_node = {ranks_per_node}\nlocal.latency = \"0.2 us\"\nlocal.bandwidth = \"5 GB/s\"\n\
             [node]\nreduce_bandwidth = \"10 GB/s\"\nports = \"unlimited\"\n"
        );
        let platform = Platform::new(&Machine::parse(&text, "two.toml").unwrap()).unwrap();
        assert_eq!(platform.nodes, Nodes::Equal(ranks_per_node));
        platform
    });
    for entry in composed() {
        let exact: usize = platforms.iter().map(|platform| check_formula(entry, platform)).sum();
        assert!(exact > 0, "{entry} has no exact formula");
    }
}

/// Compares the formula of an algorithm with simulations; returns for how many calls it is exact.
fn check_formula(entry: &Entry, platform: &Platform) -> usize {
    let mut exact = 0;
    for ranks in cases::rank_counts() {
        for call in cases::calls(entry.collective, ranks) {
            let call = Call { nodes: platform.nodes.clone(), element_bytes: 8, ..call };
            let Ok(call) = entry.accept(&call, &[]) else { continue };
            let predicted = predict(entry, &call, platform).unwrap().expect("groups are the nodes");
            let time_s = simulate(entry, &call, platform, Options::default()).unwrap().time_s();
            let (most, least) = (predicted.time_s * (1.0 + 1e-12), predicted.time_s * (1.0 - 1e-12));
            assert!(time_s <= most, "{entry} took {time_s}, not {}, in {call:?}", predicted.time_s);
            assert!(time_s >= least || !predicted.is_exact, "{entry}: {time_s} < {} in {call:?}", predicted.time_s);
            exact += usize::from(predicted.is_exact);
        }
    }
    exact
}

//! Algorithms made of algorithms: on nodes of any kind, of any parts, and priced on machines of two levels.

use hocket::{cases, predict, simulate, verify_calls};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Nodes, Parameter};
use hocket_machine::Machine;
use hocket_simulate::{Options, Platform};
use hocket_verify::Limits;

fn composed() -> impl Iterator<Item = &'static Entry> {
    CATALOGUE.iter().filter(|entry| entry.about.parameter("outer").is_some())
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
    report.calls
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
                let has_segment = entry.about.parameter("segment").is_some();
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
        let networks = entry.about.parameters.iter().filter(|parameter| parameter.name.starts_with("network"));
        let hierarchical = |parameter: &Parameter| Some((parameter.name, parameter.number_of("hierarchical").ok()?));
        let networks: Vec<_> = networks.filter_map(hierarchical).collect();
        assert!(!networks.is_empty(), "{entry}: no hierarchical network");
        let given = [&networks[..], &[("outer", 2), ("group", 2)]].concat();
        let given: Vec<_> = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let checked: usize = [7, 8, 12, 13].iter().map(|ranks| check(entry, *ranks, &Nodes::Unknown, &given)).sum();
        assert!(checked > 0, "{entry}");
    }
}

/// A Hockney machine with these lines in `[network]` and ports.
fn hockney(network: &str, ports: &str) -> Platform {
    let text = format!(
        "name = \"two\"\n[network]\nmodel = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n{network}\n\
         [node]\nreduce_bandwidth = \"10 GB/s\"\nports = {ports}\n"
    );
    Platform::new(&Machine::parse(&text, "two.toml").unwrap()).unwrap()
}

/// A machine whose nodes have so many ranks.
fn of_nodes(ranks_per_node: usize) -> Platform {
    let local = "local.latency = \"0.2 us\"\nlocal.bandwidth = \"5 GB/s\"";
    let platform = hockney(&format!("ranks_per_node = {ranks_per_node}\n{local}"), "\"unlimited\"");
    assert_eq!(platform.nodes(1), Ok(Nodes::Equal(ranks_per_node)));
    platform
}

#[test]
fn formulas_of_parts_add_up_on_nodes() {
    let platforms = [3, 4].map(of_nodes);
    for entry in composed() {
        let checked: Vec<_> =
            platforms.iter().map(|platform| check_formula(entry, platform, cases::rank_counts(), &[])).collect();
        assert!(checked.iter().all(|checked| checked.by_formula > 0), "{entry} has no formula");
        assert!(checked.iter().any(|checked| checked.exact > 0), "{entry} has no exact formula");
    }
}

/// Of all parts that there are: the formula that is claimed holds, also where some parts are composed themselves, have
/// more ports than a node, or end after their results are complete.
#[test]
fn a_formula_of_any_parts_holds_or_is_not_claimed() {
    let platforms = [of_nodes(2), hockney("", "1"), hockney("", "\"unlimited\"")];
    for entry in composed() {
        for parameter in entry.about.parameters.iter().filter(|parameter| !parameter.words().is_empty()) {
            for (value, word) in parameter.words().iter().enumerate() {
                let mut checked = Checked::default();
                for (number, platform) in platforms.iter().enumerate() {
                    let given = [(parameter.name, value), ("group", [0, 3, 2][number])];
                    let given = given.map(|(name, value)| (name.to_owned(), value as u64));
                    checked += check_formula(entry, platform, [2, 4, 6, 8, 9].into_iter(), &given);
                }
                let is_redundant = word.contains("redundant");
                assert!(checked.calls == 0 || (checked.by_formula == 0) == is_redundant, "{entry} of {word}");
            }
        }
    }
}

/// How many calls were accepted, have a formula, and have an exact one.
#[derive(Default)]
struct Checked {
    calls: usize,
    by_formula: usize,
    exact: usize,
}

impl std::ops::AddAssign for Checked {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.by_formula += other.by_formula;
        self.exact += other.exact;
    }
}

/// Compares the formula of an algorithm, where it is claimed, with simulations.
fn check_formula(
    entry: &Entry,
    platform: &Platform,
    rank_counts: impl Iterator<Item = usize>,
    given: &[(String, u64)],
) -> Checked {
    let mut checked = Checked::default();
    for ranks in rank_counts {
        for call in cases::calls(entry.collective, ranks) {
            let call = Call { nodes: platform.nodes(call.ranks).unwrap(), element_bytes: 8, ..call };
            let Ok(call) = entry.accept(&call, given) else { continue };
            checked.calls += 1;
            let Some(predicted) = predict(entry, &call, platform).unwrap() else { continue };
            checked.by_formula += 1;
            let time_s = simulate(entry, &call, platform, Options::default()).unwrap().time_s();
            let (most, least) = (predicted.time_s * (1.0 + 1e-12), predicted.time_s * (1.0 - 1e-12));
            assert!(time_s <= most, "{entry} took {time_s}, not {}, in {call:?}", predicted.time_s);
            assert!(time_s >= least || !predicted.is_exact, "{entry}: {time_s} < {} in {call:?}", predicted.time_s);
            checked.exact += usize::from(predicted.is_exact);
        }
    }
    checked
}

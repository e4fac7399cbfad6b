//! What every algorithm's file says about itself.

use hocket::cases;
use hocket_algorithms::{CATALOGUE, Cost, find};
use hocket_core::{Call, Collective, Counts, Nodes};
use hocket_machine::Machine;
use hocket_simulate::{Options, Platform};

#[test]
fn every_header_says_what_it_is_whence_what_it_needs_and_costs_and_draws_it() {
    for entry in CATALOGUE {
        let header = entry.header();
        assert!(entry.summary().contains(": ") && entry.summary().ends_with('.'), "{entry}: {}", entry.summary());
        for part in ["\nSource: ", "\nNeeds: ", "\nCounts: ", "```text\n"] {
            assert!(header.contains(part), "{entry}: the header has no {part:?}");
        }
        assert!(entry.listing().starts_with("pub async fn program"), "{entry}");
    }
}

#[test]
fn every_formula_can_be_evaluated() {
    for entry in CATALOGUE {
        let formulas = [Some(entry.about.cost), Some(entry.about.messages), entry.about.least];
        assert!(formulas.into_iter().flatten().all(|formula| Cost::of(formula).is_ok()), "{entry}");
    }
}

#[test]
fn an_algorithm_needs_nothing_or_refuses_some_call() {
    for entry in CATALOGUE {
        let in_turn = |ranks: usize| Nodes::of(&(0..ranks).map(|rank| rank as i32 % 2).collect::<Vec<_>>());
        let call = |ranks: usize, nodes| Call {
            commutative: false,
            root: if entry.collective.has_root() { ranks - 1 } else { 0 },
            nodes,
            ..Call::new(entry.collective, ranks, 1)
        };
        let calls = [1, 2, 3, 4, 7].map(|ranks| [call(ranks, Nodes::Unknown), call(ranks, in_turn(ranks))]).concat();
        let mut calls = calls.into_iter().chain(cases::calls(entry.collective, 4));
        let refuses = calls.any(|call| entry.accept(&call, &[]).is_err());
        let needs_nothing = entry.header().contains("\nNeeds: nothing");
        assert_ne!(refuses, needs_nothing, "{entry}: its header and its preconditions disagree");
    }
}

#[test]
fn calls_and_parameters_that_make_no_sense_are_refused_in_one_line() {
    let ring = find(Collective::Allreduce, "ring").unwrap();
    let chain = find(Collective::Broadcast, "chain").unwrap();
    let message = |result: hocket_core::Result<Call>| result.unwrap_err().to_string();
    let given = |value| [("segment".to_owned(), value)];
    let call = |ranks| Call::new(Collective::Broadcast, ranks, 8);
    assert_eq!(message(ring.accept(&Call::new(Collective::Barrier, 0, 0), &[])), "ranks: got 0, expected at least 1");
    assert_eq!(message(chain.accept(&Call { root: 5, ..call(2) }, &[])), "root: got 5, expected a rank below 2");
    assert_eq!(
        message(chain.accept(&call(2), &[("size".to_owned(), 1)])),
        "broadcast chain: unknown parameter \"size\", expected segment"
    );
    assert_eq!(
        message(chain.accept(&call(2), &given(0))),
        "broadcast chain: parameter segment = 0, expected at least 1"
    );
    assert_eq!(
        message(ring.accept(&Call { commutative: false, ..Call::new(Collective::Allreduce, 3, 8) }, &[])),
        "allreduce ring needs a commutative operator: it combines operands out of rank order (P = 3)"
    );
    assert!(
        find(Collective::Barrier, "ring").unwrap_err().to_string().starts_with("unknown barrier algorithm \"ring\"")
    );
}

/// Under MPI a rank that is not the root knows the size of its own block only.
#[test]
fn algorithms_are_accepted_by_ranks_that_know_their_own_block_only() {
    for entry in CATALOGUE.iter().filter(|e| matches!(e.collective, Collective::Gatherv | Collective::Scatterv)) {
        let own = Call { counts: Counts::Own(3), ..Call::new(entry.collective, 7, 1) };
        entry.accept(&own, &[]).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_parameter_in_bytes_is_rounded_down_to_whole_elements() {
    let chain = find(Collective::Broadcast, "chain").unwrap();
    for (element_bytes, given, used) in [(8, 20, 16), (24, 65536, 65520), (100, 3, 100)] {
        let call = Call { element_bytes, ..Call::new(Collective::Broadcast, 2, 8) };
        let accepted = chain.accept(&call, &[("segment".to_owned(), given)]).unwrap();
        assert_eq!(accepted.parameter("segment"), used);
    }
}

#[test]
fn a_barrier_has_no_data_whatever_its_size() {
    let platform = Platform::new(&Machine::parse(MACHINE, "m.toml").unwrap()).unwrap();
    for entry in CATALOGUE.iter().filter(|entry| entry.collective == Collective::Barrier) {
        let sent = |size| {
            let call = entry.accept(&Call::new(Collective::Barrier, 7, size), &[]).unwrap();
            hocket::simulate(entry, &call, &platform, Options::default()).unwrap()
        };
        assert_eq!(sent(8192), sent(0), "{entry}");
        assert_eq!(sent(0).message_bytes, 0, "{entry}");
    }
}

const MACHINE: &str = "name = \"m\"\n[network]\nmodel = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";

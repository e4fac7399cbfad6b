//! Several calls at once: closed forms, and laws of places.

use std::collections::BTreeSet;

use hocket::{Cadence, Demand, Part, Place, Together, simulate_together};
use hocket_algorithms::{CATALOGUE, find};
use hocket_core::{Call, Collective, Nodes, Result};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Platform, Trials};
use proptest::prelude::*;

/// Links of 1 ns/B without latency; every message of ranks in a line passes the links between their nodes.
const LINE: &str =
    "model = \"links\"\ntopology = \"mesh\"\ndims = [4]\nlink_bandwidth = \"1 GB/s\"\nsharing = \"fair\"";
const HOCKNEY: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
const EAGER: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"";
const NOISE: &str = "[noise.os]\nmodel = \"gaussian\"\nmean = \"0.1 us\"\ndeviation = \"0.2 us\"\n";
const TORUS: &str = "model = \"links\"\ntopology = \"torus\"\ndims = [4, 4]\nranks_per_node = 2\n\
                         link_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"";

fn platform(network: &str, rest: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}\n{rest}");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn part(collective: Collective, name: &str, elements: usize, ranks: &[usize]) -> Part<'static> {
    let entry = find(collective, name).unwrap();
    let call = entry.accept(&Call::new(collective, ranks.len(), elements), &[]).unwrap();
    Part { program: entry.program(), call, cadence: None, ranks: ranks.to_vec() }
}

fn at_once(parts: &[Part<'_>], platform: &Platform) -> Together {
    simulate_together(parts, platform, Trials::default(), Options::default()).unwrap()
}

#[test]
fn two_rings_on_one_link_take_twice_as_long() {
    // Each exchanges 2 * n/2 bytes in each direction of the link between nodes 1 and 2.
    let parts = [[0, 2], [1, 3]].map(|ranks| part(Collective::Allreduce, "ring", 1000, &ranks));
    let found = at_once(&parts, &platform(LINE, ""));
    for (time_s, call) in found.times_s.iter().zip(&found.isolated_calls) {
        assert!((call.time_s - 1e-6).abs() < 1e-15 && (time_s - 2e-6).abs() < 1e-15, "{:?}", found.times_s);
    }
    let shared = |link: usize| found.isolated_calls.iter().all(|call| call.links_bytes[link] > 0.0);
    assert_eq!((0..found.outcome.links.len()).filter(|link| shared(*link)).count(), 2);
}

#[test]
fn two_rings_on_links_of_their_own_take_as_long_as_alone() {
    let parts = [[0, 1], [2, 3]].map(|ranks| part(Collective::Allreduce, "ring", 1000, &ranks));
    let found = at_once(&parts, &platform(LINE, ""));
    assert_eq!(found.times_s, [found.isolated_calls[0].time_s, found.isolated_calls[1].time_s]);
}

#[test]
fn calls_without_contention_do_not_meet() {
    // Each algorithm is beside a longer call of larger elements.
    for (network, rest) in [(HOCKNEY, ""), (EAGER, NOISE)] {
        let platform = platform(network, rest);
        for entry in CATALOGUE.iter() {
            let call = Call { element_bytes: 4, ..Call::new(entry.collective, 5, 10) };
            let Ok(call) = entry.accept(&call, &[]) else { continue };
            let alone = hocket::simulate(entry, &call, &platform, Options::default()).unwrap();
            let ranks = vec![1, 2, 4, 7, 8];
            let mine = Part { program: entry.program(), call, cadence: None, ranks };
            let other = part(Collective::Alltoall, "pairwise_exchange", 999, &[0, 3, 5, 6]);
            let found = at_once(&[mine, other], &platform);
            assert_eq!(found.times_s[0], found.isolated_calls[0].time_s, "{entry}");
            assert!(!rest.is_empty() || (found.times_s[0] - alone.time_s()).abs() < 1e-15, "{entry}");
        }
    }
}

/// On every map of ranks, of machines whose ranks on a node share something, and with noise.
#[test]
fn a_job_alone_is_on_the_nodes_of_a_call() {
    let local = "local.latency = \"0 s\"\nlocal.bandwidth = \"10 GB/s\"\nlocal.memory_bandwidth = \"12 GB/s\"";
    let torus = TORUS.replace("ranks_per_node = 2\n", "");
    let layouts = ["", "permutation = [3, 1, 15, 0, 2, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4]"];
    let maps = [
        "ranks_per_node = 1",
        "ranks_per_node = 3",
        "ranks_per_node = 5\nmap = \"cyclic\"",
        "ranks_per_node = 2\nmap = \"cyclic\"",
        "ranks_on_nodes = [1, 4, 2, 4]",
        "ranks_on_nodes = [1, 4, 2, 4]\nmap = \"cyclic\"",
        "map = [2, 0, 2, 1, 1, 0, 2, 3, 3, 3, 0]",
    ];
    let networks = [format!("{HOCKNEY}\n{local}"), torus.clone(), format!("{torus}\n{}", layouts[1])];
    for (network, map, noise) in
        networks.iter().flat_map(|n| maps.iter().flat_map(move |m| [(n, m, ""), (n, m, NOISE)]))
    {
        let platform = platform(&format!("{network}\n{map}"), noise);
        for (entry, ranks) in CATALOGUE.iter().flat_map(|entry| [7, 11].map(|ranks| (entry, ranks))) {
            let nodes = platform.nodes(ranks).unwrap();
            let call = Call { element_bytes: 4, nodes: nodes.clone(), ..Call::new(entry.collective, ranks, 10) };
            let Ok(call) = entry.accept(&call, &[]) else { continue };
            let places =
                Place::Contiguous.ranks(&[Demand { ranks, nodes: None }], &platform, (0, 0)).unwrap().remove(0);
            let of_job = platform.for_jobs();
            let of_job = of_job.of_ranks(&places);
            let all: Vec<_> = (0..ranks).collect();
            assert_eq!(of_job.nodes(ranks).unwrap().select(&all), nodes.select(&all));
            let options = Options { engine: Engine::Events, ..Options::default() };
            let trials =
                hocket_simulate::simulate_trials(entry.program(), &call, &platform, Trials::default(), options);
            let part = Part { program: entry.program(), call, cadence: None, ranks: all };
            let found = at_once(&[part], &of_job);
            assert_eq!(found.times_s, [trials.unwrap().ends[0].last_s], "{entry} on {ranks} ranks, {map}");
        }
    }
}

#[test]
fn engines_agree_and_a_cadence_is_one_job() {
    let ring = || part(Collective::Allreduce, "ring", 4096, &[5, 0, 3]);
    let cadence = Some(Cadence::parse("5 calls").unwrap());
    let parts = [Part { cadence, ..ring() }, part(Collective::Broadcast, "chain", 100, &[1, 2])];
    for (network, rest) in [(HOCKNEY, ""), (EAGER, NOISE)] {
        let times_s = |engine| {
            let options = Options { engine, ..Options::default() };
            simulate_together(&parts, &platform(network, rest), Trials::default(), options).unwrap().times_s
        };
        assert_eq!(times_s(Engine::Events), times_s(Engine::Dataflow));
    }
    let found = at_once(&parts, &platform(HOCKNEY, ""));
    assert!((found.times_s[0] - 5.0 * at_once(&[ring()], &platform(HOCKNEY, "")).times_s[0]).abs() < 1e-15);
    assert!(
        simulate_together(&[ring(), ring()], &platform(HOCKNEY, ""), Trials::default(), Options::default()).is_err()
    );
    assert!(at_once(&[], &platform(HOCKNEY, "")).times_s.is_empty());
}

/// The ranks of jobs of these sizes, on 16 nodes of 2 ranks each.
fn placed(how: Place, sizes: &[usize], nodes: Option<Vec<usize>>, trial: u64) -> Result<Vec<Vec<usize>>> {
    let mut demands: Vec<_> = sizes.iter().map(|ranks| Demand { ranks: *ranks, nodes: None }).collect();
    demands[0].nodes = nodes;
    how.ranks(&demands, &platform(TORUS, ""), (7, trial))
}

#[test]
fn places_are_as_named() {
    assert_eq!(placed(Place::Contiguous, &[3, 2], None, 0), Ok(vec![vec![0, 1, 2], vec![3, 4]]));
    // One rank on each of the 16 nodes, in turn; then the second ones.
    let scattered = placed(Place::Scattered, &[3, 14, 1], None, 0).unwrap();
    assert_eq!((&scattered[0], &scattered[2]), (&vec![0, 6, 10], &vec![4]));
    assert_eq!(scattered[1][..4], [2, 8, 12, 14]);
    assert_eq!(scattered[1][11..], [30, 1, 3]);
    assert_eq!(placed(Place::Contiguous, &[3, 3], Some(vec![5, 0]), 0), Ok(vec![vec![10, 11, 0], vec![1, 2, 3]]));
    for (sizes, nodes, expected) in [
        (&[20, 13][..], None, "ranks: got 33, expected at most 32"),
        (&[3], Some(vec![16]), "nodes: got 16, expected nodes 0 to 15"),
        (&[3], Some(vec![1]), "nodes: got nodes for 2 ranks, expected room for 3"),
        (&[3], Some(vec![1, 1]), "nodes: got node 1 twice"),
    ] {
        let refused = placed(Place::Random, sizes, nodes, 0).unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

proptest! {
    /// Every job has its ranks, no rank has two jobs, and a draw is the same each time.
    #[test]
    fn no_rank_has_two_jobs(sizes in prop::collection::vec(0..9usize, 1..5), node in prop::option::of(0..12usize), trial in 0..99u64) {
        let nodes = node.map(|first| (first..first + 4).collect::<Vec<_>>());
        for (_, how) in Place::ALL {
            let found = placed(how, &sizes, nodes.clone(), trial);
            let Ok(found) = found else { continue };
            prop_assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), sizes.clone());
            let all: BTreeSet<_> = found.iter().flatten().collect();
            prop_assert_eq!(all.len(), sizes.iter().sum::<usize>());
            prop_assert!(all.iter().all(|rank| **rank < 32));
            prop_assert_eq!(placed(how, &sizes, nodes.clone(), trial), Ok(found));
        }
    }
}

#[test]
fn draws_differ_and_cover_the_machine() {
    let draws: BTreeSet<_> = (0..64).map(|trial| placed(Place::Random, &[4], None, trial).unwrap()[0][0]).collect();
    assert!(draws.len() > 20);
    let platform = platform(TORUS, "");
    assert_eq!((platform.network.fabric().unwrap().topology.nodes(), platform.nodes(32)), (16, Ok(Nodes::Equal(2))));
}

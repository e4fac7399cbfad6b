//! Maps: nodes that are uneven or take ranks in turn, by hand in every engine; and as nodes in order where they are such.

use hocket::{Demand, Place, cases, simulate};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Nodes, Result};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Outcome, Platform};

use crate::bounds::check_bound;

fn platform(network: &str, node: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\n{node}\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap_or_else(|e| panic!("{e}"))
}

/// 1 us + 1 ns/B between nodes, 0.3 us + 0.2 ns/B within.
fn hockney(map: &str, ports: &str) -> Platform {
    let lines = "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\nlocal.latency = \"0.3 us\"\nlocal.bandwidth = \"5 GB/s\"";
    platform(&format!("model = \"hockney\"\n{lines}\n{map}"), &format!("ports = {ports}"))
}

/// 0.5 us + 2 us + 1 ns/B for all bytes but the first + 0.5 us between nodes; L = 0.3 us and G = 0.2 ns/B within, but what
/// the ranks of a node share has 1 GB/s.
fn loggp(map: &str) -> Platform {
    let local =
        "local.L = \"0.3 us\"\nlocal.o = \"0.1 us\"\nlocal.G = \"0.2 ns/B\"\nlocal.memory_bandwidth = \"1 GB/s\"";
    platform(&format!("model = \"loggp\"\nL = \"2 us\"\no = \"0.5 us\"\nG = \"1 ns/B\"\n{local}\n{map}"), "")
}

/// Nodes at one switch: 1 us and 1 ns/B per link, two links from node to node.
fn crossbar(model: &str, map: &str) -> Platform {
    let links = "topology = \"crossbar\"\nnodes = 4\nlink_latency = \"1 us\"\nlink_bandwidth = \"1 GB/s\"";
    platform(&format!("model = {model}\n{links}\n{map}\nlocal.L = \"0.3 us\"\nlocal.o = \"0.1 us\""), "")
}

fn call(entry: &Entry, (ranks, size): (usize, usize), platform: &Platform) -> Call {
    let call = Call { nodes: platform.nodes(ranks).unwrap(), ..Call::new(entry.collective, ranks, size) };
    entry.accept(&call, &[]).unwrap()
}

/// The time of an algorithm without parameters, in the engines that apply: dataflow where no ports are shared, and events.
fn time_s(collective: Collective, name: &str, size: (usize, usize), platform: &Platform) -> f64 {
    let entry = find(collective, name).unwrap();
    let run =
        |engine| simulate(entry, &call(entry, size, platform), platform, Options { engine, ..Options::default() });
    let by_events = run(Engine::Events).unwrap().time_s();
    run(Engine::Dataflow).into_iter().for_each(|outcome| assert_eq!(outcome.time_s(), by_events));
    by_events
}

fn assert_close(found_s: f64, expected_s: f64) {
    assert!((found_s - expected_s).abs() < 1e-9 * expected_s, "got {found_s}, by hand {expected_s}");
}

const UNEVEN: &str = "ranks_on_nodes = [5, 6]";
const DEALT: &str = "ranks_on_nodes = [5, 6]\nmap = \"cyclic\"";

/// 11 ranks, 10 hops. Filled, only the hop from rank 4 to rank 5 is between the nodes; dealt, only that from rank 9 to rank
/// 10 is not: both are on the second node, which is not full then. On the LogGP machine 5 ranks share the first node and 6
/// the second, and so the memory.
#[test]
fn hops_of_a_chain_are_within_nodes_or_between_them() {
    let chain_s = |platform: &Platform| time_s(Collective::Broadcast, "chain", (11, 1001), platform);
    let (between_s, within_s) = (1e-6 + 1001e-9, 0.3e-6 + 1001e-9 / 5.0);
    assert_close(chain_s(&hockney(UNEVEN, "\"unlimited\"")), between_s + 9.0 * within_s);
    assert_close(chain_s(&hockney(DEALT, "1")), 9.0 * between_s + within_s);
    let (between_s, within_s) = (3e-6 + 1000e-9, |ranks: f64| 0.5e-6 + ranks * 1000e-9);
    assert_close(chain_s(&loggp(UNEVEN)), 4.0 * within_s(5.0) + between_s + 5.0 * within_s(6.0));
    assert_close(chain_s(&loggp(DEALT)), 9.0 * between_s + within_s(6.0));
    let listed = loggp("map = [1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1]");
    assert_close(chain_s(&listed), 4.0 * between_s + 3.0 * within_s(5.0) + 3.0 * within_s(6.0));
    for model in ["\"links\"", "\"packets\"\npacket = \"64 KiB\""] {
        let hop_s = time_s(Collective::Broadcast, "chain", (2, 1001), &crossbar(model, ""));
        let of_10_bytes = |map: &str| time_s(Collective::Broadcast, "chain", (11, 1001), &crossbar(model, map));
        assert_close(of_10_bytes(UNEVEN), hop_s + 9.0 * 0.5e-6);
        assert_close(of_10_bytes(DEALT), 9.0 * hop_s + 0.5e-6);
    }
}

/// Of the first ranks of a list, only these share a node: rank 2 is alone with rank 1 on the second node, not with rank 3.
#[test]
fn a_smaller_job_is_the_first_ranks_of_a_list() {
    let chain_s = |ranks| time_s(Collective::Broadcast, "chain", (ranks, 1001), &loggp("ranks_on_nodes = [1, 3]"));
    assert_close(chain_s(3), 3e-6 + 1000e-9 + 0.5e-6 + 2000e-9);
    assert_close(chain_s(4), 3e-6 + 1000e-9 + 2.0 * (0.5e-6 + 3000e-9));
    let platform = hockney("ranks_on_nodes = [1, 3]", "1");
    let entry = find(Collective::Broadcast, "chain").unwrap();
    let call = entry.accept(&Call::new(Collective::Broadcast, 5, 1), &[]).unwrap();
    let expected = "ranks: got 5, expected at most 4, the ranks that the map lists";
    for engine in [Engine::Auto, Engine::Dataflow, Engine::Events, Engine::Symmetry] {
        let refusal = simulate(entry, &call, &platform, Options { engine, ..Options::default() }).unwrap_err();
        assert_eq!(refusal.to_string(), expected);
    }
    assert_eq!(hocket::bound(&call, &platform).unwrap_err().to_string(), expected);
}

/// A ring on two nodes of two ranks. In order, each node sends one message per step to the other: 3 steps. In turn, all
/// messages are between nodes, and the two of a node share its port: twice the time.
#[test]
fn neighbours_in_a_ring_are_on_other_nodes_under_a_cyclic_map() {
    let ring_s = |map: &str, ports: &str| {
        let map = format!("ranks_per_node = 2\nmap = \"{map}\"");
        time_s(Collective::Allgather, "ring", (4, 5000), &hockney(&map, ports))
    };
    assert_close(ring_s("block", "1"), 3.0 * 6e-6);
    assert_close(ring_s("cyclic", "1"), 6.0 * 6e-6);
    assert_close(ring_s("cyclic", "2"), 3.0 * 6e-6);
}

/// Exchanges with rank XOR 1 and, of twice as much, with rank XOR 2: in order the first is within nodes, in turn the second;
/// with one rank beside three, both are between nodes for some.
#[test]
fn exchanges_by_bits_swap_their_levels_under_a_cyclic_map() {
    let doubling_s =
        |map: &str| time_s(Collective::Allgather, "recursive_doubling", (4, 1000), &hockney(map, "\"unlimited\""));
    let (between_s, within_s) = (|bytes: f64| 1e-6 + bytes * 1e-9, |bytes: f64| 0.3e-6 + bytes * 0.2e-9);
    assert_close(doubling_s("ranks_per_node = 2"), within_s(1000.0) + between_s(2000.0));
    assert_close(doubling_s("ranks_per_node = 2\nmap = \"cyclic\""), between_s(1000.0) + within_s(2000.0));
    assert_close(doubling_s("ranks_on_nodes = [1, 3]"), between_s(1000.0) + between_s(2000.0));
}

const MAPS: [&str; 4] = [
    "ranks_per_node = 3\nmap = \"cyclic\"",
    "ranks_on_nodes = [5, 6, 2]",
    "ranks_on_nodes = [1, 4, 9]\nmap = \"cyclic\"",
    "map = [3, 1, 1, 3, 0, 3, 3, 1, 0, 1, 2, 2, 3]",
];

/// Every algorithm at odd numbers of ranks: both engines agree, on any number of threads, and no time is below the bound.
#[test]
fn every_algorithm_runs_on_any_map() {
    let networks: [fn(&str) -> Platform; 4] = [
        |map| hockney(map, "1"),
        |map| hockney(map, "\"unlimited\""),
        loggp,
        |map| crossbar("\"links\"", &format!("{map}\npermutation = [2, 0, 3, 1]")),
    ];
    let platforms: Vec<_> = MAPS.iter().flat_map(|map| networks.map(|network| network(map))).collect();
    for (number, entry) in CATALOGUE.iter().enumerate() {
        let calls = [3, 7, 11].into_iter().flat_map(|ranks| cases::calls(entry.collective, ranks));
        for (turn, call) in calls.enumerate() {
            let platform = &platforms[(number + turn) % platforms.len()];
            let call = Call { nodes: platform.nodes(call.ranks).unwrap(), element_bytes: 8, ..call };
            let Ok(call) = entry.accept(&call, &[]) else { continue };
            let run = |options| simulate(entry, &call, platform, options);
            let by_events = run(Options { engine: Engine::Events, ..Options::default() }).unwrap();
            check_bound(entry, &call, platform, &by_events);
            let times = |outcome: Outcome| outcome.rank_times_s;
            if let Ok(outcome) = run(Options { engine: Engine::Dataflow, ..Options::default() }) {
                assert_eq!(times(outcome), by_events.rank_times_s, "{entry} in {call:?}");
            }
        }
    }
}

/// Equal nodes that are filled in order, however they are written: the same to the bit, with the same symmetry.
#[test]
fn equal_nodes_in_order_are_as_before() {
    let maps = ["ranks_per_node = 4", "ranks_on_nodes = [4, 4]", "map = [7, 7, 7, 7, 2, 2, 2, 2]"];
    let platforms = maps.map(|map| hockney(map, "\"unlimited\""));
    let mut symmetric = 0;
    for entry in CATALOGUE {
        for call in cases::calls(entry.collective, 8) {
            let run = |platform: &Platform, engine| -> Result<Outcome> {
                let call = Call { nodes: platform.nodes(8).unwrap(), element_bytes: 8, ..call.clone() };
                assert_eq!(call.nodes, Nodes::Equal(4));
                simulate(entry, &entry.accept(&call, &[])?, platform, Options { engine, ..Options::default() })
            };
            for engine in [Engine::Auto, Engine::Symmetry] {
                let found = platforms.each_ref().map(|platform| run(platform, engine));
                symmetric += usize::from(engine == Engine::Symmetry && found[0].is_ok());
                assert!(found.iter().all(|outcome| *outcome == found[0]), "{entry} in {call:?}");
            }
        }
    }
    assert!(symmetric > 0);
    let ring = find(Collective::Allgather, "ring").unwrap();
    let cyclic = hockney("ranks_per_node = 4\nmap = \"cyclic\"", "\"unlimited\"");
    let options = Options { engine: Engine::Symmetry, ..Options::default() };
    assert!(simulate(ring, &call(ring, (8, 64), &cyclic), &cyclic, options).is_err());
}

/// Each job is dealt over its own nodes, of two ranks each: in order, or as it names them.
#[test]
fn jobs_are_dealt_over_their_own_nodes() {
    let cyclic = crossbar("\"links\"", "ranks_per_node = 2\nmap = \"cyclic\"");
    let places = |how: Place, nodes: Option<Vec<usize>>| {
        let demands = [Demand { ranks: 4, nodes }, Demand { ranks: 3, nodes: None }];
        how.ranks(&demands, &cyclic, (7, 0)).unwrap()
    };
    assert_eq!(places(Place::Contiguous, None), [vec![0, 2, 1, 3], vec![4, 6, 5]]);
    assert_eq!(places(Place::Contiguous, Some(vec![3, 1])), [vec![2, 6, 3, 7], vec![0, 4, 1]]);
    assert_eq!(cyclic.for_jobs().nodes(8), Ok(Nodes::Equal(2)));
    let fabric = cyclic.for_jobs().network.fabric().map(|fabric| fabric.placement.node_of(5, 8));
    assert_eq!(fabric, Some(2));
}

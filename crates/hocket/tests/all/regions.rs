//! A network whose regions are simulated side by side gives the same bits as on one thread.

use hocket::cases;
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Collective, Program, Result};
use hocket_machine::Machine;
use hocket_simulate::{Options, Outcome, Platform, Trials, simulate, simulate_trials};
use proptest::prelude::*;

use crate::engines::schedules;
use crate::turns;

const NETWORKS: [&str; 7] = [
    "topology = \"torus\"\ndims = [4, 3]\n[node]\nports = 1",
    "topology = \"torus\"\ndims = [3, 2, 2]\n[node]\nports = 3",
    "topology = \"mesh\"\ndims = [6, 6]\npermutation = [7, 0, 8, 30, 29, 4, 35, 1, 2, 9, 10, 11, 12, 13, 3, 5, 6, 14, 15, 16, \
     17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33, 34]\n[node]\nports = 2\nreduce_bandwidth = \"1 GB/s\"",
    "topology = \"fat_tree\"\ndown = [6, 6]\nup = [1, 3]\nranks_per_node = 2\nlocal.L = \"0.1 us\"\nlocal.o = \"50 ns\"\n[node]",
    "topology = \"dragonfly\"\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 1\nglobal_links_per_router = 2\n[node]",
    "topology = \"torus\"\ndims = [3, 2]\nranks_per_node = 3\nmap = \"cyclic\"\npermutation = [4, 0, 3, 1, 5, 2]\n[node]",
    "topology = \"fat_tree\"\ndown = [3, 3]\nup = [1, 2]\nranks_on_nodes = [1, 4, 2, 3]\nlocal.L = \"0.1 us\"\nlocal.o = \"50 ns\"\n[node]",
];

const MODELS: [&str; 3] = [
    "model = \"links\"\nlink_latency = \"1 us\"",
    "model = \"packets\"\npacket = \"300 B\"\nbuffer = 2\nlink_latency = \"0.3 us\"\nrouter_latency = \"0.4 us\"",
    "model = \"packets\"\npacket = \"1 KiB\"\nlink_latency = \"20 ns\"\ncredit_latency = \"0.7 us\"\ninjection_bandwidth = \"0.4 GB/s\"",
];

/// Eager or rendezvous; with a software latency, with hosts, and with messages that leave at once.
const HOSTS: [[&str; 2]; 5] = [
    ["", ""],
    ["protocol = \"rendezvous\"", "software_latency = \"1 us\""],
    ["protocol = \"rendezvous\"", ""],
    ["", "[host]\no_send = \"1 us\"\no_receive = \"0.3 us\"\ng = \"0.5 us\"\nG = \"0.5 ns/B\""],
    [
        "",
        "[host]\no = \"1 us\"\nS = \"900 B\"\ng = \"3 us\"\nnew_peer = \"1 us\"\n\
      [node.scratch]\nfrom = \"100 B\"\ntogether_from = \"40 B\"\nper_byte = \"3 ns\"",
    ],
];

const NOISE: &str = "[noise.os]\nmodel = \"periodic\"\nperiod = \"3 us\"\nduration = \"1 us\"\n[noise.network]\nmodel = \
                     \"poisson\"\ninterval = \"3 us\"\nduration = \"1 us\"";

fn platform(model: &str, network: &str, [protocol, host]: [&str; 2], noise: &str) -> Platform {
    let bandwidth = "link_bandwidth = \"1 GB/s\"";
    let text = format!("name = \"test\"\n[network]\n{model}\n{bandwidth}\n{protocol}\n{network}\n{host}\n{noise}\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap_or_else(|e| panic!("{e} in {text}"))
}

fn run(program: &impl Program, call: &Call, platform: &Platform, threads: usize) -> Result<Outcome> {
    simulate(program, call, platform, Options { threads, keeps_threads: true, ..Options::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_program_takes_the_same_on_any_number_of_threads(
        schedule in schedules(10), model in prop::sample::select(&MODELS[..]),
        network in prop::sample::select(&NETWORKS[..]), host in prop::sample::select(&HOSTS[..]), threads in 2..6_usize,
    ) {
        let (call, platform) = (Call::new(Collective::Broadcast, 10, 1000), platform(model, network, host, ""));
        prop_assert_eq!(run(&schedule, &call, &platform, threads), run(&schedule, &call, &platform, 1));
    }

    #[test]
    fn and_under_noise(
        schedule in schedules(10), model in prop::sample::select(&MODELS[..]),
        network in prop::sample::select(&NETWORKS[..]), host in prop::sample::select(&HOSTS[..]), threads in 2..6_usize,
    ) {
        let (call, platform) = (Call::new(Collective::Broadcast, 10, 1000), platform(model, network, host, NOISE));
        let run = |threads| {
            let trials = Trials { seed: 7, count: 2, threads, ..Trials::default() };
            simulate_trials(&schedule, &call, &platform, trials, Options { threads, keeps_threads: true, ..Options::default() })
        };
        prop_assert_eq!(run(threads), run(1));
    }
}

/// Calls of an algorithm with few and with many ranks, at the last root.
fn accepted(entry: &Entry) -> impl Iterator<Item = Call> {
    let calls = [2, 7, 12].into_iter().flat_map(|ranks| cases::calls(entry.collective, ranks));
    let calls = calls.filter(|call| call.root + 1 == call.ranks).map(|call| Call { element_bytes: 8, ..call });
    calls.filter_map(|call| entry.accept(&call, &[]).ok())
}

#[test]
fn every_algorithm_takes_the_same_on_any_number_of_threads() {
    check_threads(12);
}

#[test]
#[ignore = "long: make test-long"]
fn every_algorithm_takes_the_same_on_any_number_of_threads_on_every_network() {
    check_threads(1);
}

/// Checks each call on every `turns`-th network.
fn check_threads(turns: usize) {
    let all = NETWORKS.into_iter().zip(HOSTS).zip(MODELS.into_iter().cycle());
    let on = |((network, host), model)| (network, platform(model, network, host, ""));
    let platforms: Vec<_> = all.map(on).collect();
    for entry in CATALOGUE {
        for (number, call) in accepted(entry).enumerate() {
            for (network, platform) in turns::of(&platforms, number, turns) {
                let run = |threads| run_listed(entry, &call, platform, threads);
                let alone = run(1);
                for threads in [2, 5] {
                    assert_eq!(run(threads), alone, "{entry} on {network} with {threads} threads in {call:?}");
                }
            }
        }
    }
}

fn run_listed(entry: &Entry, call: &Call, platform: &Platform, threads: usize) -> Outcome {
    let options = Options { threads, keeps_threads: true, ..Options::default() };
    hocket::simulate(entry, call, platform, options).unwrap_or_else(|e| panic!("{entry}: {e} in {call:?}"))
}

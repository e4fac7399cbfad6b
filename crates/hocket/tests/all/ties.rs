//! Simultaneous events may be looked at in any order: no time depends on it. The ties of docs/models-reference.md are kept.

use hocket_core::{Call, Collective, Program, Rank};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Outcome, Platform, simulate};
use proptest::prelude::*;

use crate::engines::schedules;

/// Every model, each with what decides who comes first: protocols, ports, hosts, and the ranks of a node.
const MODELS: [&str; 8] = [
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"",
    "model = \"loggp\"\nL = \"1 us\"\no = \"1 us\"\ng = \"2 us\"\nG = \"1 ns/B\"",
    "model = \"links\"\nlink_latency = \"1 us\"\nlink_bandwidth = \"1 GB/s\"",
    "model = \"links\"\nlink_latency = \"0 us\"\nlink_bandwidth = \"1 GB/s\"",
    "model = \"links\"\nsharing = \"fair\"\nlink_latency = \"1 us\"\nlink_bandwidth = \"1 GB/s\"",
    "model = \"links\"\nswitching = \"wormhole\"\nlink_latency = \"1 us\"\nlink_bandwidth = \"1 GB/s\"",
    "model = \"packets\"\npacket = \"500 B\"\nlink_latency = \"0.5 us\"\nlink_bandwidth = \"1 GB/s\"",
    "model = \"circuits\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nreconfiguration = \"1 us\"",
];

const POLICIES: [&str; 4] = ["naive", "ahead", "keep", "oracle"];

const TOPOLOGIES: [&str; 3] = [
    "topology = \"crossbar\"\nnodes = 6\npermutation = [2, 0, 5, 1, 4, 3]",
    "topology = \"torus\"\ndims = [3, 2]",
    "topology = \"crossbar\"\nnodes = 3\nranks_per_node = 2\npermutation = [2, 0, 1]",
];

const LOCAL: &str = "ranks_per_node = 2\nlocal.latency = \"0.3 us\"\nlocal.bandwidth = \"5 GB/s\"";
const LOGGP_LOCAL: &str = "ranks_per_node = 2\nlocal.L = \"1 us\"\nlocal.o = \"1 us\"";
const HOST: &str = "[host]\no = \"1 us\"\ng = \"1 us\"\nG = \"1 ns/B\"";

const CARDS: &str = "[node.cards]\ncount = 1\nbandwidth = \"0.7 GB/s\"\nmessage_gap = \"1 us\"";

/// A level whose ranks share its memory, where messages of `model` have costs of their own.
fn sharing(model: &str) -> String {
    let costs = if model.contains("hockney") {
        "latency = \"1 us\"\nbandwidth = \"1 GB/s\""
    } else {
        "L = \"1 us\"\no = \"1 us\""
    };
    format!("[[level]]\n{costs}\nshared_bandwidth = \"0.5 GB/s\"\nmessage_gap = \"1 us\"")
}

/// A machine of this model for six ranks, by the bits of `kind`.
fn platform(model: &str, kind: usize) -> Platform {
    let choose = |bit: usize| kind >> bit & 1 == 1;
    let is_apart = model.contains("hockney") || model.contains("loggp");
    let is_circuits = model.contains("circuits");
    let (rendezvous, host) = (choose(0), choose(1) && !is_apart);
    let topology = match is_apart {
        true if choose(2) && model.contains("hockney") => LOCAL.to_owned(),
        true if choose(2) => LOGGP_LOCAL.to_owned(),
        true => String::new(),
        false => TOPOLOGIES[(kind >> 2) % 3].to_owned(),
    };
    let protocol = match rendezvous {
        true if model.contains("loggp") => "S = \"0 B\"\nrequest = \"0 us\"\nanswer = \"0 us\"",
        _ if model.contains("loggp") || host || is_circuits => "",
        true => "protocol = \"rendezvous\"",
        false => "protocol = \"eager\"",
    };
    let of_host = match (host, rendezvous) {
        (false, _) => String::new(),
        (true, false) => HOST.to_owned(),
        (true, true) => format!("{HOST}\nS = \"999 B\""),
    };
    let ports = 1 + (kind >> 4 & 1);
    let circuits = format!("ports = {ports}\npolicy = \"{}\"", POLICIES[kind >> 5 & 3]);
    let (circuits, node) = match (is_circuits, model.contains("loggp")) {
        (true, _) => (circuits.as_str(), String::new()),
        (false, true) => ("", String::new()),
        (false, false) => ("", format!("ports = {ports}")),
    };
    let shared = if choose(7) { CARDS } else { "" };
    let levels = if choose(7) && topology.contains("ranks_per_node") { sharing(model) } else { String::new() };
    let topology = if levels.is_empty() { topology } else { topology.replace("local.", "#") };
    let text = format!(
        "name = \"test\"\n[network]\n{model}\n{protocol}\n{circuits}\n{topology}\n{of_host}\n[node]\nreduce_bandwidth = \
         \"1 GB/s\"\n{node}\n{shared}\n{levels}\n"
    );
    Platform::new(&Machine::parse(&text, "test.toml").unwrap_or_else(|e| panic!("{e} in {text}")))
        .unwrap_or_else(|e| panic!("{e} in {text}"))
}

fn run(program: &impl Program, call: &Call, platform: &Platform, shuffle: Option<u64>) -> hocket_core::Result<Outcome> {
    simulate(program, call, platform, Options { engine: Engine::Events, shuffle, ..Options::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn times_do_not_depend_on_the_order_in_which_simultaneous_events_are_looked_at(
        schedule in schedules(6), model in prop::sample::select(&MODELS[..]), kind in 0..256_usize, seed in any::<u64>(),
    ) {
        let (call, platform) = (Call::new(Collective::Broadcast, 6, 1000), platform(model, kind));
        let expected = run(&schedule, &call, &platform, None);
        prop_assert_eq!(run(&schedule, &call, &platform, Some(seed)), expected);
    }
}

/// Every rank sends a megabyte to each other rank, all at once, beginning with the next one.
struct ToAll;

impl Program for ToAll {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let (rank, size) = (r.rank(), r.size());
        let exchange = |distance| {
            let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
            r.join(r.send(to, c.result(r)), r.recv(from, c.result(r)))
        };
        r.join_all((1..size).map(exchange)).await;
    }
}

/// No two ranks send to one rank at a time: each transfer follows the one before at once, and all ranks end together.
#[test]
fn rendezvous_messages_sent_together_leave_in_the_order_of_the_program() {
    let byte_s = 1e-9;
    let message_s = 1e6 * byte_s;
    let links = "link_latency = \"0.5 us\"\nlink_bandwidth = \"1 GB/s\"\ntopology = \"crossbar\"\nnodes = 16\nprotocol = \"rendezvous\"";
    // Each of the 14 gaps is g + m G; request and answer take o + L each, and the last message 2 o + L + m G.
    let loggp_s = 14.0 * (2e-6 + message_s - byte_s) + 2.0 * 2e-6 + 3e-6 + message_s - byte_s;
    let cases = [
        ("model = \"hockney\"\nlatency = \"0 us\"\nbandwidth = \"1 GB/s\"".to_owned(), 15.0 * message_s),
        (
            "model = \"loggp\"\nL = \"1 us\"\no = \"1 us\"\ng = \"2 us\"\nG = \"1 ns/B\"\nS = \"64 KiB\"".to_owned(),
            loggp_s,
        ),
        (format!("model = \"links\"\n{links}"), 15.0 * message_s + 1e-6),
        (format!("model = \"links\"\nswitching = \"wormhole\"\n{links}"), 15.0 * message_s + 1e-6),
        (format!("model = \"links\"\nsharing = \"fair\"\n{links}"), 15.0 * message_s + 1e-6),
    ];
    for (network, expected_s) in cases {
        let text = format!("name = \"test\"\n[network]\n{network}\n");
        let platform = Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap();
        let outcome = run(&ToAll, &Call::new(Collective::Broadcast, 16, 1_000_000), &platform, None).unwrap();
        for time_s in outcome.rank_times_s {
            assert!((time_s / expected_s - 1.0).abs() < 1e-9, "{time_s}, expected {expected_s} on {network}");
        }
    }
}

/// Ranks 0 and 1 send a kilobyte to rank 2 at once.
struct ToLast;

impl Program for ToLast {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() < 2 {
            return r.send(2, c.result(r)).await;
        }
        r.join(r.recv(0, c.result(r)), r.recv(1, c.result(r))).await;
    }
}

#[test]
fn of_messages_that_start_at_one_time_that_of_the_lowest_node_goes_first() {
    for sharing in ["sharing = \"queue\"", "sharing = \"fair\"", "switching = \"wormhole\""] {
        for (permutation, last) in [([0, 1, 2], 1), ([2, 1, 0], 0)] {
            let text = format!(
                "name = \"test\"\n[network]\nmodel = \"links\"\ntopology = \"crossbar\"\nnodes = 3\npermutation = {permutation:?}\n\
                 link_bandwidth = \"1 GB/s\"\nprotocol = \"rendezvous\"\n{sharing}\n"
            );
            let platform = Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap();
            let outcome = run(&ToLast, &Call::new(Collective::Broadcast, 3, 1000), &platform, None).unwrap();
            let sent_s = [outcome.rank_times_s[last], outcome.rank_times_s[1 - last]];
            assert!(sent_s[0] >= sent_s[1], "{sent_s:?} with {sharing} and {permutation:?}");
            assert!((outcome.rank_times_s[2] - 2e-6).abs() < 1e-12, "{outcome:?}");
        }
    }
}

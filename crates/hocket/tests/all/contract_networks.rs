//! Every algorithm of the catalogue on networks in which messages meet: it ends, sends what it always sends, and every byte
//! of it crosses the links of its route.

use hocket::{cases, simulate};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Kind, Options, Outcome, Platform};

use crate::bounds::check_bound;
use crate::turns;

/// Keys of `[network]`, and of the node or the host.
const MODELS: [[&str; 2]; 10] = [
    ["model = \"links\"\nlink_latency = \"100 ns\"", SENDER],
    ["model = \"links\"\nswitching = \"wormhole\"", SENDER],
    ["model = \"links\"\nsharing = \"fair\"\nlink_latency = \"100 ns\"", SENDER],
    ["model = \"links\"\nprotocol = \"rendezvous\"", SENDER],
    [
        "model = \"packets\"\npacket = \"64 B\"\nbuffer = 2\nlink_latency = \"20 ns\"\nrouter_latency = \"30 ns\"",
        SENDER,
    ],
    ["model = \"packets\"\npacket = \"64 B\"\ninjection_bandwidth = \"250 MB/s\"", SENDER],
    [
        "model = \"links\"\nlink_latency = \"100 ns\"",
        "[host]\no_send = \"1 us\"\no_receive = \"0.3 us\"\ng = \"0.5 us\"",
    ],
    [
        "model = \"links\"\nsharing = \"fair\"",
        "[host]\nfrom = [\"0 B\", \"64 B\"]\no = [\"1 us\", \"0.2 us\"]\nG = \"2 ns/B\"",
    ],
    [
        "model = \"links\"\nprotocol = \"rendezvous\"",
        "[host]\no_send = \"0.5 us\"\no_receive = \"2 us\"\nO = \"3 ns/B\"",
    ],
    [
        "model = \"packets\"\npacket = \"64 B\"",
        "[host]\no = \"1 us\"\nS = \"100 B\"\ng = \"3 us\"\nnew_peer = \"1 us\"",
    ],
];

const SENDER: &str = "software_latency = \"1 us\"";

const SHAPES: [&str; 8] = [
    "topology = \"torus\"\ndims = [9, 2, 2]",
    "topology = \"mesh\"\ndims = [6, 6]",
    "topology = \"fat_tree\"\ndown = [6, 6]\nup = [1, 3]",
    "topology = \"dragonfly\"\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 1\nglobal_links_per_router = 2",
    "topology = \"crossbar\"\nnodes = 12\nranks_per_node = 3",
    "topology = \"crossbar\"\nnodes = 3\nranks_per_node = 16\nlocal.L = \"0.1 us\"\nlocal.o = \"50 ns\"",
    "topology = \"torus\"\ndims = [3, 4]\nranks_per_node = 3\nlocal.L = \"2 us\"\nlocal.o = \"2 us\"\nlocal.g = \"3 us\"",
    "topology = \"crossbar\"\nnodes = 4\nranks_per_node = 12\n[node.cards]\ncount = 3\nbandwidth = \"0.5 GB/s\"\n\
     [[level]]\nranks = 4\nL = \"0.1 us\"\no = \"50 ns\"\nshared_bandwidth = \"1 GB/s\"\n[[level]]\nL = \"0.2 us\"\no = \"50 ns\"",
];

fn platform([model, host]: [&str; 2], shape: &str) -> Platform {
    let node = "ports = 2\nreduce_bandwidth = \"10 GB/s\"";
    let text =
        format!("name = \"test\"\n[network]\n{model}\nlink_bandwidth = \"1 GB/s\"\n{shape}\n[node]\n{node}\n{host}\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap_or_else(|e| panic!("{e}"))
}

/// Calls of an algorithm at a few rank counts, at the first and the last root, with elements of 8 bytes; also with small
/// segments, and other values of what it takes besides.
fn accepted(entry: &Entry) -> impl Iterator<Item = Call> {
    let calls = [1, 2, 3, 5, 8, 16, 33].into_iter().flat_map(|ranks| cases::calls(entry.collective, ranks));
    let calls = calls.filter(|call| call.root == 0 || call.root + 1 == call.ranks);
    let calls = calls.map(|call| Call { element_bytes: 8, ..call });
    let given = cases::parameters(entry);
    calls.flat_map(move |call| given.iter().filter_map(|given| entry.accept(&call, given).ok()).collect::<Vec<_>>())
}

fn run(entry: &Entry, call: &Call, platform: &Platform) -> Outcome {
    let options = Options { trace: true, ..Options::default() };
    let outcome = simulate(entry, call, platform, options).unwrap_or_else(|e| panic!("{entry}: {e} in {call:?}"));
    assert_eq!(outcome.engine, "events");
    check_bound(entry, call, platform, &outcome);
    outcome
}

/// Bytes times links of all messages.
fn bytes_over_links(outcome: &Outcome, platform: &Platform) -> f64 {
    let fabric = platform.network.fabric().unwrap();
    let mut hops = Vec::new();
    let sends = outcome.trace.iter().filter(|record| record.kind == Kind::Send);
    let over_links = sends.map(|send| {
        let [from, to] = [send.rank, send.peer].map(|rank| fabric.placement.node_of(rank, outcome.rank_times_s.len()));
        hops.clear();
        fabric.topology.route(from, to, &mut hops);
        send.bytes * hops.len() as f64
    });
    over_links.sum()
}

/// When the last operation ended: a rank may end before its last message arrives.
fn last_s(outcome: &Outcome) -> f64 {
    outcome.trace.iter().map(|record| record.end_s).fold(0.0, f64::max)
}

/// A network on which messages do not meet.
fn apart() -> Platform {
    let network = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
    Platform::new(&Machine::parse(&format!("name = \"apart\"\n[network]\n{network}\n"), "apart.toml").unwrap()).unwrap()
}

/// Checks each call on every `turns`-th network.
fn check(networks: impl IntoIterator<Item = ([&'static str; 2], &'static str)>, turns: usize) {
    let platforms: Vec<_> = networks.into_iter().map(|(model, shape)| (platform(model, shape), model, shape)).collect();
    let apart = apart();
    for entry in CATALOGUE {
        for (number, call) in accepted(entry).enumerate() {
            for (platform, model, shape) in turns::of(&platforms, number, turns) {
                let always = simulate(entry, &call, &apart, Options::default()).unwrap();
                let outcome = run(entry, &call, platform);
                let sent = |outcome: &Outcome| (outcome.messages, outcome.message_bytes);
                assert_eq!(sent(&outcome), sent(&always), "{entry} with {model:?} on {shape} in {call:?}");
                let carried: f64 = outcome.links.iter().map(|link| link.bytes).sum();
                let sent = bytes_over_links(&outcome, platform);
                assert_eq!(carried, sent, "{entry} with {model:?} on {shape} in {call:?}");
                let last_s = last_s(&outcome) * (1.0 + 1e-9);
                let longest_s = outcome.links.iter().map(|link| link.busy_s).fold(0.0, f64::max);
                assert!(longest_s <= last_s, "{entry} with {model:?} on {shape} in {call:?}");
            }
        }
    }
}

#[test]
fn every_algorithm_ends_and_its_bytes_cross_their_links_on_every_model() {
    check(MODELS.map(|model| (model, SHAPES[0])), 20);
}

#[test]
#[ignore = "long: make test-long"]
fn every_algorithm_ends_and_its_bytes_cross_their_links_on_every_model_and_topology() {
    let (of_links, of_nodes) = SHAPES[1..].split_at(SHAPES.len() - 3);
    let on = |shapes: &[&'static str], models: [usize; 2]| {
        shapes.iter().flat_map(|shape| models.map(|model| (MODELS[model], *shape))).collect::<Vec<_>>()
    };
    let models = MODELS.map(|model| (model, SHAPES[0])).to_vec();
    check([models, on(of_links, [0, 4]), on(of_nodes, [0, 6])].concat(), 1);
}

/// Software latency, then two links one after the other, with a router between them in `packets`: of ten packets of 64 ns
/// two leave every 64 + 2 * 20 + 30 ns, as buffers are short, so the last one at 4 * 134 + 64 ns. Slow ports need 256 ns for
/// each packet, so that the message is there before its sender is done. With hosts: what both ends cost, the bytes at the
/// interface where that takes longer than on links, and before that request and answer.
#[test]
fn one_message_takes_what_its_closed_form_says() {
    let chain = find(Collective::Broadcast, "chain").unwrap();
    let call = chain.accept(&Call { root: 1, ..Call::new(Collective::Broadcast, 2, 640) }, &[]).unwrap();
    let shape = "topology = \"torus\"\ndims = [2, 5]\npermutation = [0, 6, 1, 2, 3, 4, 5, 7, 8, 9]";
    let expected_s: [f64; MODELS.len()] = [
        1e-6 + 2.0 * 1e-7 + 640e-9,
        1e-6 + 640e-9,
        1e-6 + 2e-7 + 640e-9,
        1e-6 + 640e-9,
        1e-6 + 600e-9 + 2.0 * 50e-9 + 64e-9,
        1e-6 + 10.0 * 256e-9,
        1e-6 + 2.0 * 1e-7 + 640e-9 + 0.3e-6,
        0.2e-6 + 639.0 * 2e-9 + 0.2e-6,
        (0.5e-6 + 2e-6) + (0.5e-6 + 639.0 * 3e-9) + 640e-9 + (2e-6 + 639.0 * 3e-9),
        (1e-6 + 1e-6) + (1e-6 + 1e-6) + 640e-9 + 1e-6,
    ];
    for (model, expected_s) in MODELS.iter().zip(expected_s) {
        let found_s = run(chain, &call, &platform(*model, shape)).time_s();
        // Packets travel at moments 2^-50 s apart.
        assert!((found_s - expected_s).abs() < 1e-13, "{model:?}: {found_s}, not {expected_s}");
    }
}

/// The same call gives the same bits again, and dataflow, which knows of no contention, is refused.
#[test]
fn runs_are_reproducible_and_dataflow_does_not_apply() {
    let entry = find(Collective::Alltoall, "pairwise_exchange").unwrap();
    let call = entry.accept(&Call::new(Collective::Alltoall, 36, 1000), &[]).unwrap();
    for model in MODELS {
        let platform = platform(model, SHAPES[0]);
        let [one, other] = [(); 2].map(|()| run(entry, &call, &platform));
        assert_eq!(one, other);
        let options = Options { engine: Engine::Dataflow, ..Options::default() };
        let refusal = simulate(entry, &call, &platform, options).unwrap_err().to_string();
        assert!(refusal.contains("messages share links"), "{refusal}");
    }
}

/// More ranks than there is room for: one line that says how many there is room for.
#[test]
fn ranks_must_have_room() {
    let entry = find(Collective::Allreduce, "ring").unwrap();
    let call = entry.accept(&Call::new(Collective::Allreduce, 37, 8), &[]).unwrap();
    for model in MODELS {
        let refusal = simulate(entry, &call, &platform(model, SHAPES[0]), Options::default()).unwrap_err().to_string();
        assert!(refusal.contains("got 37") && refusal.contains("at most 36"), "{refusal}");
    }
}

//! Messages through the switch of a node: `[level.multicast]`, and the algorithms that send them.

use hocket::simulate;
use hocket_algorithms::find;
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Platform};

/// A machine of nodes of `ranks`, with these lines after `[[level]]`.
fn machine(network: &str, ranks: usize, level: &str) -> Result<Platform, hocket_core::Error> {
    let text = format!(
        "name = \"switch\"\n[network]\n{network}\nranks_per_node = {ranks}\n[node]\nports = \"unlimited\"\n[[level]]\n{level}\n"
    );
    let text = if network.contains("hockney") { text } else { text.replace("ports = \"unlimited\"", "") };
    Platform::new(&Machine::parse(&text, "switch.toml")?)
}

const HOCKNEY: &str = "model = \"hockney\"\nlatency = \"5 us\"\nbandwidth = \"50 GB/s\"";
const LOGGP: &str = "model = \"loggp\"\nL = \"5 us\"\no = \"1 us\"\nG = \"0.02 ns/B\"";
const LINE: &str = "latency = \"1 us\"\nbandwidth = \"365 GB/s\"";
const SWITCH: &str = "[level.multicast]\nlatency = \"2 us\"\nbandwidth = \"274 GB/s\"";

/// Hockney nodes with a switch.
fn nodes_of(ranks: usize) -> Platform {
    machine(HOCKNEY, ranks, &format!("{LINE}\n{SWITCH}")).unwrap()
}

/// The time of an algorithm for `bytes`, in seconds; None if the engine does not apply.
fn time_s(
    (collective, algorithm): (Collective, &str),
    (ranks, bytes): (usize, usize),
    given: &[(&str, u64)],
    platform: &Platform,
    engine: Engine,
) -> Option<f64> {
    let entry = find(collective, algorithm).unwrap();
    let call = Call { nodes: platform.nodes(ranks).unwrap(), ..Call::new(collective, ranks, bytes) };
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let call = entry.accept(&call, &given).unwrap();
    simulate(entry, &call, platform, Options { engine, ..Options::default() }).ok().map(|outcome| outcome.time_s())
}

fn assert_near(got: f64, expected: f64) {
    assert!((got / expected - 1.0).abs() < 1e-9, "{got} s, not {expected} s");
}

const NVLS: (Collective, &str) = (Collective::Allreduce, "nvls");

/// S equal segments of each chunk go up and, one step later, down: S + 1 steps of latency + 4 segment / bandwidth.
#[test]
fn an_allreduce_through_the_switch_takes_its_closed_form() {
    for (segments, segment) in [(1, 4096), (5, 65536), (16, 1000)] {
        let bytes = 4 * segments * segment;
        let expected = (segments + 1) as f64 * (2e-6 + 4.0 * segment as f64 / 274e9);
        for protocol in ["rendezvous", "eager"] {
            let network = format!("{HOCKNEY}\nprotocol = \"{protocol}\"");
            let platform = machine(&network, 4, &format!("{LINE}\n{SWITCH}")).unwrap();
            for engine in [Engine::Dataflow, Engine::Events] {
                let got = time_s(NVLS, (4, bytes), &[("segment", segment as u64)], &platform, engine);
                assert_near(got.unwrap_or_else(|| panic!("{engine:?} does not apply")), expected);
            }
        }
    }
}

/// One segment: three messages leave each rank one after another, arrive in the same way, and so do the sums. Each occupies
/// an interface for the 4 / (2 * 3) part of its bytes.
#[test]
fn on_loggp_messages_through_the_switch_share_the_interface() {
    let level = format!("L = \"1 us\"\no = \"0.1 us\"\nG = \"0.003 ns/B\"\n{SWITCH}");
    let platform = machine(LOGGP, 4, &level).unwrap();
    let got = time_s(NVLS, (4, 4 << 20), &[("segment", 1 << 20)], &platform, Engine::Events).unwrap();
    assert_near(got, 2.0 * (2e-6 + 3.0 * f64::from(1 << 20) * 4.0 / 6.0 / 274e9));
}

/// In many segments, both models approach n / bandwidth.
#[test]
fn long_vectors_take_their_bytes_over_the_bandwidth() {
    let level = format!("L = \"1 us\"\no = \"0.1 us\"\nG = \"0.003 ns/B\"\n{SWITCH}");
    for platform in [machine(LOGGP, 8, &level).unwrap(), nodes_of(8)] {
        let bytes = 1 << 30;
        let got = time_s(NVLS, (8, bytes), &[("segment", 4 << 20)], &platform, Engine::Events).unwrap();
        let ratio = got / (bytes as f64 / 274e9);
        assert!((1.0..1.06).contains(&ratio), "{ratio} times n / bandwidth");
    }
}

/// Eight accelerators: published bus bandwidths of nccl-tests are about 480 GB/s with NVLink SHARP, and 365 GB/s on a ring.
#[test]
fn nvls_is_faster_than_the_ring_as_measured() {
    let platform = nodes_of(8);
    let bus = |algorithm, given: &[(&str, u64)]| {
        let engine = Engine::Events;
        let time_s = time_s((Collective::Allreduce, algorithm), (8, 1 << 30), given, &platform, engine).unwrap();
        1.75 * f64::from(1 << 30) / time_s / 1e9
    };
    let (nvls, ring) = (bus("nvls", &[("segment", 2 << 20)]), bus("ring", &[]));
    assert!((nvls / ring / (480.0 / 365.0) - 1.0).abs() < 0.05, "nvls {nvls} GB/s, ring {ring} GB/s");
}

/// Two nodes: between them, a rank sends its eighth of the vector in 0.02 ns/B, by the interface that the switch has too.
/// So the two take (1 / 274 + 0.02 / 8) ns/B, one after the other only where a segment begins and ends.
#[test]
fn nvls_tree_works_on_nodes_and_between_them_at_the_same_time() {
    let level = format!("L = \"1 us\"\no = \"0.1 us\"\nG = \"0.003 ns/B\"\n{SWITCH}");
    let (node, bytes) = (machine(LOGGP, 8, &level).unwrap(), 1 << 30);
    let given = [("segment", 1 << 20)];
    let got = time_s((Collective::Allreduce, "nvls_tree"), (16, bytes), &given, &node, Engine::Events).unwrap();
    let ratio = got / (bytes as f64 * (1.0 / 274e9 + 0.02e-9 / 8.0));
    assert!((1.0..1.1).contains(&ratio), "{ratio} times the bytes of both");
}

#[test]
fn without_a_switch_messages_are_ordinary_ones() {
    let platform = machine(HOCKNEY, 4, LINE).unwrap();
    let got = time_s(NVLS, (4, 4 << 20), &[("segment", 1 << 20)], &platform, Engine::Dataflow).unwrap();
    assert_near(got, 2.0 * (1e-6 + f64::from(1 << 20) / 365e9));
}

/// Ranks of a smaller group send through the switch of their node as well.
#[test]
fn the_switch_serves_smaller_groups() {
    let groups = format!("ranks = 2\n{LINE}\n[[level]]\n{LINE}\n{SWITCH}");
    let platform = machine(HOCKNEY, 4, &groups).unwrap();
    let got = time_s(NVLS, (4, 4096), &[("segment", 4096)], &platform, Engine::Dataflow).unwrap();
    assert_near(got, 2.0 * (2e-6 + 4096.0 / 274e9));
}

#[test]
fn several_nodes_are_refused() {
    let platform = nodes_of(4);
    for (collective, algorithm) in [NVLS, (Collective::ReduceScatter, "nvls"), (Collective::Allgather, "nvls")] {
        let call = Call { nodes: platform.nodes(8).unwrap(), ..Call::new(collective, 8, 100) };
        let refusal = find(collective, algorithm).unwrap().accept(&call, &[]).unwrap_err().to_string();
        assert!(refusal.contains("needs all ranks on one node"), "{refusal}");
    }
}

#[test]
fn wrong_sections_are_refused() {
    let links = "model = \"links\"\ntopology = \"crossbar\"\nnodes = 4\nlink_bandwidth = \"1 GB/s\"";
    let of_loggp = "L = \"1 us\"\no = \"0.1 us\"";
    let cases = [
        (HOCKNEY, format!("{LINE}\n{SWITCH}\nlanes = 2"), "level[0].multicast.lanes: unknown key"),
        (HOCKNEY, format!("{LINE}\n[level.multicast]\nlatency = \"1 us\""), "bandwidth"),
        (HOCKNEY, format!("ranks = 2\n{LINE}\n{SWITCH}"), "expected it in the level of all ranks of a node"),
        (LOGGP, format!("{of_loggp}\n[level.multicast]\nL = \"1 us\""), "latency"),
        (links, format!("{of_loggp}\n{SWITCH}"), "multicast: unknown key"),
    ];
    for (network, level, expected) in cases {
        let error = machine(network, 4, &level).err().expect("a refusal").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

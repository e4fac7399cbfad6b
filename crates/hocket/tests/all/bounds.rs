//! No algorithm on any machine is below the lower bounds of its collective, and some reach them.

use hocket::{bound, simulate};
use hocket_algorithms::{CATALOGUE, Entry, demand, find};
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Bound, Engine, Options, Outcome, Platform};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Of what every contract test simulates: the time is not below the bound, up to rounding, nor are the bytes sent.
pub fn check_bound(entry: &Entry, call: &Call, platform: &Platform, outcome: &Outcome) {
    let bound = bound(call, platform).unwrap();
    let (time_s, name) = (outcome.time_s(), &platform.name);
    assert!(time_s >= bound.time_s() * (1.0 - 1e-9), "{entry} takes {time_s} on {name}, {bound:?}, in {call:?}");
    let sent_bytes = (demand(call.collective).sent_elements)(call) * call.element_bytes;
    assert!(outcome.message_bytes >= sent_bytes as u64, "{entry} sends less than {sent_bytes} bytes in {call:?}");
}

fn platform(network: &str, node: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\n{node}\nreduce_bandwidth = \"10 GB/s\"\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn hockney(ports: &str) -> Platform {
    platform("model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"", &format!("ports = {ports}"))
}

fn links(shape: &str) -> Platform {
    let network = "model = \"links\"\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"";
    platform(&format!("{network}\n{shape}"), "ports = 2\nsoftware_latency = \"2 us\"")
}

fn bound_of(collective: Collective, ranks: usize, bytes: usize, platform: &Platform) -> Bound {
    bound(&Call::new(collective, ranks, bytes), platform).unwrap()
}

fn bytes_s(bound: Bound) -> f64 {
    bound.bandwidth_s.unwrap()
}

/// By hand, at alpha = 1 us, beta = 1 ns/B: 64 ranks know after 6 rounds of one port, 3 of three (4^3 = 64), 1 of unlimited
/// ones. An allreduce of 64 kB sends 2 * 63 / 64 of it, through one port or three; a broadcast all of it.
#[test]
fn bounds_of_hockney_networks_by_hand() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-15, "{found}, not {expected}");
    for (ports, rounds, divisor) in [("1", 6.0, Some(1.0)), ("3", 3.0, Some(3.0)), ("\"unlimited\"", 1.0, None)] {
        let allreduce = bound_of(Collective::Allreduce, 64, 64_000, &hockney(ports));
        close(allreduce.latency_s, rounds * 1e-6);
        for (collective, bytes) in [(Collective::Allreduce, 126_000.0), (Collective::Broadcast, 64_000.0)] {
            match (bound_of(collective, 64, 64_000, &hockney(ports)).bandwidth_s, divisor) {
                (Some(found_s), Some(divisor)) => close(found_s, 1e-6 + bytes * 1e-9 / divisor),
                found => assert_eq!(found, (None, None), "{collective}"),
            }
        }
        close(bound_of(Collective::Barrier, 64, 0, &hockney(ports)).time_s(), rounds * 1e-6);
    }
    for collective in Collective::ALL {
        assert_eq!(bound_of(collective, 1, 1000, &hockney("1")), Bound::NONE, "{collective}");
    }
    assert_eq!(bound_of(Collective::Alltoall, 8, 0, &hockney("1")), Bound::NONE);
}

/// LogGP at L = 6 us, o = 2 us, g = 4 us: the tree of Karp et al. reaches 8 ranks after 24 us. 1001 bytes at G = 1 ns/B follow
/// their first byte for 1 us, however they are cut.
#[test]
fn bounds_of_loggp_networks_by_hand() {
    let machine = platform("model = \"loggp\"\nL = \"6 us\"\no = \"2 us\"\ng = \"4 us\"\nG = \"1 ns/B\"", "");
    let broadcast = bound_of(Collective::Broadcast, 8, 1001, &machine);
    assert!((broadcast.latency_s - 24e-6).abs() < 1e-15, "{broadcast:?}");
    assert!((bytes_s(broadcast) - 11e-6).abs() < 1e-12, "{broadcast:?}");
    let reduce = bound_of(Collective::Reduce, 8, 80_000, &machine);
    assert!((reduce.computation_s - 7e-6).abs() < 1e-15, "{reduce:?}");
}

/// On a torus of 8 x 4 with 1 us per link and 1 GB/s: the farthest node is 4 + 2 links away; half of the ranks along x send
/// 16 * 16 blocks over 2 * 4 links, along y over 2 * 8; a rank by itself 31 blocks on its two ports.
#[test]
fn bounds_of_tori_by_hand() {
    let torus = links("topology = \"torus\"\ndims = [8, 4]");
    let alltoall = bound_of(Collective::Alltoall, 32, 1000, &torus);
    assert!((bytes_s(alltoall) - (3e-6 + 256e-6 / 8.0)).abs() < 1e-15, "{alltoall:?}");
    let broadcast = bound_of(Collective::Broadcast, 32, 1000, &torus);
    // 2^(t / 2 us) ranks are told by the processor, each 1 us later: 32 know after 11 us, more than 2 + 6 us.
    assert!((broadcast.latency_s - 11e-6).abs() < 4e-6 && broadcast.latency_s >= 8e-6, "{broadcast:?}");
    assert!((bytes_s(broadcast) - (3e-6 + 0.5e-6)).abs() < 1e-15, "{broadcast:?}");
}

/// At a crossbar of 1 us per link, with o_send = 1 us, o_receive = 0.5 us, g = 2 us and G = 2 ns/B: two links and both ends;
/// a third rank is told g after the second at least, a message 2.5 us after it was sent; and n bytes pass an interface in
/// (n - 1) G, and take o_send and o_receive.
#[test]
fn bounds_with_hosts_by_hand() {
    let network =
        "model = \"links\"\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"\ntopology = \"crossbar\"\nnodes = 8";
    let machine = platform(
        &format!("{network}\n[host]\no_send = \"1 us\"\no_receive = \"0.5 us\"\ng = \"2 us\"\nG = \"2 ns/B\""),
        "",
    );
    for (ranks, latency_s) in [(2, 3.5e-6), (3, 2.5e-6 + 2e-6), (4, 5e-6)] {
        for collective in [Collective::Broadcast, Collective::Gather] {
            let found = bound_of(collective, ranks, 8, &machine);
            assert!((found.latency_s - latency_s).abs() < 1e-15, "{collective} of {ranks}: {found:?}");
        }
    }
    let found = bound_of(Collective::Broadcast, 8, 1_000_001, &machine);
    assert!((bytes_s(found) - (1.5e-6 + 2e-3)).abs() < 1e-12, "{found:?}");
}

/// Half of 16 nodes are behind the 4 links up of two subtrees; half of 24 behind the global links from two groups to the
/// two others: 4, or 8 with two for each pair of groups, when the 23 blocks that a node sends take longer.
#[test]
fn halves_of_trees_and_dragonflies_are_cut_at_their_highest_links() {
    let tree = links("topology = \"fat_tree\"\ndown = [4, 4]\nup = [1, 2]");
    let fly = |keys: &str| {
        links(&format!("topology = \"dragonfly\"\ngroups = 4\nrouters_per_group = 3\nnodes_per_router = 2\n{keys}"))
    };
    let found = bytes_s(bound_of(Collective::Alltoall, 16, 1000, &tree));
    assert!((found - (3e-6 + 64e-6 / 4.0)).abs() < 1e-15, "{found}");
    for (keys, cut) in [
        ("global_links_per_router = 1", 4.0),
        ("global_links_per_router = 1\nglobal_arrangement = \"circulant\"", 4.0),
        ("global_links_per_router = 2\nglobal_arrangement = \"absolute\"", 8.0),
        ("global_links_per_router = 2\nlinks_per_pair_of_groups = 1", 4.0),
    ] {
        let found = bytes_s(bound_of(Collective::Alltoall, 24, 1000, &fly(keys)));
        assert!((found - (3e-6 + f64::max(144e-6 / cut, 23e-6))).abs() < 1e-15, "{keys}: {found}");
    }
}

/// A packet takes a whole number of moments of about 1 fs: at 389 GB/s, a byte takes 0.01 % less than by the rate.
#[test]
fn bounds_of_packets_are_rounded_as_their_times_are() {
    let entry = find(Collective::Broadcast, "linear").unwrap();
    for (rate, packet) in (380..400).flat_map(|rate| [(rate, 1), (rate, 7)]) {
        let network = format!(
            "model = \"packets\"\ntopology = \"crossbar\"\nnodes = 2\nlink_bandwidth = \"{rate} GB/s\"\n\
             packet = \"{packet} B\""
        );
        let platform = platform(&network, "");
        for bytes in [1, 6, 7, 70] {
            let call = entry.accept(&Call::new(Collective::Broadcast, 2, bytes), &[]).unwrap();
            check_bound(entry, &call, &platform, &simulate(entry, &call, &platform, Options::default()).unwrap());
        }
    }
}

/// What is known to be optimal reaches the bounds: trees and dissemination that of latency, rings that of bandwidth but for
/// their latency.
#[test]
fn the_best_reach_the_bounds() {
    let one_port = hockney("1");
    let reach = |collective, name, ranks, bytes: usize| {
        let entry = find(collective, name).unwrap();
        let call = entry.accept(&Call::new(collective, ranks, bytes), &[]).unwrap();
        simulate(entry, &call, &one_port, Options::default()).unwrap().time_s()
            / bound(&call, &one_port).unwrap().time_s()
    };
    for ranks in [2, 5, 16, 33] {
        let ratio = reach(Collective::Barrier, "dissemination", ranks, 0);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }
    assert!(reach(Collective::Broadcast, "binomial", 64, 1) < 1.01);
    assert!(reach(Collective::Allgather, "ring", 8, 10_000_000) < 1.01);
    assert!(reach(Collective::ReduceScatter, "ring", 8, 80_000_000) < 1.2);
}

/// What the lines of a level have: their kind, latency in ns, and time per byte in ps.
type Line = (u8, u32, u32);

/// The lines of a level: a slow start, a time per byte, and costs that depend on the size or on what ranks share.
fn level(model: &str, (kind, start_ns, per_byte_ps): Line, key: &str) -> String {
    if model == "hockney" {
        let shared = if kind > 3 { format!("\n{key} = \"2 GB/s\"") } else { String::new() };
        return format!("latency = \"{start_ns} ns\"\nbandwidth = \"{} MB/s\"{shared}", 1_000_000 / (per_byte_ps + 1));
    }
    let costs = format!("L = \"{start_ns} ns\"\nG = \"{per_byte_ps} ps/B\"");
    let further = match kind % 6 {
        0 => "o = \"0 s\"".to_owned(),
        1 => format!("o = \"0 s\"\ng = \"{per_byte_ps} ps\""),
        2 => format!("o = \"{start_ns} ns\"\nO_send = \"{per_byte_ps} ps/B\"\nS = \"100 B\""),
        3 => format!("o = \"{} ns\"\n{key} = \"2 GB/s\"", start_ns / 3),
        4 => format!("o = \"0 s\"\nboth_ways = 1.5\ng = \"{start_ns} ns\"\n{key} = \"1 GB/s\""),
        _ => {
            let ranges = format!("[\"{start_ns} ns\", \"{} ns\"]", start_ns / 2);
            let per_byte = format!("[\"{} ps/B\", \"{per_byte_ps} ps/B\"]", 3 * per_byte_ps);
            return format!("from = [\"0 B\", \"500 B\"]\nL = {ranges}\no = \"1 ns\"\ng = {ranges}\nG = {per_byte}");
        }
    };
    format!("{costs}\n{further}")
}

/// A machine with nodes of several ranks: levels in nodes and between them, a switch, cards, and an overhead of calls.
fn with_levels(model: &str, per_node: usize, lines: &[Line; 4], [shape, cards]: [u8; 2]) -> Platform {
    let [between, node, part, nodes] = lines;
    let local = |line: &Line| level(model, *line, "shared_bandwidth");
    let mut text = format!("name = \"levels\"\n[network]\nmodel = \"{model}\"\nranks_per_node = {per_node}\n");
    text += &level(model, (between.0 % 3, between.1, between.2), "");
    if shape % 8 == 0 {
        text += &format!("\n[network.local]\n{}", level(model, *node, "memory_bandwidth"));
    } else {
        let ranks = 1 + usize::from(shape) % 3;
        text += &if shape & 1 > 0 { format!("\n[[level]]\nranks = {ranks}\n{}", local(part)) } else { String::new() };
        text += &format!("\n[[level]]\n{}", local(node));
        text += if shape & 2 > 0 { "\n[level.multicast]\nlatency = \"90 ns\"\nbandwidth = \"3 GB/s\"" } else { "" };
        text += &if shape & 4 > 0 { format!("\n[[level]]\nnodes = 2\n{}", local(nodes)) } else { String::new() };
    }
    text += "\n[node]\nreduce_bandwidth = \"20 GB/s\"\ncall_overhead = \"300 ns\"\n";
    if cards > 0 {
        let [count, stripe] = [1 + cards % 3, cards / 3];
        let stripe = if stripe > 0 { "stripe_from = \"200 B\"\n" } else { "" };
        let directions = ["apart", "together"][usize::from(shape) % 2];
        text += &format!("[node.cards]\ncount = {count}\nbandwidth = \"1 GB/s\"\nmessage_gap = \"5 ns\"\n{stripe}");
        text += &format!("directions = \"{directions}\"\n");
    }
    Platform::new(&Machine::parse(&text, "levels.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap()
}

fn lines() -> impl Strategy<Value = [Line; 4]> {
    proptest::array::uniform4((0..6u8, 1..2000u32, 0..3000u32))
}

/// Simulates every algorithm on so many machines with levels, and compares it with the bound. With segments of an element as
/// well: nothing is free that a bound counts.
fn check_levels(machines: u32, ranks: std::ops::Range<usize>, bytes: std::ops::Range<usize>) {
    let models = prop::sample::select(vec!["loggp", "loggp", "hockney"]);
    let machine = (models, 1..10usize, lines(), 0..16u8, 0..6u8);
    let call =
        (ranks, bytes, prop::sample::select(vec![1, 4, 8]), prop::sample::select(vec![Engine::Auto, Engine::Events]));
    let check = |((model, per_node, lines, shape, cards), (ranks, bytes, element_bytes, engine))| {
        let platform = with_levels(model, per_node, &lines, [shape, cards]);
        for entry in CATALOGUE.iter() {
            let elements = bytes / element_bytes;
            let nodes = platform.nodes(ranks).unwrap();
            let root = if entry.collective.has_root() { bytes % ranks } else { 0 };
            let call = Call { nodes, element_bytes, root, ..Call::new(entry.collective, ranks, elements) };
            for given in [vec![], vec![("segment".to_owned(), element_bytes as u64)]] {
                let Ok(call) = entry.accept(&call, &given) else { continue };
                if let Ok(outcome) = simulate(entry, &call, &platform, Options { engine, ..Options::default() }) {
                    check_bound(entry, &call, &platform, &outcome);
                }
            }
        }
        Ok(())
    };
    TestRunner::new(ProptestConfig::with_cases(machines)).run(&(machine, call), check).unwrap();
}

#[test]
fn no_algorithm_beats_its_bound_on_machines_with_levels() {
    check_levels(8, 2..14, 0..4000);
    check_levels(8, 2..40, 0..64);
}

#[test]
#[ignore = "long: make test-long"]
fn no_algorithm_beats_its_bound_on_many_machines_with_levels() {
    check_levels(50, 2..14, 0..4000);
    check_levels(300, 2..70, 0..64);
}

/// By hand, of nodes of 8 ranks: 32 nodes know after two messages between them, since each of the 8 ranks of a node that
/// knows tells one more node. At one level, 256 ranks know after 8 messages within a node, which are much quicker.
#[test]
fn bounds_of_levels_count_messages_between_nodes() {
    let level = |of: &str| format!("L = \"{of} us\"\no = \"{of} us\"\ng = \"{of}2 us\"");
    let network = format!("model = \"loggp\"\n{}\nranks_per_node = 8\n[network.local]\n{}", level("1"), level("0.001"));
    let found = bound_of(Collective::Allreduce, 256, 8, &platform(&network, ""));
    assert!((6e-6..6.1e-6).contains(&found.latency_s), "{found:?}");
}

/// By hand, of a root that receives 3 kB: by a level that occupies its interface for 2 ns/B, and by another that occupies its
/// processor so long, both at the same time, it takes 1 ns/B. Its first message takes 1.6 us by the second level until the root
/// takes it in, and the root takes in its last one in no time by the first level.
#[test]
fn bounds_of_levels_count_mixtures() {
    let of_levels = |[first, second]: [&str; 2]| {
        let network = format!(
            "model = \"loggp\"\nL = \"9 us\"\no = \"9 us\"\nG = \"9 ns/B\"\nranks_per_node = 4\n\
             [[level]]\nranks = 2\n{first}\n[[level]]\n{second}"
        );
        let call = Call { root: 3, ..Call::new(Collective::Gather, 4, 1000) };
        bytes_s(bound(&call, &platform(&network, "")).unwrap())
    };
    let by_both = of_levels([
        "L = \"2 us\"\no = \"0 s\"\ng = \"2 ns\"\nG = \"2 ns/B\"\nO = \"0 s/B\"",
        "L = \"1 us\"\no = \"0.6 us\"\nG = \"0 s/B\"\nO = \"2 ns/B\"",
    ]);
    assert!((by_both - (1.6e-6 + 2.999e-6)).abs() < 1e-12, "{by_both}");
}

/// By hand, of 8 GPUs behind switches that add up 275 GB/s: every rank sends 2 * 7 / 8 of 1 GB, at 2.9 ps/B through no switch,
/// and at 8 / 14 / 275 GB/s through one. Two nodes of 8 send 1 GB each through 8 cards of 50 GB/s, or by 8 ranks at 20 ps/B.
#[test]
fn bounds_of_gpus_by_hand() {
    let machine = |level: &str| {
        let text = format!(
            "name = \"gpus\"\n[network]\nmodel = \"loggp\"\nL = \"6 us\"\no = \"0 s\"\ng = \"0.02 ns\"\nG = \"0.02 ns/B\"\n\
             ranks_per_node = 8\n[[level]]\nL = \"0 s\"\no = \"0 s\"\nG = \"2.9 ps/B\"\n{level}\n[node]\n\
             call_overhead = \"27 us\"\n[node.cards]\ncount = 8\nbandwidth = \"40 GB/s\"\n"
        );
        Platform::new(&Machine::parse(&text, "gpus.toml").unwrap()).unwrap()
    };
    let close = |found: Option<f64>, expected: f64| {
        assert!(found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-6), "{found:?}, not {expected}");
    };
    let of = |ranks, platform: &Platform| bound_of(Collective::Allreduce, ranks, 1_000_000_000, platform);
    let rings = machine("g = \"2.9 ps\"");
    close(of(8, &rings).bandwidth_s, 27e-6 + 1.75 * 2.9e-3);
    close(of(16, &rings).bandwidth_s, 27e-6 + 1.875 * 2.9e-3);
    assert!((of(8, &rings).latency_s - 27e-6).abs() < 1e-9);
    let switch = "g = \"2.9 ps\"\n[level.multicast]\nlatency = \"0 s\"\nbandwidth = \"275 GB/s\"";
    close(of(8, &machine(switch)).bandwidth_s, 27e-6 + 1e9 / 275e9);
    // Messages of a byte take no time where only the bytes after the first one do.
    assert_eq!(of(8, &machine("")).bandwidth_s, None);
    close(of(16, &machine("")).bandwidth_s, 27e-6 + 1e9 / 320e9);
    let of_floats = Call { element_bytes: 4, ..Call::new(Collective::Allreduce, 8, 250_000_000) };
    close(bound(&of_floats, &machine("")).unwrap().bandwidth_s, 27e-6 + 0.75 * 1.75 * 2.9e-3);
}

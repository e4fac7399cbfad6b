//! No algorithm on any machine is below the lower bounds of its collective, and some reach them.

use hocket::{bound, simulate};
use hocket_algorithms::{Entry, demand, find};
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Bound, Options, Outcome, Platform};

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

/// By hand, at alpha = 1 us, beta = 1 ns/B: 64 ranks know after 6 rounds of one port, 3 of three (4^3 = 64), 1 of unlimited
/// ones. An allreduce of 64 kB sends 2 * 63 / 64 of it, through one port or three; a broadcast all of it.
#[test]
fn bounds_of_hockney_networks_by_hand() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-15, "{found}, not {expected}");
    for (ports, rounds, divisor) in [("1", 6.0, 1.0), ("3", 3.0, 3.0), ("\"unlimited\"", 1.0, f64::INFINITY)] {
        let allreduce = bound_of(Collective::Allreduce, 64, 64_000, &hockney(ports));
        close(allreduce.latency_s, rounds * 1e-6);
        close(allreduce.bandwidth_s, 1e-6 + 126_000e-9 / divisor);
        close(bound_of(Collective::Broadcast, 64, 64_000, &hockney(ports)).bandwidth_s, 1e-6 + 64_000e-9 / divisor);
        close(bound_of(Collective::Barrier, 64, 0, &hockney(ports)).time_s(), rounds * 1e-6);
    }
    for collective in Collective::ALL {
        assert_eq!(bound_of(collective, 1, 1000, &hockney("1")), Bound::default(), "{collective}");
    }
    assert_eq!(bound_of(Collective::Alltoall, 8, 0, &hockney("1")), Bound::default());
}

/// LogGP at L = 6 us, o = 2 us, g = 4 us: the tree of Karp et al. reaches 8 ranks after 24 us. 1001 bytes at G = 1 ns/B follow
/// their first byte for 1 us, however they are cut.
#[test]
fn bounds_of_loggp_networks_by_hand() {
    let machine = platform("model = \"loggp\"\nL = \"6 us\"\no = \"2 us\"\ng = \"4 us\"\nG = \"1 ns/B\"", "");
    let broadcast = bound_of(Collective::Broadcast, 8, 1001, &machine);
    assert!((broadcast.latency_s - 24e-6).abs() < 1e-15, "{broadcast:?}");
    assert!((broadcast.bandwidth_s - 11e-6).abs() < 1e-12, "{broadcast:?}");
    let reduce = bound_of(Collective::Reduce, 8, 80_000, &machine);
    assert!((reduce.computation_s - 7e-6).abs() < 1e-15, "{reduce:?}");
}

/// On a torus of 8 x 4 with 1 us per link and 1 GB/s: the farthest node is 4 + 2 links away; half of the ranks along x send
/// 16 * 16 blocks over 2 * 4 links, along y over 2 * 8; a rank by itself 31 blocks on its two ports.
#[test]
fn bounds_of_tori_by_hand() {
    let torus = links("topology = \"torus\"\ndims = [8, 4]");
    let alltoall = bound_of(Collective::Alltoall, 32, 1000, &torus);
    assert!((alltoall.bandwidth_s - (3e-6 + 256e-6 / 8.0)).abs() < 1e-15, "{alltoall:?}");
    let broadcast = bound_of(Collective::Broadcast, 32, 1000, &torus);
    // 2^(t / 2 us) ranks are told by the processor, each 1 us later: 32 know after 11 us, more than 2 + 6 us.
    assert!((broadcast.latency_s - 11e-6).abs() < 4e-6 && broadcast.latency_s >= 8e-6, "{broadcast:?}");
    assert!((broadcast.bandwidth_s - (3e-6 + 0.5e-6)).abs() < 1e-15, "{broadcast:?}");
}

/// At a crossbar of 1 us per link, with o_send = 1 us, o_receive = 0.5 us, g = 2 us and G = 2 ns/B: two links and both ends;
/// a third rank is told g after the second at least, a message 2.5 us after it was sent; and n bytes pass an interface in
/// (n - 1) G.
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
    assert!((found.bandwidth_s - 2e-3).abs() < 1e-12, "{found:?}");
}

/// Half of 16 nodes are behind the 4 links up of two subtrees; half of 24 behind the 4 global links from two groups to the
/// two others.
#[test]
fn halves_of_trees_and_dragonflies_are_cut_at_their_highest_links() {
    let tree = links("topology = \"fat_tree\"\ndown = [4, 4]\nup = [1, 2]");
    let fly = links(
        "topology = \"dragonfly\"\ngroups = 4\nrouters_per_group = 3\nnodes_per_router = 2\nglobal_links_per_router = 1",
    );
    let found = bound_of(Collective::Alltoall, 16, 1000, &tree).bandwidth_s;
    assert!((found - (3e-6 + 64e-6 / 4.0)).abs() < 1e-15, "{found}");
    let found = bound_of(Collective::Alltoall, 24, 1000, &fly).bandwidth_s;
    assert!((found - (3e-6 + 144e-6 / 4.0)).abs() < 1e-15, "{found}");
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

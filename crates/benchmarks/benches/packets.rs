//! Speed of the routers, in hops of packets per second of one core.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hocket_machine::{Machine, Topology};
use hocket_simulate::{Flight, NetworkModel, Platform, SharedNetwork};

/// Packets of a message.
const PACKETS: usize = 32;
/// How long a packet takes over a link, in seconds.
const PACKET_S: f64 = 2048.0 / 4e9;

fn platform(dims: &str, latency: &str) -> Platform {
    let text = format!(
        "name = \"bench\"\n[network]\nmodel = \"packets\"\ntopology = \"torus\"\ndims = {dims}\n\
         link_bandwidth = \"4 GB/s\"\nlink_latency = \"{latency}\"\n"
    );
    Platform::new(&Machine::parse(&text, "bench").unwrap()).unwrap()
}

/// One step of a pairwise exchange, in which every node sends 64 KiB and starts up to `spread_s` late.
fn step(nodes: usize, gap_packets: f64, spread_s: f64) -> Vec<(f64, Flight)> {
    let late = |node: usize| spread_s * (node * 7919 % nodes) as f64 / nodes as f64;
    let flight = |node: usize| {
        let bytes = (PACKETS * 2048) as f64;
        Flight { gap_packets, ..(node as u32, node, node ^ ((nodes / 3) | 5), bytes).into() }
    };
    let mut flights: Vec<_> = (0..nodes).map(|node| (late(node), flight(node))).collect();
    flights.sort_by(|a, b| a.0.total_cmp(&b.0));
    flights
}

/// Links that the packets of all messages go over.
fn hops(topology: &dyn Topology, flights: &[(f64, Flight)]) -> u64 {
    let mut route = Vec::new();
    flights.iter().for_each(|(_, flight)| topology.route(flight.from, flight.to, &mut route));
    (route.len() * PACKETS) as u64
}

fn run(network: &impl SharedNetwork, flights: &[(f64, Flight)]) -> usize {
    let (mut traffic, mut progress) = (network.traffic(), Vec::new());
    for (time_s, flight) in flights {
        traffic.inject(*time_s, *flight);
    }
    while traffic.next_s() < f64::INFINITY {
        traffic.advance(&mut progress);
    }
    progress.len()
}

fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packets");
    group.sample_size(10);
    for (dims, nodes) in [("[16, 16]", 256), ("[64, 64]", 4096)] {
        for (name, latency, gap_packets, spread_s) in [
            ("together", "0 ns", 0.0, 0.0),
            ("paced", "0 ns", 16.0, 0.0),
            ("latency", "100 ns", 0.0, 0.0),
            ("spread", "100 ns", 0.0, 2.0 * PACKET_S),
        ] {
            let platform = platform(dims, latency);
            let NetworkModel::Packets(network) = &platform.network else { unreachable!("the model named above") };
            let flights = step(nodes, gap_packets, spread_s);
            group.throughput(Throughput::Elements(hops(&*network.fabric.topology, &flights)));
            group.bench_function(BenchmarkId::new(name, nodes), |bencher| bencher.iter(|| run(network, &flights)));
        }
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);

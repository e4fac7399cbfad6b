//! Speed of the network model `links` alone, in messages per second of one core.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hocket_machine::Machine;
use hocket_simulate::{Milestone, NetworkModel, Platform, SharedNetwork, Traffic};

/// Streams of `stream` lead each node's messages to its neighbours.
const LENGTH_OF_STREAM: u32 = 16;

fn network(dims: &str, keys: &str) -> NetworkModel {
    let text = format!(
        "name = \"bench\"\n[network]\nmodel = \"links\"\ntopology = \"torus\"\ndims = {dims}\n\
         link_bandwidth = \"3.87 GB/s\"\nlink_latency = \"100 ns\"\n{keys}\n[node]\nports = 4\n"
    );
    Platform::new(&Machine::parse(&text, "bench").unwrap()).unwrap().network
}

/// What happens next: messages are sent or arrive.
#[derive(Default)]
struct Progress {
    milestones: Vec<(u32, Milestone)>,
    /// Times of arrivals that are known, as bits, and the messages.
    arrivals: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Progress {
    /// The next time, and the messages that are sent or arrive then; none when all have arrived.
    fn next(&mut self, traffic: &mut dyn Traffic) -> Option<(f64, Vec<u32>)> {
        let traffic_s = traffic.next_s();
        if let Some(Reverse((bits, id))) =
            self.arrivals.peek().copied().filter(|next| f64::from_bits(next.0.0) <= traffic_s)
        {
            self.arrivals.pop();
            return Some((f64::from_bits(bits), vec![id]));
        }
        if traffic_s.is_infinite() {
            return None;
        }
        traffic.advance(&mut self.milestones);
        let mut sent = Vec::new();
        for (id, milestone) in self.milestones.drain(..) {
            match milestone {
                Milestone::Arrives(at_s) => self.arrivals.push(Reverse((at_s.to_bits(), id))),
                _ => sent.push(id),
            }
        }
        Some((traffic_s, sent))
    }
}

/// Recursive doubling: in step k rank r exchanges with r XOR 2^k, and goes on when it has sent and received. Gives the time
/// at which the last rank is done.
fn recursive_doubling(network: &impl SharedNetwork, bytes: f64) -> f64 {
    let mut traffic = network.traffic();
    let ranks = network.fabric().topology.nodes();
    let steps = ranks.ilog2();
    let flight = |rank: usize, step: u32| (rank as u32 * steps + step, rank, rank ^ 1 << step, bytes).into();
    // A message is first sent, then arrives.
    let mut sent = vec![false; ranks * steps as usize];
    let mut done = vec![[0u32; 2]; ranks];
    let mut step_of = vec![0; ranks];
    let mut progress = Progress::default();
    for rank in 0..ranks {
        traffic.inject(0.0, flight(rank, 0));
    }
    let mut now_s = 0.0;
    while let Some((next_s, ids)) = progress.next(&mut *traffic) {
        now_s = next_s;
        for id in ids {
            let (from, step) = ((id / steps) as usize, id % steps);
            let has_left = sent[id as usize];
            sent[id as usize] = true;
            let rank = if has_left { from ^ 1 << step } else { from };
            done[rank][usize::from(has_left)] |= 1 << step;
            if done[rank].iter().all(|mask| mask >> step_of[rank] & 1 == 1) {
                step_of[rank] += 1;
                if step_of[rank] < steps {
                    traffic.inject(now_s, flight(rank, step_of[rank]));
                }
            }
        }
    }
    now_s
}

/// Every node sends messages to its + neighbours along three axes, one after another on each.
fn streams(network: &impl SharedNetwork, bytes: f64) -> f64 {
    let mut traffic = network.traffic();
    let torus = &network.fabric().topology;
    let flight = |link: usize| {
        let (from, to) = torus.ends(link);
        (link as u32, from, to, bytes).into()
    };
    // Each message is sent, and arrives.
    let mut left = vec![2 * LENGTH_OF_STREAM - 1; torus.links()];
    let mut progress = Progress::default();
    for link in (0..torus.links()).step_by(2) {
        traffic.inject(0.0, flight(link));
    }
    let mut now_s = 0.0;
    while let Some((next_s, ids)) = progress.next(&mut *traffic) {
        now_s = next_s;
        for id in ids {
            let left = &mut left[id as usize];
            if left.is_multiple_of(2) && *left > 0 {
                traffic.inject(now_s, flight(id as usize));
            }
            *left = left.saturating_sub(1);
        }
    }
    now_s
}

fn links(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("links");
    group.sample_size(10);
    for (name, keys) in [("cut-through", ""), ("wormhole", "switching = \"wormhole\""), ("fair", "sharing = \"fair\"")]
    {
        let NetworkModel::Links(cube) = network("[16, 16, 16]", keys) else { unreachable!() };
        group.throughput(Throughput::Elements(4096 * 12));
        for bytes in [8.0, 65536.0] {
            let name = format!("recursive doubling 16x16x16 {bytes} B {name}");
            group.bench_function(name, |b| b.iter(|| recursive_doubling(&cube, bytes)));
        }
        let NetworkModel::Links(torus) = network("[48, 6, 32]", keys) else { unreachable!() };
        group.throughput(Throughput::Elements(9216 * 3 * u64::from(LENGTH_OF_STREAM)));
        group.bench_function(format!("streams 48x6x32 {name}"), |b| b.iter(|| streams(&torus, 65536.0)));
    }
    group.finish();
}

criterion_group!(benches, links);
criterion_main!(benches);

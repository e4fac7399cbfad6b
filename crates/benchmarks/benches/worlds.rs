//! Speed of the worlds, in messages per second of one core.

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use hocket_algorithms::find;
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Platform, Trials, simulate_trials};
use hocket_verify::Limits;

const EAGER: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"";
const RENDEZVOUS: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"rendezvous\"";
const LOGGP: &str = "model = \"loggp\"\nL = \"2 us\"\no = \"1 us\"\ng = \"1 us\"\nG = \"0.1 ns/B\"";

struct Case {
    name: &'static str,
    collective: Collective,
    algorithm: &'static str,
    ranks: usize,
    size_bytes: usize,
    network: &'static str,
    engine: Engine,
}

impl Case {
    fn allreduce(name: &'static str, algorithm: &'static str, ranks: usize, size_bytes: usize) -> Self {
        let collective = Collective::Allreduce;
        Self { name, collective, algorithm, ranks, size_bytes, network: EAGER, engine: Engine::Dataflow }
    }
}

fn platform(network: &str) -> Platform {
    let text = format!("name = \"bench\"\n[network]\n{network}\n");
    Platform::new(&Machine::parse(&text, "bench").unwrap()).unwrap()
}

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, case: &Case) {
    let entry = find(case.collective, case.algorithm).unwrap();
    let call = entry.accept(&Call::new(case.collective, case.ranks, case.size_bytes), &[]).unwrap();
    let platform = platform(case.network);
    let options = Options { engine: case.engine, ..Options::default() };
    let run = || hocket::simulate(entry, &call, &platform, options).unwrap();
    group.throughput(Throughput::Elements(run().messages));
    group.bench_function(format!("{} {} P={}", case.algorithm, case.name, case.ranks), |b| b.iter(run));
}

fn simulate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10);
    for ranks in [1 << 10, 1 << 13, 1 << 16] {
        let butterfly = |name| Case::allreduce(name, "recursive_doubling", ranks, 8);
        bench(&mut group, &butterfly("8B hockney eager"));
        bench(&mut group, &Case { network: RENDEZVOUS, ..butterfly("8B hockney rendezvous") });
        bench(&mut group, &Case { network: LOGGP, ..butterfly("8B loggp") });
    }
    bench(&mut group, &Case::allreduce("8B hockney eager", "recursive_doubling", 1 << 20, 8));
    bench(&mut group, &Case::allreduce("1MiB hockney eager", "ring", 1024, 1 << 20));
    bench(
        &mut group,
        &Case { network: RENDEZVOUS, ..Case::allreduce("1MiB hockney rendezvous", "ring", 1024, 1 << 20) },
    );
    let broadcast = Case::allreduce("8B hockney eager", "binomial", 1 << 20, 8);
    bench(&mut group, &Case { collective: Collective::Broadcast, ..broadcast });
    let events = Case::allreduce("8B hockney eager, events engine", "recursive_doubling", 1 << 13, 8);
    bench(&mut group, &Case { engine: Engine::Events, ..events });
    group.finish();
}

/// Recursive doubling under the noise of the jitter study. Elements are exchanges of one rank in one trial; the time of
/// few trials is nearly that of the recording, which the many need no more often.
fn trials(criterion: &mut Criterion) {
    let noise = "[noise.os]\nmodel = \"periodic\"\nperiod = \"10 ms\"\nduration = \"100 us\"\n\
                 [noise.network]\nmodel = \"poisson\"\ninterval = \"10 ms\"\nduration = \"100 us\"\nevents = \"one\"";
    let entry = find(Collective::Allreduce, "recursive_doubling").unwrap();
    let platform = platform(&format!("{RENDEZVOUS}\n[node]\nreduce_bandwidth = \"10 GB/s\"\n{noise}"));
    let mut group = criterion.benchmark_group("trials");
    group.sample_size(10);
    for (log2, count) in [(16, 32), (16, 1280), (20, 32), (20, 192)] {
        let call = entry.accept(&Call::new(Collective::Allreduce, 1 << log2, 8), &[]).unwrap();
        let trials = Trials { count, ..Trials::default() };
        let options = Options { winners_are_alike: true, ..Options::default() };
        group.throughput(Throughput::Elements((log2 << log2) * count));
        group.bench_function(format!("recursive_doubling 8B P=2^{log2}, {count} trials"), |b| {
            b.iter(|| simulate_trials(entry.program(), &call, &platform, trials, options));
        });
    }
    group.finish();
}

fn verify(criterion: &mut Criterion) {
    let ring = find(Collective::Allreduce, "ring").unwrap();
    let mut group = criterion.benchmark_group("verify");
    group.sample_size(10);
    group.bench_function("ring P=32, all calls", |b| b.iter(|| hocket::verify(ring, 32, &[], Limits::default())));
    group.finish();
}

criterion_group!(benches, simulate, trials, verify);
criterion_main!(benches);

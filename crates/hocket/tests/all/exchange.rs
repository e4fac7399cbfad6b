//! A `sendrecv` is a `join` of its send and its receive, in every world.

use hocket_core::{Call, Collective, Options, Program, Rank, Source, Span, Subgroup, Tag};
use hocket_machine::Machine;
use hocket_record::record;
use hocket_simulate::{Engine, Options as Settings, Platform, Trials, simulate, simulate_trials};
use hocket_verify::{Limits, verify};

/// Combines the vectors of all ranks by a ring of whole vectors, twice side by side, then among every other rank.
struct Rings {
    in_two: bool,
}

impl Rings {
    async fn ring(&self, r: &Rank<'_>, vector: Span, tag: Tag) {
        let arrived = r.scratch(vector.len);
        let (next, previous) = ((r.rank() + 1) % r.size(), (r.rank() + r.size() - 1) % r.size());
        for step in 1..r.size() {
            r.compute(1e-6 * (r.rank() + step) as f64).await;
            if self.in_two {
                let send = r.send_with(next, vector, Options { tag, ..Options::default() });
                r.join(send, r.recv_with(Source::Rank(previous as u32), arrived, tag)).await;
            } else {
                r.sendrecv_with((next, vector), (previous, arrived), tag).await;
            }
            r.reduce(previous, arrived, vector).await;
        }
    }
}

impl Program for Rings {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let (one, other) = (r.scratch(c.count(0)), r.scratch(c.count(0)));
        r.join(r.copy(c.input(r), one), r.copy(c.input(r), other)).await;
        r.join(self.ring(r, one, 1), self.ring(r, other, 2)).await;
        let members: Vec<_> = (r.rank() % 2..r.size()).step_by(2).collect();
        let group = Subgroup::new(r, &members, (one, one), 3);
        self.ring(&group.rank(), group.rank().scratch(one.len), 0).await;
        r.copy(one, c.result(r)).await;
    }
}

const NETWORKS: [&str; 5] = [
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"",
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"rendezvous\"",
    "model = \"loggp\"\nL = \"5 us\"\no = \"2 us\"\ng = \"3 us\"\nG = \"1 ns/B\"",
    "model = \"links\"\ntopology = \"torus\"\ndims = [8]\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"",
    "model = \"packets\"\ntopology = \"torus\"\ndims = [8]\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"\npacket = \"64 B\"",
];

/// Hits computations, and messages by the place of their send in the program.
const NOISE: &str = "[noise.os]\nmodel = \"poisson\"\ninterval = \"10 us\"\nduration = \"1 us\"\n\
                     [noise.network]\nmodel = \"poisson\"\ninterval = \"10 us\"\nduration = \"1 us\"\n";

fn platform(network: &str, noise: &str) -> Platform {
    let ports = if network.contains("hockney") { "ports = \"unlimited\"\n" } else { "" };
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\nreduce_bandwidth = \"1 GB/s\"\n{ports}{noise}");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn both<T: std::fmt::Debug>(of: impl Fn(&Rings) -> T) -> [String; 2] {
    [true, false].map(|in_two| format!("{:?}", of(&Rings { in_two })))
}

#[test]
fn it_takes_the_same_time_on_every_network_and_under_noise() {
    for ranks in [1, 2, 3, 7, 8] {
        let call = Call::new(Collective::Allreduce, ranks, 100);
        for network in NETWORKS {
            let quiet = platform(network, "");
            for engine in [Engine::Auto, Engine::Events] {
                let options = Settings { engine, trace: true, ..Settings::default() };
                let [one, other] = both(|rings| simulate(rings, &call, &quiet, options).unwrap());
                assert_eq!(one, other, "{ranks} ranks, {engine:?}, {network}");
            }
            let (noisy, trials) = (platform(network, NOISE), Trials { count: 5, ..Trials::default() });
            let [one, other] =
                both(|rings| simulate_trials(rings, &call, &noisy, trials, Settings::default()).unwrap());
            assert_eq!(one, other, "{ranks} ranks, noise, {network}");
        }
    }
}

#[test]
fn it_has_the_same_verdict_and_the_same_schedule() {
    for ranks in [1, 2, 3, 5] {
        let call = Call::new(Collective::Allreduce, ranks, 2);
        let [one, other] = both(|rings| verify(rings, &call, Limits::default()));
        assert_eq!(one, other, "{ranks} ranks");
        let [one, other] = both(|rings| record(rings, &call).unwrap());
        assert_eq!(one, other, "{ranks} ranks");
    }
}

//! A `sendrecv` is a `join` of its send and its receive, in every world.

use hocket_core::{Call, Collective, Options, Program, Rank, Source, Span, Subgroup, Tag};
use hocket_machine::Machine;
use hocket_record::record;
use hocket_simulate::{Engine, Options as Settings, Platform, Trials, simulate, simulate_trials};
use hocket_verify::{Limits, verify};

/// Combines the vectors of all ranks by a ring of whole vectors, twice side by side, then among every other rank, and at last,
/// if it `races`, in a `first` in each of two branches.
struct Rings {
    in_two: bool,
    races: bool,
}

impl Rings {
    async fn exchange(&self, r: &Rank<'_>, to: (usize, Span), from: (usize, Span), tag: Tag) {
        if !self.in_two {
            r.sendrecv_with(to, from, tag).await;
            return;
        }
        let send = r.send_with(to.0, to.1, Options { tag, ..Options::default() });
        r.join(send, r.recv_with(Source::Rank(from.0 as u32), from.1, tag)).await;
    }

    async fn ring(&self, r: &Rank<'_>, vector: Span, tag: Tag) {
        let arrived = r.scratch(vector.len);
        let (next, previous) = ((r.rank() + 1) % r.size(), (r.rank() + r.size() - 1) % r.size());
        for step in 1..r.size() {
            r.compute(1e-6 * (r.rank() + step) as f64).await;
            self.exchange(r, (next, vector), (previous, arrived), tag).await;
            r.reduce(previous, arrived, vector).await;
        }
    }

    /// A ring against time, as a branch that wakes as a whole; whichever is later goes on to its end.
    async fn race(&self, r: &Rank<'_>, vector: Span, tag: Tag) {
        let (_, rest) = r.first(self.ring(r, vector, tag), r.compute(3e-6)).await;
        rest.await;
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
        if self.races {
            r.join(self.race(r, one, 4), self.race(r, other, 5)).await;
        }
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

fn check<T: std::fmt::Debug>(races: bool, at: &str, of: impl Fn(&Rings) -> T) {
    let [in_two, in_one] = [true, false].map(|in_two| format!("{:?}", of(&Rings { in_two, races })));
    assert_eq!(in_two, in_one, "{at}, races: {races}");
}

#[test]
fn it_takes_the_same_time_on_every_network_and_under_noise() {
    for (ranks, network, races) in cases() {
        let call = Call::new(Collective::Allreduce, ranks, 100);
        let at = format!("{ranks} ranks, {network}");
        for engine in [Engine::Auto, Engine::Events] {
            let settings = Settings { engine, trace: true, ..Settings::default() };
            let platform = platform(network, "");
            check(races, &at, |rings| simulate(rings, &call, &platform, settings).unwrap());
        }
        let (platform, trials) = (platform(network, NOISE), Trials { count: 5, ..Trials::default() });
        check(races, &at, |rings| simulate_trials(rings, &call, &platform, trials, Settings::default()).unwrap());
    }
}

/// Ranks, networks, and whether there is a `first`.
fn cases() -> impl Iterator<Item = (usize, &'static str, bool)> {
    let with_networks = |ranks| NETWORKS.into_iter().map(move |network| (ranks, network));
    let of_ranks = [1, 2, 3, 7, 8].into_iter().flat_map(with_networks);
    of_ranks.flat_map(|(ranks, network)| [false, true].map(|races| (ranks, network, races)))
}

#[test]
fn it_has_the_same_verdict_and_the_same_schedule() {
    for ranks in [1, 2, 3, 5] {
        let (call, at) = (Call::new(Collective::Allreduce, ranks, 2), format!("{ranks} ranks"));
        check(false, &at, |rings| verify(rings, None, &call, Limits::default(), &|| false).unwrap());
        check(true, &at, |rings| verify(rings, None, &call, Limits::default(), &|| false).unwrap());
        check(false, &at, |rings| record(rings, &call).unwrap());
    }
}

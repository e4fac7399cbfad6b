//! Every algorithm of the catalogue on machines with noise: both engines, any division into runs and threads, and what
//! more noise and more redundancy do to the time.

use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Result, Unit};
use hocket_machine::Machine;
use hocket_simulate::{Ends, Engine, Many, Options, Platform, Trials, simulate_trials};

use crate::turns;

const RENDEZVOUS: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
const LOGGP: &str =
    "model = \"loggp\"\nL = \"2 us\"\no = \"0.7 us\"\ng = \"1.1 us\"\nG = \"0.3 ns/B\"\nO = \"0.1 ns/B\"";

/// Noise that most operations meet, since they are about as long as its events are apart.
const ARRIVALS: &str = "[noise.os]\nmodel = \"periodic\"\nperiod = \"2 us\"\nduration = \"0.3 us\"\noverlap = \"arrival\"\n\
    [noise.network]\nmodel = \"poisson\"\ninterval = \"3 us\"\nduration = \"0.7 us\"\n";
const TAILS: &str = "[noise.os]\nmodel = \"gaussian\"\nmean = \"0.1 us\"\ndeviation = \"0.2 us\"\n\
    [noise.network]\nmodel = \"pareto\"\nminimum = \"0.1 us\"\nshape = 1.5\ninterval = \"4 us\"\n";
const STALLS: &str = "[noise.os]\nmodel = \"periodic\"\nperiod = \"2 us\"\nduration = \"0.3 us\"\noverlap = \"stall\"\n\
    phase = \"staggered\"\n[noise.network]\nmodel = \"poisson\"\ninterval = \"3 us\"\nduration = \"0.7 us\"\noverlap = \"stall\"\n";
const ON_PROCESSORS_ONLY: &str = "[noise.os]\nmodel = \"periodic\"\nperiod = \"2 us\"\nduration = \"0.3 us\"\n\
    phase = \"common\"\noverlap = \"arrival\"\n";
/// Events of no duration.
const NOTHING: &str = "[noise.os]\nmodel = \"periodic\"\nperiod = \"2 us\"\nduration = \"0 s\"\noverlap = \"stall\"\n\
    [noise.network]\nmodel = \"poisson\"\ninterval = \"3 us\"\nduration = \"0 s\"\noverlap = \"stall\"\n";

fn platform(network: &str, noise: &str) -> Platform {
    let node = "reduce_bandwidth = \"0.1 GB/s\"\ncopy_bandwidth = \"0.3 GB/s\"\n\
                scratch = { from = \"100 B\", together_from = \"40 B\", per_byte = \"3 ns\" }";
    let section = if network.contains("[node]") { "" } else { "[node]" };
    let text = format!("name = \"test\"\n[network]\n{network}\n{section}\n{node}\n{noise}");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

/// With unlimited ports.
fn hockney(more: &str, noise: &str) -> Platform {
    hockney_of_ports("\"unlimited\"", more, noise)
}

fn hockney_of_ports(ports: &str, more: &str, noise: &str) -> Platform {
    platform(&format!("{RENDEZVOUS}\n{more}\n[node]\nports = {ports}"), noise)
}

fn many(entry: &Entry, call: &Call, platform: &Platform, trials: Trials, engine: Engine) -> Result<Many> {
    simulate_trials(entry.program(), call, platform, trials, Options { engine, ..Options::default() })
}

/// Trials on both sides of the end of a group: dataflow evaluates 32 at once.
const AROUND_A_GROUP: Trials = Trials { seed: 7, first: 26, count: 12, until_interval: None, threads: 1 };

fn first(count: u64) -> Trials {
    Trials { seed: 7, count, ..Trials::default() }
}

/// Calls with one element, and with a few that no rank count divides, at roots 0 and 1; with each parameter that counts
/// something at 0, 1, 2 and 3, as far as the algorithm takes it, and each choice that is to be tried; of more than 8 ranks, with
/// the defaults.
fn calls(entry: &Entry, ranks: usize) -> Vec<Call> {
    let counts: &[usize] = if entry.collective == Collective::Barrier { &[0] } else { &[1, 2 * ranks + 1] };
    let roots = 0..if entry.collective.has_root() { ranks.min(2) } else { 1 };
    let shapes: Vec<_> = roots.flat_map(|root| counts.iter().map(move |count| (root, *count))).collect();
    let varied = if ranks <= 8 { entry.about.parameters } else { &[] };
    let settings = varied.iter().flat_map(|parameter| {
        let values = match parameter.unit {
            Unit::Bytes => vec![16],
            Unit::Choice(_) => parameter.tries.to_vec(),
            Unit::Count => {
                (0..=3).chain([u64::from(ranks.ilog2())]).filter(|value| *value >= parameter.least).collect()
            }
        };
        values.into_iter().map(|value| vec![(parameter.name.to_owned(), value)])
    });
    let settings: Vec<_> = std::iter::once(Vec::new()).chain(settings).collect();
    let accepted = shapes.iter().flat_map(|(root, count)| {
        let call = Call { root: *root, element_bytes: 8, ..Call::new(entry.collective, ranks, *count) };
        settings.iter().filter_map(move |given| entry.accept(&call, given).ok())
    });
    accepted.collect()
}

/// Every `turns`-th call on these numbers of ranks.
fn some_calls(ranks: &[usize], turns: usize) -> impl Iterator<Item = (&'static Entry, Call)> {
    let calls = all_calls().filter(|(_, call)| ranks.contains(&call.ranks)).enumerate();
    calls.filter(move |(number, _)| turns::takes(*number, turns)).map(|(_, of)| of)
}

fn all_calls() -> impl Iterator<Item = (&'static Entry, Call)> {
    let ranks = [1, 2, 3, 4, 5, 6, 8, 9, 16].into_iter();
    ranks.flat_map(|ranks| {
        CATALOGUE.iter().flat_map(move |entry| calls(entry, ranks).into_iter().map(move |c| (entry, c)))
    })
}

fn assert_same(a: &Many, b: &Many, what: impl Fn() -> String) {
    let bits =
        |many: &Many| many.ends.iter().map(|e| [e.first_s, e.mean_s, e.last_s].map(f64::to_bits)).collect::<Vec<_>>();
    assert_eq!(bits(a), bits(b), "{}", what());
    let sent = |many: &Many| (many.first.messages, many.first.message_bytes);
    assert_eq!(sent(a), sent(b), "{}", what());
}

#[test]
fn engines_agree_to_the_last_bit_and_dataflow_applies_on_hockney() {
    check_engines(15);
}

#[test]
#[ignore = "long: make test-long"]
fn engines_agree_to_the_last_bit_on_all_machines() {
    check_engines(1);
}

/// Compares the engines for each call on every `turns`-th machine.
fn check_engines(turns: usize) {
    let hockneys = [
        hockney("", ARRIVALS),
        hockney("protocol = \"eager\"", TAILS),
        hockney("send_overhead = \"0.4 us\"", STALLS),
        hockney("send_overhead = \"0 s\"", ARRIVALS),
        hockney("protocol = \"eager\"\nsend_overhead = \"0.4 us\"", ON_PROCESSORS_ONLY),
    ];
    for (number, (entry, call)) in all_calls().enumerate() {
        for platform in turns::of(&hockneys, number, turns) {
            let what = || format!("{entry} on {:?} with {:?} in {call:?}", platform.network, platform.noise);
            let dataflow = many(entry, &call, platform, AROUND_A_GROUP, Engine::Dataflow);
            let dataflow = dataflow.unwrap_or_else(|e| panic!("{e}: {}", what()));
            let events = many(entry, &call, platform, AROUND_A_GROUP, Engine::Events).unwrap();
            assert_same(&dataflow, &events, what);
        }
    }
}

/// With one port each way dataflow applies to ranks that make one exchange at a time, and elsewhere where it can tell that no
/// message waits, whatever the noise.
#[test]
fn engines_agree_on_one_port_where_dataflow_applies() {
    let names = ["recursive_doubling", "ring", "rabenseifner", "swing", "dissemination", "pairwise_exchange"];
    // What ranks hand over beside the exchanges of reduce_scatter may arrive early.
    let hands_over = |entry: &Entry, call: &Call| {
        (entry.collective, entry.name) == (Collective::ReduceScatter, names[0]) && !call.ranks.is_power_of_two()
    };
    let exchanges = |entry: &Entry, call: &Call| names.contains(&entry.name) && !hands_over(entry, call);
    let machines = [("", ARRIVALS), ("protocol = \"eager\"", STALLS), ("send_overhead = \"0.4 us\"", TAILS)];
    for (number, (entry, call)) in all_calls().enumerate() {
        for &(more, noise) in turns::of(&machines, number, 6) {
            let platform = hockney_of_ports("1", more, noise);
            let what = || format!("{entry} on {:?} with {:?} in {call:?}", platform.network, platform.noise);
            let dataflow = match many(entry, &call, &platform, first(8), Engine::Dataflow) {
                Ok(dataflow) => dataflow,
                Err(why) if more.is_empty() && exchanges(entry, &call) => panic!("{why}: {}", what()),
                Err(_) => continue,
            };
            assert_same(&dataflow, &many(entry, &call, &platform, first(8), Engine::Events).unwrap(), what);
        }
    }
}

#[test]
#[ignore = "long: make test-long"]
fn engines_agree_on_loggp_where_dataflow_applies() {
    let mut compared = 0;
    for noise in [ARRIVALS, STALLS, TAILS, ON_PROCESSORS_ONLY] {
        let platform = platform(LOGGP, noise);
        for (entry, call) in all_calls() {
            let Ok(dataflow) = many(entry, &call, &platform, AROUND_A_GROUP, Engine::Dataflow) else { continue };
            let events = many(entry, &call, &platform, AROUND_A_GROUP, Engine::Events).unwrap();
            assert_same(&dataflow, &events, || format!("{entry} with {noise} in {call:?}"));
            compared += usize::from(call.ranks > 1);
        }
    }
    assert!(compared > 100, "dataflow applied to {compared} calls only");
}

#[test]
fn a_trial_is_the_same_in_any_run_and_on_any_thread() {
    for (entry, call) in some_calls(&[5], 4) {
        let platform = hockney("", STALLS);
        for engine in [Engine::Dataflow, Engine::Events] {
            let run = |first, count, threads| {
                let trials = Trials { seed: 7, first, count, threads, ..Trials::default() };
                many(entry, &call, &platform, trials, engine).unwrap().ends
            };
            let whole = run(0, 40, 1);
            assert_eq!([run(0, 13, 2), run(13, 27, 3)].concat(), whole, "{entry} in {call:?}");
        }
    }
}

#[test]
#[ignore = "long: make test-long"]
fn noise_of_no_duration_changes_nothing() {
    for (entry, call) in all_calls() {
        for network in ["", "protocol = \"eager\"", "send_overhead = \"0.4 us\""] {
            let quiet = many(entry, &call, &hockney(network, ""), first(8), Engine::Auto).unwrap();
            let noisy = many(entry, &call, &hockney(network, NOTHING), first(8), Engine::Auto).unwrap();
            assert_same(&quiet, &noisy, || format!("{entry} in {call:?}"));
        }
    }
}

fn mean_s(ends: &[Ends]) -> f64 {
    ends.iter().map(|end| end.last_s).sum::<f64>() / ends.len() as f64
}

/// An operation's delay is proportional to the duration of events in every trial, and a time is made of sums, maxima and
/// minima of such: with arrivals, which do not depend on when an operation starts, no trial can become faster. Periodic
/// arrivals do depend on it, so there it is the mean that does not.
#[test]
fn more_noise_is_not_faster() {
    let poisson = |duration: &str| {
        let keys =
            format!("model = \"poisson\"\ninterval = \"3 us\"\nduration = \"{duration}\"\noverlap = \"arrival\"");
        hockney("", &format!("[noise.os]\n{keys}\n[noise.network]\n{keys}"))
    };
    let periodic = |duration: &str| {
        let keys =
            format!("model = \"periodic\"\nperiod = \"20 us\"\nduration = \"{duration}\"\noverlap = \"arrival\"");
        hockney("", &format!("[noise.os]\n{keys}\n[noise.network]\n{keys}"))
    };
    for (entry, call) in some_calls(&[6, 16], 4) {
        let ends = |platform: &Platform| many(entry, &call, platform, first(200), Engine::Auto).unwrap().ends;
        let (quiet, less, more) = (ends(&hockney("", "")), ends(&poisson("0.3 us")), ends(&poisson("0.9 us")));
        for i in 0..quiet.len() {
            let rounding = 1e-12 * more[i].last_s;
            assert!(quiet[i].last_s <= less[i].last_s + rounding, "{entry} in {call:?}, trial {i}");
            assert!(less[i].last_s <= more[i].last_s + rounding, "{entry} in {call:?}, trial {i}");
        }
        let (less, more) = (mean_s(&ends(&periodic("2 us"))), mean_s(&ends(&periodic("6 us"))));
        assert!(mean_s(&quiet) <= less && less <= more, "{entry} in {call:?}: {less} s with less, {more} s with more");
    }
}

/// A suspended process neither sends nor receives, whatever the network and wherever the other rank is: of a message that
/// takes far less time than the period, the first or the last step meets an event with probability duration / period.
#[test]
fn a_suspended_rank_neither_sends_nor_receives() {
    const DURATION_OVER_PERIOD: f64 = 0.3;
    const TRIALS: u64 = 4096;
    let host = "[host]\no = \"1 ns\"\ng = \"1 ns\"\nG = \"0.1 ns/B\"";
    let links =
        "model = \"links\"\ntopology = \"mesh\"\ndims = [2]\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 ns\"";
    let packets = links.replace("\"links\"", "\"packets\"");
    let fast = "\nlatency = \"1 ns\"\nbandwidth = \"10 GB/s\"";
    let loggp = "model = \"loggp\"\nL = \"1 ns\"\no = \"0 s\"\nG = \"0.1 ns/B\"";
    let machines = [
        format!("model = \"hockney\"{fast}"),
        format!("model = \"hockney\"\nprotocol = \"eager\"{fast}\n[node]\nports = \"unlimited\""),
        format!("model = \"hockney\"\nranks_per_node = 2{fast}\n[network.local]{fast}"),
        loggp.to_owned(),
        loggp.replace("\"0 s\"", "\"1 ns\""),
        format!("{loggp}\nranks_per_node = 2\n[network.local]\nL = \"1 ns\"\no = \"0 s\""),
        links.to_owned(),
        packets,
        format!("{links}\n{host}"),
        format!("{links}\nranks_per_node = 2\n[network.local]\nL = \"1 ns\"\no = \"0 s\"\n{host}"),
    ];
    for network in machines {
        let noise = format!(
            "[noise.os]\nmodel = \"periodic\"\nperiod = \"1 s\"\nduration = \"{DURATION_OVER_PERIOD} s\"\nphase = \"common\""
        );
        let platform = platform(&network, &noise);
        let (entry, call) = (find(Collective::Broadcast, "linear").unwrap(), Call::new(Collective::Broadcast, 2, 1));
        let times = |engine| many(entry, &call, &platform, first(TRIALS), engine).unwrap().ends;
        let ends = times(Engine::Auto);
        assert_eq!(ends, times(Engine::Events), "{network}");
        let share = ends.iter().filter(|end| end.last_s > 1e-4).count() as f64 / TRIALS as f64;
        let deviation = (DURATION_OVER_PERIOD * (1.0 - DURATION_OVER_PERIOD) / TRIALS as f64).sqrt();
        assert!((share - DURATION_OVER_PERIOD).abs() < 5.0 * deviation, "{share} of the trials on {network}");
    }
}

/// The machine of the jitter study with events ten times as rare and ten times as long as the preset's.
fn paper() -> Platform {
    let keys = |model: &str, every: &str| format!("model = \"{model}\"\n{every} = \"10 ms\"\nduration = \"100 us\"\n");
    let noise = format!(
        "[noise.os]\n{}[noise.network]\n{}events = \"one\"\n",
        keys("periodic", "period") + "overlap = \"arrival\"\n",
        keys("poisson", "interval")
    );
    let network = format!("{RENDEZVOUS}\nsend_overhead = \"0 s\"");
    let node = "ports = \"unlimited\"\nreduce_bandwidth = \"10 GB/s\"";
    let text = format!("name = \"paper\"\n[network]\n{network}\n[node]\n{node}\n{noise}");
    Platform::new(&Machine::parse(&text, "paper.toml").unwrap()).unwrap()
}

/// When each trial ends for T redundant exchanges.
fn butterfly(platform: &Platform, ranks: usize, count: u64, exchanges: u64, hosts: u64) -> Option<Vec<f64>> {
    let entry = find(Collective::Allreduce, "redundant_butterfly").unwrap();
    let call = Call { element_bytes: 8, ..Call::new(Collective::Allreduce, ranks, 1) };
    let call = entry.accept(&call, &[("T".into(), exchanges), ("hosts".into(), hosts)]).ok()?;
    let trials = Trials { seed: 11, count, threads: 2, ..Trials::default() };
    let many = many(entry, &call, platform, trials, Engine::Dataflow).unwrap();
    Some(many.ends.iter().map(|end| end.last_s).collect())
}

/// A redundant exchange that costs its sender nothing can only bring the result earlier: with one more of them, each rank
/// has the minimum of what it had and of a copy. Random numbers are the same whatever T is: they belong to operations.
#[test]
fn a_free_exchange_more_is_never_later() {
    for ranks in [2, 3, 4, 7, 8, 13, 16, 64] {
        let mut fewer = butterfly(&paper(), ranks, 500, 0, 2).unwrap();
        for exchanges in 1..=u64::from(ranks.ilog2()) {
            let more = butterfly(&paper(), ranks, 500, exchanges, 2).unwrap();
            for (trial, (more, fewer)) in more.iter().zip(&fewer).enumerate() {
                assert!(more <= fewer, "{ranks} ranks, T = {exchanges}, trial {trial}: {more} s, not {fewer} s");
            }
            fewer = more;
        }
    }
}

/// The least mean time over all T.
fn best_s(platform: &Platform, ranks: usize, hosts: u64) -> f64 {
    let all = (0..=u64::from(ranks.ilog2())).rev().step_by(2).map(|exchanges| {
        let ends = butterfly(platform, ranks, 200, exchanges, hosts).unwrap();
        ends.iter().sum::<f64>() / ends.len() as f64
    });
    all.fold(f64::INFINITY, f64::min)
}

#[test]
fn two_hosts_keep_the_protection() {
    check_hosts(&[(511, 512)]);
}

#[test]
#[ignore = "long: make test-long"]
fn two_hosts_keep_the_protection_at_any_rank_count() {
    check_hosts(&[(2047, 2048), (3072, 4096)]);
}

/// Guests of two hosts are held up by noise only where both paths are; those of one host as often as in any tree.
fn check_hosts(cases: &[(usize, usize)]) {
    let platform = paper();
    for &(ranks, power_of_two) in cases {
        let (two, one) = (best_s(&platform, ranks, 2), best_s(&platform, ranks, 1));
        let reference = best_s(&platform, power_of_two, 2);
        println!("{ranks} ranks: {two} s with two hosts, {one} s with one; {power_of_two} ranks: {reference} s");
        assert!(two < 1.4 * reference, "{ranks} ranks take {two} s, {power_of_two} ranks {reference} s");
        assert!(one > 1.4 * reference, "{ranks} ranks with one host take {one} s, {power_of_two} ranks {reference} s");
    }
}

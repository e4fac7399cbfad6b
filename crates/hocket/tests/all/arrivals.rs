//! Ranks that begin a call late: closed forms, and laws over the catalogue.

use hocket::pacing::Gap;
use hocket::{Arrivals, Lateness, Scene, Subject, Who, simulate_trials};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Result};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Platform, Trials};
use proptest::prelude::*;

/// alpha = 1 us, beta = 1 ns/B; computation takes no time, and short messages do not wait for their receives.
const HOCKNEY: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"";
const TORUS: &str =
    "model = \"links\"\ntopology = \"torus\"\ndims = [7]\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"";
const NOISE: &str = "[noise.os]\nmodel = \"gaussian\"\nmean = \"0.1 us\"\ndeviation = \"0.2 us\"\n";

fn platform(network: &str, noise: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\nreduce_bandwidth = \"10 GB/s\"\n{noise}");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

/// The time of each trial from the last arrival, and the time from the first arrival to the last.
fn times_s(
    (entry, call): &(&'static Entry, Call),
    platform: &Platform,
    arrivals: Option<Arrivals>,
    trials: Trials,
    engine: Engine,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (scene, options) = (Scene { arrivals, ..Scene::default() }, Options { engine, ..Options::default() });
    let found = simulate_trials(&Subject::Entry(entry), call, platform, Gap::default(), &scene, trials, options)?;
    Ok((found.times_s, found.arriving_s))
}

fn time_s(of: &(&'static Entry, Call), arrivals: Option<&str>) -> f64 {
    let arrivals = arrivals.map(|text| Arrivals::parse(text).unwrap());
    times_s(of, &platform(HOCKNEY, ""), arrivals, Trials::default(), Engine::Auto).unwrap().0[0]
}

fn of(collective: Collective, name: &str, ranks: usize, elements: usize) -> (&'static Entry, Call) {
    let entry = find(collective, name).unwrap();
    (entry, entry.accept(&Call::new(collective, ranks, elements), &[]).unwrap())
}

/// Every algorithm that takes a call of 7 ranks.
fn catalogue() -> impl Iterator<Item = (&'static Entry, Call)> {
    CATALOGUE.iter().filter_map(|entry| Some((entry, entry.accept(&Call::new(entry.collective, 7, 14), &[]).ok()?)))
}

#[test]
fn a_late_rank_delays_all_of_a_ring_and_of_recursive_doubling() {
    // In both, every rank takes part in every step, so the whole call begins with the last rank.
    for name in ["ring", "recursive_doubling"] {
        let call = of(Collective::Allreduce, name, 8, 4096);
        let isolated_s = time_s(&call, None);
        for late in ["rank 0, 100 us", "rank 5, 100 us", "one rank, 50..60 us"] {
            assert!((time_s(&call, Some(late)) - isolated_s).abs() < 1e-12, "{name}, {late}");
        }
    }
}

#[test]
fn a_chain_hides_the_lateness_of_its_last_rank() {
    // A message takes 2 us. Rank 3 has it after 6 us, or when it comes, as the message does not wait for its receive.
    let call = of(Collective::Broadcast, "chain", 4, 1000);
    for (arrivals, expected_s) in [
        ("rank 3, 1 us", 5e-6),
        ("rank 3, 6 us", 0.0),
        ("rank 3, 60 us", 0.0),
        // Rank 1 passes the message on when it comes, in two more steps.
        ("rank 1, 3 us", 4e-6),
        ("0 us, 3 us, 4 us, 5 us", 2e-6),
    ] {
        assert!((time_s(&call, Some(arrivals)) - expected_s).abs() < 1e-15, "{arrivals}");
    }
}

#[test]
fn arrivals_that_are_all_alike_are_a_common_start() {
    for of in catalogue() {
        let together = Arrivals::Late { who: Who::Every, lateness: Lateness::Exactly(3e-6) };
        let (platform, trials) = (platform(HOCKNEY, ""), Trials::default());
        let [late, isolated] =
            [Some(together), None].map(|arrivals| times_s(&of, &platform, arrivals, trials, Engine::Auto).unwrap().0);
        assert!((late[0] - isolated[0]).abs() < 1e-15, "{}: {late:?}, {isolated:?}", of.0);
    }
}

#[test]
fn engines_agree_and_a_trial_is_the_same_in_any_run() {
    let arrivals = Some(Arrivals::parse("every rank, exponential 5 us").unwrap());
    for (network, noise) in [(HOCKNEY, ""), (HOCKNEY, NOISE), (TORUS, ""), (TORUS, NOISE)] {
        let platform = platform(network, noise);
        for of in catalogue() {
            let run = |first, count, engine| {
                times_s(&of, &platform, arrivals.clone(), Trials { seed: 5, first, count, ..Trials::default() }, engine)
            };
            let (all, arriving) = run(0, 3, Engine::Events).unwrap();
            if let Ok(dataflow) = run(0, 3, Engine::Dataflow) {
                assert_eq!(dataflow, (all.clone(), arriving.clone()), "{}", of.0);
            }
            assert_eq!(run(2, 1, Engine::Events).unwrap(), (vec![all[2]], vec![arriving[2]]), "{}", of.0);
            assert_ne!(arriving[0], arriving[1]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// No call ends before its last rank has come, nor sooner after its first arrival than the lower bound.
    #[test]
    fn no_arrival_makes_a_call_too_fast(late_us in prop::collection::vec(0.0..30.0f64, 7)) {
        let late_s: Vec<_> = late_us.iter().map(|late_us| late_us * 1e-6).collect();
        let platform = platform(HOCKNEY, "");
        for of in catalogue() {
            let arrivals = Arrivals::from_times_s(&late_s).unwrap();
            let (times, arriving) = times_s(&of, &platform, Some(arrivals), Trials::default(), Engine::Auto).unwrap();
            let bound = hocket::bound(&of.1, &platform).unwrap();
            let bound_s = bound.time_s();
            prop_assert!(times[0] >= -1e-15, "{}: {times:?}", of.0);
            prop_assert!(times[0] + arriving[0] >= bound_s - 1e-15, "{}: {times:?}, {bound:?}", of.0);
        }
    }
}

#[test]
fn texts_are_read() {
    let late = |who, lateness| Arrivals::Late { who, lateness };
    for (text, expected) in [
        ("rank 3, 20 us", late(Who::Rank(3), Lateness::Exactly(2e-5))),
        ("one rank, 0..500 us", late(Who::One, Lateness::Uniform(0.0, 5e-4))),
        ("one rank,1us..1ms", late(Who::One, Lateness::Uniform(1e-6, 1e-3))),
        ("every rank, exponential 10 us", late(Who::Every, Lateness::Exponential(1e-5))),
        ("0 us, 5 us, 0 us", Arrivals::Times(vec![0.0, 5e-6, 0.0])),
    ] {
        assert_eq!(Arrivals::parse(text), Ok(expected), "{text}");
    }
    for text in
        ["", "rank 3", "rank -1, 2 us", "two ranks, 3 us", "one rank, 5..3 us", "one rank, 3", "0 us, x", "1e9 s"]
    {
        let refused = Arrivals::parse(text).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("arrivals: got {text:?}, expected ranks")), "{refused}");
    }
    assert_eq!(Arrivals::from_times_s(&[7.0, 5.0]), Ok(Arrivals::Times(vec![2.0, 0.0])));
    assert!(Arrivals::from_times_s(&[0.0, f64::NAN]).is_err() && Arrivals::from_times_s(&[0.0, 1e7]).is_err());
    assert!(Arrivals::parse("rank 7, 1 us").unwrap().check(7).is_err());
    assert!(Arrivals::parse("1 us, 2 us").unwrap().check(3).is_err());
}

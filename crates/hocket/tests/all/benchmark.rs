//! Times as benchmarks measure them: closed forms, and laws over the catalogue.

use hocket::pacing::Gap;
use hocket::{Subject, Way, simulate_trials};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Ends, Engine, Options, Platform, Trials};

/// alpha = 1 us, beta = 1 ns/B; computation takes no time.
const HOCKNEY: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";

fn platform(noise: &str) -> Platform {
    Platform::new(&Machine::parse(&format!("name = \"test\"\n[network]\n{HOCKNEY}\n{noise}\n"), "test.toml").unwrap())
        .unwrap()
}

fn ends(entry: &'static Entry, call: &Call, platform: &Platform, way: Way, engine: Engine) -> Option<Vec<Ends>> {
    let (trials, options) =
        (Trials { seed: 3, count: 6, ..Trials::default() }, Options { engine, ..Options::default() });
    let found = simulate_trials(&Subject::Entry(entry), call, platform, Gap::default(), &way.into(), trials, options);
    found.ok().map(|found| found.many.ends)
}

fn assert_time(name: &str, way: Way, expected_s: f64) {
    let entry = find(Collective::Broadcast, name).unwrap();
    let call = entry.accept(&Call::new(Collective::Broadcast, 4, 1000), &[]).unwrap();
    let found_s = way.time_s()(&ends(entry, &call, &platform(""), way, Engine::Auto).unwrap()[0]);
    assert!((found_s - expected_s).abs() < 1e-15, "{name} {way:?}: {found_s}, expected {expected_s}");
}

#[test]
fn a_chain_takes_a_step_per_rank_once_and_two_steps_in_a_loop() {
    // A message takes 2 us. Rank i of 4 has it after i steps, and has passed it on after one more; the root after one.
    assert_time("chain", Way::Isolated, 3.0 * 2e-6);
    assert_time("chain", Way::Barrier, 3.0 * 2e-6);
    assert_time("chain", Way::BarrierMean, (1.0 + 2.0 + 3.0 + 3.0) / 4.0 * 2e-6);
    // In a loop, a rank in the middle receives one message and sends another, one after the other.
    assert_time("chain", Way::Loop, 2.0 * 2e-6);
    // The root sends three messages, one after the other, whichever way it is measured.
    assert_time("linear", Way::Isolated, 3.0 * 2e-6);
    assert_time("linear", Way::Loop, 3.0 * 2e-6);
}

/// A chain on 3 ranks, with messages of 1 us. After a dissemination, all ranks begin together. Up and down a binomial tree,
/// rank 2 leaves the barrier at 2 us and the others at 3 us: rank 2 waits until 5 us for its data.
#[test]
fn the_machine_says_which_barrier_comes_before_the_call() {
    let slowest_us = |barrier: &str| {
        let platform = platform(&format!("[node]\nbarrier = \"{barrier}\""));
        let entry = find(Collective::Broadcast, "chain").unwrap();
        let call = entry.accept(&Call::new(Collective::Broadcast, 3, 0), &[]).unwrap();
        let found = ends(entry, &call, &platform, Way::Barrier, Engine::Auto)?;
        Some((found[0].last_s * 1e6).round())
    };
    assert_eq!(["dissemination", "none", "binomial"].map(slowest_us), [Some(2.0), Some(2.0), Some(3.0)]);
    assert_eq!(slowest_us("no_such"), None);
}

/// Every algorithm that takes a call of 7 ranks.
fn catalogue() -> impl Iterator<Item = (&'static Entry, Call)> {
    CATALOGUE.iter().filter_map(|entry| Some((entry, entry.accept(&Call::new(entry.collective, 7, 14), &[]).ok()?)))
}

#[test]
fn all_ranks_leave_a_barrier_at_once_where_messages_cost_all_ranks_the_same() {
    let platform = platform("");
    for (entry, call) in catalogue() {
        let [isolated, slowest, mean, repeated] = Way::ALL.map(|(_, way)| {
            let dataflow = ends(entry, &call, &platform, way, Engine::Dataflow);
            let events = ends(entry, &call, &platform, way, Engine::Events).unwrap();
            assert!(dataflow.is_none_or(|dataflow| dataflow == events), "{entry} {way:?}: engines differ");
            events[0].clone()
        });
        assert!((isolated.last_s - slowest.last_s).abs() < 1e-15, "{entry}: {isolated:?}, {slowest:?}");
        assert!((isolated.mean_s - Way::BarrierMean.time_s()(&mean)).abs() < 1e-15, "{entry}: {isolated:?}, {mean:?}");
        // Redundant programs go on after their result is complete, and a loop waits for their end. Ranks begin the calls of a
        // loop at different times: on one port, several messages of one rank can then hold up those of another.
        let is_in_time = repeated.last_s < isolated.last_s + 1e-15;
        let may_be_late = entry.name.starts_with("redundant") || entry.ports(&call) > 1;
        assert!(is_in_time || may_be_late, "{entry}: {isolated:?}, {repeated:?}");
    }
}

#[test]
fn trials_side_by_side_are_measured_as_single_runs_are() {
    let platform = platform("[noise.os]\nmodel = \"poisson\"\ninterval = \"5 us\"\nduration = \"1 us\"");
    let mut compared = 0;
    for (entry, call) in catalogue() {
        for way in [Way::Barrier, Way::BarrierMean, Way::Loop] {
            let events = ends(entry, &call, &platform, way, Engine::Events).unwrap();
            if let Some(dataflow) = ends(entry, &call, &platform, way, Engine::Dataflow) {
                assert_eq!(dataflow, events, "{entry} {way:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

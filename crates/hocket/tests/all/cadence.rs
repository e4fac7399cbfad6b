//! Calls in a cadence: closed forms, and laws over the catalogue.

use std::collections::BTreeSet;

use hocket::pacing::Gap;
use hocket::{Cadence, Computation, Repeated, Scene, Subject, simulate_trials};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Result};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Kind, Options, Platform, Trials};
use proptest::prelude::*;

/// alpha = 1 us, beta = 1 ns/B, without gamma.
const HOCKNEY: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
const EAGER: &str = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"";
const TORUS: &str =
    "model = \"links\"\ntopology = \"torus\"\ndims = [7]\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"";
const NOISE: &str = "[noise.os]\nmodel = \"gaussian\"\nmean = \"0.1 us\"\ndeviation = \"0.2 us\"\n";

fn platform(network: &str, rest: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}\n{rest}");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn of(collective: Collective, name: &str, ranks: usize, elements: usize) -> (&'static Entry, Call) {
    let entry = find(collective, name).unwrap();
    (entry, entry.accept(&Call::new(collective, ranks, elements), &[]).unwrap())
}

/// Every algorithm that takes a call of 7 ranks.
fn catalogue() -> impl Iterator<Item = (&'static Entry, Call)> {
    CATALOGUE.iter().filter_map(|entry| Some((entry, entry.accept(&Call::new(entry.collective, 7, 14), &[]).ok()?)))
}

/// The mean time of the calls in each trial, and the calls.
fn repeated(
    (entry, call): &(&'static Entry, Call),
    platform: &Platform,
    text: &str,
    trials: Trials,
    engine: Engine,
) -> Result<(Vec<f64>, Repeated)> {
    let (cadence, options) = (Some(Cadence::parse(text).unwrap()), Options { engine, ..Options::default() });
    let scene = Scene { cadence, ..Scene::default() };
    let found = simulate_trials(&Subject::Entry(entry), call, platform, Gap::default(), &scene, trials, options)?;
    Ok((found.times_s, found.repeated.unwrap()))
}

fn calls(of: &(&'static Entry, Call), platform: &Platform, text: &str) -> Repeated {
    repeated(of, platform, text, Trials::default(), Engine::Auto).unwrap().1
}

#[test]
fn back_to_back_a_ring_takes_the_time_of_an_isolated_call_each_time() {
    // All ranks of both begin and end every call together.
    for name in ["ring", "recursive_doubling"] {
        let of = of(Collective::Allreduce, name, 8, 4096);
        let found = calls(&of, &platform(HOCKNEY, ""), "16 calls");
        let isolated_s = found.isolated_s[0];
        assert!(found.calls_s.iter().all(|time_s| (time_s - isolated_s).abs() < 1e-15), "{name}");
        assert!((found.intervals_s[0] - isolated_s).abs() < 1e-15, "{name}");
    }
}

#[test]
fn a_chain_of_calls_is_a_pipeline() {
    // A message takes 2 us, and a rank receives while it sends: call k leaves rank 0 at 2k us and reaches rank 3 6 us
    // later. Rank 3 begins the first call at 0 us, and every other one when the one before has reached it.
    let of = of(Collective::Broadcast, "chain", 4, 1000);
    let found = calls(&of, &platform(EAGER, ""), "8 calls");
    let expected_s = [6e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6, 2e-6];
    for (got_s, expected_s) in found.calls_s.iter().zip(expected_s) {
        assert!((got_s - expected_s).abs() < 1e-15, "{:?}", found.calls_s);
    }
    assert!((found.intervals_s[0] - 2e-6).abs() < 1e-15 && (found.isolated_s[0] - 6e-6).abs() < 1e-15);
}

#[test]
fn calls_that_are_due_too_soon_wait() {
    // Each of them takes 14 * (1 + 0.512) us = 21.168 us. Due every 20 us, call k waits for k * 1.168 us.
    let of = of(Collective::Allreduce, "ring", 8, 4096);
    let found = calls(&of, &platform(HOCKNEY, ""), "8 calls, every 20 us");
    for (number, time_s) in found.calls_s.iter().enumerate() {
        assert!((time_s - 21.168e-6 - number as f64 * 1.168e-6).abs() < 1e-15, "{:?}", found.calls_s);
    }
    assert!((found.intervals_s[0] - 21.168e-6).abs() < 1e-15);
}

#[test]
fn calls_at_a_time_hide_latency_but_not_the_wire() {
    // One step of one call takes alpha + m * beta. On unlimited ports, two calls at a time take as long as one.
    let of = of(Collective::Allreduce, "ring", 8, 4096);
    let alone = calls(&of, &platform(HOCKNEY, "[node]\nports = \"unlimited\"\n"), "16 calls, 2 at a time");
    assert!((alone.calls_s[15] - alone.isolated_s[0]).abs() < 1e-15);
    assert!((alone.intervals_s[0] - alone.isolated_s[0] / 2.0).abs() < 1e-15);
    // On one port, messages of both follow each other, and the port is busy without a pause.
    let ports = calls(&of, &platform(HOCKNEY, "[node]\nports = 1\n"), "16 calls, 2 at a time");
    assert!((ports.intervals_s[0] - ports.isolated_s[0]).abs() < 1e-12, "{:?}", ports.intervals_s);
}

#[test]
fn calls_hide_behind_a_computation_where_nothing_needs_the_processor() {
    let of = of(Collective::Allreduce, "ring", 8, 4096);
    let (platform, isolated_s) = (platform(HOCKNEY, "[node]\nports = \"unlimited\"\n"), 21.168e-6);
    for (at_a_time, computing_s) in [(1, 30e-6), (1, 10e-6), (2, 15e-6), (2, 5e-6)] {
        let text = format!("16 calls, {at_a_time} at a time, computing {computing_s} s");
        let found = calls(&of, &platform, &text);
        let expected_s = f64::max(computing_s, isolated_s / f64::from(at_a_time));
        assert!((found.intervals_s[0] - expected_s).abs() < 1e-12, "{text}: {:?}", found.intervals_s);
    }
}

#[test]
fn a_computation_holds_up_messages_until_its_next_part_begins() {
    // Two rounds of one message: a rank sends (o), and receives (o) after L. Without parts, the first message waits for
    // the end of the computation, and only then the second round begins: T + o + o + (o + L + o). In short parts, the
    // processor never idles, so calls begin every T + 4 o. Within its period, a call ends one part sooner or later.
    let network = "model = \"loggp\"\nL = \"8 us\"\no = \"1 us\"\ng = \"0 s\"\nG = \"0 s/B\"";
    let (of, platform) = (of(Collective::Allreduce, "recursive_doubling", 4, 1), platform(network, ""));
    for (parts, expected_s) in [(1, 44e-6), (40, 36e-6), (320, 36e-6)] {
        for engine in [Engine::Auto, Engine::Events] {
            let text = format!("9 calls, computing 32 us in {parts} parts");
            let found = repeated(&of, &platform, &text, Trials::default(), engine).unwrap().1;
            let apart_s = if parts == 1 { 0.0 } else { 32e-6 / f64::from(parts) / 5.0 };
            assert!((found.intervals_s[0] - expected_s).abs() < apart_s + 1e-12, "{text}: {:?}", found.intervals_s);
            assert!((found.isolated_s[0] - 20e-6).abs() < 1e-12);
        }
    }
}

#[test]
fn one_call_is_an_isolated_call() {
    for (network, noise) in [(HOCKNEY, ""), (EAGER, NOISE), (TORUS, "")] {
        let platform = platform(network, noise);
        for of in catalogue() {
            let found = repeated(&of, &platform, "1 call", Trials { count: 3, ..Trials::default() }, Engine::Auto);
            let (times_s, found) = found.unwrap();
            assert_eq!(times_s, found.isolated_s, "{}", of.0);
            assert_eq!(times_s, found.intervals_s, "{}", of.0);
        }
    }
}

#[test]
fn calls_have_tags_of_their_own() {
    // Each call of two ranks is one message.
    let (entry, call) = of(Collective::Broadcast, "chain", 2, 8);
    for text in ["32 calls", "32 calls, 4 at a time", "30 calls, 3 at a time"] {
        let scene = Scene { cadence: Some(Cadence::parse(text).unwrap()), ..Scene::default() };
        let (subject, options) = (Subject::Entry(entry), Options { trace: true, ..Options::default() });
        let platform = platform(EAGER, "");
        let found =
            simulate_trials(&subject, &call, &platform, Gap::default(), &scene, Trials::default(), options).unwrap();
        let sends: Vec<_> = found.many.first.trace.iter().filter(|record| record.kind == Kind::Send).collect();
        let tags: BTreeSet<_> = sends.iter().map(|record| record.tag).collect();
        assert_eq!(tags.len(), sends.len(), "{text}");
    }
}

#[test]
fn engines_agree_on_all_cadences() {
    for text in [
        "5 calls",
        "5 calls, every 3 us",
        "6 calls, 3 at a time",
        "5 calls, computing 4 us in 3 parts",
        "6 calls, every 3 us, 3 at a time, computing 2 us",
    ] {
        for (network, noise) in [(HOCKNEY, ""), (EAGER, NOISE), (TORUS, "")] {
            let platform = platform(network, noise);
            for of in catalogue() {
                let run = |engine| repeated(&of, &platform, text, Trials { count: 2, ..Trials::default() }, engine);
                let (times_s, events) = run(Engine::Events).unwrap();
                if let Ok((again_s, dataflow)) = run(Engine::Dataflow) {
                    assert_eq!((times_s, events.calls_s), (again_s, dataflow.calls_s), "{}, {text}", of.0);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Calls that are due after the one before has ended take as long as alone. Programs that still serve other ranks
    /// end within twice this time. Where messages meet, rounding decides which of two at the same time comes first.
    #[test]
    fn seldom_calls_are_isolated_calls(beyond_us in 0.0..30.0f64, calls in 1..6) {
        for network in [HOCKNEY, EAGER] {
            let platform = platform(network, "");
            for of in catalogue() {
                let isolated_s = self::calls(&of, &platform, "1 call").isolated_s[0];
                let every_us = 2e6 * isolated_s + beyond_us;
                let found = self::calls(&of, &platform, &format!("{calls} calls, every {every_us} us"));
                for time_s in found.calls_s {
                    prop_assert!((time_s - isolated_s).abs() < 1e-12, "{}: {time_s}, {isolated_s}", of.0);
                }
            }
        }
    }

    /// However many run at a time, the calls need the wires and processors that the lower bound counts.
    #[test]
    fn no_cadence_is_faster_than_the_lower_bound(calls in 1..20u16, share in 0.0..1.0f64, every_us in 0.0..9.0f64) {
        let at_a_time = 1 + (share * f64::from(calls)) as u16;
        let platform = platform(EAGER, "[node]\nports = 1\nreduce_bandwidth = \"1 GB/s\"\n");
        for text in [
            format!("{calls} calls, {at_a_time} at a time"),
            format!("{calls} calls, every {every_us} us, {at_a_time} at a time"),
        ] {
            for of in catalogue() {
                let found = self::calls(&of, &platform, &text);
                let bound = hocket::bound(&of.1, &platform).unwrap();
                let bound_s = bound.bandwidth_s.unwrap_or(0.0).max(bound.computation_s);
                prop_assert!(found.intervals_s[0] >= bound_s - 1e-12, "{}, {text}: {bound:?}", of.0);
            }
        }
    }

    #[test]
    fn what_is_written_is_read(calls in 1..=10_000u16, share in 0.0..1.0f64, every_us in prop::option::of(0..100_000u32)) {
        let at_a_time = 1 + (share * f64::from(calls.min(32) - 1)) as u16;
        let every = every_us.map_or_else(String::new, |every_us| format!(", every {every_us} us"));
        let found = Cadence::parse(&format!("{calls} calls{every}, {at_a_time} at a time")).unwrap();
        prop_assert_eq!((found.calls, found.at_a_time), (calls, at_a_time));
        prop_assert_eq!(found.every_s.map(|every_s| (every_s * 1e6).round() as u32), every_us);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-z, .]{0,30}|[0-9]{1,6} calls(, every [0-9]{0,3} ?[a-z]{0,2})?(, -?[0-9]* at a time)?(, computing [0-9]{0,2} us( in [0-9]{1,5} parts)?)?") {
        if let Err(error) = Cadence::parse(&text) {
            prop_assert!(error.to_string().starts_with("cadence: got "), "{error}");
        }
    }
}

#[test]
fn texts_are_read() {
    let cadence = |calls, every_s, at_a_time| Cadence { calls, every_s, at_a_time, computation: None };
    for (text, expected) in [
        ("1 call", cadence(1, None, 1)),
        ("16 calls", cadence(16, None, 1)),
        ("16 calls,every 100us", cadence(16, Some(1e-4), 1)),
        ("16 calls, 4 at a time", cadence(16, None, 4)),
        ("16 calls, every 100 us, 16 at a time", cadence(16, Some(1e-4), 16)),
    ] {
        assert_eq!(Cadence::parse(text), Ok(expected), "{text}");
    }
    for (text, parts) in
        [("computing 50 us", 1), ("computing 50us in 1 part", 1), ("computing 0.05 ms in 10 parts", 10)]
    {
        let computation = Some(Computation { time_s: 50e-6, parts });
        let expected = Cadence { computation, ..cadence(16, Some(1e-4), 2) };
        assert_eq!(Cadence::parse(&format!("16 calls, every 100 us, 2 at a time, {text}")), Ok(expected));
    }
    for text in [
        "",
        "16",
        "calls",
        "0 calls",
        "10001 calls",
        "+3 calls",
        "16 calls, 17 at a time",
        "40 calls, 33 at a time",
        "16 calls, every 3",
        "16 calls, every 1e9 s",
        "16 calls, 2 at a time, every 3 us",
        "16 calls, computing 3 us, 2 at a time",
        "16 calls, computing 3",
        "16 calls, computing 1e9 s",
        "16 calls, computing 3 us in 0 parts",
        "16 calls, computing 3 us in 10001 parts",
        "16 calls, computing 3 us in parts",
        "16 calls, 0 at a time",
        "2 calls,",
    ] {
        assert!(Cadence::parse(text).is_err(), "{text}");
    }
}

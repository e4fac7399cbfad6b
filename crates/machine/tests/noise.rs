//! Noise models: their delays against textbook values, laws that hold for all of them, and what is said of bad input.
//!
//! Seeds are fixed. Means and variances may be off by five standard errors: a correct model fails once in a million.

use std::path::PathBuf;

use hocket_machine::noise::{Draws, Model, Operation, Resource};
use hocket_machine::{Machine, Noise, NoiseModel, Section};
use proptest::prelude::*;

const RANKS: usize = 8;
const TRIALS: u64 = 1 << 16;
const STANDARD_ERRORS: f64 = 5.0;

fn model(keys: &str) -> NoiseModel {
    read(keys).unwrap_or_else(|e| panic!("{keys}: {e}"))
}

fn read(keys: &str) -> hocket_core::Result<NoiseModel> {
    read_on(Resource::Network, keys)
}

fn read_on(resource: Resource, keys: &str) -> hocket_core::Result<NoiseModel> {
    let section = Section::parse(keys, &folder().join("test.toml").display().to_string())?;
    let model = NoiseModel::read(&section, resource)?;
    section.finish()?;
    Ok(model)
}

fn folder() -> PathBuf {
    env!("CARGO_TARGET_TMPDIR").into()
}

/// The keys of a trace of these contents, in a file of this name.
fn trace(name: &str, contents: impl AsRef<[u8]>) -> String {
    std::fs::write(folder().join(name), contents).unwrap();
    format!("model = \"trace\"\nfile = \"{name}\"\n")
}

fn draws(model: &NoiseModel, rank: usize, first_trial: u64) -> Draws<'static> {
    Draws {
        key: [2026, 11],
        who: model.draw(rank, rank, 5),
        first_trial,
        ranks: RANKS,
        first_words: &[],
        first_gap: None,
    }
}

/// The delay of an operation of a rank in one trial.
fn delay_s(model: &NoiseModel, rank: usize, trial: u64, start_s: f64, length_s: f64) -> f64 {
    let operation = Operation { length_s, weight: model.weight(length_s) };
    let mut delay_s = [0.0];
    model.delay(operation, &draws(model, rank, trial), &[start_s], &mut delay_s);
    delay_s[0]
}

/// The delays of an operation of rank 3 in all trials: the same whether 1, 8 or 32 of them are drawn together.
fn delays_s(model: &NoiseModel, start_s: f64, length_s: f64) -> Vec<f64> {
    let one: Vec<_> = (0..TRIALS).map(|trial| delay_s(model, 3, trial, start_s, length_s)).collect();
    assert_eq!(bits(&one), bits(&in_lanes::<8>(model, start_s, length_s)), "8 lanes");
    assert_eq!(bits(&one), bits(&in_lanes::<32>(model, start_s, length_s)), "32 lanes");
    one
}

fn in_lanes<const L: usize>(model: &NoiseModel, start_s: f64, length_s: f64) -> Vec<f64> {
    let operation = Operation { length_s, weight: model.weight(length_s) };
    let group = |first| {
        let mut delays_s = [0.0; L];
        model.delay(operation, &draws(model, 3, first), &[start_s; L], &mut delays_s);
        delays_s
    };
    (0..TRIALS).step_by(L).flat_map(group).collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Checks the mean of a sample from a distribution with this mean and this variance.
fn assert_mean(values: &[f64], expected: f64, variance: f64, what: &str) {
    let found = mean(values.iter().copied());
    let error = (variance / values.len() as f64).sqrt();
    let allowed = STANDARD_ERRORS * error + 1e-9 * expected;
    assert!((found - expected).abs() <= allowed, "{what}: mean {found}, expected {expected} up to {allowed}");
}

/// Checks the variance of a sample, too; its standard error is that of the squares.
fn assert_mean_and_variance(values: &[f64], expected: f64, variance: f64, what: &str) {
    assert_mean(values, expected, variance, what);
    let squares: Vec<_> = values.iter().map(|value| (value - expected).powi(2)).collect();
    let of_squares = mean(squares.iter().map(|square| (square - variance).powi(2)));
    assert_mean(&squares, variance, of_squares, &format!("{what}: squared deviation"));
}

/// The distribution function of the standard normal distribution, and its density.
fn normal(x: f64) -> (f64, f64) {
    let density = libm::exp(-x * x / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
    (0.5 * libm::erfc(-x / std::f64::consts::SQRT_2), density)
}

/// An operating system suspends a process; an interrupted message is taken up elsewhere.
#[test]
fn processors_stall_by_default_and_messages_do_not() {
    let recording = trace("by_default.txt", "0 1\n1 2\n") + "length = \"10 s\"";
    for keys in [
        "model = \"periodic\"\nperiod = \"10 s\"\nduration = \"2 s\"",
        "model = \"poisson\"\ninterval = \"10 s\"\nduration = \"2 s\"",
        &recording,
    ] {
        for (resource, overlap) in [(Resource::Processor, "stall"), (Resource::Network, "arrival")] {
            let by_name = read_on(resource, &format!("{keys}\noverlap = \"{overlap}\"")).unwrap();
            assert_eq!(read_on(resource, keys).unwrap(), by_name, "{keys}");
            assert_eq!(by_name.stalls(), resource == Resource::Processor);
        }
    }
}

fn periodic(phase: &str, overlap: &str) -> NoiseModel {
    model(&format!(
        "model = \"periodic\"\nperiod = \"10 s\"\nduration = \"2 s\"\nphase = \"{phase}\"\noverlap = \"{overlap}\""
    ))
}

/// In a length of k periods and a share f of one lie k events, and one more with probability f.
#[test]
fn periodic_events_arrive_once_in_a_period() {
    for phase in ["random", "common", "staggered"] {
        let model = periodic(phase, "arrival");
        for length_s in [0.0, 1.0, 5.0, 10.0, 17.0, 102.5] {
            let share = length_s / 10.0 % 1.0;
            let (expected, variance) = (2.0 * length_s / 10.0, 4.0 * share * (1.0 - share));
            let delays_s = delays_s(&model, 0.37, length_s);
            assert_mean_and_variance(&delays_s, expected, variance, &format!("{phase}, {length_s} s"));
        }
    }
}

/// Only the share 1 - d / p of the time is left to work in, give or take what is cut off at both ends.
#[test]
fn a_long_operation_is_stretched_by_periodic_stalls() {
    let model = periodic("random", "stall");
    let length_s = 10_000.0;
    for delay_s in delays_s(&model, 0.37, length_s) {
        let (took_s, expected_s) = (length_s + delay_s, length_s / (1.0 - 2.0 / 10.0));
        assert!((took_s - expected_s).abs() <= 2.0 * 2.0, "{took_s} s, expected about {expected_s} s");
    }
}

/// Events are at 0 to 2 s, 10 to 12 s, 20 to 22 s ...
#[test]
fn periodic_events_meet_operations_as_by_hand() {
    // Start, length, delay under "arrival", delay under "stall".
    let cases = [
        (0.5, 0.0, 0.0, 1.5),  // nothing to hit; but it waits until 2
        (9.0, 0.0, 0.0, 0.0),  // between events
        (-0.5, 1.0, 2.0, 2.0), // works 0.5, waits for 2, works 0.5
        (1.0, 1.0, 0.0, 1.0),  // the event began before: arrival does not see it; stall waits until 2
        (3.0, 6.5, 0.0, 0.0),  // done at 9.5
        (3.0, 8.0, 2.0, 2.0),  // works 7 until 10, 1 from 12
        (1.0, 17.0, 2.0, 5.0), // arrival: 10. Stall: until 2, 8 of work until 10, 8 from 12 to 20, 1 from 22 to 23
        (5.0, 24.5, 4.0, 6.0), // arrival: 10, 20. Stall: work 5 + 8 + 8, and 3.5 from 32 to 35.5
    ];
    let (arrival, stall) = (periodic("common", "arrival"), periodic("common", "stall"));
    for trial in 0..100 {
        let phase_s = phase_of_all(&arrival, trial) * 10.0;
        for (start_s, length_s, on_arrival, on_stall) in cases {
            for (model, expected) in [(&arrival, on_arrival), (&stall, on_stall)] {
                let found = delay_s(model, 3, trial, phase_s + start_s, length_s);
                assert!((found - expected).abs() < 1e-9, "{start_s} s, {length_s} s: {found} s, not {expected} s");
            }
        }
    }
}

/// The phase that all ranks have in common, as a share: what nobody in particular draws first.
fn phase_of_all(model: &NoiseModel, trial: u64) -> f64 {
    let [share] = Draws { who: u64::MAX, ..draws(model, 0, trial) }.uniform(0);
    share
}

/// The wait of an operation of no length tells where in the period its rank is.
#[test]
fn phases_are_random_common_or_staggered() {
    let keys = |phase| format!("model = \"periodic\"\nperiod = \"8 s\"\nduration = \"7.9 s\"\nphase = \"{phase}\"\n");
    let [random, common, staggered] =
        ["random", "common", "staggered"].map(|phase| model(&(keys(phase) + "overlap = \"stall\"")));
    let of = |model: &NoiseModel, rank, start_s| delay_s(model, rank, 1, start_s, 0.0);
    for rank in 1..RANKS {
        assert_eq!(of(&common, rank, 100.0).to_bits(), of(&common, 0, 100.0).to_bits());
        assert!((of(&random, rank, 100.0) - of(&random, 0, 100.0)).abs() > 1e-6);
        let (later, first) = (of(&staggered, rank, 100.0 + rank as f64), of(&staggered, 0, 100.0));
        assert!((later - first).abs() < 1e-9, "rank {rank} waits for {later} s, rank 0 {first} s");
    }
}

/// A Poisson number of mean x = l / i has variance x.
#[test]
fn poisson_events_have_mean_and_variance_of_their_number() {
    let every = model("model = \"poisson\"\ninterval = \"10 s\"\nduration = \"2 s\"");
    for length_s in [0.0, 1.0, 10.0, 70.0, 4_990.0, 5_010.0, 8_000.0, 1e8] {
        let x = length_s / 10.0;
        assert_mean_and_variance(&delays_s(&every, 0.37, length_s), 2.0 * x, 4.0 * x, &format!("{length_s} s"));
    }
}

/// Numbers of events against exp(-x) x^k / k! by chi-square: with 6 degrees of freedom above 38.26 once in a million.
#[test]
fn poisson_events_have_the_distribution_of_their_number() {
    let (every, x) = (model("model = \"poisson\"\ninterval = \"10 s\"\nduration = \"2 s\""), 1.0);
    let delays_s = delays_s(&every, 0.0, 10.0);
    let count = |k: usize| delays_s.iter().filter(|delay_s| (**delay_s / 2.0).min(6.0) == k as f64).count() as f64;
    let factorial = |k: usize| (1..=k).product::<usize>() as f64;
    let below_six: Vec<_> = (0..6).map(|k| libm::exp(-x) * f64::powi(x, k as i32) / factorial(k)).collect();
    let share = |k: usize| below_six.get(k).copied().unwrap_or(1.0 - below_six.iter().sum::<f64>());
    let term = |k| (count(k) - share(k) * TRIALS as f64).powi(2) / (share(k) * TRIALS as f64);
    let chi_square: f64 = (0..=6).map(term).sum();
    assert!(chi_square < 38.26, "{chi_square}");
}

/// At least one event comes with probability q = 1 - exp(-l / i).
#[test]
fn poisson_hits_once_with_the_probability_of_any_event() {
    let one = model("model = \"poisson\"\ninterval = \"10 s\"\nduration = \"2 s\"\nevents = \"one\"");
    for length_s in [0.0, 0.1, 10.0, 70.0, 1e5] {
        let q = 1.0 - libm::exp(-length_s / 10.0);
        assert_mean_and_variance(&delays_s(&one, 0.0, length_s), 2.0 * q, 4.0 * q * (1.0 - q), "one");
    }
}

/// Work from l to l' meets (l' - l) / i spells of events that overlap, each exp(d / i) - 1 intervals long: the busy periods
/// of an M/D/inf queue (L. Takacs, "Introduction to the theory of queues", 1962).
#[test]
fn poisson_stalls_stretch_by_the_exponential_of_the_load() {
    let stall = model("model = \"poisson\"\ninterval = \"10 s\"\nduration = \"5 s\"\noverlap = \"stall\"");
    let (short, long) = (delays_s(&stall, 3.0, 20.0), delays_s(&stall, 3.0, 120.0));
    let more: Vec<_> = short.iter().zip(&long).map(|(short, long)| long - short).collect();
    let expected = 100.0 * (libm::exp(0.5) - 1.0);
    assert_mean(&more, expected, mean(more.iter().map(|more| (more - expected).powi(2))), "stretch");
    // Of operations so long that they are not followed event by event, it is all there is.
    let expected = 1e7 * (libm::exp(0.5) - 1.0);
    assert!((delay_s(&stall, 3, 0, 3.0, 1e7) / expected - 1.0).abs() < 1e-12);
}

/// E max(0, X) = mu Phi(mu / sigma) + sigma phi(mu / sigma); and of its square, (mu^2 + sigma^2) Phi + mu sigma phi.
#[test]
fn gaussian_delays_are_cut_off_at_zero() {
    for (mu, sigma) in [(10.0, 2.0), (1.0, 1.0), (0.0, 3.0), (2.0, 0.0)] {
        let (phi, density) = if sigma > 0.0 { normal(mu / sigma) } else { (1.0, 0.0) };
        let (expected, squared) = (mu * phi + sigma * density, (mu * mu + sigma * sigma) * phi + mu * sigma * density);
        let keys = format!("model = \"gaussian\"\nmean = \"{mu} s\"\ndeviation = \"{sigma} s\"\n");
        let what = format!("N({mu}, {sigma})");
        let variance = squared - expected * expected;
        assert_mean_and_variance(&delays_s(&model(&keys), 0.0, 10.0), expected, variance, &what);
        // Of an operation that is hit with probability q: moments are those times q.
        let q = 1.0 - libm::exp(-0.5);
        let variance = q * squared - (q * expected).powi(2);
        let now_and_then = model(&(keys + "interval = \"20 s\""));
        assert_mean_and_variance(&delays_s(&now_and_then, 0.0, 10.0), q * expected, variance, &what);
    }
}

/// Mean a m / (a - 1), variance m^2 a / ((a - 1)^2 (a - 2)); longer than x with probability (m / x)^a.
#[test]
fn pareto_delays_have_their_mean_and_their_tail() {
    for shape in [1.0_f64, 1.5, 3.0, 6.0] {
        let model = model(&format!("model = \"pareto\"\nminimum = \"2 s\"\nshape = {shape:?}"));
        let delays_s = delays_s(&model, 0.0, 10.0);
        if shape > 2.0 {
            let variance = 4.0 * shape / ((shape - 1.0).powi(2) * (shape - 2.0));
            assert_mean(&delays_s, 2.0 * shape / (shape - 1.0), variance, &format!("shape {shape}"));
        }
        for x in [2.0, 2.2, 3.0, 6.0, 20.0] {
            let longer: Vec<_> = delays_s.iter().map(|delay_s| f64::from(u8::from(*delay_s > x))).collect();
            let q = (2.0_f64 / x).powf(shape);
            assert_mean(&longer, q, q * (1.0 - q), &format!("shape {shape}, tail beyond {x}"));
        }
    }
}

const RECORDING: &str = "# start duration\n1 0.5\n3.0 1 # longer\n\n";

/// Events are at 1 to 1.5 s and 3 to 4 s, at 11 to 11.5 s and 13 to 14 s, ...; a round leaves 8.5 s for work.
#[test]
fn recorded_events_meet_operations_as_by_hand() {
    let cases = [
        (0.0, 0.5, 0.0, 0.0),
        (0.0, 2.0, 0.5, 0.5),     // works until 1, and from 1.5 to 2.5
        (1.25, 1.0, 0.0, 0.25),   // starts in an event
        (0.0, 3.5, 1.5, 1.5),     // works until 1, from 1.5 to 3, and from 4 to 5
        (3.5, 6.5, 0.0, 0.5),     // waits until 4, works until 10.5
        (5.0, 20.0, 3.0, 3.0),    // work 6 + 1.5 + 7 + 1.5, and 4 from 24 to 28
        (2.0, 100.0, 15.0, 17.5), // arrival: ten rounds. Stall: eleven, and 6.5 of work from 2 on: 1, and 5.5 from 4
        (4.0, 8.5, 0.5, 0.5),     // ends at 13, as an event begins, one second of events before a whole round
    ];
    let read = |overlap: &str| {
        let keys = trace("by_hand.txt", RECORDING) + "length = \"10 s\"\nphase = \"common\"\noverlap = ";
        model(&format!("{keys}\"{overlap}\""))
    };
    let (arrival, stall) = (read("arrival"), read("stall"));
    for trial in 0..100 {
        let phase_s = phase_of_all(&arrival, trial) * 10.0;
        for (start_s, length_s, on_arrival, on_stall) in cases {
            // A little short of what ends as an event begins.
            let (start_s, length_s) = (10.0 - phase_s + start_s, length_s * (1.0 - 1e-12));
            for (model, expected) in [(&arrival, on_arrival), (&stall, on_stall)] {
                let found = delay_s(model, 3, trial, start_s, length_s);
                let close = (found - expected).abs() < 1e-9;
                assert!(close, "{start_s} s with phase {phase_s} s, {length_s} s: {found} s, not {expected} s");
            }
        }
    }
}

/// Whatever the recording, a random place in it meets the share of time that its events take.
#[test]
fn a_recording_is_begun_anywhere() {
    let model = model(&(trace("anywhere.txt", RECORDING) + "length = \"10 s\""));
    for length_s in [1.0, 3.0, 25.0] {
        let (delays_s, expected) = (delays_s(&model, 0.37, length_s), 1.5 * length_s / 10.0);
        let variance = mean(delays_s.iter().map(|delay_s| (delay_s - expected).powi(2)));
        assert_mean(&delays_s, expected, variance, &format!("{length_s} s"));
    }
}

#[test]
fn a_recording_lasts_until_its_last_event_has_ended() {
    let [short, long] = ["", "length = \"4 s\""].map(|length| model(&(trace("lasts.txt", RECORDING) + length)));
    assert_eq!(short, long);
}

#[test]
fn durations_of_zero_delay_nothing() {
    let stalled = ["periodic\"\nperiod = \"1 s\"", "poisson\"\ninterval = \"1 s\""];
    for keys in stalled.map(|keys| format!("model = \"{keys}\nduration = \"0 s\"\noverlap = \"stall\"")) {
        for start_s in [0.0, 0.3, 0.7, 1e3] {
            assert!(in_lanes::<8>(&model(&keys), start_s, 12.3).iter().all(|delay_s| *delay_s == 0.0), "{keys}");
        }
    }
}

/// Extreme, but accepted: an answer at once, and a number.
#[test]
fn nothing_takes_for_ever() {
    let recording = trace("tiny.txt", "1e-9 1e-9\n");
    let stalled = [
        "model = \"poisson\"\ninterval = \"1 us\"\nduration = \"0.999 us\"",
        "model = \"poisson\"\ninterval = \"1 ps\"\nduration = \"0.5 ps\"",
        "model = \"periodic\"\nperiod = \"1 ps\"\nduration = \"0.999999 ps\"",
        &recording,
    ];
    let arrivals = [
        "model = \"poisson\"\ninterval = \"1 ps\"\nduration = \"1e9 s\"",
        "model = \"periodic\"\nperiod = \"1 ps\"\nduration = \"1e9 s\"",
        "model = \"pareto\"\nminimum = \"1 s\"\nshape = 0.1",
        "model = \"gaussian\"\nmean = \"1e9 s\"\ndeviation = \"1e9 s\"\ninterval = \"1 ps\"",
        &recording,
    ];
    let stalled = stalled.map(|keys| format!("{keys}\noverlap = \"stall\""));
    for model in stalled.iter().map(String::as_str).chain(arrivals).map(model) {
        for start_s in [0.0, 1.0, 1e9, 1e18, f64::NAN, f64::INFINITY] {
            for length_s in [0.0, 1e-12, 1e-3, 1.0, 1e9] {
                let delay_s = delay_s(&model, 0, 0, start_s, length_s);
                assert!(!start_s.is_finite() || (0.0..f64::INFINITY).contains(&delay_s), "{model:?}: {delay_s}");
            }
        }
    }
}

fn refusal(noise: &str) -> String {
    let text = format!("name = \"m\"\n[network]\nmodel = \"none\"\n{noise}");
    let file = folder().join("m.toml").display().to_string();
    let refusal = Machine::parse(&text, &file).and_then(|machine| Noise::read(&machine.noise)).unwrap_err();
    refusal.to_string().replace(&folder().join("").display().to_string(), "")
}

#[test]
fn bad_input_is_refused_in_a_line_that_says_what_was_expected() {
    let poisson = "model = \"poisson\"\ninterval = \"1 ms\"\nduration = \"10 us\"\n";
    let periodic = "model = \"periodic\"\nperiod = \"1 ms\"\nduration = \"10 us\"\n";
    let pareto = "model = \"pareto\"\nminimum = \"1 us\"\nshape = 2.5\n";
    let recorded = |name: &str, contents: &[u8]| trace(name, contents);
    let cases = [
        (String::new(), "m.toml: noise.os.model is missing, expected one of"),
        ("model = \"pink\"".into(), "m.toml:5: noise.os.model: got \"pink\", expected one of \"gaussian\", "),
        (
            periodic.replace("1 ms", "-1 ms"),
            "m.toml:6: noise.os.period: got \"-1 ms\", expected a time such as \"1.27 us\" (s, ms, us, ns, ps)",
        ),
        (
            periodic.replace("1 ms", "0 s"),
            "m.toml:6: noise.os.period: got \"0 s\", expected a time of at least \"1 ps\"",
        ),
        (
            periodic.replace("10 us", "1 ms") + "overlap = \"stall\"",
            "m.toml:7: noise.os.duration: got \"1 ms\", expected a time below the period, or else programs would never run",
        ),
        (
            periodic.to_owned() + "phase = \"late\"",
            "m.toml:8: noise.os.phase: got \"late\", expected one of \"random\", \"common\", \"staggered\"",
        ),
        (
            periodic.to_owned() + "events = \"one\"",
            "m.toml:8: noise.os.events: unknown key, expected one of duration, model, overlap, period, phase",
        ),
        (
            poisson.replace("1 ms", "0.1 ps"),
            "m.toml:6: noise.os.interval: got \"0.1 ps\", expected a time of at least \"1 ps\"",
        ),
        (
            poisson.replace("10 us", "1 s") + "overlap = \"stall\"",
            "m.toml:7: noise.os.duration: got \"1 s\", expected a time below the interval, as programs would hardly ever run",
        ),
        (
            poisson.to_owned() + "overlap = \"stall\"\nevents = \"one\"",
            "m.toml:9: noise.os.events: unknown key, expected one of duration, interval, model, overlap",
        ),
        (
            "model = \"gaussian\"\nmean = \"1 us\"".into(),
            "m.toml: noise.os.deviation is missing, expected a time such as \"1 us\"",
        ),
        (
            pareto.to_owned() + "interval = \"0 s\"",
            "m.toml:8: noise.os.interval: got \"0 s\", expected a time of at least \"1 ps\"",
        ),
        (pareto.replace("2.5", "-2"), "m.toml:7: noise.os.shape: got -2, expected a number of at least 0.1"),
        (pareto.replace("2.5", "nan"), "m.toml:7: noise.os.shape: got float, expected a number"),
        (pareto.replace("2.5", "\"2\""), "m.toml:7: noise.os.shape: got string, expected a number"),
        (
            "model = \"trace\"\nfile = \"nowhere.txt\"".into(),
            "m.toml:6: noise.os.file: got \"nowhere.txt\", expected a text file: No such file",
        ),
        (recorded("bytes.txt", b"\xff\x00\xfe"), "m.toml:6: noise.os.file: got \"bytes.txt\", expected a text file"),
        (
            recorded("empty.txt", b""),
            "m.toml: noise.os.length is missing, expected at least the end of the last event, and at least 1 ps",
        ),
        (
            recorded("garbage.txt", b"# events\n1 2\nthree 4\n"),
            "garbage.txt:3: expected the start and the duration of an event, in seconds",
        ),
        (recorded("one.txt", b"1\n"), "one.txt:1: expected the start and the duration of an event, in seconds"),
        (
            recorded("negative.txt", b"1 -2\n"),
            "negative.txt:1: expected a start of at least 0 s and a duration above 0 s, whose sum is at most 1e9 s",
        ),
        (recorded("nan.txt", b"nan 2\n"), "nan.txt:1: expected a start of at least 0"),
        (recorded("endless.txt", b"1 inf\n"), "endless.txt:1: expected a start of at least 0"),
        (
            recorded("back.txt", b"5 1\n3 1\n"),
            "back.txt:2: the event starts before the previous event ends, expected increasing times",
        ),
        (
            recorded("short.txt", b"1 2\n") + "length = \"2 s\"",
            "m.toml:7: noise.os.length: got \"2 s\", expected at least the end of the last event, and at least 1 ps",
        ),
        (
            recorded("at_once.txt", b"0 1e-304\n"),
            "m.toml: noise.os.length is missing, expected at least the end of the last event, and at least 1 ps",
        ),
        (
            recorded("full.txt", b"0 1\n1 2\n") + "overlap = \"stall\"",
            "m.toml: noise.os.length is missing, expected a time above the sum of all durations, or else programs would never run",
        ),
    ];
    for (keys, expected) in cases {
        let refusal = refusal(&format!("[noise.os]\n{keys}"));
        assert!(refusal.starts_with(expected), "{keys}\n{refusal}\n{expected}");
        assert!(!refusal.contains('\n'));
    }
    assert_eq!(
        refusal("[noise.gpu]\nmodel = \"trace\""),
        "m.toml:4: noise.gpu: unknown key, expected one of network, os"
    );
    assert_eq!(refusal("[noise]\nos = \"loud\""), "m.toml:5: noise.os: got string, expected a section [os]");
}

/// An example of each model: what a new one has to add to be tried by the walks below.
fn example(name: &str) -> String {
    let keys = match name {
        "gaussian" => "mean = \"10 us\"\ndeviation = \"3 us\"",
        "pareto" => "minimum = \"1 us\"\nshape = 3",
        "periodic" => "period = \"1 ms\"\nduration = \"10 us\"",
        "poisson" => "interval = \"1 ms\"\nduration = \"10 us\"",
        "trace" => return trace("example.txt", "1e-4 1e-5\n3e-4 2e-5\n"),
        _ => panic!("no example of the noise model {name}"),
    };
    format!("model = \"{name}\"\n{keys}\n")
}

/// The keys that a model takes are those that its refusal of another one lists.
#[test]
fn the_header_of_each_model_lists_its_keys() {
    for name in NoiseModel::NAMES {
        let file = folder().join("test.toml").display().to_string();
        let section = Section::parse(&(example(name) + "nonsense = \"1\""), &file).unwrap();
        NoiseModel::read(&section, Resource::Network).unwrap();
        let refusal = section.finish().unwrap_err().to_string();
        let (_, keys) = refusal.split_once("expected one of ").unwrap();
        let file = format!("{}/src/noise/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(&file).unwrap();
        let header: String = source.lines().take_while(|line| line.starts_with("//!")).collect();
        for key in keys.split(", ").filter(|key| *key != "model") {
            assert!(header.contains(&format!("`{key}`")), "{file}: the header does not say what {key} is");
        }
    }
}

#[test]
fn operations_draw_apart_and_the_same_again() {
    for name in NoiseModel::NAMES {
        let model = model(&example(name));
        assert_eq!(bits(&in_lanes::<32>(&model, 0.1, 5e-4)), bits(&in_lanes::<32>(&model, 0.1, 5e-4)));
        let of = |rank| (0..64).map(|trial| delay_s(&model, rank, trial, 0.1, 5e-4)).collect::<Vec<_>>();
        assert_ne!(of(0), of(1), "{name}");
    }
}

/// Events of a trace, in order, with its length.
fn recordings() -> impl Strategy<Value = (String, f64)> {
    (prop::collection::vec((1e-6..2.0, 1e-6..2.0), 1..8), 1e-3..2.0).prop_map(|(events, rest)| {
        let (mut now, mut text) = (0.0, String::new());
        for (pause, duration) in events {
            text += &format!("{} {duration}\n", now + pause);
            now += pause + duration;
        }
        (text, now + rest)
    })
}

fn phases() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["random", "common", "staggered"])
}

/// Models whose events have a place in time.
fn placed(overlap: &'static str) -> impl Strategy<Value = NoiseModel> {
    let periodic = (1e-6..2.0, 0.0..0.99, phases()).prop_map(move |(period, share, phase)| {
        let duration = period * share;
        model(&format!(
            "model = \"periodic\"\nperiod = \"{period} s\"\nduration = \"{duration} s\"\nphase = \"{phase}\"\n\
             overlap = \"{overlap}\""
        ))
    });
    let traces = (recordings(), phases()).prop_map(move |((text, length), phase)| {
        let keys = trace(&format!("law_{overlap}.txt"), text);
        model(&format!("{keys}length = \"{length} s\"\nphase = \"{phase}\"\noverlap = \"{overlap}\""))
    });
    prop_oneof![periodic, traces]
}

/// Up to rounding of the times that are involved.
fn is_later(a: f64, b: f64) -> bool {
    a >= b - 1e-9 * b.abs()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn longer_operations_end_later(
        model in prop_oneof![placed("arrival"), placed("stall")],
        (start_s, length_s, more_s) in (0.0..50.0, 0.0..5.0, 0.0..5.0),
        (rank, trial) in (0..RANKS, 0..64_u64),
    ) {
        let (short, long) = (
            length_s + delay_s(&model, rank, trial, start_s, length_s),
            length_s + more_s + delay_s(&model, rank, trial, start_s, length_s + more_s),
        );
        prop_assert!(short >= length_s);
        prop_assert!(is_later(long, short), "{short} s, {long} s");
    }

    #[test]
    fn an_operation_without_length_meets_no_event_that_begins_in_it(
        model in placed("arrival"), start_s in 0.0..50.0, (rank, trial) in (0..RANKS, 0..64_u64),
    ) {
        prop_assert_eq!(delay_s(&model, rank, trial, start_s, 0.0), 0.0);
    }

    /// Nothing goes on during an event: whether work is cut into two does not matter.
    #[test]
    fn stalled_work_can_be_cut_anywhere(
        model in prop_oneof![
            placed("stall"),
            (1e-3..2.0, 0.0..0.9).prop_map(|(interval, share)| {
                let duration = interval * share;
                model(&format!(
                    "model = \"poisson\"\ninterval = \"{interval} s\"\nduration = \"{duration} s\"\noverlap = \"stall\""
                ))
            }),
        ],
        (start_s, length_s, more_s) in (0.0..50.0, 1e-3..5.0, 1e-3..5.0),
        (rank, trial) in (0..RANKS, 0..64_u64),
    ) {
        let end = |start_s, length_s| start_s + length_s + delay_s(&model, rank, trial, start_s, length_s);
        let (whole, cut) = (end(start_s, length_s + more_s), end(end(start_s, length_s), more_s));
        prop_assert!((whole - cut).abs() <= 1e-9 * whole, "{whole} s in one piece, {cut} s in two");
        // An operation of no length at its end would wait for the end of an event: there is none.
        prop_assert!(delay_s(&model, rank, trial, whole + 1e-9 * whole, 0.0) >= 0.0);
        prop_assert!((end(whole - 1e-9, 0.0) - whole).abs() <= 1e-8 + 1e-9 * whole);
    }

    #[test]
    fn any_text_is_a_recording_or_refused_in_one_line(
        text in prop_oneof![
            any::<Vec<u8>>(),
            "([0-9.e+-]{1,6} [0-9.e+-]{1,6}\n){0,4}".prop_map(String::into_bytes),
            "([0-9]{1,3}(e-?[0-9]{1,3})? [0-9]{1,2}(e-?[0-9]{1,3})?( #.{0,3})?\r?\n){0,3}".prop_map(String::into_bytes),
        ],
        (start_s, length_s) in (0.0..1e6, 0.0..1e6),
        overlap in prop::sample::select(vec!["arrival", "stall"]),
    ) {
        match read(&format!("{}overlap = \"{overlap}\"", trace("fuzz.txt", text))) {
            Ok(model) => {
                let delay_s = delay_s(&model, 1, 1, start_s, length_s);
                prop_assert!((0.0..f64::INFINITY).contains(&delay_s), "{}", delay_s);
            }
            Err(refusal) => prop_assert!(!refusal.to_string().contains('\n')),
        }
    }
}

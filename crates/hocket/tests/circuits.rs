//! Optical circuit switching: the closed forms of "MPI collectives on circuit-switched optical networks", and what happens
//! beyond what they assume.

use std::cell::{Cell, RefCell};

use hocket::{cases, simulate};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Program, Rank, Result};
use hocket_machine::Machine;
use hocket_simulate::{CircuitCounts, Engine, Kind, Options, Outcome, Platform};

const ALPHA_S: f64 = 1e-4;
const BETA_S: f64 = 8e-9;
const GAMMA_S: f64 = 1e-2;

/// A machine with the paper's parameters: 100 us, 1 Gbit/s, 10 ms.
fn read(nodes: usize, ports: usize, policy: &str, keys: &str) -> Result<Platform> {
    let reconfiguration = if keys.contains("set_up") { "" } else { "reconfiguration = \"10 ms\"" };
    let topology =
        if keys.contains("topology") { String::new() } else { format!("topology = \"crossbar\"\nnodes = {nodes}") };
    let text = format!(
        "name = \"test\"\n[network]\nmodel = \"circuits\"\nlatency = \"100 us\"\nbandwidth = \"125 MB/s\"\n\
         ports = {ports}\npolicy = \"{policy}\"\n{reconfiguration}\n{topology}\n{keys}\n"
    );
    Platform::new(&Machine::parse(&text, "test.toml")?)
}

fn platform(nodes: usize, ports: usize, policy: &str, keys: &str) -> Platform {
    read(nodes, ports, policy, keys).unwrap_or_else(|e| panic!("{e}"))
}

fn run(collective: Collective, name: &str, ranks: usize, bytes: usize, platform: &Platform) -> Outcome {
    let entry = find(collective, name).unwrap();
    let call = entry.accept(&Call::new(collective, ranks, bytes), &[]).unwrap();
    simulate(entry, &call, platform, Options::default()).unwrap_or_else(|e| panic!("{entry}: {e}"))
}

/// One equation: its program, its policy, for which ranks and ports it holds, and its value for so many ranks, ports and
/// bytes of a message, or of a block.
struct Equation {
    number: usize,
    collective: Collective,
    algorithm: &'static str,
    policy: &'static str,
    holds: fn(usize, usize) -> bool,
    time_s: fn(f64, f64, f64) -> f64,
}

fn log2(p: f64) -> f64 {
    p.log2().round()
}

fn equations() -> [Equation; 10] {
    use Collective::{Allgather, Broadcast, Scatter};
    let step = |n: f64| ALPHA_S + n * BETA_S;
    fn equation(
        number: usize,
        (collective, algorithm): (Collective, &'static str),
        policy: &'static str,
        holds: fn(usize, usize) -> bool,
        time_s: fn(f64, f64, f64) -> f64,
    ) -> Equation {
        Equation { number, collective, algorithm, policy, holds, time_s }
    }
    let _ = step;
    let of_two: fn(usize, usize) -> bool = |p, _| p.is_power_of_two();
    let linear: [fn(f64, f64, f64) -> f64; 2] = [
        |p, _, n| (p - 1.0) * (ALPHA_S + n * BETA_S + GAMMA_S),
        |p, k, n| (p - 1.0) * (ALPHA_S + n * BETA_S) + ((p - 1.0) / k).ceil() * GAMMA_S,
    ];
    let paired: fn(f64, f64, f64) -> f64 = |p, _, n| 2.0 * (p - 1.0) * (ALPHA_S + n * BETA_S + GAMMA_S);
    [
        equation(1, (Broadcast, "linear"), "naive", |_, _| true, linear[0]),
        equation(1, (Scatter, "linear"), "naive", |_, _| true, linear[0]),
        equation(2, (Broadcast, "linear"), "ahead", |_, _| true, linear[1]),
        equation(2, (Scatter, "linear"), "ahead", |_, _| true, linear[1]),
        // Two ranks have one circuit for both directions, and all of an odd ring do not pair up.
        equation(3, (Allgather, "ring"), "naive", |p, k| k == 1 && p > 2 && p % 2 == 0, paired),
        equation(3, (Allgather, "ring"), "ahead", |p, k| k == 1 && p % 2 == 0, paired),
        equation(
            4,
            (Allgather, "ring"),
            "ahead",
            |_, k| k >= 2,
            |p, _, n| (p - 1.0) * (ALPHA_S + n * BETA_S) + GAMMA_S,
        ),
        equation(5, (Allgather, "recursive_doubling"), "naive", of_two, |p, _, n| {
            log2(p) * (ALPHA_S + GAMMA_S) + (p - 1.0) * n * BETA_S
        }),
        equation(6, (Allgather, "recursive_doubling"), "ahead", of_two, |p, k, n| {
            log2(p) * ALPHA_S + (p - 1.0) * n * BETA_S + (log2(p) / k).ceil() * GAMMA_S
        }),
        equation(7, (Broadcast, "binomial"), "naive", of_two, |p, _, n| log2(p) * (ALPHA_S + n * BETA_S + GAMMA_S)),
    ]
}

fn eighth() -> Equation {
    Equation {
        number: 8,
        collective: Collective::Broadcast,
        algorithm: "binomial",
        policy: "ahead",
        holds: |p, _| p.is_power_of_two(),
        time_s: |p, k, n| log2(p) * (ALPHA_S + n * BETA_S) + (log2(p) / k).ceil() * GAMMA_S,
    }
}

fn check_equations(ranks: &[usize], ports: &[usize], bytes: &[usize]) {
    for equation in equations().into_iter().chain([eighth()]) {
        for (&p, &k) in ranks.iter().flat_map(|p| ports.iter().map(move |k| (p, k))) {
            for (keys, final_s) in [("", 0.0), ("final_release = \"waited\"", GAMMA_S)] {
                let platform = platform(p, k, equation.policy, keys);
                for &n in bytes.iter().filter(|_| (equation.holds)(p, k)) {
                    let found_s = run(equation.collective, equation.algorithm, p, n, &platform).time_s();
                    let expected_s = (equation.time_s)(p as f64, k as f64, n as f64) + final_s;
                    let is_equal = (found_s - expected_s).abs() <= 1e-9 * expected_s;
                    assert!(
                        is_equal,
                        "({}) p = {p}, k = {k}, n = {n} {keys}: {found_s}, not {expected_s}",
                        equation.number
                    );
                }
            }
        }
    }
}

#[test]
fn the_equations_hold() {
    check_equations(&[2, 3, 4, 7, 8, 32], &[1, 2, 3, 4, 8], &[1, 1 << 20]);
}

/// `cargo test --release -p hocket --test circuits -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn the_equations_hold_everywhere() {
    let ranks: Vec<_> = (1..=10).map(|log| 1 << log).collect();
    check_equations(&ranks, &[1, 2, 3, 4, 5, 6, 7, 8], &[1, 1 << 10, 1 << 20]);
}

//! Optical circuit switching: the closed forms of S. Takizawa, S. Matsuoka, H. Nakada, "MPI collective
//! communication on all optical network", and what happens beyond what they assume.

use std::sync::Mutex;

use hocket::{cases, simulate};
use hocket_algorithms::shapes::rounds::Rounds;
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Program, Rank};
use hocket_machine::Machine;
use hocket_simulate::{CircuitCounts, Engine, Kind, Options, Outcome, Platform};

use crate::bounds::check_bound;
use crate::turns;

/// alpha, beta and gamma of the machines here: 100 us, 1 Gbit/s, 10 ms.
const ALPHA_S: f64 = 1e-4;
const BETA_S: f64 = 8e-9;
const GAMMA_S: f64 = 1e-2;

const POLICIES: [&str; 4] = ["naive", "ahead", "keep", "oracle"];

fn platform(nodes: usize, ports: usize, policy: &str, keys: &str) -> Platform {
    let topology = format!("topology = \"crossbar\"\nnodes = {nodes}");
    let topology = if keys.contains("topology") { "" } else { &topology };
    let text = format!(
        "name = \"test\"\n[network]\nmodel = \"circuits\"\nlatency = \"100 us\"\nbandwidth = \"125 MB/s\"\n\
         reconfiguration = \"10 ms\"\nports = {ports}\npolicy = \"{policy}\"\n{topology}\n{keys}\n"
    );
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap_or_else(|e| panic!("{e}"))
}

fn run_program(program: &impl Program, ranks: usize, bytes: usize, platform: &Platform) -> Outcome {
    let call = Call::new(Collective::Broadcast, ranks, bytes);
    hocket_simulate::simulate(program, &call, platform, Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn run_call(entry: &Entry, call: &Call, platform: &Platform) -> Outcome {
    let options = Options { trace: true, ..Options::default() };
    let outcome = simulate(entry, call, platform, options).unwrap_or_else(|e| panic!("{entry}: {e} in {call:?}"));
    check_bound(entry, call, platform, &outcome);
    outcome
}

fn run((collective, algorithm): Algorithm, ranks: usize, bytes: usize, platform: &Platform) -> Outcome {
    let entry = find(collective, algorithm).unwrap();
    run_call(entry, &entry.accept(&Call::new(collective, ranks, bytes), &[]).unwrap(), platform)
}

type Algorithm = (Collective, &'static str);

const LINEAR: [Algorithm; 2] = [(Collective::Broadcast, "linear"), (Collective::Scatter, "linear")];
const RING: Algorithm = (Collective::Allgather, "ring");
const DOUBLING: Algorithm = (Collective::Allgather, "recursive_doubling");
const BINOMIAL: Algorithm = (Collective::Broadcast, "binomial");

/// The equation that holds for an algorithm under a policy on p nodes of k ports, and the time that it gives for messages, or
/// blocks, of n bytes.
fn equation(algorithm: Algorithm, policy: &str, p: usize, k: usize, n: usize) -> Option<(u8, f64)> {
    let is_ahead = policy == "ahead";
    let set_ups = |circuits: usize| circuits.div_ceil(k) as f64;
    let (others, log) = (p - 1, p.ilog2());
    let (message_s, bytes_s) = (ALPHA_S + n as f64 * BETA_S, n as f64 * BETA_S);
    let [steps, rounds] = [others as f64, f64::from(log)];
    let found = match algorithm {
        linear if LINEAR.contains(&linear) && is_ahead => (2, steps * message_s + set_ups(others) * GAMMA_S),
        linear if LINEAR.contains(&linear) => (1, steps * (message_s + GAMMA_S)),
        RING if is_ahead && k >= 2 => (4, steps * message_s + GAMMA_S),
        // Two nodes send each other their messages at once, over one circuit, unless their program lets them take turns. And of
        // an odd number one is left over.
        RING if k == 1 && p.is_multiple_of(2) && (p > 2 || is_ahead) => (3, 2.0 * steps * (message_s + GAMMA_S)),
        RING => return None,
        _ if !p.is_power_of_two() => return None,
        DOUBLING if is_ahead => (6, rounds * ALPHA_S + steps * bytes_s + set_ups(log as usize) * GAMMA_S),
        DOUBLING => (5, rounds * (ALPHA_S + GAMMA_S) + steps * bytes_s),
        BINOMIAL if is_ahead => (8, rounds * message_s + set_ups(log as usize) * GAMMA_S),
        BINOMIAL => (7, rounds * (message_s + GAMMA_S)),
        _ => return None,
    };
    Some(found)
}

/// Compares the simulation with the equations, of which each is to be met; with a final release they take gamma longer.
fn check_equations(ranks: &[usize], ports: &[usize], bytes: &[usize]) {
    let mut met = [false; 9];
    let algorithms = || LINEAR.into_iter().chain([RING, DOUBLING, BINOMIAL]);
    for (p, k) in ranks.iter().flat_map(|p| ports.iter().map(|k| (*p, *k))) {
        for (policy, (keys, final_s)) in ["naive", "ahead"].into_iter().flat_map(|policy| {
            [("", 0.0), ("final_release = \"waited\"", GAMMA_S)].map(|final_release| (policy, final_release))
        }) {
            let platform = platform(p, k, policy, keys);
            for (algorithm, n) in algorithms().flat_map(|algorithm| bytes.iter().map(move |n| (algorithm, *n))) {
                let Some((number, time_s)) = equation(algorithm, policy, p, k, n) else { continue };
                let (found_s, expected_s) = (run(algorithm, p, n, &platform).time_s(), time_s + final_s);
                let is_equal = (found_s - expected_s).abs() <= 1e-9 * expected_s;
                assert!(is_equal, "({number}) p = {p}, k = {k}, n = {n} {keys}: {found_s}, not {expected_s}");
                met[number as usize] = true;
            }
        }
    }
    assert_eq!(met[1..], [true; 8]);
}

#[test]
fn the_equations_hold() {
    check_equations(&[2, 3, 4, 7, 8, 32], &[1, 2, 3, 4, 8], &[1, 1 << 20]);
}

#[test]
#[ignore = "long: make test-long"]
fn the_equations_hold_for_all_that_the_paper_has() {
    let ranks: Vec<_> = (1..=10).map(|log| 1 << log).collect();
    check_equations(&ranks, &[1, 2, 3, 4, 5, 6, 7, 8], &[1, 1 << 10, 1 << 20]);
}

/// Recursive doubling of other collectives is connected in the same way: two batches of circuits for three steps.
#[test]
fn the_others_open_their_circuits_ahead_too() {
    for (collective, algorithm) in [
        (Collective::Allreduce, "recursive_doubling"),
        (Collective::Alltoall, "recursive_doubling"),
        (Collective::Barrier, "recursive_doubling"),
        (Collective::Reduce, "binomial"),
    ] {
        let bytes = if collective == Collective::Barrier { 0 } else { 1000 };
        let time_s = |policy, ports| run((collective, algorithm), 8, bytes, &platform(8, ports, policy, "")).time_s();
        let messages_s = time_s("oracle", 3);
        for (policy, ports, set_ups) in [("naive", 2, 3.0), ("ahead", 1, 3.0), ("ahead", 2, 2.0), ("ahead", 3, 1.0)] {
            let found_s = time_s(policy, ports) - messages_s;
            assert!((found_s - set_ups * GAMMA_S).abs() < 1e-12, "{collective} {policy} {ports}: {found_s}");
        }
    }
}

/// Seven steps of pairwise exchange, each of one circuit between partners, or of two where blocks go to the right.
#[test]
fn pairwise_exchange_opens_the_circuits_of_as_many_steps_as_there_are_ports_for() {
    let entry = find(Collective::Alltoall, "pairwise_exchange").unwrap();
    for (pairing, ports, set_ups) in [(1, 1, 7.0), (1, 2, 4.0), (1, 3, 3.0), (1, 7, 1.0), (2, 2, 7.0), (2, 14, 1.0)] {
        let call = Call::new(Collective::Alltoall, 8, 1000);
        let call = entry.accept(&call, &[("pairing".to_owned(), pairing)]).unwrap();
        let time_s = |policy| run_call(entry, &call, &platform(8, ports, policy, "")).time_s();
        let found_s = time_s("ahead") - time_s("oracle");
        assert!((found_s - set_ups * GAMMA_S).abs() < 1e-12, "pairing {pairing}, {ports} ports: {found_s}");
    }
}

/// Three phases of 27 ranks, each alpha and 9 blocks. With two ports each is connected by itself; with four, the next one while
/// one goes on, or else two at once; with six, all at once.
#[test]
fn retri_sets_up_the_next_phase_while_one_goes_on() {
    let entry = find(Collective::Alltoall, "retri").unwrap();
    for n in [1, 100_000, 1 << 20] {
        let phase_s = ALPHA_S + 9.0 * n as f64 * BETA_S;
        for (ports, overlap, expected_s) in [
            (2, 1, 3.0 * (GAMMA_S + phase_s)),
            (4, 1, GAMMA_S + 2.0 * phase_s.max(GAMMA_S) + phase_s),
            (4, 0, 2.0 * GAMMA_S + 3.0 * phase_s),
            (6, 1, GAMMA_S + 3.0 * phase_s),
        ] {
            let call = Call::new(Collective::Alltoall, 27, n);
            let call = entry.accept(&call, &[("overlap".to_owned(), overlap)]).unwrap();
            let found_s = run_call(entry, &call, &platform(27, ports, "ahead", "")).time_s();
            assert!((found_s - expected_s).abs() < 1e-12, "{ports} ports, {n} B: {found_s}, not {expected_s}");
        }
    }
}

/// Calls of an algorithm at a few rank counts, at the first and the last root.
fn accepted(entry: &Entry) -> Vec<Call> {
    let calls = [1, 2, 3, 5, 8, 9].into_iter().flat_map(|ranks| cases::calls(entry.collective, ranks));
    let calls = calls.filter(|call| call.root == 0 || call.root + 1 == call.ranks);
    let given = cases::parameters(entry);
    calls
        .flat_map(|call| given.iter().filter_map(|given| entry.accept(&call, given).ok()).collect::<Vec<_>>())
        .collect()
}

/// A network on which messages do not meet.
fn apart() -> Platform {
    let network = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
    Platform::new(&Machine::parse(&format!("name = \"apart\"\n[network]\n{network}\n"), "apart.toml").unwrap()).unwrap()
}

/// What an algorithm does on machines with circuits it does elsewhere, too, and every byte crosses the two links of its route.
/// Checks each call on every `turns`-th machine.
fn check_catalogue(platforms: &[Platform], turns: usize) -> CircuitCounts {
    let (mut total, apart) = (CircuitCounts::default(), apart());
    for entry in CATALOGUE {
        for (number, call) in accepted(entry).into_iter().enumerate() {
            for platform in turns::of(platforms, number, turns) {
                let always = simulate(entry, &call, &apart, Options::default()).unwrap();
                let outcome = run_call(entry, &call, platform);
                let sent = |outcome: &Outcome| (outcome.messages, outcome.message_bytes);
                assert_eq!(sent(&outcome), sent(&always), "{entry} in {call:?}");
                let sends =
                    outcome.trace.iter().filter(|record| record.kind == Kind::Send && record.peer != record.rank);
                let carried: f64 = outcome.links.iter().map(|link| link.bytes).sum();
                assert_eq!(carried, sends.map(|send| 2.0 * send.bytes).sum::<f64>(), "{entry} in {call:?}");
                let counts = outcome.circuits.unwrap();
                total.set_ups += counts.set_ups;
                total.refused += counts.refused;
                total.cut += counts.cut;
            }
        }
    }
    total
}

#[test]
#[ignore = "long: make test-long"]
fn every_algorithm_ends_under_every_policy() {
    for (policy, ports) in POLICIES.iter().flat_map(|policy| [1, 2, 3].map(|ports| (policy, ports))) {
        for keys in ["", "protocol = \"rendezvous\"", "requests = \"refused\"\nfinal_release = \"waited\""] {
            let counts = check_catalogue(&[platform(9, ports, policy, keys)], 1);
            assert!(counts.set_ups > 0 && counts.cut == 0);
        }
    }
}

#[test]
fn every_algorithm_ends_while_ports_and_wavelengths_come_and_go() {
    check_changes(16);
}

#[test]
#[ignore = "long: make test-long"]
fn every_algorithm_ends_while_ports_and_wavelengths_come_and_go_under_every_policy() {
    check_changes(1);
}

/// Ports and wavelengths come and go while everything runs; with one wavelength, nodes can have one circuit each.
fn check_changes(turns: usize) {
    let failing = "changes = [\"5 ms: node 0 has 0 ports\", \"10050 us: node 1 has 1 port\", \"12 ms: nodes have 1 port\", \
                   \"30 ms: nodes have 2 ports\", \"32 ms: node 1 has 0 ports\", \"40 ms: nodes have 1 port\"]";
    let short =
        "wavelengths = 2\nchanges = [\"10050 us: 1 wavelength\", \"25 ms: 0 wavelengths\", \"28 ms: 1 wavelength\"]";
    let machines = [failing, short].map(|keys| POLICIES.map(|policy| platform(9, 3, policy, keys)));
    for platforms in machines {
        let counts = check_catalogue(&platforms, turns);
        assert!(counts.cut > 0 && counts.refused > 0, "{counts:?}");
    }
}

/// A failure, and a shortage, in the middle of recursive doubling in a row of nodes: all is there, but later; and the same
/// again.
#[test]
fn failures_and_shortages_cost_time_but_no_message() {
    let alltoall = (Collective::Alltoall, "recursive_doubling");
    for policy in ["naive", "ahead", "keep"] {
        let row = |keys: &str| platform(8, 2, policy, &format!("topology = \"mesh\"\ndims = [8]\n{keys}"));
        let one = |keys: &str| run(alltoall, 8, 100_000, &row(keys));
        let undisturbed = one("");
        assert_eq!(undisturbed.circuits.unwrap().cut, 0);
        let failing = "changes = [\"11 ms: node 5 has 0 ports\", \"80 ms: node 5 has 1 port\"]";
        for keys in [failing, "wavelengths = 1", "wavelengths = 4\nchanges = [\"11 ms: 1 wavelength\"]"] {
            let outcome = one(keys);
            assert_eq!(outcome.message_bytes, undisturbed.message_bytes);
            let carried = |outcome: &Outcome| outcome.links.iter().map(|link| link.bytes).sum::<f64>();
            assert_eq!(carried(&outcome), carried(&undisturbed));
            assert!(outcome.time_s() > undisturbed.time_s(), "{policy} {keys}");
            assert_eq!(outcome, one(keys));
        }
        assert!(one(failing).circuits.unwrap().cut > 0);
        assert!(one(failing).time_s() > 80e-3);
    }
}

/// Each node computes while its circuit is set up; the set-up is hidden as far as the computation lasts.
struct Overlapping {
    compute_s: f64,
    answers: Mutex<Vec<bool>>,
}

impl Program for Overlapping {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let peer = r.rank() ^ 1;
        let (is_open, ()) = r.join(r.connect(peer), r.compute(self.compute_s)).await;
        self.answers.lock().unwrap().push(is_open);
        let (vector, arrived) = (c.result(r), r.scratch(c.result(r).len));
        r.sendrecv(peer, vector, peer, arrived).await;
        r.disconnect(peer).await;
    }
}

#[test]
fn set_up_overlaps_with_computation() {
    let message_s = ALPHA_S + 1000.0 * BETA_S;
    for (compute_s, expected_s) in [(0.0, GAMMA_S), (4e-3, GAMMA_S), (25e-3, 25e-3)] {
        let program = Overlapping { compute_s, answers: Mutex::default() };
        let outcome = run_program(&program, 4, 1000, &platform(4, 1, "ahead", ""));
        assert!((outcome.time_s() - expected_s - message_s).abs() < 1e-15, "{compute_s}: {}", outcome.time_s());
        assert_eq!(program.answers.into_inner().unwrap(), [true; 4]);
    }
    // Naive, it comes after the computation.
    let program = Overlapping { compute_s: 4e-3, answers: Mutex::default() };
    let found_s = run_program(&program, 4, 1000, &platform(4, 1, "naive", "")).time_s();
    assert!((found_s - 4e-3 - GAMMA_S - message_s).abs() < 1e-15, "{found_s}");
}

/// Rank 0 sends to rank 1 and then to rank 2, which comes late.
struct Late;

impl Program for Late {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() == 2 {
            r.compute(1.0).await;
        }
        let peer = |step: usize| if r.rank() == 0 { Some(step + 1) } else { (r.rank() == step + 1).then_some(0) };
        let mut rounds = Rounds::new(r, 1, 2, peer);
        for (step, peer) in (0..2).filter_map(|step| Some((step, peer(step)?))) {
            rounds.enter(step).await;
            if r.rank() == 0 {
                r.send(peer, c.result(r)).await;
            } else {
                r.recv(peer, c.result(r)).await;
                r.complete();
            }
        }
    }
}

#[test]
fn a_step_does_not_wait_for_the_peers_of_later_ones() {
    let outcome = run_program(&Late, 3, 1, &platform(3, 2, "ahead", ""));
    let message_s = GAMMA_S + ALPHA_S + BETA_S;
    let expected_s = [1.0 + message_s, message_s, 1.0 + message_s];
    let times_s = outcome.rank_times_s.into_iter().zip(expected_s);
    assert!(times_s.into_iter().all(|(found_s, expected_s)| (found_s - expected_s).abs() < 1e-12));
}

/// Everybody connects to everybody, in the order of the numbers.
struct ConnectToAll;

impl Program for ConnectToAll {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let others = (0..r.size()).filter(|peer| *peer != r.rank());
        r.join_all(others.map(|peer| r.connect(peer))).await;
    }
}

#[test]
fn more_circuits_than_ports_are_refused() {
    // Of five nodes with two ports each, five circuits can be.
    for keys in ["", "requests = \"refused\""] {
        let counts = run_program(&ConnectToAll, 5, 0, &platform(5, 2, "ahead", keys)).circuits.unwrap();
        assert!(counts.set_ups <= 5 && counts.refused == 2 * (10 - counts.set_ups), "{counts:?}");
    }
}

/// Rank 1 waits for a circuit that there is no wavelength for, and rank 0 computes meanwhile, before it hears of it.
struct WaitsForLight;

impl Program for WaitsForLight {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let is_open = r.connect((r.rank() + 2) % 4).await;
        match r.rank() {
            0 => {
                r.compute(5.0).await;
                r.recv(1, c.result(r)).await;
            }
            1 => {
                assert!(!is_open);
                r.send(0, c.result(r)).await;
            }
            _ => {}
        }
    }
}

#[test]
fn who_waits_in_vain_is_refused_when_all_else_has_happened() {
    let row = "topology = \"mesh\"\ndims = [4]\nwavelengths = 1";
    let outcome = run_program(&WaitsForLight, 4, 1, &platform(4, 2, "ahead", row));
    // Rank 0 has its circuit and has computed; then rank 1 hears that it has none, gets one for its message, and sends it.
    let end_s = GAMMA_S + 5.0 + GAMMA_S + ALPHA_S + BETA_S;
    assert!((outcome.rank_times_s[0] - end_s).abs() < 1e-9, "{:?}", outcome.rank_times_s);
}

/// Nobody connects to rank 0.
struct ConnectInVain;

impl Program for ConnectInVain {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        if r.rank() == 0 {
            r.connect(1).await;
        }
    }
}

#[test]
fn a_deadlock_is_told_in_one_line() {
    let call = Call::new(Collective::Broadcast, 2, 1);
    let refusal = |program, machine: &Platform| {
        hocket_simulate::simulate(program, &call, machine, Options::default()).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(&ConnectInVain, &platform(2, 1, "ahead", "")),
        "deadlock: rank 0 waits for ever for a circuit to rank 1: rank 1 does not connect to rank 0"
    );
    let entry = find(Collective::Broadcast, "linear").unwrap();
    let machine = platform(2, 1, "naive", "changes = [\"10050 us: node 1 has 0 ports\"]");
    let error = simulate(entry, &call, &machine, Options::default()).unwrap_err().to_string();
    assert_eq!(error, "deadlock: node 0 waits for ever for a circuit to node 1: node 1 has no working port");
}

#[test]
fn dataflow_does_not_apply() {
    let options = Options { engine: Engine::Dataflow, ..Options::default() };
    let entry = find(Collective::Broadcast, "linear").unwrap();
    let call = Call::new(Collective::Broadcast, 2, 1);
    let refusal = simulate(entry, &call, &platform(2, 1, "naive", ""), options).unwrap_err().to_string();
    assert!(refusal.contains("messages share links"), "{refusal}");
}

/// Two ranks of each node: messages within a node need no circuit, and both share those of their node.
#[test]
fn ranks_of_one_node_share_its_circuits() {
    for policy in POLICIES {
        let outcome = run((Collective::Allreduce, "ring"), 8, 800, &platform(4, 1, policy, "ranks_per_node = 2"));
        assert!(outcome.circuits.unwrap().set_ups > 0);
    }
    // Three pairs of ranks share a circuit, and each lets go of it in its own time.
    let outcome = run((Collective::Alltoall, "retri"), 32, 8, &platform(11, 4, "ahead", "ranks_per_node = 3"));
    assert!(outcome.circuits.unwrap().set_ups > 0);
    let outcome = run(DOUBLING, 8, 1, &platform(1, 1, "ahead", "ranks_per_node = 8"));
    assert_eq!(outcome.circuits, Some(CircuitCounts::default()));
}

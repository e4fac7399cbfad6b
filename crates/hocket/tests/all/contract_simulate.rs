//! Every algorithm of the catalogue in virtual time, against its own formulas, and one engine against the other.

use std::cell::Cell;

use crate::sweeps;
use hocket::{cases, predict, simulate};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Outcome, Platform};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use crate::bounds::check_bound;
use crate::turns;

fn platform(network: &str) -> Platform {
    let node = if network.contains("[node]") { "" } else { "[node]" };
    let text = format!("name = \"test\"\n[network]\n{network}\n{node}\nreduce_bandwidth = \"10 GB/s\"\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn hockney(protocol: &str, ports: &str) -> Platform {
    let network = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
    platform(&format!("{network}\nprotocol = \"{protocol}\"\n[node]\nports = {ports}"))
}

fn loggp() -> Platform {
    platform("model = \"loggp\"\nL = \"2 us\"\no = \"0.7 us\"\ng = \"1.1 us\"\nG = \"0.3 ns/B\"\nO = \"0.1 ns/B\"")
}

/// Nodes of three ranks, within which messages cost less.
fn two_levels() -> [Platform; 6] {
    let local = "ranks_per_node = 3\nlocal.L = \"0.2 us\"\nlocal.o = \"0.1 us\"\nlocal.G = \"0.05 ns/B\"\n\
                 local.both_ways = 1.5\nlocal.memory_bandwidth = \"9 GB/s\"";
    let ranges = "from = [\"0 B\", \"64 B\"]\nL = [\"2 us\", \"3 us\"]\no_send = \"0.7 us\"\n\
                  o_receive = [\"0.4 us\", \"0.5 us\"]\ng = \"1.1 us\"\nG = \"0.3 ns/B\"";
    let star = "topology = \"crossbar\"\nnodes = 40\nlink_bandwidth = \"1 GB/s\"";
    let line = "latency = \"1 us\"\nbandwidth = \"1 GB/s\"\nranks_per_node = 3\n\
                local.latency = \"0.2 us\"\nlocal.bandwidth = \"5 GB/s\"";
    let levels = "[[level]]\nranks = 2\nlatency = \"0.1 us\"\nbandwidth = \"9 GB/s\"\n\
                  [[level]]\nlatency = \"0.2 us\"\nbandwidth = \"5 GB/s\"\n\
                  [[level]]\nnodes = 2\nlatency = \"0.5 us\"\nbandwidth = \"2 GB/s\"";
    let levels_of_loggp = "[[level]]\nranks = 2\nL = \"0.1 us\"\no = \"0.1 us\"\nshared_bandwidth = \"9 GB/s\"\n\
                           [[level]]\nL = \"0.2 us\"\no = \"0.1 us\"\nG = \"0.1 ns/B\"\nmessage_gap = \"80 ns\"";
    let cards = "[node.cards]\ncount = 2\nbandwidth = \"3 GB/s\"\nstripe_from = \"64 B\"";
    [
        platform(&format!("model = \"loggp\"\n{ranges}\n{local}")),
        platform(&format!("model = \"hockney\"\n{line}")),
        platform(&format!("model = \"hockney\"\n{line}\n[node]\nports = \"unlimited\"")),
        platform(&format!("model = \"links\"\n{star}\n{local}")),
        platform(&format!(
            "model = \"hockney\"\n{}\n{levels}\n[node]\nports = \"unlimited\"",
            line.replace("local.", "#")
        )),
        platform(&format!("model = \"loggp\"\n{ranges}\nranks_per_node = 3\n{levels_of_loggp}\n{cards}")),
    ]
}

/// Ports of a node: too few for some algorithms, and enough for all.
const PORTS: [&str; 3] = ["1", "\"unlimited\"", "2"];

/// Calls of an algorithm at every rank count, with elements of 8 bytes; with every value of its parameters if complete, else
/// as long sweeps have them; of 64 and 100 ranks, with the defaults.
fn accepted(entry: &Entry, is_complete: bool) -> impl Iterator<Item = Call> {
    let parameters = cases::parameters(entry);
    let ranks = cases::rank_counts().map(move |ranks| (ranks, is_complete)).chain([(64, false), (100, false)]);
    ranks.flat_map(move |(ranks, is_complete)| {
        let has_all = is_complete || sweeps::has_all_values_in_long_sweeps(ranks);
        let parameters = if has_all { &parameters[..] } else { &parameters[..1] };
        let calls = cases::calls(entry.collective, ranks).into_iter().map(|call| Call { element_bytes: 8, ..call });
        calls
            .flat_map(|call| parameters.iter().filter_map(move |given| entry.accept(&call, given).ok()))
            .collect::<Vec<_>>()
    })
}

fn outcome(entry: &Entry, call: &Call, platform: &Platform, engine: Engine) -> hocket_core::Result<Outcome> {
    let outcome = simulate(entry, call, platform, Options { engine, trace: true, ..Options::default() })?;
    check_bound(entry, call, platform, &outcome);
    Ok(outcome)
}

/// Without the operations of ranks, of all ranks: those that stand for others are not enough here.
fn times(entry: &Entry, call: &Call, platform: &Platform) -> Outcome {
    let run = |engine| simulate(entry, call, platform, Options { engine, ..Options::default() });
    let outcome = run(Engine::Dataflow).or_else(|_| run(Engine::Events)).unwrap_or_else(|e| panic!("{entry}: {e}"));
    check_bound(entry, call, platform, &outcome);
    outcome
}

#[test]
fn time_and_messages_are_those_of_the_formulas() {
    check_formulas(false);
}

#[test]
#[ignore = "long: make test-long"]
fn time_and_messages_are_those_of_the_formulas_at_every_root() {
    check_formulas(true);
}

/// Compares all calls, or those of long sweeps, each with one number of ports.
fn check_formulas(is_complete: bool) {
    let platforms = PORTS.map(|ports| hockney("rendezvous", ports));
    let turns = if is_complete { 1 } else { PORTS.len() };
    for entry in CATALOGUE {
        let calls = accepted(entry, is_complete).filter(|call| is_complete || sweeps::is_for_long_sweeps(call));
        for (number, call) in calls.enumerate() {
            turns::of(&platforms, number, turns).for_each(|platform| check_formula(entry, &call, platform));
        }
    }
}

fn check_formula(entry: &Entry, call: &Call, platform: &Platform) {
    let outcome = times(entry, call, platform);
    let predicted = predict(entry, call, platform).unwrap().unwrap();
    assert_eq!(outcome.messages as f64, predicted.messages, "messages of {entry} in {call:?}");
    let (time, formula) = (outcome.time_s(), predicted.time_s);
    let tolerance = 1e-12 * formula;
    assert!(time <= formula + tolerance, "{entry} took {time}, its formula says {formula}, in {call:?}");
    let least = predicted.at_least_s;
    assert!(time >= least - tolerance, "{entry} took {time}, not at least {least}, in {call:?}");
}

/// On few ports, formulas are approximations: these calls take longer.
#[test]
fn a_formula_on_few_ports_claims_no_bound() {
    let calls = [
        ("torus_bucket", 30, 1343, 0, vec![]),
        ("swing_torus", 64, 792, 10, vec![]),
        ("multi_ring", 25, 204, 1, vec![("channels".to_owned(), 3), ("chunk".to_owned(), 3)]),
    ];
    for (name, ranks, count, latency_ns, given) in calls {
        let entry = find(Collective::Allreduce, name).unwrap();
        let call = entry.accept(&Call::new(Collective::Allreduce, ranks, count), &given).unwrap();
        let network = format!("model = \"hockney\"\nlatency = \"{latency_ns} ns\"\nbandwidth = \"1 GB/s\"");
        for (ports, is_bound) in [("1", false), ("6", true)] {
            let text = format!("name = \"few\"\n[network]\n{network}\n[node]\nports = {ports}");
            let platform = Platform::new(&Machine::parse(&text, "few.toml").unwrap()).unwrap();
            let predicted = predict(entry, &call, &platform).unwrap().unwrap();
            assert_eq!(predicted.is_bound, is_bound, "{entry} on {ports} ports");
            let is_later = times(entry, &call, &platform).time_s() > predicted.time_s * (1.0 + 1e-12);
            assert_ne!(is_later, is_bound, "{entry} on {ports} ports");
        }
    }
}

#[test]
fn formulas_of_drawn_calls_hold() {
    check_drawn_calls(200);
}

#[test]
#[ignore = "long: make test-long"]
fn formulas_of_many_drawn_calls_hold() {
    check_drawn_calls(20_000);
}

/// Compares formulas with the times of calls that are drawn with their costs and ports: exact, a bound, or not far below.
fn check_drawn_calls(calls: u32) {
    let costs = (0..3000u32, 1..50u32, 0..20u32, 1..10usize);
    let drawn = (0..CATALOGUE.len(), 2..70usize, 0..5000usize, 1..9usize, costs, any::<u32>());
    let check = |(number, ranks, count, element_bytes, (latency_ns, bandwidth, reduce, ports), further): (
        usize,
        _,
        _,
        _,
        _,
        u32,
    )| {
        let (entry, further) = (&CATALOGUE[number], further as usize);
        let root = if entry.collective.has_root() { further % ranks } else { 0 };
        let parameters = cases::parameters(entry);
        let mut given = parameters[further % parameters.len()].clone();
        given.iter_mut().filter(|(name, _)| name == "channels").for_each(|(_, value)| *value = 1 + further as u64 % 9);
        let call = Call { root, element_bytes, ..Call::new(entry.collective, ranks, count / element_bytes) };
        let text = format!(
            "name = \"drawn\"\n[network]\nmodel = \"hockney\"\nlatency = \"{latency_ns} ns\"\n\
             bandwidth = \"{bandwidth} GB/s\"\n[node]\nports = {ports}\nreduce_bandwidth = \"{} GB/s\"",
            reduce + 1
        );
        let platform = Platform::new(&Machine::parse(&text, "drawn.toml").unwrap()).unwrap();
        let Ok(call) = entry.accept(&call, &given) else { return Ok(()) };
        let Some(predicted) = predict(entry, &call, &platform).unwrap() else { return Ok(()) };
        if predicted.messages < MOST_MESSAGES {
            let (time_s, formula_s) = (times(entry, &call, &platform).time_s(), predicted.time_s);
            let most_s = if predicted.is_bound { formula_s } else { 1.5 * formula_s };
            prop_assert!(
                time_s <= most_s * (1.0 + 1e-11),
                "{entry} took {time_s}, not {formula_s}, in {call:?} on {text}"
            );
            let least_s = predicted.at_least_s * (1.0 - 1e-11);
            prop_assert!(time_s >= least_s, "{entry} took {time_s}, not at least {least_s}, in {call:?} on {text}");
        }
        Ok(())
    };
    TestRunner::new(ProptestConfig::with_cases(calls)).run(&drawn, check).unwrap();
}

/// Drawn calls with more messages are left out: they take long.
const MOST_MESSAGES: f64 = 30_000.0;

#[test]
fn engines_agree_to_the_last_bit() {
    compare_engines(40);
}

#[test]
#[ignore = "long: make test-long"]
fn engines_agree_to_the_last_bit_on_all_machines() {
    compare_engines(1);
}

/// Compares the engines for each call on every `turns`-th machine.
fn compare_engines(turns: usize) {
    let on_hockney = [("rendezvous", PORTS[0]), ("rendezvous", PORTS[1]), ("eager", PORTS[0])];
    let on_hockney = on_hockney.map(|(protocol, ports)| hockney(protocol, ports));
    let platforms: Vec<_> =
        [loggp()].into_iter().chain(on_hockney).chain(two_levels()).map(|at| (at, Cell::new(0))).collect();
    for entry in CATALOGUE {
        for (number, call) in accepted(entry, turns == 1).filter(sweeps::is_for_long_sweeps).enumerate() {
            for (platform, compared) in turns::of(&platforms, number, turns) {
                let Ok(dataflow) = outcome(entry, &call, platform, Engine::Dataflow) else { continue };
                let events = outcome(entry, &call, platform, Engine::Events).unwrap_or_else(|e| panic!("{entry}: {e}"));
                compared.set(compared.get() + 1);
                assert_eq!(Outcome { engine: "events", ..dataflow }, events, "{entry} in {call:?}");
            }
        }
    }
    for (platform, compared) in platforms {
        let without = two_levels();
        let is_for_dataflow =
            platform.network.fabric().is_none() && ![1, 5].map(|at| &without[at].network).contains(&&platform.network);
        let compared = compared.get();
        assert_eq!(compared > 0, is_for_dataflow, "dataflow applied to {compared}: {:?}", platform.network);
    }
}

/// A network without latency, by the digits of `kind`: messages, overheads and operations take no time or whole seconds, so
/// that much happens at one time.
fn without_latency(mut kind: usize) -> Platform {
    let mut choose = |choices: &[&str]| {
        let choice = choices[kind % choices.len()].to_owned();
        kind /= choices.len();
        choice
    };
    let loggp = ["", "g = \"1 s\"", "G = \"1 s/B\"", "g = \"1 s\"\nG = \"1 s/B\""];
    let loggp = format!("model = \"loggp\"\nL = \"0 s\"\no = \"{} s\"\n{}", choose(&["0", "1"]), choose(&loggp));
    let ports = choose(&["1", "2", "3", "\"unlimited\""]);
    let protocol = choose(&["rendezvous", "eager"]);
    let overhead = choose(&["", "send_overhead = \"0 s\"", "send_overhead = \"1 s\""]);
    let hockney = "model = \"hockney\"\nlatency = \"0 s\"\nbandwidth = \"1 B/s\"";
    let hockney = format!("{hockney}\nprotocol = \"{protocol}\"\n{overhead}\n[node]\nports = {ports}");
    platform(&choose(&[&hockney, &hockney, &hockney, &loggp]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10000))]

    #[test]
    fn engines_agree_where_much_happens_at_one_time(
        entry in any::<Index>(), ranks in 1..=17_usize, kind in 0..768_usize, (call, parameters) in any::<(Index, Index)>(),
    ) {
        let entry = &CATALOGUE[entry.index(CATALOGUE.len())];
        let (calls, values) = (cases::calls(entry.collective, ranks), cases::parameters(entry));
        let Ok(call) = entry.accept(call.get(&calls), &values[parameters.index(values.len())]) else { return Ok(()) };
        let platform = without_latency(kind);
        let [auto, events] = [Engine::Auto, Engine::Events]
            .map(|engine| simulate(entry, &call, &platform, Options { engine, ..Options::default() }).unwrap());
        prop_assert_eq!(Outcome { engine: "events", ..auto }, events, "{} in {:?} on {:?}", entry, call, platform.network);
    }
}

/// Beyond 65,536 ranks, where dataflow makes programs as ranks begin and takes them back as they end.
#[test]
fn engines_agree_on_many_ranks() {
    const RANKS: usize = (1 << 16) + 100;
    let names = [
        (Collective::Broadcast, "binomial"),
        (Collective::Reduce, "binomial"),
        (Collective::Scatter, "linear"),
        (Collective::Barrier, "dissemination"),
    ];
    let mut compared = 0;
    for (collective, name) in names {
        let (entry, root) = (find(collective, name).unwrap(), if collective.has_root() { RANKS / 3 } else { 0 });
        let call = entry.accept(&Call { root, ..Call::new(collective, RANKS, 8) }, &[]).unwrap();
        for platform in [hockney("eager", "1"), hockney("rendezvous", "1"), loggp()] {
            let [dataflow, events] = [Engine::Dataflow, Engine::Events]
                .map(|engine| simulate(entry, &call, &platform, Options { engine, ..Options::default() }));
            let Ok(dataflow) = dataflow else { continue };
            compared += 1;
            assert!(Outcome { engine: "events", ..dataflow } == events.unwrap(), "{entry} on {:?}", platform.network);
        }
    }
    assert!(compared >= 2 * names.len(), "dataflow applied in {compared} cases");
}

#[test]
fn dataflow_applies_to_every_algorithm_on_a_hockney_network_of_unlimited_ports() {
    for platform in ["rendezvous", "eager"].map(|protocol| hockney(protocol, "\"unlimited\"")) {
        for entry in CATALOGUE {
            for call in accepted(entry, false).take(20) {
                outcome(entry, &call, &platform, Engine::Dataflow).unwrap_or_else(|e| panic!("{entry}: {e}"));
            }
        }
    }
}

#[test]
fn as_many_ports_as_an_algorithm_can_use_are_as_good_as_unlimited_ones() {
    check_ports(false);
}

#[test]
#[ignore = "long: make test-long"]
fn as_many_ports_are_as_good_as_unlimited_ones_with_every_value_of_parameters() {
    check_ports(true);
}

/// Compares calls at the roots of long sweeps: all with every value of parameters if complete, else every eighth.
fn check_ports(is_complete: bool) {
    let turns = if is_complete { 1 } else { 8 };
    let unlimited = hockney("rendezvous", "\"unlimited\"");
    for entry in CATALOGUE {
        let calls = accepted(entry, is_complete).filter(sweeps::is_for_long_sweeps).enumerate();
        for (_, call) in calls.filter(|(number, _)| turns::takes(*number, turns)) {
            let enough = hockney("rendezvous", &entry.ports(&call).max(1).to_string());
            let times = [&enough, &unlimited]
                .map(|platform| {
                    outcome(entry, &call, platform, Engine::Auto).unwrap_or_else(|e| panic!("{entry}: {e}"))
                })
                .map(|outcome| outcome.rank_times_s);
            assert_eq!(times[0], times[1], "{entry} in {call:?}");
        }
    }
}

#[test]
fn dataflow_applies_where_ranks_make_one_exchange_at_a_time() {
    let platform = hockney("rendezvous", "1");
    let exchanging = [
        "bruck",
        "dissemination",
        "neighbor_exchange",
        "pairwise_exchange",
        "rabenseifner",
        "recursive_doubling",
        "recursive_halving",
        "ring",
        "swing",
    ];
    for entry in CATALOGUE.iter().filter(|entry| exchanging.contains(&entry.name)) {
        for call in accepted(entry, true).filter(|call| entry.ports(call) <= 1) {
            outcome(entry, &call, &platform, Engine::Dataflow).unwrap_or_else(|e| panic!("{entry}, {call:?}: {e}"));
        }
    }
}

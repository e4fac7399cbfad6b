//! Every algorithm of the catalogue as a schedule: run again, it does the same.

use crate::sweeps;
use hocket::{cases, simulate, verify_schedule};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Program, Rank};
use hocket_machine::Machine;
use hocket_memory::operator;
use hocket_record::{Costs, Form, Schedule, record};
use hocket_simulate::{Engine, Options, Outcome, Platform};
use hocket_verify::{Exploration, Limits};

use crate::turns;

/// The schedule of an algorithm; none when its shape depends on timing.
fn recorded(entry: &Entry, call: &Call) -> Option<Schedule> {
    let schedule = record(entry.program(), call);
    let depends_on_timing = schedule.as_ref().is_err_and(|e| e.to_string().contains("uses first"));
    (!depends_on_timing).then(|| schedule.unwrap_or_else(|e| panic!("{entry}: {e}, in {call:?}")))
}

fn platform(reduce_bandwidth: &str) -> Platform {
    let network = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\nreduce_bandwidth = \"{reduce_bandwidth}\"\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

/// Calls of an algorithm, with the values of its parameters that long sweeps have.
fn accepted(entry: &Entry) -> impl Iterator<Item = Call> {
    let calls = cases::rank_counts().flat_map(|ranks| cases::calls_also_in_place(entry.collective, ranks));
    let calls = calls.filter(sweeps::is_for_long_sweeps).map(|call| Call { element_bytes: 8, ..call });
    calls.flat_map(|call| {
        let most = if sweeps::has_all_values_in_long_sweeps(call.ranks) { usize::MAX } else { 1 };
        let given = cases::parameters(entry).into_iter().take(most);
        given.filter_map(|given| entry.accept(&call, &given).ok()).collect::<Vec<_>>()
    })
}

#[test]
fn a_schedule_is_right_and_does_what_its_program_does() {
    check(8);
}

#[test]
#[ignore = "long: make test-long"]
fn every_schedule_is_right_and_does_what_its_program_does() {
    check(1);
}

/// Checks every `turns`-th call: the time, the results, and the verdict.
fn check(turns: usize) {
    let platform = platform("10 GB/s");
    for entry in CATALOGUE {
        let mut calls = 0;
        for (_, call) in accepted(entry).enumerate().filter(|(number, _)| turns::takes(*number, turns)) {
            calls += 1;
            let Some(schedule) = recorded(entry, &call) else { continue };
            takes_the_time_of_its_program(entry, &call, &schedule, &platform);
            gives_the_results_of_its_program(entry, &call, &schedule);
            let report = verify_schedule(&schedule, true, Limits::default(), &|| false).unwrap();
            assert_eq!(report.counterexample, None, "{entry} in {call:?}");
            assert_eq!(report.exploration, Exploration::Deterministic);
        }
        assert!(calls > 0, "{entry} has no call");
    }
}

fn takes_the_time_of_its_program(entry: &Entry, call: &Call, schedule: &Schedule, platform: &Platform) {
    let options = Options { engine: Engine::Events, ..Options::default() };
    let program = simulate(entry, call, platform, options).unwrap();
    let again = hocket_simulate::simulate(schedule, call, platform, options).unwrap();
    assert_eq!(again, program, "{entry} in {call:?} on {:?}", platform.network);
}

fn gives_the_results_of_its_program(entry: &Entry, call: &Call, schedule: &Schedule) {
    let sum = operator("u64", "sum").unwrap();
    let input = |rank| (0..call.input_len(rank) * 8).map(|i| (rank * 31 + i) as u8).collect::<Vec<_>>();
    let inputs: Vec<_> = (0..call.ranks).map(input).collect();
    let program = hocket::run(entry, call, Some(&sum), &inputs).unwrap();
    let again = hocket_memory::run(schedule, call, Some(&sum), &inputs).unwrap();
    assert_eq!(again, program, "{entry} in {call:?}");
}

/// Sizes of several digits: ranks tell each other the sizes of their subtrees, and each recording knows more of them.
#[test]
fn sizes_that_ranks_tell_each_other_are_recorded() {
    let (platform, options) = (platform("10 GB/s"), Options { engine: Engine::Events, ..Options::default() });
    for (collective, count) in [(Collective::Scatterv, 2048), (Collective::Gatherv, 1 << 20)] {
        let entry = find(collective, "binomial").unwrap();
        let call = entry.accept(&Call::new(collective, 32, count), &[]).unwrap();
        let schedule = recorded(entry, &call).expect("it does not depend on timing");
        let program = simulate(entry, &call, &platform, options).unwrap();
        let again = hocket_simulate::simulate(&schedule, &call, &platform, options).unwrap();
        assert_eq!(again, program, "{entry}");
    }
}

/// Networks: their keys, and the costs of messages between two ranks that share a node, where there is no topology. Circuits
/// are not among them: a schedule does not ask for any.
const NETWORKS: [(&str, &str); 7] = [
    ("model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"", "latency = \"100 ns\"\nbandwidth = \"4 GB/s\""),
    (
        "model = \"loggp\"\nL = \"1 us\"\no = \"0.5 us\"\ng = \"0.7 us\"\nG = \"1 ns/B\"",
        "L = \"100 ns\"\no = \"50 ns\"\ng = \"0 s\"\nG = \"0.1 ns/B\"",
    ),
    (
        "model = \"loggp\"\nL = \"1 us\"\no = \"0 s\"\ng = \"0.7 us\"\nG = \"1 ns/B\"",
        "L = \"100 ns\"\no = \"0 s\"\ng = \"0 s\"\nG = \"0.1 ns/B\"",
    ),
    ("model = \"links\"\nswitching = \"wormhole\"\nlink_bandwidth = \"1 GB/s\"", ""),
    ("model = \"links\"\nlink_latency = \"100 ns\"\nlink_bandwidth = \"1 GB/s\"", ""),
    ("model = \"links\"\nsharing = \"fair\"\nprotocol = \"rendezvous\"\nlink_bandwidth = \"1 GB/s\"", ""),
    ("model = \"packets\"\npacket = \"64 B\"\nbuffer = 2\nlink_latency = \"20 ns\"\nlink_bandwidth = \"1 GB/s\"", ""),
];

/// A machine with so many ranks on each node; on a lopsided torus if the network has a topology.
fn machine((network, local): (&str, &str), ranks_per_node: usize, ports: usize) -> Platform {
    let topology = if local.is_empty() { "topology = \"torus\"\ndims = [5, 2]" } else { "" };
    let shared = match ranks_per_node {
        1 => String::new(),
        _ if local.is_empty() => format!("ranks_per_node = {ranks_per_node}"),
        _ => format!("ranks_per_node = {ranks_per_node}\n[network.local]\n{local}"),
    };
    let ports = if network.contains("loggp") { String::new() } else { format!("ports = {ports}") };
    let node = format!("[node]\n{ports}\nreduce_bandwidth = \"10 GB/s\"");
    let text = format!("name = \"test\"\n[network]\n{network}\n{topology}\n{shared}\n{node}\n");
    let platform = Machine::parse(&text, "test.toml").and_then(|machine| Platform::new(&machine));
    platform.unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

/// Algorithms whose branches wait for each other's data: they are recorded in another order than they run in. That decides
/// which of two sends of a rank goes first that begin at one time, as on links, and where sends take no time of a rank.
const WITH_BRANCHES_THAT_WAIT: [&str; 5] =
    ["double_tree", "edge_disjoint_trees", "nvls_tree", "trinaryx3", "trinaryx3_overlapped"];

/// Checks each call on every `turns`-th machine.
fn check_where_messages_meet(turns: usize) {
    let shapes = [(1, 1), (1, 3), (2, 2)];
    let sends_take_time = |(network, local): (&str, &str)| !local.is_empty() && !network.contains("o = \"0 s\"");
    let on = |(ranks_per_node, ports)| {
        NETWORKS.map(|network| (machine(network, ranks_per_node, ports), sends_take_time(network)))
    };
    let machines: Vec<_> = shapes.into_iter().flat_map(on).collect();
    for entry in CATALOGUE {
        let are_apart = !WITH_BRANCHES_THAT_WAIT.contains(&entry.name);
        let calls = accepted(entry).filter(|call| [3, 8, 10].contains(&call.ranks));
        for (number, call) in calls.enumerate() {
            let machines = turns::of(&machines, number, turns);
            for (platform, _) in machines.filter(|(_, sends_take_time)| are_apart || *sends_take_time) {
                let Some(schedule) = recorded(entry, &call) else { continue };
                takes_the_time_of_its_program(entry, &call, &schedule, platform);
            }
        }
    }
}

#[test]
fn a_schedule_takes_the_time_of_its_program_where_messages_meet() {
    check_where_messages_meet(20);
}

#[test]
#[ignore = "long: make test-long"]
fn a_schedule_takes_the_time_of_its_program_wherever_messages_meet() {
    check_where_messages_meet(1);
}

#[test]
#[ignore = "long: make test-long"]
fn all_forms_give_the_schedule_back() {
    // 1 GB/s: reducing 8 B takes 8 ns, a whole number, so that GOAL loses nothing of the times.
    let platform = platform("1 GB/s");
    let options = Options { engine: Engine::Events, ..Options::default() };
    for entry in CATALOGUE {
        for call in accepted(entry).filter(|call| call.ranks <= 17) {
            let Some(schedule) = recorded(entry, &call) else { continue };
            let costs = Costs { reduce_s: &|bytes| platform.node.reduce.time_s(bytes), ..Costs::default() };
            let again = |form, file| {
                let mut bytes = Vec::new();
                schedule.write(form, costs, &mut bytes).unwrap();
                Schedule::read(bytes.as_slice(), file).unwrap()
            };
            assert_eq!(again(Form::Json, "x.json"), schedule);
            let goal = again(Form::Goal, "x.goal");
            assert_eq!(again(Form::GoalBinary, "x.bin"), goal);

            let bytes = Call { element_bytes: 1, ..call.clone() };
            let again = hocket_simulate::simulate(&goal, &bytes, &platform, options).unwrap();
            let program = simulate(entry, &call, &platform, options).unwrap();
            let same = |a: &Outcome, b: &Outcome| (a.time_s() - b.time_s()).abs() <= 1e-12 * b.time_s();
            assert!(same(&again, &program), "{entry} took {} as GOAL, not {}", again.time_s(), program.time_s());
            assert_eq!((again.messages, again.message_bytes), (program.messages, program.message_bytes));
        }
    }
}

struct FromAny;

impl Program for FromAny {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() == 0 {
            r.recv_any(c.result(r)).await;
        } else {
            r.send(0, c.result(r)).await;
        }
    }
}

struct UsesFirst;

impl Program for UsesFirst {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let (_, rest) = r.first(r.compute(1.0), r.compute(2.0)).await;
        rest.await;
    }
}

#[test]
fn a_shape_that_depends_on_timing_is_refused_with_the_reason() {
    let call = Call::new(hocket_core::Collective::Broadcast, 2, 1);
    assert_eq!(
        record(&FromAny, &call).unwrap_err().to_string(),
        "cannot be recorded: rank 0 receives from any source, so its next steps depend on which message arrives first"
    );
    assert_eq!(
        record(&UsesFirst, &call).unwrap_err().to_string(),
        "cannot be recorded: rank 0 uses first, so its next steps depend on which branch ends earlier"
    );
}

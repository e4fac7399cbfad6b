//! Circuits by hand: nodes at a crossbar; a message takes 1 s plus 1 s per byte, and a change of a circuit 10 s.

use hocket_machine::Machine;

use hocket_core::Result;
use hocket_simulate::{Ask, CircuitCounts, Circuits, LinkUse, Milestone, NetworkModel, SharedNetwork};

/// An action at a time.
#[derive(Clone, Copy)]
enum TimedAction {
    /// A message of this many bytes from one node to another.
    Send(usize, usize, u32),
    Connect(usize, usize),
    Disconnect(usize, usize),
}

use TimedAction::{Connect, Disconnect, Send};

fn read(keys: &str) -> Result<Circuits> {
    let topology = if keys.contains("topology") { "" } else { "topology = \"crossbar\"\nnodes = 8" };
    let time = if keys.contains("set_up") { "" } else { "reconfiguration = \"10 s\"" };
    let text = format!(
        "name = \"test\"\n[network]\nmodel = \"circuits\"\n{topology}\nlatency = \"1 s\"\nbandwidth = \"1 B/s\"\n{time}\n{keys}\n"
    );
    let machine = Machine::parse(&text, "m.toml")?;
    let NetworkModel::Circuits(network) = NetworkModel::read(&machine)? else { panic!("{text}") };
    machine.network.finish()?;
    Ok(network)
}

fn network(keys: &str) -> Circuits {
    read(keys).unwrap_or_else(|e| panic!("{e}"))
}

struct RunOutcome {
    /// The time at which each message arrived, or each program was answered; NaN if never.
    times_s: Vec<f64>,
    /// The programs that were refused.
    refused: Vec<usize>,
    counts: CircuitCounts,
    links: Vec<LinkUse>,
    deadlock: Option<String>,
}

/// Performs all actions, in the order of time.
fn run(network: &Circuits, actions: &[(f64, TimedAction)]) -> RunOutcome {
    let mut traffic = network.traffic();
    let (mut times_s, mut refused) = (vec![f64::NAN; actions.len()], Vec::new());
    let (mut progress, mut next, mut now_s) = (Vec::new(), 0, 0.0_f64);
    loop {
        let action_s = actions.get(next).map_or(f64::INFINITY, |action| action.0);
        let next_s = action_s.min(traffic.next_s());
        let circuits = traffic.circuits().unwrap();
        if next_s > now_s && circuits.is_undecided() {
            circuits.decide(now_s, &mut progress);
        } else if action_s.is_infinite() && circuits.give_way(now_s) {
            continue;
        } else if next_s.is_infinite() {
            break;
        } else if action_s == next_s {
            now_s = next_s;
            let id = next as u32;
            let ask = |rank: usize, peer: usize| Ask { id, ranks: [rank as u32, peer as u32], nodes: [rank, peer] };
            match actions[next].1 {
                Send(from, to, bytes) => traffic.inject(now_s, (id, from, to, bytes.into()).into()),
                Connect(rank, peer) => circuits.connect(now_s, ask(rank, peer)),
                Disconnect(rank, peer) => circuits.disconnect(now_s, ask(rank, peer)),
            }
            next += 1;
        } else {
            now_s = next_s;
            traffic.advance(&mut progress);
        }
        for (id, milestone) in progress.drain(..) {
            match milestone {
                Milestone::Sent => assert!(times_s[id as usize].is_nan()),
                Milestone::Arrives(_) | Milestone::Answered(true) => times_s[id as usize] = now_s,
                Milestone::Answered(false) => {
                    times_s[id as usize] = now_s;
                    refused.push(id as usize);
                }
            }
        }
    }
    let counts = traffic.circuits().unwrap().counts();
    RunOutcome { times_s, refused, counts, links: traffic.links(), deadlock: traffic.deadlock() }
}

/// All actions at time 0.
fn run_at_zero(network: &Circuits, actions: &[TimedAction]) -> RunOutcome {
    run(network, &actions.iter().map(|action| (0.0, *action)).collect::<Vec<_>>())
}

fn times_s(network: &Circuits, actions: &[(f64, TimedAction)]) -> Vec<f64> {
    let outcome = run(network, actions);
    assert_eq!((outcome.deadlock, outcome.refused), (None, Vec::new()));
    outcome.times_s
}

const NAIVE: &str = "policy = \"naive\"";
const AHEAD: &str = "policy = \"ahead\"";
const KEEP: &str = "policy = \"keep\"";
const ORACLE: &str = "policy = \"oracle\"";

fn of(ports: usize, keys: &str) -> Circuits {
    network(&format!("ports = {ports}\n{keys}"))
}

#[test]
fn a_circuit_carries_what_is_queued_and_is_closed() {
    // Set up at 10; 11 s for each message. The third one comes after the circuit is closed at 32.
    let actions = [(0.0, Send(0, 1, 10)), (5.0, Send(0, 1, 10)), (32.5, Send(0, 1, 10))];
    assert_eq!(times_s(&of(1, NAIVE), &actions), [21.0, 32.0, 53.5]);
    assert_eq!(run(&of(1, NAIVE), &actions).counts.set_ups, 2);
}

#[test]
fn a_circuit_carries_both_ways_at_once() {
    let actions = [(0.0, Send(0, 1, 10)), (0.0, Send(1, 0, 4)), (15.0, Send(1, 0, 4))];
    assert_eq!(times_s(&of(1, NAIVE), &actions), [21.0, 15.0, 20.0]);
}

#[test]
fn a_message_to_the_own_node_needs_no_circuit() {
    assert_eq!(times_s(&of(1, NAIVE), &[(0.0, Send(3, 3, 10)), (0.0, Send(3, 3, 10))]), [11.0, 11.0]);
}

#[test]
fn requests_are_served_in_the_order_of_asking_and_pass_those_that_must_wait() {
    // 1 to 0 waits for the port of 0, and so does 2 to 0 behind it; 3 to 4 passes both.
    let actions = [Send(5, 0, 10), Send(1, 0, 10), Send(2, 0, 10), Send(3, 4, 10)];
    assert_eq!(run_at_zero(&of(1, NAIVE), &actions).times_s, [21.0, 42.0, 63.0, 21.0]);
    assert_eq!(run_at_zero(&of(2, NAIVE), &actions).times_s, [21.0, 21.0, 42.0, 21.0]);
}

#[test]
fn a_request_holds_nothing_while_it_waits() {
    // 0 to 1 waits for 1; meanwhile the port of 0 is free, and 2 gets it.
    let actions = [(0.0, Send(5, 1, 10)), (0.0, Send(0, 1, 10)), (1.0, Send(2, 0, 10))];
    assert_eq!(times_s(&of(1, NAIVE), &actions), [21.0, 43.0, 22.0]);
}

#[test]
fn an_oracle_takes_no_time() {
    let actions = [(0.0, Send(0, 1, 10)), (0.0, Send(0, 2, 10)), (30.0, Disconnect(0, 2))];
    assert_eq!(times_s(&of(1, &format!("{ORACLE}\nfinal_release = \"waited\"")), &actions), [11.0, 22.0, 30.0]);
}

#[test]
fn release_and_set_up_follow_each_other() {
    let keys = format!("{NAIVE}\nset_up = \"4 s\"\nrelease = \"6 s\"\nfinal_release = \"waited\"");
    // Set up until 4, arrived at 15, released at 21; set up again until 25.
    let actions = [(0.0, Send(0, 1, 10)), (0.0, Send(0, 2, 10)), (0.0, Disconnect(0, 2))];
    assert_eq!(times_s(&of(1, &keys), &actions), [15.0, 36.0, 42.0]);
}

#[test]
fn a_disconnect_waits_for_the_final_release_if_asked_to() {
    let actions = [(0.0, Send(0, 1, 10)), (21.0, Disconnect(0, 1)), (26.0, Disconnect(1, 0)), (40.0, Disconnect(0, 1))];
    assert_eq!(times_s(&of(1, NAIVE), &actions), [21.0, 21.0, 26.0, 40.0]);
    let keys = format!("{NAIVE}\nfinal_release = \"waited\"");
    assert_eq!(times_s(&of(1, &keys), &actions), [21.0, 31.0, 31.0, 40.0]);
}

#[test]
fn programs_change_nothing_for_the_naive() {
    assert_eq!(times_s(&of(1, NAIVE), &[(0.0, Connect(0, 1)), (5.0, Send(0, 1, 1))]), [0.0, 17.0]);
}

#[test]
fn both_ends_ask_and_both_disconnect() {
    // Requested at 3, open at 13. One end keeps it until 40.
    let actions = [
        (0.0, Connect(0, 1)),
        (3.0, Connect(1, 0)),
        (20.0, Send(0, 1, 10)),
        (32.0, Disconnect(0, 1)),
        (33.0, Send(1, 0, 1)),
        (40.0, Disconnect(1, 0)),
    ];
    assert_eq!(times_s(&of(1, AHEAD), &actions), [13.0, 13.0, 31.0, 40.0, 35.0, 40.0]);
    assert_eq!(run(&of(1, AHEAD), &actions).counts.set_ups, 1);
}

#[test]
fn who_is_not_asked_for_waits_for_ever() {
    let outcome = run_at_zero(&of(1, AHEAD), &[Connect(0, 1)]);
    assert_eq!(
        outcome.deadlock.as_deref(),
        Some("deadlock: rank 0 waits for ever for a circuit to rank 1: rank 1 does not connect to rank 0")
    );
    let outcome = run(&of(1, AHEAD), &[(0.0, Connect(0, 1)), (0.0, Connect(1, 0)), (20.0, Disconnect(0, 1))]);
    assert_eq!(
        outcome.deadlock.as_deref(),
        Some("deadlock: rank 0 waits for ever for its circuit to rank 1 to close: rank 1 does not disconnect")
    );
}

#[test]
fn who_would_wait_for_itself_is_refused() {
    // 0 keeps its only port; 2 is refused, too.
    let actions = [Connect(0, 1), Connect(1, 0), Connect(0, 2), Connect(2, 0)];
    let outcome = run_at_zero(&of(1, AHEAD), &actions);
    assert_eq!((outcome.times_s, outcome.refused, outcome.counts.refused), (vec![10.0, 10.0, 0.0, 0.0], vec![2, 3], 2));
    assert_eq!(run_at_zero(&of(2, AHEAD), &actions).times_s, [10.0; 4]);
}

#[test]
fn the_second_wish_of_one_meets_the_second_of_the_other() {
    // The circuit is lost at 15. 0 gives it up and requests it again; 1 does so later.
    let keys = format!("{AHEAD}\nchanges = [\"15 s: node 0 has 0 ports\", \"16 s: node 0 has 1 port\"]");
    let actions = [
        (0.0, Connect(0, 1)),
        (0.0, Connect(1, 0)),
        (20.0, Disconnect(0, 1)),
        (20.0, Connect(0, 1)),
        (30.0, Disconnect(1, 0)),
        (31.0, Connect(1, 0)),
    ];
    assert_eq!(times_s(&of(1, &keys), &actions), [10.0, 10.0, 20.0, 41.0, 30.0, 41.0]);
    // A rank that gives up before the other asks gives up for both.
    let actions = [(0.0, Connect(0, 1)), (3.0, Disconnect(0, 1)), (5.0, Connect(1, 0))];
    let outcome = run(&of(1, AHEAD), &actions);
    assert_eq!((outcome.times_s, outcome.refused, outcome.deadlock), (vec![3.0, 3.0, 5.0], vec![0, 2], None));
}

#[test]
fn who_waits_for_another_waits_or_is_refused() {
    // 0 has disconnected from 1, which keeps the circuit until 30.
    let actions = [
        (0.0, Connect(0, 1)),
        (0.0, Connect(1, 0)),
        (20.0, Disconnect(0, 1)),
        (20.0, Connect(0, 2)),
        (20.0, Connect(2, 0)),
        (30.0, Disconnect(1, 0)),
    ];
    assert_eq!(times_s(&of(1, AHEAD), &actions), [10.0, 10.0, 30.0, 40.0, 40.0, 30.0]);
    let outcome = run(&of(1, &format!("{AHEAD}\nrequests = \"refused\"")), &actions);
    assert_eq!((outcome.times_s, outcome.refused), (vec![10.0, 10.0, 30.0, 20.0, 20.0, 30.0], vec![3, 4]));
}

#[test]
fn what_is_closed_and_asked_for_at_one_time_is_not_refused_whatever_the_order() {
    let before = [(0.0, Connect(0, 1)), (0.0, Connect(1, 0))];
    let after = [(20.0, Connect(0, 2)), (20.0, Connect(2, 0)), (20.0, Disconnect(0, 1)), (20.0, Disconnect(1, 0))];
    let network = of(1, &format!("{AHEAD}\nrequests = \"refused\""));
    assert_eq!(times_s(&network, &[&before[..], &after].concat())[2..], [30.0, 30.0, 20.0, 20.0]);
}

#[test]
fn a_message_without_a_circuit_gets_one_that_goes_and_for_which_an_idle_one_goes() {
    let ask = [(0.0, Connect(0, 1)), (0.0, Connect(1, 0))];
    // The idle circuit is closed at 20, and when 0 wants it again, set up again.
    let actions = [&ask[..], &[(20.0, Send(0, 2, 10)), (50.0, Send(0, 1, 10)), (80.0, Send(1, 0, 1))]].concat();
    assert_eq!(times_s(&of(1, AHEAD), &actions), [10.0, 10.0, 41.0, 71.0, 82.0]);
    // A circuit that carries stays: 0 to 2 waits until it is idle.
    let actions = [&ask[..], &[(12.0, Send(1, 0, 10)), (15.0, Send(0, 2, 10))]].concat();
    assert_eq!(times_s(&of(1, AHEAD), &actions), [10.0, 10.0, 23.0, 44.0]);
}

#[test]
fn the_least_recently_used_goes_first_and_first_of_all_what_nobody_asked_for() {
    // 0 to 2 was used before 0 to 1: 3 evicts it, and then 0 to 2 evicts 0 to 1.
    let actions = [
        (0.0, Send(0, 1, 9)),
        (0.0, Send(0, 2, 4)),
        (30.0, Send(0, 3, 4)),
        (50.0, Send(0, 1, 4)),
        (60.0, Send(0, 2, 4)),
    ];
    assert_eq!(times_s(&of(2, KEEP), &actions), [20.0, 15.0, 45.0, 55.0, 75.0]);
    assert_eq!(run(&of(2, KEEP), &actions).counts.set_ups, 4);
    // A program requested the circuit to 1, which is the least recently used.
    let actions = [(0.0, Connect(0, 1)), (20.0, Send(0, 2, 4)), (50.0, Send(0, 3, 4)), (70.0, Send(0, 1, 4))];
    assert_eq!(times_s(&of(2, KEEP), &actions), [10.0, 35.0, 65.0, 75.0]);
}

#[test]
fn keep_opens_and_closes_early() {
    let actions = [(0.0, Connect(0, 1)), (20.0, Send(0, 1, 4)), (30.0, Disconnect(1, 0)), (31.0, Send(0, 1, 4))];
    assert_eq!(times_s(&of(1, KEEP), &actions), [10.0, 25.0, 30.0, 46.0]);
    // If requested while it carries: once it is idle.
    let actions = [(0.0, Send(0, 1, 4)), (12.0, Disconnect(0, 1)), (20.0, Send(0, 1, 4))];
    assert_eq!(times_s(&of(1, KEEP), &actions), [15.0, 15.0, 35.0]);
    // Even if there are more messages in the meantime.
    let actions = [(0.0, Send(0, 1, 10)), (12.0, Disconnect(0, 1)), (14.0, Send(1, 0, 4))];
    assert_eq!(times_s(&of(1, KEEP), &actions), [21.0, 21.0, 19.0]);
}

#[test]
fn what_goes_for_another_is_released_first() {
    // 0 to 1 has arrived at 15; its circuit is closed at 20 and released at 26. Then 1 is free for 3 to 1 as well.
    let network = of(1, &format!("{KEEP}\nset_up = \"4 s\"\nrelease = \"6 s\""));
    let actions = [(0.0, Send(0, 1, 10)), (20.0, Send(0, 2, 10)), (21.0, Send(3, 1, 10))];
    assert_eq!(times_s(&network, &actions), [15.0, 41.0, 41.0]);
}

/// Nodes in a row; 0 to 2 and 1 to 3 meet on the link from 1 to 2, and 2 to 0 takes other links.
fn row(wavelengths: usize, keys: &str) -> Circuits {
    network(&format!("topology = \"mesh\"\ndims = [4]\nports = 2\nwavelengths = {wavelengths}\n{keys}"))
}

#[test]
fn circuits_that_meet_have_different_wavelengths() {
    let actions = [(0.0, Send(0, 2, 10)), (0.0, Send(1, 3, 10)), (0.0, Send(0, 1, 10)), (0.0, Send(2, 3, 10))];
    assert_eq!(times_s(&row(1, NAIVE), &actions), [21.0, 42.0, 42.0, 21.0]);
    // 0 to 1 and 2 to 3 get the wavelength that is free on all of their links.
    assert_eq!(times_s(&row(2, NAIVE), &actions), [21.0; 4]);
}

#[test]
fn a_wavelength_is_the_same_all_the_way_there_and_back() {
    // The first has wavelength 0 from 0 to 1, the second has it from 2 to 3, and the third has only wavelength 1 from 1
    // to 2: 0 to 3 needs one that is free on all three links.
    let actions = [(0.0, Send(0, 1, 30)), (0.0, Send(1, 2, 4)), (0.0, Send(3, 2, 30)), (0.0, Send(0, 3, 4))];
    assert_eq!(times_s(&row(1, NAIVE), &actions), [41.0, 15.0, 41.0, 56.0]);
    assert_eq!(times_s(&row(2, NAIVE), &actions), [41.0, 15.0, 41.0, 15.0]);
}

#[test]
fn idle_circuits_go_for_their_wavelength() {
    let actions = [(0.0, Send(0, 2, 10)), (30.0, Send(1, 3, 10)), (60.0, Send(0, 2, 10))];
    assert_eq!(times_s(&row(1, KEEP), &actions), [21.0, 51.0, 81.0]);
    assert_eq!(times_s(&row(2, KEEP), &actions), [21.0, 51.0, 71.0]);
}

#[test]
fn requests_that_wait_for_each_others_wavelengths_are_refused_in_the_end() {
    // 0 to 2 holds the wavelength for which 0 to 3 waits: no event is left.
    let actions = [Connect(0, 2), Connect(2, 0), Connect(1, 3), Connect(3, 1)];
    let outcome = run_at_zero(&row(1, AHEAD), &actions);
    assert_eq!((outcome.deadlock, outcome.refused, outcome.times_s), (None, vec![2, 3], vec![10.0; 4]));
}

#[test]
fn ports_that_go_cut_what_carries_last() {
    let keys = format!(
        "{KEEP}\nchanges = [\"25 s: node 0 has 2 ports\", \"26 s: node 0 has 1 port\", \"40 s: nodes have 3 ports\"]"
    );
    // At 25, 0 to 1 is idle, 0 to 2 carries until 36, 0 to 3 is being set up until 30. The circuit to 1 goes first,
    // then the one to 3. The circuit to 2 finishes; it goes at 36 for 3, as there is one port, open again at 46.
    let actions = [(0.0, Send(0, 1, 4)), (0.0, Send(0, 2, 25)), (20.0, Send(0, 3, 4))];
    let outcome = run(&of(3, &keys), &actions);
    assert_eq!(
        (outcome.times_s, outcome.counts),
        (vec![15.0, 36.0, 51.0], CircuitCounts { set_ups: 4, refused: 0, cut: 0 })
    );
    // At 12 the only circuit goes while it carries; the message starts again at 30.
    let keys = format!("{NAIVE}\nchanges = [\"12 s: node 0 has 0 ports\", \"30 s: node 0 has 1 port\"]");
    let outcome = run(&of(1, &keys), &[(0.0, Send(0, 1, 10)), (0.0, Send(1, 0, 1))]);
    assert_eq!((outcome.times_s, outcome.counts), (vec![51.0, 12.0], CircuitCounts { set_ups: 2, refused: 0, cut: 1 }));
    let bytes: Vec<_> = outcome.links[..4].iter().map(|link| link.bytes).collect();
    assert_eq!(bytes, [10.0, 1.0, 1.0, 10.0]);
    assert_eq!(outcome.links[0], LinkUse { bytes: 10.0, busy_s: 2.0 + 11.0, waiting_s: 10.0 + 28.0 });
}

#[test]
fn wavelengths_that_go_cut_the_highest() {
    let keys = format!("{NAIVE}\nchanges = [\"12 s: 1 wavelength\"]");
    let actions = [(0.0, Send(0, 2, 10)), (0.0, Send(1, 3, 10))];
    let outcome = run(&row(2, &keys), &actions);
    assert_eq!((outcome.times_s, outcome.counts.cut), (vec![21.0, 42.0], 1));
}

#[test]
fn what_is_asked_for_and_lost_while_it_is_set_up_is_wanted_again() {
    let keys = format!("{AHEAD}\nchanges = [\"5 s: node 0 has 1 port\"]");
    // The circuit to 2 stays and the earlier one is lost; 0 keeps its only port, so it is refused.
    let actions = [Connect(0, 1), Connect(1, 0), Connect(0, 2), Connect(2, 0)];
    let outcome = run_at_zero(&of(2, &keys), &actions);
    assert_eq!((outcome.refused.len(), outcome.counts.set_ups, outcome.deadlock), (2, 2, None));
    assert_eq!(outcome.times_s.iter().filter(|time_s| **time_s == 5.0).count(), 2);
}

#[test]
fn a_node_without_ports_is_told_of() {
    let outcome = run_at_zero(&of(1, &format!("{NAIVE}\nchanges = [\"0 s: node 1 has 0 ports\"]")), &[Send(0, 1, 1)]);
    let line = "deadlock: node 0 waits for ever for a circuit to node 1: node 1 has no working port";
    assert_eq!(outcome.deadlock.as_deref(), Some(line));
    let keys = format!("{NAIVE}\nchanges = [\"5 s: 0 wavelengths\"]");
    let line = "deadlock: node 2 waits for ever for a circuit to node 0: no wavelength is free on the route";
    assert_eq!(run_at_zero(&row(1, &keys), &[Send(2, 0, 1)]).deadlock.as_deref(), Some(line));
}

#[test]
fn machines_that_cannot_be_are_refused_in_one_line() {
    let expects = |keys: &str, line: &str| assert_eq!(read(keys).unwrap_err().to_string(), line);
    expects("policy = \"ahead\"", "m.toml: network.ports is missing, expected a whole number of at least 1");
    expects("ports = 0\npolicy = \"ahead\"", "m.toml:9: network.ports: got 0, expected a whole number of at least 1");
    expects(
        "ports = 1",
        "m.toml: network.policy is missing, expected one of \"ahead\", \"keep\", \"naive\", \"oracle\"",
    );
    expects(
        "ports = 1\npolicy = \"naive\"\nset_up = \"1 s\"",
        "m.toml: network.release is missing, expected a time such as \"1 us\"",
    );
    expects(
        "ports = 1\npolicy = \"naive\"\nrelease = \"1 s\"",
        "m.toml:8: network.reconfiguration: got \"10 s\", expected either reconfiguration, or set_up and release",
    );
    let changes_expect = |changes: &str, line: &str| {
        let line = format!("m.toml:11: network.changes: got {line}");
        expects(&format!("ports = 1\npolicy = \"naive\"\nchanges = {changes}"), &line);
    };
    let expected = "expected a time and the ports or wavelengths from then on, such as \"3 ms: node 5 has 1 port\", \"3 ms: nodes have 2 \
                    ports\" or \"2 ms: 2 wavelengths\"";
    changes_expect("\"5 s: 1\"", "string, expected a list of texts in quotes");
    for wrong in ["5 s", "5: node 1 has 1 port", "5 s: node x has 1 port", "5 s: node 1 has -1 ports", "5 s: 1 port"] {
        changes_expect(&format!("[{wrong:?}]"), &format!("{wrong:?}, {expected}"));
    }
    for (change, expected) in [
        ("[\"5 s: node 8 has 1 port\"]", "expected nodes below 8, but a change names node 8"),
        ("[\"5 s: 2 wavelengths\"]", "expected a key `wavelengths` beside changes of wavelengths"),
    ] {
        changes_expect(change, &format!("{change}, {expected}"));
    }
}

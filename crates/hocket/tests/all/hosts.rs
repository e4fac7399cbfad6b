//! `[host]`: what a message costs the ranks at its ends, the same on every network; times computed by hand.

use hocket::simulate;
use hocket_algorithms::find;
use hocket_core::{Call, Collective, Error, Program, Rank};
use hocket_machine::Machine;
use hocket_simulate::{Options, Outcome, Platform, Trials, simulate_trials};

/// Eight nodes at one switch: 1 us and 1 ns/B per link, two links from node to node.
const CROSSBAR: &str = "topology = \"crossbar\"\nnodes = 8\nlink_latency = \"1 us\"\nlink_bandwidth = \"1 GB/s\"";
const SWITCHED: [&str; 4] = [
    "model = \"links\"",
    "model = \"links\"\nswitching = \"wormhole\"",
    "model = \"links\"\nsharing = \"fair\"",
    "model = \"packets\"\npacket = \"64 KiB\"",
];
const LOGGP: &str = "model = \"loggp\"\nL = \"2 us\"\nG = \"1 ns/B\"";

fn read(network: &str, host: &str) -> Result<Platform, Error> {
    Platform::new(&Machine::parse(&format!("name = \"test\"\n[network]\n{network}\n{host}\n"), "test.toml")?)
}

fn platform(network: &str, host: &str) -> Platform {
    read(network, &format!("[host]\n{host}")).unwrap_or_else(|e| panic!("{e}"))
}

fn switched(host: &str) -> impl Iterator<Item = (&'static str, Platform)> {
    SWITCHED.into_iter().map(move |model| (model, platform(&format!("{model}\n{CROSSBAR}"), host)))
}

fn outcome(collective: Collective, name: &str, (ranks, size): (usize, usize), platform: &Platform) -> Outcome {
    let entry = find(collective, name).unwrap();
    let call = entry.accept(&Call::new(collective, ranks, size), &[]).unwrap();
    simulate(entry, &call, platform, Options::default()).unwrap()
}

/// One message from rank 0 to rank 1.
fn message_s(size: usize, platform: &Platform) -> f64 {
    outcome(Collective::Broadcast, "binomial", (2, size), platform).time_s()
}

/// Packets travel at moments 2^-50 s apart.
fn assert_close(found_s: f64, by_hand_s: f64, what: &str) {
    assert!((found_s - by_hand_s).abs() < 1e-14, "{what}: {found_s}, by hand {by_hand_s}");
}

#[test]
fn a_message_occupies_both_processors_and_travels_in_between() {
    // m = 1000: the sender 1 us + 1000 * 2 ns, then two links and 1001 ns on the wire, then the receiver 0.5 us + 1000 * 1 ns.
    let host = "o_send = \"1 us\"\nO_send = \"2 ns/B\"\no_receive = \"0.5 us\"\nO_receive = \"1 ns/B\"";
    for (model, platform) in switched(host) {
        assert_close(message_s(1001, &platform), 3e-6 + 2e-6 + 1.001e-6 + 1.5e-6, model);
        assert_close(message_s(0, &platform), 1e-6 + 2e-6 + 0.5e-6, model);
    }
    // There the bytes leave while the processor is busy with them: o + L + m max(G, O), then the receiver.
    assert_close(message_s(1001, &platform(LOGGP, host)), 1e-6 + 2e-6 + 2e-6 + 1.5e-6, "loggp");
    let circuits = "model = \"circuits\"\ntopology = \"crossbar\"\nnodes = 8\nlatency = \"2 us\"\nbandwidth = \"1 GB/s\"\n\
                    ports = 1\nreconfiguration = \"0 s\"\npolicy = \"naive\"";
    assert_close(message_s(1001, &platform(circuits, host)), 3e-6 + 2e-6 + 1.001e-6 + 1.5e-6, "circuits");
}

#[test]
fn each_range_of_sizes_has_a_host_of_its_own() {
    let host = "from = [\"0 B\", \"1000 B\"]\no = [\"1 us\", \"3 us\"]";
    for (model, platform) in switched(host) {
        assert_close(message_s(999, &platform), 1e-6 + 2e-6 + 0.999e-6 + 1e-6, model);
        assert_close(message_s(1000, &platform), 3e-6 + 2e-6 + 1e-6 + 3e-6, model);
    }
}

#[test]
fn a_receiver_takes_messages_one_after_another() {
    // Seven messages of 8 B leave at 0.4 us and are at the root, at the latest, at 0.4 + 2 + 7 * 0.008 us; the processor is
    // busy from the first one's arrival on, 1.3 us with each. On fair links and behind one port all are there by then, too.
    let host = "o_send = \"0.4 us\"\no_receive = \"1.3 us\"";
    for (model, platform) in switched(host) {
        let time_s = outcome(Collective::Gather, "linear", (8, 8), &platform).time_s();
        assert_close(time_s, 0.4e-6 + 2.008e-6 + 7.0 * 1.3e-6, model);
    }
    // The interface takes one in every 2 us: the seventh 12 us after the first one.
    for (model, platform) in switched(&format!("{host}\ng = \"2 us\"")) {
        let time_s = outcome(Collective::Gather, "linear", (8, 8), &platform).time_s();
        assert_close(time_s, 0.4e-6 + 2.008e-6 + 6.0 * 2e-6 + 1.3e-6, model);
    }
}

#[test]
fn the_gap_keeps_two_sends_of_one_rank_apart() {
    // The first send is done at 1.008 us, but the interface is free at 5 us only: 5 + 1 + 2.008 + 1 us.
    for (model, platform) in switched("o = \"1 us\"\ng = \"5 us\"") {
        assert_close(outcome(Collective::Broadcast, "linear", (3, 8), &platform).time_s(), 9.008e-6, model);
    }
}

#[test]
fn the_bytes_of_a_message_pass_the_interface() {
    // 3 ns/B are more than the 1 ns/B of a link: the last byte is there 1000 * 3 ns after the first one can be.
    for (model, platform) in switched("o = \"1 us\"\nG = \"3 ns/B\"") {
        assert_close(message_s(1001, &platform), 1e-6 + 2e-6 + 3e-6 + 1e-6, model);
    }
    // Four ports, each with a link of its own, share an interface: of four messages at once the last one starts 3 * 0.5 us after
    // the first, and its 1001 B are there 1.001 us after its head.
    let torus = "topology = \"torus\"\ndims = [3, 3]\npermutation = [0, 1, 2, 3, 6, 4, 5, 7, 8]\n\
                 link_latency = \"1 us\"\nlink_bandwidth = \"1 GB/s\"";
    for model in SWITCHED {
        let platform = platform(&format!("{model}\n{torus}"), "o = \"0 s\"\nG = \"0.5 ns/B\"\n[node]\nports = 4");
        let call = Call::new(Collective::Barrier, 5, 0);
        let found = hocket_simulate::simulate(&Star, &call, &platform, Options::default()).unwrap();
        assert_close(found.time_s(), 3.0 * 0.5e-6 + 1e-6 + 1.001e-6, model);
    }
}

/// Rank 0 sends 1001 B to each other rank at once.
struct Star;

impl Program for Star {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let span = r.scratch(1001);
        match r.rank() {
            0 => drop(r.join_all((1..r.size()).map(|other| r.send(other, span))).await),
            _ => drop(r.recv(0, span).await),
        }
    }
}

#[test]
fn requests_and_answers_take_the_latency_of_the_route_besides_their_own_time() {
    // Request 3 + 2 us, answer 2 + 2 us, then the message: 1 + 2 + 1.001 + 0.5 us.
    let host = "o_send = \"1 us\"\no_receive = \"0.5 us\"\nS = \"1000 B\"";
    for (model, platform) in switched(&format!("{host}\nrequest = \"3 us\"\nanswer = \"2 us\"")) {
        assert_close(message_s(1001, &platform), 5e-6 + 4e-6 + 4.501e-6, model);
        assert_close(message_s(1000, &platform), 4.5e-6, model);
    }
    // Without the keys the request takes o_send + 2 us, the answer o_receive + 2 us.
    for (model, platform) in switched(host) {
        assert_close(message_s(1001, &platform), 3e-6 + 2.5e-6 + 4.501e-6, model);
    }
}

/// Rank 0 sends to rank 1, to rank 1 again, and to rank 2.
struct Thrice;

impl Program for Thrice {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let none = r.scratch(0);
        let receivers = [1, 1, 2];
        for receiver in receivers {
            if r.rank() == 0 {
                r.send(receiver, none).await;
            } else if r.rank() == receiver {
                r.recv(0, none).await;
            }
        }
    }
}

#[test]
fn the_first_message_to_a_peer_arrives_later() {
    // Rank 0 is busy for 1 us with each message and goes on. Its third one starts at 2 us and takes 1 + 2 us, and 5 us more;
    // rank 2 receives it for 1 us. Rank 1 has its second message at 4 us, but its first one at 8 us: it ends 2 us later.
    let host = "o = \"1 us\"\nnew_peer = \"5 us\"";
    let call = Call::new(Collective::Barrier, 3, 0);
    for (model, platform) in switched(host).chain([("loggp", platform(LOGGP, host))]) {
        let found = hocket_simulate::simulate(&Thrice, &call, &platform, Options::default()).unwrap();
        for (found_s, by_hand_s) in found.rank_times_s.into_iter().zip([3e-6, 10e-6, 11e-6]) {
            assert_close(found_s, by_hand_s, model);
        }
    }
}

#[test]
fn peers_that_are_new_at_once_delay_a_rank_once() {
    // All 14 operations of a rank take 1 us of its processor; the first message is there when the sends are done, 9 us later.
    let [new, known] = ["new_peer = \"9 us\"", ""].map(|key| format!("o = \"1 us\"\n{key}"));
    let entry = find(Collective::Alltoall, "linear").unwrap();
    let call = entry.accept(&Call::new(Collective::Alltoall, 8, 1), &[("sends".to_owned(), 1)]).unwrap();
    let time_s = |host: &str| {
        let on = platform(LOGGP, host);
        simulate(entry, &call, &on, Options::default()).unwrap().time_s()
    };
    assert_close(time_s(&known), 14e-6, "loggp");
    assert_close(time_s(&new), 1e-6 + 2e-6 + 9e-6 + 7e-6, "loggp");
}

#[test]
fn the_first_message_of_a_rendezvous_is_its_request() {
    // Request 1 + 2 us and 5 us more, answer 1 + 2 us, then the message: 1 + 2 + 1.001 + 1 us.
    let host = "o = \"1 us\"\nS = \"1000 B\"\nnew_peer = \"5 us\"";
    for (model, platform) in switched(host) {
        assert_close(message_s(1001, &platform), 8e-6 + 3e-6 + 5.001e-6, model);
    }
    assert_close(message_s(1001, &platform(LOGGP, host)), 8e-6 + 3e-6 + 5e-6, "loggp");
}

#[test]
fn loggp_is_the_same_with_its_host_apart() {
    let wire = "from = [\"0 B\", \"64 B\"]\nL = [\"2 us\", \"3 us\"]\nG = \"1 ns/B\"";
    let host = "o_send = [\"1 us\", \"2 us\"]\no_receive = \"0.3 us\"\nO = \"0.2 ns/B\"\ng = \"1.5 us\"\nS = \"100 B\"\n\
                both_ways = 1.5\nrequest = \"2 us\"";
    let together = read(&format!("model = \"loggp\"\n{wire}\n{host}"), "").unwrap();
    let (from, rest) = wire.split_once('\n').unwrap();
    let apart = platform(&format!("model = \"loggp\"\n{rest}"), &format!("{from}\n{host}"));
    assert!(together.network == apart.network);
    let (latency, gap) = rest.split_once('\n').unwrap();
    let gap_in_host = platform(&format!("model = \"loggp\"\n{latency}"), &format!("{from}\n{host}\n{gap}"));
    assert!(together.network == gap_in_host.network);
}

/// Where nothing meets on the way, a crossbar whose links take half of L and no time for bytes is loggp with G = 0.
#[test]
fn a_crossbar_without_contention_is_loggp() {
    let hosts = [
        "o = \"1 us\"",
        "o_send = \"1 us\"\no_receive = \"3 us\"\ng = \"2 us\"",
        "o = \"0.5 us\"\nO_send = \"1 ns/B\"\nO_receive = \"2 ns/B\"\ng = \"4 us\"\nnew_peer = \"3 us\"",
        "from = [\"0 B\", \"100 B\"]\no = [\"1 us\", \"2 us\"]\nS = \"64 B\"",
    ];
    let wire = "topology = \"crossbar\"\nnodes = 16\nlink_latency = \"1 us\"\nlink_bandwidth = \"1e30 B/s\"";
    for host in hosts {
        let loggp = platform("model = \"loggp\"\nL = \"2 us\"", host);
        for model in &SWITCHED[..3] {
            let links = platform(&format!("{model}\n{wire}"), host);
            for (collective, name, ranks) in [
                (Collective::Broadcast, "binomial", 2),
                (Collective::Broadcast, "binomial", 16),
                (Collective::Broadcast, "linear", 8),
                (Collective::Gather, "linear", 8),
                (Collective::Allreduce, "recursive_doubling", 16),
                (Collective::Alltoall, "linear", 8),
            ] {
                for size in [8, 1000] {
                    let [expected, found] =
                        [&loggp, &links].map(|on| outcome(collective, name, (ranks, size), on).rank_times_s);
                    for (expected_s, found_s) in expected.into_iter().zip(found) {
                        assert_close(found_s, expected_s, &format!("{collective} {name} with {model}, {host}"));
                    }
                }
            }
        }
    }
}

#[test]
fn more_overhead_is_never_faster() {
    let hosts = ["0.1 us", "0.7 us", "3 us"].map(|o| format!("o = \"{o}\"\nO = \"0.1 ns/B\"\ng = \"0.5 us\""));
    for model in SWITCHED {
        for size in [0, 1, 1000, 100_000] {
            let times_s =
                hosts.each_ref().map(|host| message_s(size, &platform(&format!("{model}\n{CROSSBAR}"), host)));
            assert!(times_s.is_sorted_by(|a, b| a < b), "{model}, {size} B: {times_s:?}");
        }
    }
}

/// Periodic events that take half of the time double a processor's part of a message, at both ends.
#[test]
fn noise_delays_the_processors_part_of_a_message() {
    let noise = "[noise.os]\nmodel = \"periodic\"\nperiod = \"1 us\"\nduration = \"1 us\"\noverlap = \"arrival\"";
    for (model, platform) in switched(&format!("o_send = \"8 us\"\no_receive = \"4 us\"\n{noise}")) {
        let entry = find(Collective::Broadcast, "binomial").unwrap();
        let call = entry.accept(&Call::new(Collective::Broadcast, 2, 0), &[]).unwrap();
        let trials = Trials { count: 3, ..Trials::default() };
        let many = simulate_trials(entry.program(), &call, &platform, trials, Options::default()).unwrap();
        for ends in many.ends {
            assert_close(ends.last_s, 2.0 * 8e-6 + 2e-6 + 2.0 * 4e-6, model);
        }
    }
}

#[test]
fn a_key_has_one_place() {
    let links = format!("model = \"links\"\n{CROSSBAR}");
    let rendezvous = format!("{links}\nprotocol = \"rendezvous\"");
    let hockney = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
    for (network, host, message) in [
        (LOGGP, "[host]\no = \"1 us\"\nL = \"1 us\"", "test.toml:8: host.L: unknown key, expected one of O,"),
        (
            LOGGP,
            "o = \"1 us\"\n[host]",
            "test.toml:6: network.o: got \"1 us\", expected this key in [host], as the file has a section [host]",
        ),
        (LOGGP, "S = \"1 B\"\n[host]\no = \"1 us\"", "network.S: got \"1 B\", expected this key in [host]"),
        (
            LOGGP,
            "[host]\no = \"1 us\"\nG = \"1 ns/B\"",
            "network.G: got \"1 ns/B\", expected no such key beside host.G",
        ),
        (LOGGP, "[host]", "test.toml: host.o is missing, expected a time such as \"1 us\", or o_send and o_receive"),
        (&links, "[host]", "test.toml: host.o is missing"),
        (&links, "[host]\no = \"1 us\"\nx = 1", "host.x: unknown key, expected one of G, O,"),
        (
            &links,
            "[host]\no = \"1 us\"\n[node]\nsoftware_latency = \"1 us\"",
            "expected no such key beside [host], whose o_send is this time",
        ),
        (
            &rendezvous,
            "[host]\no = \"1 us\"\nS = \"1 B\"",
            "network.protocol: got \"rendezvous\", expected no such key beside host.S",
        ),
        (
            hockney,
            "[host]\no = \"1 us\"",
            "test.toml:6: [host]: got a section, expected no [host] with the model hockney",
        ),
    ] {
        let Err(refusal) = read(network, host) else { panic!("{host} is taken") };
        assert!(refusal.to_string().contains(message), "{refusal}");
    }
}

//! Known answers, laws over random traffic, and refusals. Default: packets of 1000 B, links of 1 GB/s, no latencies.

mod reference;

use hocket_machine::Machine;
use hocket_simulate::{Flight, LinkUse, Milestone, NetworkModel, Packets, Platform, SharedNetwork};
use proptest::prelude::*;

use reference::{Transfer, arrivals};

const US: f64 = 1e-6;

fn machine(keys: &str) -> Machine {
    let mut text = String::from("name = \"test\"\n[network]\nmodel = \"packets\"\n");
    for default in ["topology = \"torus\"", "link_bandwidth = \"1 GB/s\"", "packet = \"1000 B\""] {
        let key = default.split(' ').next().unwrap();
        if !keys.lines().any(|line| line.split(' ').next() == Some(key)) {
            text += &format!("{default}\n");
        }
    }
    Machine::parse(&format!("{text}{keys}\n"), "test.toml").unwrap()
}

fn packets(keys: &str) -> Packets {
    let NetworkModel::Packets(packets) = Platform::new(&machine(keys)).unwrap().network else { unreachable!() };
    packets
}

fn flight(id: u32, from: usize, to: usize, bytes: f64) -> Flight {
    (id, from, to, bytes).into()
}

/// The times of a run, the use of links, and the deadlock if there was one.
#[derive(Clone, Debug, PartialEq)]
struct Log {
    sent_s: Vec<f64>,
    arrived_s: Vec<f64>,
    links: Vec<LinkUse>,
    deadlock: Option<String>,
}

impl Log {
    /// When the last message has arrived.
    fn end_s(&self) -> f64 {
        self.arrived_s.iter().copied().fold(0.0, f64::max)
    }
}

/// Runs messages that leave at the given times, in order; ids are their indices.
fn run(network: &Packets, flights: &[(f64, Flight)]) -> Log {
    let mut traffic = network.traffic();
    let unknown = vec![f64::NAN; flights.len()];
    let mut log = Log { sent_s: unknown.clone(), arrived_s: unknown, links: Vec::new(), deadlock: None };
    let (mut progress, mut left) = (Vec::new(), flights.iter().peekable());
    loop {
        let now_s = traffic.next_s();
        if let Some((time_s, flight)) = left.next_if(|(time_s, _)| *time_s <= now_s) {
            traffic.inject(*time_s, *flight);
            continue;
        }
        if now_s == f64::INFINITY {
            break;
        }
        traffic.advance(&mut progress);
        for (id, milestone) in progress.drain(..) {
            let times = if milestone == Milestone::Sent { &mut log.sent_s } else { &mut log.arrived_s };
            assert!(times[id as usize].is_nan(), "a milestone is passed once");
            times[id as usize] = now_s;
        }
    }
    (log.links, log.deadlock) = (traffic.links(), traffic.deadlock());
    log
}

fn run_at_zero(network: &Packets, flights: &[Flight]) -> Log {
    run(network, &flights.iter().map(|flight| (0.0, *flight)).collect::<Vec<_>>())
}

/// Equal up to the rounding of fewer than 10^4 durations.
fn assert_close(got_s: f64, expected_s: f64) {
    assert!((got_s - expected_s).abs() < 1e-11, "got {got_s} s, expected {expected_s} s");
}

#[test]
fn one_message_alone_takes_its_closed_form() {
    let keys = "dims = [8, 8]\nlink_latency = \"100 ns\"\nrouter_latency = \"50 ns\"";
    let network = packets(keys);
    for (to, hops) in [(0, 0.0), (1, 1.0), (27, 6.0), (36, 8.0)] {
        for (bytes, full, rest) in [(0.0, 0.0, 0.0), (1.0, 0.0, 1.0), (1000.0, 0.0, 1000.0), (32_500.0, 32.0, 500.0)] {
            for gap_packets in [0.0, 0.5, 1.0, 7.25, 40.0] {
                let log = run_at_zero(&network, &[Flight { gap_packets, ..flight(0, 0, to, bytes) }]);
                let sent_s = full * (1.0 + gap_packets) * US + rest * 1e-9;
                assert_close(log.sent_s[0], sent_s);
                assert_close(log.arrived_s[0], sent_s + hops * 150e-9);
                assert_eq!(log.deadlock, None);
            }
        }
    }
}

#[test]
fn packets_that_follow_each_other_are_one_passage() {
    let network = packets("dims = [8]\nlink_latency = \"100 ns\"");
    for (gap_packets, count) in [(0.0, 1), (1.0, 4)] {
        let mut traffic = network.traffic();
        traffic.passages().unwrap().keep();
        traffic.inject(0.0, Flight { gap_packets, ..flight(0, 0, 2, 3500.0) });
        while traffic.next_s() < f64::INFINITY {
            traffic.advance(&mut Vec::new());
        }
        let passages_by_time = traffic.passages().unwrap().take().unwrap();
        let [first, second] =
            [0, 2].map(|link| passages_by_time.iter().filter(|passage| passage.link == link).collect::<Vec<_>>());
        assert_eq!((first.len(), second.len()), (count, count));
        for (passages, start_s) in [(first, 0.0), (second, 100e-9)] {
            assert_close(passages[0].start_s, start_s);
            assert_close(passages[count - 1].end_s, start_s + (3.0 * (1.0 + gap_packets) + 0.5) * US);
            assert_close(passages.iter().map(|passage| passage.bytes).sum::<f64>(), 3500.0);
        }
    }
}

#[test]
fn without_latency_a_message_is_there_when_it_has_left() {
    let log = run_at_zero(&packets("dims = [16]"), &[flight(0, 0, 8, 10_000.0)]);
    assert_close(log.sent_s[0], 10.0 * US);
    assert_eq!(log.arrived_s, log.sent_s);
}

/// With a buffer of one packet, the next packet starts when the credit of the last returns: after packet time + 2 link
/// latencies + one router latency; without credit latency, one link latency earlier.
#[test]
fn shallow_buffers_wait_for_credits() {
    let latencies = "dims = [8]\nbuffer = 1\nlink_latency = \"200 ns\"\nrouter_latency = \"100 ns\"";
    let log = run_at_zero(&packets(latencies), &[flight(0, 0, 3, 5000.0)]);
    assert_close(log.sent_s[0], 4.0 * 1.5 * US + US);
    assert_close(log.arrived_s[0], 4.0 * 1.5 * US + US + 3.0 * 0.3 * US);
    let immediate = packets(&format!("{latencies}\ncredit_latency = \"0 s\""));
    assert_close(run_at_zero(&immediate, &[flight(0, 0, 3, 5000.0)]).sent_s[0], 4.0 * 1.3 * US + US);
}

#[test]
fn nodes_can_be_slower_than_links() {
    let slow = packets("dims = [8]\ninjection_bandwidth = \"500 MB/s\"");
    let log = run_at_zero(&slow, &[flight(0, 0, 1, 4000.0)]);
    assert_close(log.sent_s[0], 8.0 * US);
    assert_close(log.arrived_s[0], 7.0 * US);
    let slow = packets("dims = [8]\nejection_bandwidth = \"500 MB/s\"\nbuffer = 16");
    let log = run_at_zero(&slow, &[flight(0, 0, 1, 4000.0)]);
    assert_close(log.sent_s[0], 4.0 * US);
    assert_close(log.arrived_s[0], 8.0 * US);
    let fast = packets("dims = [8]\ninjection_bandwidth = \"5 GB/s\"\nejection_bandwidth = \"5 GB/s\"");
    assert_close(run_at_zero(&fast, &[flight(0, 0, 1, 4000.0)]).arrived_s[0], 4.0 * US);
}

/// Packets of both take turns. Node 1's are first, because its port asks before other packets can arrive.
#[test]
fn two_messages_over_one_link_take_turns() {
    let log =
        run_at_zero(&packets("dims = [8]\n[node]\nports = 1"), &[flight(0, 0, 2, 10_000.0), flight(1, 1, 2, 10_000.0)]);
    assert_close(log.arrived_s[1], 19.0 * US);
    assert_close(log.arrived_s[0], 20.0 * US);
    let busy_link = log.links.iter().find(|link| link.bytes == 20_000.0).unwrap();
    assert_close(busy_link.busy_s, 20.0 * US);
    assert!(busy_link.waiting_s > 0.0);
}

/// With several ports a node's messages leave together; with one, in order.
#[test]
fn ports_say_how_many_messages_leave_at_a_time() {
    let flights = [flight(0, 0, 1, 10_000.0), flight(1, 0, 7, 10_000.0)];
    for (ports, second_s) in [(1, 20.0 * US), (2, 10.0 * US)] {
        let log = run_at_zero(&packets(&format!("dims = [8]\n[node]\nports = {ports}")), &flights);
        assert_close(log.arrived_s[0], 10.0 * US);
        assert_close(log.arrived_s[1], second_s);
    }
}

#[test]
fn several_ejections_take_several_packets_in() {
    let flights = [flight(0, 0, 1, 10_000.0), flight(1, 2, 1, 10_000.0)];
    let log = run_at_zero(&packets("dims = [8]\n[node]\nports = 2"), &flights);
    assert_close(log.arrived_s[0], 10.0 * US);
    assert_close(log.arrived_s[1], 10.0 * US);
    assert_close(run_at_zero(&packets("dims = [8]"), &flights).end_s(), 20.0 * US);
}

/// Every node to its neighbour: no message waits for another.
#[test]
fn a_ring_shift_takes_what_one_message_takes() {
    let network = packets("dims = [5, 4]\nlink_latency = \"100 ns\"");
    let flights: Vec<_> = (0..20).map(|node| flight(node as u32, node, (node + 5) % 20, 7500.0)).collect();
    let log = run_at_zero(&network, &flights);
    for arrived_s in log.arrived_s {
        assert_close(arrived_s, 7.5 * US + 0.1 * US);
    }
    assert!(log.links.iter().all(|link| link.waiting_s == 0.0));
    assert_eq!(log.links.iter().filter(|link| link.bytes == 7500.0).count(), 20);
}

/// Every node sends to the node four further, so that every link carries four messages: injection takes half of each
/// link, and the rest moves only as fast as places in full buffers become free.
#[test]
fn a_longer_shift_takes_much_more_than_its_links_need() {
    let network = packets("dims = [16]\nbuffer = 8");
    let flights: Vec<_> = (0..16).map(|node| flight(node as u32, node, (node + 4) % 16, 64_000.0)).collect();
    let log = run_at_zero(&network, &flights);
    let end_s = log.end_s();
    assert_close(end_s, 892.0 * US);
    assert!(log.links.iter().step_by(2).all(|link| link.bytes == 256_000.0));
    assert_eq!(log.deadlock, None);
}

/// Paced at the links' share, the same shift uses their full bandwidth and no message waits long.
#[test]
fn pacing_takes_waiting_away() {
    let network = packets("dims = [16]");
    let shift = |gap_packets| -> Vec<_> {
        (0..16).map(|node| Flight { gap_packets, ..flight(node as u32, node, (node + 4) % 16, 64_000.0) }).collect()
    };
    let waiting = |log: &Log| log.links.iter().map(|link| link.waiting_s).sum::<f64>();
    let (free, paced) = (run_at_zero(&network, &shift(0.0)), run_at_zero(&network, &shift(3.0)));
    assert!(waiting(&paced) < waiting(&free) / 2.0);
    let end_s = paced.end_s();
    assert!(end_s < 270.0 * US, "{end_s}");
}

/// 40 rounds, at this interval, in which all nodes of a ring of 16 send this far to the right.
fn rounds(distance: usize, apart_us: f64) -> Vec<(f64, Flight)> {
    let message = |id: u32| flight(id, id as usize % 16, (id as usize + distance) % 16, 8_000.0);
    (0..16 * 40).map(|id| (f64::from(id / 16) * apart_us * US, message(id))).collect()
}

/// Messages without contention are never late. Where four share each link of a ring, pacing shortens their waits,
/// unless they follow each other without a pause, where only the first leave gaps.
#[test]
fn adaptive_pacing_is_for_messages_that_meet_others_in_steps() {
    let [fixed, adaptive] =
        ["", "\npacing = \"adaptive\""].map(|keys| packets(&format!("dims = [16]\nbuffer = 2{keys}")));
    assert_eq!(run(&adaptive, &rounds(1, 100.0)), run(&fixed, &rounds(1, 100.0)));
    let flights = |apart_us| [&adaptive, &fixed].map(|network| run(network, &rounds(4, apart_us)));
    let waiting_s = |log: &Log| log.links.iter().map(|link| link.waiting_s).sum::<f64>();
    let [adaptive_s, fixed_s] = flights(100.0).map(|log| waiting_s(&log));
    assert!(adaptive_s < 0.95 * fixed_s, "{adaptive_s} {fixed_s}");
    let [adaptive_s, fixed_s] = flights(0.0).map(|log| log.end_s());
    assert!(adaptive_s < 1.005 * fixed_s, "{adaptive_s} {fixed_s}");
}

fn full_ring(nodes: usize) -> Vec<Flight> {
    (0..nodes).map(|node| flight(node as u32, node, (node + nodes / 2) % nodes, 100_000.0)).collect()
}

#[test]
fn a_full_ring_deadlocks_with_one_channel_and_says_so() {
    let log = run_at_zero(&packets("dims = [4]\nvirtual_channels = 1\nbuffer = 1"), &full_ring(4));
    assert_eq!(
        log.deadlock.unwrap(),
        "deadlock: 4 messages are in flight, and packets wait in a cycle, each for room in the buffer behind the next \
         link: +x from (0) -> +x from (1) -> +x from (2) -> +x from (3) -> +x from (0)"
    );
    assert!(log.arrived_s.iter().all(|time_s| time_s.is_nan()));
    let log = run_at_zero(&packets("dims = [16]\nvirtual_channels = 1"), &full_ring(16));
    assert!(log.deadlock.unwrap().contains("+x from (7) -> 8 more -> +x from (0)"));
}

/// With endless times, messages do not wait for each other.
#[test]
fn an_endless_time_is_no_deadlock() {
    for keys in
        ["link_latency = \"1e308 s\"", "link_bandwidth = \"1e-300 B/s\"", "injection_bandwidth = \"1e-300 B/s\""]
    {
        let log = run_at_zero(&packets(&format!("dims = [4]\n{keys}")), &full_ring(4));
        assert!(log.deadlock.unwrap().starts_with("a time in the network exceeds the range of numbers"), "{keys}");
    }
}

#[test]
fn a_full_ring_does_not_deadlock_with_two_channels() {
    for buffer in [1, 2, 4] {
        let log = run_at_zero(&packets(&format!("dims = [16]\nbuffer = {buffer}")), &full_ring(16));
        assert_eq!(log.deadlock, None);
        assert!(log.end_s() >= 800.0 * US - 1e-12);
    }
}

#[test]
fn mistakes_are_refused_in_one_line() {
    for (keys, expected) in [
        ("dims = [4]\nbuffer = 0", "got 0, expected a whole number of at least 1"),
        ("dims = [4]\nbuffer = 5000", "got 5000, expected a whole number from 1 to 4096"),
        ("dims = [4]\n[node]\nports = 1000000000", "got 1000000000, expected a whole number from 1 to 1024"),
        ("dims = [4]\n[node]\nengines = 2", "got 2, expected the key ports instead"),
        (
            "dims = [8192, 8192]",
            "got \"torus\", expected a topology of at most 8388608 links, but this one has 268435456",
        ),
        ("dims = [4]\npacket = \"0 B\"", "got \"0 B\", expected a size of at least 1 B"),
        ("dims = [4]\nvirtual_channels = 3", "got 3, expected a whole number from 1 to 2"),
        ("dims = [4]\nlink_latency = \"-1 us\"", "link_latency: got \"-1 us\", expected a time"),
        ("dims = [4]\nlink_bandwidth = \"0 GB/s\"", "link_bandwidth: got \"0 GB/s\", expected a rate"),
    ] {
        let error = Platform::new(&machine(keys)).err().unwrap().to_string();
        assert!(error.starts_with("test.toml:") && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

/// A network and messages for it.
fn any_traffic() -> impl Strategy<Value = (String, Vec<(f64, Flight)>)> {
    let dims = prop::collection::vec(1usize..=5, 1..=3);
    let keys = (dims, 1usize..=3, 1usize..=2, 0u32..=2, 0u32..=2).prop_map(|(dims, buffer, ports, link, router)| {
        let nodes = dims.iter().product::<usize>();
        let network = format!(
            "dims = {dims:?}\nbuffer = {buffer}\nlink_latency = \"{} ns\"\nrouter_latency = \"{} ns\"",
            link * 300,
            router * 170
        );
        (nodes, format!("{network}\n[node]\nports = {ports}"))
    });
    keys.prop_flat_map(|(nodes, keys)| {
        let message = (0..nodes, 0..nodes, 0u32..=9000, 0u32..=3, 0u32..=20);
        let messages = prop::collection::vec(message, 1..60);
        messages.prop_map(move |messages| {
            let mut flights: Vec<_> = messages
                .into_iter()
                .map(|(from, to, bytes, gap, time)| {
                    let gap_packets = f64::from(gap) * 0.75;
                    (f64::from(time) * 0.3 * US, Flight { gap_packets, ..flight(0, from, to, f64::from(bytes)) })
                })
                .collect();
            flights.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (id, (_, flight)) in flights.iter_mut().enumerate() {
                flight.id = id as u32;
            }
            (keys.clone(), flights)
        })
    })
}

/// Bytes that each link has to carry.
fn loads(network: &Packets, flights: &[(f64, Flight)]) -> Vec<f64> {
    let topology = &network.fabric.topology;
    let (mut loads, mut hops) = (vec![0.0; topology.links()], Vec::new());
    for (_, flight) in flights {
        hops.clear();
        topology.route(flight.from, flight.to, &mut hops);
        for hop in &hops {
            loads[hop.link as usize] += flight.bytes;
        }
    }
    loads
}

/// A torus, the depth of its buffers, and messages that leave at once.
fn any_orders() -> impl Strategy<Value = (Vec<usize>, usize, Vec<Transfer>)> {
    let torus = (prop::collection::vec(1usize..=6, 1..=3), 1usize..=4);
    torus.prop_flat_map(|(dims, buffer)| {
        let nodes = dims.iter().product::<usize>();
        let orders = prop::collection::vec((0..nodes, 0..nodes, 1u32..=9), 1..80);
        (Just(dims), Just(buffer), orders)
    })
}

proptest! {
    #[test]
    fn messages_arrive_as_in_the_reference((dims, buffer, orders) in any_orders()) {
        let network = packets(&format!("dims = {dims:?}\nbuffer = {buffer}"));
        let flights: Vec<_> = orders.iter().enumerate().map(|(id, (from, to, packets))| {
            flight(id as u32, *from, *to, f64::from(*packets) * 1000.0)
        }).collect();
        let log = run_at_zero(&network, &flights);
        for (arrived_s, slots) in log.arrived_s.iter().zip(arrivals(&network, &orders)) {
            prop_assert!((arrived_s - f64::from(slots) * US).abs() < 1e-11, "{arrived_s} s, {slots} slots");
        }
    }

    #[test]
    fn nothing_is_lost_and_runs_repeat((keys, flights) in any_traffic()) {
        let network = packets(&keys);
        let log = run(&network, &flights);
        prop_assert_eq!(&log.deadlock, &None);
        let loads = loads(&network, &flights);
        for (link, load) in log.links.iter().zip(loads) {
            prop_assert_eq!(link.bytes, load);
            prop_assert!((link.busy_s - load * 1e-9).abs() < 1e-11);
        }
        for ((time_s, flight), (sent_s, arrived_s)) in flights.iter().zip(log.sent_s.iter().zip(&log.arrived_s)) {
            let least_s = time_s + flight.bytes * 1e-9 - 1e-12;
            prop_assert!(*sent_s >= least_s && *arrived_s >= least_s, "{sent_s} {arrived_s} {least_s}");
        }
        prop_assert_eq!(run(&network, &flights), log);
    }
}

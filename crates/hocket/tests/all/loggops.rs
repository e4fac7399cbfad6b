//! Times under `loggp`, each computed by hand with its formula. L = 5 us, o = 2 us, g = 3 us, G = 1 ns/B, m = n - 1.

use hocket_algorithms::find;
use hocket_core::{Call, Collective, Program, Rank};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Platform};

const L: f64 = 5e-6;
const O: f64 = 2e-6;
const G: f64 = 3e-6;
const PER_BYTE: f64 = 1e-9;
const GAMMA: f64 = 1e-9;

fn platform(more: &str) -> Platform {
    let network = format!("model = \"loggp\"\nL = \"5 us\"\no = \"2 us\"\ng = \"3 us\"\nG = \"1 ns/B\"\n{more}");
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\nreduce_bandwidth = \"1 GB/s\"\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn time_s(collective: Collective, name: &str, ranks: usize, size: usize, more: &str) -> f64 {
    let entry = find(collective, name).unwrap();
    let call = entry.accept(&Call::new(collective, ranks, size), &[]).unwrap();
    hocket::simulate(entry, &call, &platform(more), Options::default()).unwrap().time_s()
}

fn assert_close(got: f64, by_hand: f64) {
    assert!((got - by_hand).abs() <= 1e-12 * by_hand, "got {got}, by hand {by_hand}");
}

/// One exchange: both send at once (o), the last byte travels for L + m G, and is taken in (o).
fn exchange(bytes: f64) -> f64 {
    O + L + (bytes - 1.0).max(0.0) * PER_BYTE + O
}

#[test]
fn recursive_doubling_takes_log2_p_exchanges_and_reductions() {
    // P = 4, n = 8: 2 (2 o + L + 7 G + 8 gamma) = 2 (9.007 us + 0.008 us) = 18.03 us.
    let time = time_s(Collective::Allreduce, "recursive_doubling", 4, 8, "");
    assert_close(time, 2.0 * (exchange(8.0) + 8.0 * GAMMA));
    assert_close(time, 18.03e-6);
}

#[test]
fn ring_takes_2_p_minus_2_exchanges_of_a_chunk() {
    // P = 3, n = 24: 4 (2 o + L + 7 G) + 2 * 8 gamma = 4 * 9.007 us + 0.016 us = 36.044 us.
    let time = time_s(Collective::Allreduce, "ring", 3, 24, "");
    assert_close(time, 4.0 * exchange(8.0) + 2.0 * 8.0 * GAMMA);
    assert_close(time, 36.044e-6);
}

#[test]
fn dissemination_takes_ceil_log2_p_empty_exchanges() {
    // P = 5: 3 (2 o + L) = 27 us; an empty message has m = 0.
    let time = time_s(Collective::Barrier, "dissemination", 5, 0, "");
    assert_close(time, 3.0 * exchange(0.0));
    assert_close(time, 27e-6);
}

#[test]
fn the_gap_keeps_two_sends_of_one_rank_apart() {
    // Binomial broadcast, P = 4, n = 1001, m G = 1 us. The root sends to 2 at 0, and, the interface being busy until
    // g + m G = 4 us, to 1 at 4 us, which has it at 4 + 2 o + L + m G = 14 us. Rank 2 has it at 10 us and rank 3 at 20 us.
    assert_close(time_s(Collective::Broadcast, "binomial", 4, 1001, ""), 2.0 * exchange(1001.0));
    let gather = time_s(Collective::Gather, "linear", 4, 1, "");
    // Linear gather, P = 4, n = 1: all messages are there at o + L = 7 us; the interface takes one in every g = 3 us.
    assert_close(gather, O + L + 2.0 * G + O);
}

/// Two messages for rank 0, which has time for them: from rank 1 at 0, and from rank 2 after 1.5 us.
struct TwoSizes {
    lens: [usize; 2],
}

impl Program for TwoSizes {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let span = |sender: usize| r.scratch(self.lens[sender - 1]);
        match r.rank() {
            0 => {
                r.recv(1, span(1)).await;
                r.recv(2, span(2)).await;
            }
            sender => {
                r.compute((sender - 1) as f64 * 1.5e-6).await;
                r.send(0, span(sender)).await;
            }
        }
    }
}

#[test]
fn the_interface_takes_a_message_in_until_its_last_byte() {
    // 1001 B, m G = 1 us, are there at o + L + m G = 8 us: the interface is free at 8 + g = 11 us, the processor at 10 us.
    // The byte is there at 1.5 + 7 = 8.5 us, and so taken in at 11 us, o = 2 us long.
    // The other way round: the byte is there at 7 us, the interface free at 10 us. 1001 B are there at 1.5 + 8 = 9.5 us, but
    // only at 10 + m G = 11 us has the interface had the time to take them in; done o later.
    for lens in [[1001, 1], [1, 1001]] {
        let call = Call::new(Collective::Barrier, 3, 0);
        let outcome = hocket_simulate::simulate(&TwoSizes { lens }, &call, &platform(""), Options::default()).unwrap();
        assert_close(outcome.rank_times_s[0], 13e-6);
    }
}

#[test]
fn above_s_the_sender_asks_first() {
    // P = 2, n = 1001 > S = 100: request o + L, answer o + L, then an exchange: 14 us + 10 us.
    let time = time_s(Collective::Broadcast, "binomial", 2, 1001, "S = \"100 B\"");
    assert_close(time, 2.0 * (O + L) + exchange(1001.0));
    assert_close(time_s(Collective::Broadcast, "binomial", 2, 100, "S = \"100 B\""), exchange(100.0));
}

#[test]
fn overhead_per_byte_occupies_the_processor() {
    // P = 2, n = 1001, O = 2 ns/B > G: s + o + L + m O at the receiver, which is busy for o + m O.
    let time = time_s(Collective::Broadcast, "binomial", 2, 1001, "O = \"2 ns/B\"");
    assert_close(time, O + L + 1000.0 * 2e-9 + O + 1000.0 * 2e-9);
}

#[test]
fn rendezvous_in_loggp_is_left_to_the_events_engine() {
    let entry = find(Collective::Allreduce, "recursive_doubling").unwrap();
    let call = Call::new(Collective::Allreduce, 4, 1001);
    let run = |engine| {
        let options = Options { engine, ..Options::default() };
        hocket::simulate(entry, &call, &platform("S = \"100 B\""), options)
    };
    assert_eq!(run(Engine::Auto).unwrap().engine, "events");
    let refusal = run(Engine::Dataflow).unwrap_err().to_string();
    assert!(refusal.starts_with("the dataflow engine does not apply: a rendezvous occupies"), "{refusal}");
}

#[test]
fn each_range_of_sizes_has_parameters_of_its_own() {
    let ranges = "from = [\"0 B\", \"1000 B\"]\nO = [\"0 ns/B\", \"2 ns/B\"]";
    assert_close(time_s(Collective::Broadcast, "binomial", 2, 999, ranges), exchange(999.0));
    // O + L + m O, and O + m O at the receiver, for m = 999.
    assert_close(time_s(Collective::Broadcast, "binomial", 2, 1000, ranges), O + L + 999.0 * 2e-9 + O + 999.0 * 2e-9);
}

#[test]
fn sender_and_receiver_have_overheads_of_their_own() {
    let platform = |more: &str| {
        let text = format!("name = \"test\"\n[network]\nmodel = \"loggp\"\nL = \"5 us\"\n{more}");
        Platform::new(&Machine::parse(&text, "test.toml").unwrap())
    };
    let entry = find(Collective::Broadcast, "linear").unwrap();
    let call = entry.accept(&Call::new(Collective::Broadcast, 3, 8), &[]).unwrap();
    let apart = platform("o_send = \"2 us\"\no_receive = \"0.5 us\"").unwrap();
    // The second message leaves at 2 us: 2 + 2 + 5 + 0.5 us.
    assert_close(hocket::simulate(entry, &call, &apart, Options::default()).unwrap().time_s(), 9.5e-6);
    for (keys, message) in [
        (
            "o = \"1 us\"\no_send = \"2 us\"",
            "network.o_send: got \"2 us\", expected no such key beside o, which holds for senders and receivers",
        ),
        ("o_send = \"2 us\"", "network.o is missing, expected a time such as \"1 us\", or o_send and o_receive"),
        ("o = \"1 us\"\nfrom = [\"1 B\"]", "expected a list of sizes that begins with \"0 B\" and rises"),
        ("o = [\"1 us\"]\nfrom = [\"0 B\", \"1 B\"]", "expected a text, or a list of 2, one for each range"),
        ("o = \"1 us\"\nboth_ways = 0.5", "expected a number of at least 1"),
        ("o = \"1 us\"\nlocal.L = \"1 us\"", "network.local.o is missing"),
        ("o = \"1 us\"\nlocal.L = \"1 us\"\nlocal.o = \"1 us\"\nlocal.x = 1", "network.local.x: unknown key"),
        ("o = \"1 us\"\nmemory_bandwidth = \"1 GB/s\"", "network.memory_bandwidth: unknown key"),
    ] {
        let Err(refusal) = platform(keys) else { panic!("{keys} is taken") };
        assert!(refusal.to_string().contains(message), "{refusal}");
    }
}

#[test]
fn both_ways_at_once_take_longer() {
    // P = 2, n = 1001, m G = 1 us: both send at 0, and the interface, held up by 0.7 us, has taken the message in at 1.7 us
    // instead of 1 us; but it is there at O + L + m G only, so that nothing is seen of it with this L; and with n = 20001
    // 34 us instead of 20 us.
    let both = "both_ways = 1.7";
    let two_way = |size| time_s(Collective::Allgather, "ring", 2, size, both);
    assert_close(two_way(1001), exchange(1001.0));
    assert_close(two_way(20_001), 1.7 * 20e-6 + O);
    assert_close(time_s(Collective::Broadcast, "binomial", 2, 20_001, both), exchange(20_001.0));
}

#[test]
fn request_and_answer_can_have_times_of_their_own() {
    let keys = "S = \"100 B\"\nrequest = \"1 us\"\nanswer = \"0 s\"";
    assert_close(time_s(Collective::Broadcast, "binomial", 2, 1001, keys), 1e-6 + exchange(1001.0));
}

#[test]
fn work_has_ranges_and_latencies_and_a_call_an_overhead() {
    let node = "call_overhead = \"1 us\"\nfrom = [\"0 B\", \"100 B\"]\nreduce_latency = [\"0 s\", \"2 us\"]\n\
                reduce_bandwidth = [\"1 GB/s\", \"2 GB/s\"]";
    let text = format!(
        "name = \"test\"\n[network]\nmodel = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n[node]\n{node}"
    );
    let platform = Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap();
    let entry = find(Collective::Allreduce, "recursive_doubling").unwrap();
    for (size, by_hand) in [(96, 1e-6 + 1e-6 + 96e-9 + 96e-9), (104, 1e-6 + 1e-6 + 104e-9 + 2e-6 + 52e-9)] {
        let call =
            entry.accept(&Call { element_bytes: 8, ..Call::new(Collective::Allreduce, 2, size / 8) }, &[]).unwrap();
        for engine in [Engine::Dataflow, Engine::Events] {
            let options = Options { engine, ..Options::default() };
            assert_close(hocket::simulate(entry, &call, &platform, options).unwrap().time_s(), by_hand);
        }
        assert!(hocket::predict(entry, &call, &platform).unwrap().is_none(), "formulas know one gamma");
    }
}

#[test]
fn messages_within_a_node_have_parameters_of_their_own() {
    let local = |ranks: usize, size: usize, more: &str| {
        let keys =
            format!("ranks_per_node = 2\nlocal.L = \"1 us\"\nlocal.o = \"0.5 us\"\nlocal.G = \"2 ns/B\"\n{more}");
        time_s(Collective::Broadcast, "chain", ranks, size, &keys)
    };
    let within = |per_byte: f64| 0.5e-6 + 1e-6 + 1000.0 * per_byte + 0.5e-6;
    assert_close(local(2, 1001, ""), within(2e-9));
    assert_close(local(4, 1001, ""), within(2e-9) + exchange(1001.0) + within(2e-9));
    // Two ranks share 0.25 GB/s: 8 ns/B for each; rank 2 is alone on its node.
    assert_close(local(3, 1001, "local.memory_bandwidth = \"0.25 GB/s\""), within(8e-9) + exchange(1001.0));
    assert_close(local(2, 1001, "local.memory_bandwidth = \"2 GB/s\""), within(2e-9));
}

#[test]
fn nodes_can_have_room_for_more_ranks_than_there_are() {
    for ranks_per_node in [4_u64, 1 << 32] {
        let network =
            format!("ranks_per_node = {ranks_per_node}\nlocal.latency = \"1 us\"\nlocal.bandwidth = \"1 GB/s\"");
        let text = format!(
            "name = \"test\"\n[network]\nmodel = \"hockney\"\nlatency = \"5 us\"\nbandwidth = \"1 GB/s\"\n{network}"
        );
        let platform = Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap();
        let entry = find(Collective::Broadcast, "chain").unwrap();
        let call = entry.accept(&Call::new(Collective::Broadcast, 2, 1000), &[]).unwrap();
        assert_close(hocket::simulate(entry, &call, &platform, Options::default()).unwrap().time_s(), 2e-6);
    }
}

/// Two ranks send each other so many messages at once.
struct Exchanges {
    messages: usize,
    len: usize,
}

impl Program for Exchanges {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let (peer, data) = (1 - r.rank(), r.scratch(self.len));
        let sends = r.join_all((0..self.messages).map(|_| r.send(peer, data)));
        let receives = r.join_all((0..self.messages).map(|_| r.recv(peer, data)));
        r.join(sends, receives).await;
    }
}

/// LogGOPSim's accounting of the same messages: a processor, and two directions of an interface, each free from some time on.
/// A receive begins with its first byte, and keeps the processor for o + m G.
fn by_loggopsim_s(messages: usize, m_gap_s: f64, [latency_s, o_s, gap_s]: [f64; 3]) -> f64 {
    let (mut processor, mut sending, mut receiving, mut firsts) = (0.0_f64, 0.0_f64, 0.0_f64, Vec::new());
    let mut received = 0;
    while received < messages {
        let send_s = if firsts.len() < messages { processor.max(sending) } else { f64::INFINITY };
        // Both ranks do the same, so that the sends of one are the arrivals of the other.
        let receive_s = firsts.get(received).map_or(f64::INFINITY, |first: &f64| first.max(processor).max(receiving));
        if send_s <= receive_s {
            (processor, sending) = (send_s + o_s, send_s + gap_s + m_gap_s);
            firsts.push(send_s + o_s + latency_s);
        } else {
            (processor, receiving) = (receive_s + o_s + m_gap_s, receive_s + gap_s + m_gap_s);
            received += 1;
        }
    }
    processor
}

/// L = 1.2 us, o = 0.4 us, g = 0.7 us, G = 1 ns/B, messages of 30,000 B. The last of k messages leaves after (k - 1) (g + m G),
/// and is received 2 o + L + m G later, as if none came the other way. The wire alone needs k m G + 2 o + L.
#[test]
fn both_directions_of_an_interface_work_at_once() {
    let keys = "model = \"loggp\"\nL = \"1.2 us\"\no = \"0.4 us\"\ng = \"0.7 us\"\nG = \"1 ns/B\"";
    let platform = Platform::new(&Machine::parse(&format!("name = \"test\"\n[network]\n{keys}"), "test.toml").unwrap());
    let platform = platform.unwrap();
    let call = Call::new(Collective::Barrier, 2, 0);
    for (messages, wire_us, loggopsim_us) in [(4, 122.0, 128.0), (8, 242.0, 256.0), (16, 482.0, 512.0)] {
        let program = Exchanges { messages, len: 30_000 };
        let time_s = hocket_simulate::simulate(&program, &call, &platform, Options::default()).unwrap().time_s();
        let (k, m_gap_s) = (messages as f64, 29_999e-9);
        assert_close(time_s, (k - 1.0) * (0.7e-6 + m_gap_s) + 2.0 * 0.4e-6 + 1.2e-6 + m_gap_s);
        let wire_s = k * m_gap_s + 2e-6;
        assert!((wire_s * 1e6 - wire_us).abs() < 0.1 && time_s >= wire_s, "{wire_s}");
        let theirs_s = by_loggopsim_s(messages, m_gap_s, [1.2e-6, 0.4e-6, 0.7e-6]);
        assert!((theirs_s * 1e6 - loggopsim_us).abs() < 0.1 && time_s <= theirs_s, "{theirs_s}");
    }
}

/// Whatever the sizes and parameters: what comes the other way delays a message by no more than the processor's overheads.
#[test]
fn exchanges_take_hardly_longer_than_one_direction() {
    for (overhead, gap, messages, len) in
        combinations([0.0, 0.4, 3.0], [0.0, 0.7, 5.0], [1, 2, 5, 16], [0, 1, 1000, 30_000])
    {
        let keys =
            format!("model = \"loggp\"\nL = \"1.2 us\"\no = \"{overhead} us\"\ng = \"{gap} us\"\nG = \"1 ns/B\"");
        let text = format!("name = \"test\"\n[network]\n{keys}");
        let platform = Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap();
        let call = Call::new(Collective::Barrier, 2, 0);
        let program = Exchanges { messages, len };
        let time_s = hocket_simulate::simulate(&program, &call, &platform, Options::default()).unwrap().time_s();
        let (k, m_gap_s, o_s) = (messages as f64, (len as f64 - 1.0).max(0.0) * 1e-9, overhead * 1e-6);
        let one_way_s = (k - 1.0) * (gap * 1e-6 + m_gap_s).max(o_s) + 2.0 * o_s + 1.2e-6 + m_gap_s;
        assert!(
            time_s <= (one_way_s + k * o_s) * (1.0 + 1e-9),
            "{time_s}, one way {one_way_s}: {keys}, {k} of {len} B"
        );
    }
}

fn combinations<const A: usize, const B: usize, const C: usize, const D: usize>(
    first: [f64; A],
    second: [f64; B],
    third: [usize; C],
    fourth: [usize; D],
) -> impl Iterator<Item = (f64, f64, usize, usize)> {
    first.into_iter().flat_map(move |a| {
        second
            .into_iter()
            .flat_map(move |b| third.into_iter().flat_map(move |c| fourth.into_iter().map(move |d| (a, b, c, d))))
    })
}

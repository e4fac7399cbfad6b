//! Packet pacing: M_i and gaps by hand, what is refused, and what it does to an exchange.

use hocket::pacing::{Gap, pace, simulate_step};
use hocket::{cases, simulate};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_record::{Action, Schedule, record};
use hocket_simulate::{Options, Platform};

fn platform(network: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

/// Packets of 1000 B take 1 us.
fn torus(dims: &str) -> Platform {
    platform(&torus_keys(dims))
}

fn adaptive_torus(dims: &str) -> Platform {
    platform(&format!("{}\npacing = \"adaptive\"", torus_keys(dims)))
}

fn torus_keys(dims: &str) -> String {
    format!(
        "model = \"packets\"\ntopology = \"torus\"\ndims = {dims}\nbuffer = 2\nlink_bandwidth = \"1 GB/s\"\n\
         link_latency = \"100 ns\"\npacket = \"1000 B\""
    )
}

/// One of the algorithms for alltoall, in blocks of so many packets.
fn accepted(name: &str, ranks: usize, packets: usize, given: &[(&str, u64)]) -> (&'static Entry, Call) {
    let entry = find(Collective::Alltoall, name).unwrap();
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    (entry, entry.accept(&Call::new(Collective::Alltoall, ranks, packets * 1000), &given).unwrap())
}

fn overlaps(dims: &str, name: &str, ranks: usize, given: &[(&str, u64)]) -> Vec<usize> {
    let (entry, call) = accepted(name, ranks, 1, given);
    let (_, steps) = pace(entry, &call, &torus(dims), Gap::default()).unwrap();
    steps.iter().map(|step| step.overlap).collect()
}

const SHIFT: [(&str, u64); 1] = [("pairing", 2)];

/// On a ring of 8, i to the right is i links in the + direction up to 4, and 8 - i in the other one beyond: each link has as
/// many messages as each message has links.
#[test]
fn a_shift_on_a_ring_shares_each_link_among_as_many_as_it_is_long() {
    assert_eq!(overlaps("[8]", "pairwise_exchange", 8, &SHIFT), [1, 2, 3, 4, 3, 2, 1]);
    assert_eq!(overlaps("[8]", "linear", 8, &[]), [1, 2, 3, 4, 3, 2, 1]);
    assert_eq!(overlaps("[8]", "bruck", 8, &[]), [1, 2, 4]);
}

/// XOR on a ring of 8, links in the + direction named by where they begin:
/// step 1, 0-1: one. Step 2, 0-2 over 0 1 and 1-3 over 1 2: two. Step 3, 0-3 over 0 1 2 and 1-2 over 1: two. Step 4, all
/// over four: four. Step 5, 1-4 over 1 2 3, 3-6 over 3 4 5: two. Step 6, 2-4 over 2 3, 3-5 over 3 4: two. Step 7, 2-5 over
/// 2 3 4, 3-4 over 3: two.
const XOR_ON_A_RING: [usize; 8] = [0, 1, 2, 2, 4, 2, 2, 2];

#[test]
fn xor_on_a_ring_shares_links_as_counted_by_hand() {
    assert_eq!(overlaps("[8]", "pairwise_exchange", 8, &[]), XOR_ON_A_RING[1..]);
}

/// With x first, the messages of a row use its links as on a ring; in each column then arrives one from every row. So step
/// i = x + 8 y has the larger of the two.
#[test]
fn xor_on_a_torus_is_xor_on_the_ring_of_each_axis() {
    let larger = |i: usize| XOR_ON_A_RING[i % 8].max(XOR_ON_A_RING[i / 8]);
    assert_eq!(overlaps("[8, 8]", "pairwise_exchange", 64, &[]), (1..64).map(larger).collect::<Vec<_>>());
}

fn gaps(platform: &Platform, text: &str) -> Vec<f64> {
    let (entry, call) = accepted("pairwise_exchange", 8, 1, &[]);
    let (call, steps) = pace(entry, &call, platform, Gap::parse(text).unwrap()).unwrap();
    assert!(steps.iter().enumerate().all(|(step, found)| found.gap_packets == call.gap_packets(step)));
    steps.iter().map(|step| step.gap_packets).collect()
}

/// G_i = (M_i - 1) + 2 = M_i + 1 with M_i = 1, 2, 2, 4, 2, 2, 2.
#[test]
fn gaps_follow_from_overlaps() {
    let ring = torus("[8]");
    assert_eq!(gaps(&ring, "auto"), [2.0, 3.0, 3.0, 5.0, 3.0, 3.0, 3.0]);
    assert_eq!(gaps(&ring, "auto-2"), [0.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0]);
    assert_eq!(gaps(&ring, "auto-4.5"), [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0]);
    assert_eq!(gaps(&ring, "auto+1"), [3.0, 4.0, 4.0, 6.0, 4.0, 4.0, 4.0]);
    assert_eq!(gaps(&ring, "2.5"), [2.5; 7]);
    assert_eq!(gaps(&ring, "0"), [0.0; 7]);
}

#[test]
fn messages_that_use_no_link_have_no_gap() {
    let one_node = platform(
        "model = \"packets\"\ntopology = \"crossbar\"\nnodes = 2\nranks_per_node = 8\nlink_bandwidth = \"1 GB/s\"",
    );
    assert_eq!(gaps(&one_node, "auto"), [0.0; 7]);
}

#[test]
fn gaps_that_nobody_could_leave_are_refused_in_one_line() {
    for text in
        ["", "fast", "-1", "auto2", "auto-", "auto--1", "auto+-1", "autoé", "inf", "nan", "1e7", "1 packet", "+2"]
    {
        let expected = "auto, an offset from it such as auto-2 or auto+1, or a number of packet times from 0 to 1e6";
        let sentence = format!("parameter gap: got {text:?}, expected {expected}");
        assert_eq!(Gap::parse(text).unwrap_err().to_string(), sentence);
    }
    let refusal = |entry: &Entry, call: &Call, platform: &Platform, text| {
        pace(entry, call, platform, Gap::parse(text).unwrap()).unwrap_err().to_string()
    };
    let (exchange, call) = accepted("pairwise_exchange", 8, 1, &[]);
    let hockney = platform("model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"");
    let sentence = "parameter gap: machine test has the network model hockney, expected the model packets, or no gap";
    assert_eq!(refusal(exchange, &call, &hockney, "auto"), sentence);
    assert_eq!(refusal(exchange, &call, &hockney, "3"), sentence);
    assert!(pace(exchange, &call, &hockney, Gap::default()).unwrap().1.is_empty());
    let ring = find(Collective::Allreduce, "ring").unwrap();
    let reduced = Call::new(Collective::Allreduce, 8, 8);
    assert_eq!(
        refusal(ring, &reduced, &torus("[8]"), "1"),
        "parameter gap: allreduce ring has no steps, expected an algorithm with steps, or no gap"
    );
    let sentence = "ranks: got 8, expected at most 4, the ranks that the network holds (torus of 4 nodes)";
    assert_eq!(refusal(exchange, &call, &torus("[4]"), "auto"), sentence);
    let too_far = simulate_step(exchange, &call, &torus("[8]"), Gap::default(), 7, Options::default());
    assert_eq!(too_far.unwrap_err().to_string(), "step: got 7, expected a step from 0 to below 7");
}

#[test]
fn pairings_and_barriers_that_there_are_not_are_refused_in_one_line() {
    let entry = find(Collective::Alltoall, "pairwise_exchange").unwrap();
    let refusal = |ranks, name: &str, value| {
        let call = Call::new(Collective::Alltoall, ranks, 1);
        entry.accept(&call, &[(name.to_owned(), value)]).unwrap_err().to_string()
    };
    let label = "alltoall pairwise_exchange";
    assert_eq!(
        refusal(4, "pairing", 3),
        format!("{label}: parameter pairing = 3, expected one of xor_or_shift, xor, shift")
    );
    assert_eq!(
        refusal(4, "barrier", 2),
        format!("{label}: parameter barrier = 2, expected one of none, dissemination")
    );
    assert!(refusal(6, "pairing", 1).contains("needs a power of two of ranks"));
}

/// To whom a rank sends, in order, and how many elements.
fn sends(schedule: &Schedule, rank: usize) -> Vec<(usize, usize)> {
    let sends = schedule.tasks(rank).actions.into_iter().filter_map(|action| match action {
        Action::Send { to, data, .. } => Some((to as usize, data.len)),
        _ => None,
    });
    sends.collect()
}

#[test]
fn programs_send_what_their_steps_declare() {
    let mut compared = 0;
    for entry in CATALOGUE {
        let Some(steps) = entry.about.steps else { continue };
        for ranks in cases::rank_counts() {
            let call = Call::new(entry.collective, ranks, 3);
            for given in cases::parameters(entry) {
                let Ok(call) = entry.accept(&call, &given) else { continue };
                let schedule = record(entry.program(), &call).unwrap();
                for rank in 0..ranks {
                    let declared = |step| ((steps.destination)(&call, step, rank), (steps.elements)(&call, step));
                    let declared: Vec<_> = (0..(steps.count)(&call)).map(declared).collect();
                    let sent: Vec<_> = sends(&schedule, rank).into_iter().filter(|(_, len)| *len > 0).collect();
                    assert_eq!(sent, declared, "{entry} in {call:?}");
                    compared += declared.len();
                }
            }
        }
    }
    assert!(compared > 0);
}

/// Two messages over one link, each paced at half of it, take what the link needs for both: of k packets of 1 us each, the
/// last of the second leaves at 2 k - 1.
#[test]
fn a_step_paced_at_its_share_takes_what_its_busiest_link_needs() {
    let packets = 32;
    let (entry, call) = accepted("pairwise_exchange", 8, packets, &SHIFT);
    for step in 0..7 {
        let alone = simulate_step(entry, &call, &torus("[8]"), Gap::parse("auto-2").unwrap(), step, Options::default());
        let (found, outcome) = alone.unwrap();
        let links = [1, 2, 3, 4, 3, 2, 1][step] as f64;
        let needed_s = (found.overlap * packets) as f64 * 1e-6;
        let most_s = needed_s + (links * 0.1 + links) * 1e-6;
        assert!((needed_s..most_s).contains(&outcome.time_s()), "step {step}: {}", outcome.time_s());
    }
}

/// The time of one in eight steps of an exchange on 16 x 16 nodes, messages of 32 packets.
fn time_s(gap: &str) -> f64 {
    let (entry, call) = accepted("pairwise_exchange", 256, 32, &[]);
    let (platform, gap) = (torus("[16, 16]"), Gap::parse(gap).unwrap());
    let step = |step| simulate_step(entry, &call, &platform, gap, step, Options::default()).unwrap().1.time_s();
    (0..255).step_by(8).map(step).sum()
}

#[test]
fn pacing_is_faster_on_a_torus_of_16_by_16() {
    let [unpaced_s, auto_s, share_s] = ["0", "auto", "auto-2"].map(time_s);
    assert!(auto_s < unpaced_s, "{auto_s} {unpaced_s}");
    assert!(share_s < unpaced_s / 1.4, "{share_s} {unpaced_s}");
}

/// The time of an exchange with barriers on 16 x 16 nodes, messages of 8 packets.
fn exchange_s(platform: &Platform, gap: &str) -> f64 {
    let (entry, call) = accepted("pairwise_exchange", 256, 8, &[("barrier", 1)]);
    let (call, _) = pace(entry, &call, platform, Gap::parse(gap).unwrap()).unwrap();
    simulate(entry, &call, platform, Options::default()).unwrap().time_s()
}

#[test]
fn adaptive_pacing_gains_what_computed_gaps_gain() {
    let torus = torus("[16, 16]");
    let (unpaced_s, auto_s) = (exchange_s(&torus, "0"), exchange_s(&torus, "auto"));
    let adaptive_s = exchange_s(&adaptive_torus("[16, 16]"), "0");
    assert!(adaptive_s < 1.02 * auto_s, "{adaptive_s} {auto_s}");
    assert!(adaptive_s < unpaced_s / 1.2, "{adaptive_s} {unpaced_s}");
}

#[test]
fn adaptive_pacing_costs_nothing_where_messages_do_not_meet() {
    let crossbar = |keys: &str| {
        platform(&format!(
            "model = \"packets\"\ntopology = \"crossbar\"\nnodes = 16\nlink_bandwidth = \"1 GB/s\"\n\
             packet = \"1000 B\"\nlink_latency = \"100 ns\"\n{keys}"
        ))
    };
    let [fixed, adaptive] = ["", "pacing = \"adaptive\""].map(crossbar);
    for entry in CATALOGUE.iter().filter(|entry| entry.collective == Collective::Alltoall) {
        let call = entry.accept(&Call::new(Collective::Alltoall, 16, 20_000), &[]).unwrap();
        let time_s = |platform| simulate(entry, &call, platform, Options::default()).unwrap().time_s();
        assert_eq!(time_s(&adaptive), time_s(&fixed), "{entry}");
    }
}

/// Gaps, barriers and adaptive interfaces change when packets travel, not where: every link carries each message once that is
/// routed over it.
#[test]
fn links_carry_the_same_bytes_however_packets_are_paced() {
    let adaptive = adaptive_torus("[4, 3]");
    for name in ["pairwise_exchange", "linear"] {
        let (entry, call) = accepted(name, 12, 5, &[]);
        let expected = routed_bytes(&adaptive, 12, 5000.0);
        for (platform, gap) in
            [(&torus("[4, 3]"), "0"), (&torus("[4, 3]"), "auto"), (&adaptive, "0"), (&adaptive, "1.5")]
        {
            let (call, _) = pace(entry, &call, platform, Gap::parse(gap).unwrap()).unwrap();
            let outcome = simulate(entry, &call, platform, Options::default()).unwrap();
            assert_eq!(outcome.links.iter().map(|link| link.bytes).collect::<Vec<_>>(), expected, "{entry} {gap}");
        }
    }
}

/// What each link carries when every rank sends so many bytes to every other.
fn routed_bytes(platform: &Platform, ranks: usize, bytes: f64) -> Vec<f64> {
    let topology = &platform.network.fabric().unwrap().topology;
    let (mut carried, mut hops) = (vec![0.0; topology.links()], Vec::new());
    let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
    pairs.for_each(|(from, to)| topology.route(from, to, &mut hops));
    hops.iter().for_each(|hop| carried[hop.link as usize] += bytes);
    carried
}

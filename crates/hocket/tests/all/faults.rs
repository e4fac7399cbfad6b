//! Faults of links: closed forms, and laws over models, topologies and the catalogue.

use hocket::pacing::Gap;
use hocket::{Scene, Subject, simulate_trials};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Buffer, Call, Collective, Program, Rank, Result, Span};
use hocket_machine::Machine;
use hocket_simulate::{Fault, Kind, Many, Options, Place, Platform, Trials};
use proptest::prelude::*;

/// The models that have faults of links.
const MODELS: [&str; 4] = [
    "model = \"links\"",
    "model = \"links\"\nswitching = \"wormhole\"",
    "model = \"links\"\nsharing = \"fair\"",
    "model = \"packets\"\npacket = \"100 B\"\nbuffer = 8",
];
/// Topologies of at least 8 nodes whose own routes are shortest.
const TOPOLOGIES: [&str; 4] = [
    "topology = \"torus\"\ndims = [4, 2]",
    "topology = \"mesh\"\ndims = [2, 2, 2]",
    "topology = \"crossbar\"\nnodes = 8",
    "topology = \"fat_tree\"\ndown = [4, 2]\nup = [1, 2]",
];
const RING: &str = "topology = \"torus\"\ndims = [8]";
const NOISE: &str = "[noise.os]\nmodel = \"gaussian\"\nmean = \"0.1 us\"\ndeviation = \"0.2 us\"\n";

/// Links of 1 GB/s.
fn platform(model: &str, topology: &str, latency_us: u32, noise: &str) -> Platform {
    let links = format!("link_bandwidth = \"1 GB/s\"\nlink_latency = \"{latency_us} us\"");
    machine(&format!("{model}\n{topology}\n{links}\n{noise}"))
}

fn machine(network: &str) -> Platform {
    let text = format!("name = \"test\"\n[network]\n{network}");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

fn scene(faults: &[&str]) -> Result<Scene> {
    let faults = faults.iter().map(|text| Fault::parse(text)).collect::<Result<Vec<_>>>()?;
    Ok(Scene { faults, ..Scene::default() })
}

fn many(of: &(&'static Entry, Call), platform: &Platform, faults: &[&str], trials: Trials) -> Result<Many> {
    let options = Options { trace: true, ..Options::default() };
    let (subject, scene) = (Subject::Entry(of.0), scene(faults)?);
    Ok(simulate_trials(&subject, &of.1, platform, Gap::default(), &scene, trials, options)?.many)
}

fn time_s(of: &(&'static Entry, Call), platform: &Platform, faults: &[&str]) -> Result<f64> {
    many(of, platform, faults, Trials::default()).map(|many| many.ends[0].last_s)
}

fn of(collective: Collective, name: &str, ranks: usize, elements: usize) -> (&'static Entry, Call) {
    let entry = find(collective, name).unwrap();
    let call = Call { element_bytes: 1, ..Call::new(collective, ranks, elements) };
    (entry, entry.accept(&call, &[]).unwrap())
}

/// Every algorithm that takes a call of 8 ranks.
fn catalogue() -> impl Iterator<Item = (&'static Entry, Call)> {
    CATALOGUE.iter().filter_map(|entry| Some((entry, entry.accept(&Call::new(entry.collective, 8, 400), &[]).ok()?)))
}

/// One message between two ranks.
struct Message {
    from: usize,
    to: usize,
    bytes: usize,
}

impl Program for Message {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let data = Span::new(Buffer::Input, self.bytes);
        if r.rank() == self.from {
            r.send(self.to, data).await;
        } else if r.rank() == self.to {
            r.recv(self.from, data).await;
        }
    }
}

/// When a message has arrived on 8 ranks.
fn message_s([from, to]: [usize; 2], bytes: usize, platform: &Platform, faults: &[&str]) -> Result<f64> {
    let program = Message { from, to, bytes };
    let call = Call { element_bytes: 1, ..Call::new(Collective::Broadcast, 8, bytes) };
    let (scene, options) = (scene(faults)?, Options::default());
    let subject = Subject::Own(&program);
    let found = simulate_trials(&subject, &call, platform, Gap::default(), &scene, Trials::default(), options)?;
    Ok(found.times_s[0])
}

fn assert_near(found_s: f64, expected_s: f64, what: &str) {
    assert!((found_s - expected_s).abs() < 1e-12, "{what}: {found_s}, expected {expected_s}");
}

#[test]
fn a_message_goes_on_at_the_new_bandwidth() {
    // 10 kB at 1 GB/s take 10 us.
    for model in MODELS {
        let platform = platform(model, RING, 0, "");
        for (faults, expected_us) in [
            (&["link 0 -> 1, 4 us.., 50 %"][..], 16.0),
            (&["link 0 -> 1, 4..7 us, 50 %"], 11.5),
            (&["link 0 -> 1, 4..24 us, down"], 30.0),
            (&["link 0 -> 1, 4..24 us, down", "link 0 <-> 1, 0 us.., 50 %"], 40.0),
            (&["link 1 -> 0, 0 us.., 50 %"], 10.0),
            (&["node 1, 0 us.., 25 %"], 40.0),
        ] {
            let found_s = message_s([0, 1], 10_000, &platform, faults).unwrap();
            assert_near(found_s, expected_us * 1e-6, &format!("{model}, {faults:?}"));
        }
    }
}

#[test]
fn a_link_carries_what_has_come() {
    // Over two links of 1 us each. The second one carries the first half at its own bandwidth, and the second half as
    // it comes: 10 us + 2 us if only one is slow for a while. If both are, the slower one at each time decides.
    for model in &MODELS[..2] {
        let platform = platform(model, RING, 1, "");
        for (faults, expected_us) in [
            (&[][..], 12.0),
            (&["link 0 -> 1, 0..10 us, 50 %"], 17.0),
            (&["link 1 -> 2, 1..11 us, 50 %"], 17.0),
            (&["link 0 -> 1, 0..10 us, 50 %", "link 1 -> 2, 1..11 us, 50 %"], 17.0),
            // Half of the message passes the first link until 10 us, and the second one until 11 us, then at half the
            // bandwidth.
            (&["link 0 -> 1, 0..10 us, 50 %", "link 1 -> 2, 11 us.., 50 %"], 22.0),
        ] {
            let found_s = message_s([0, 2], 10_000, &platform, faults).unwrap();
            assert_near(found_s, expected_us * 1e-6, &format!("{model}, {faults:?}"));
        }
    }
    // 15 kB. A queue stores what the second link does not carry until 11 us: 5 kB, which it carries by 21 us beside the
    // 5 kB that come until then. A wormhole passes at the lower bandwidth of both all the time.
    let faults = ["link 0 -> 1, 10 us.., 50 %", "link 1 -> 2, 1..11 us, 50 %"];
    for (model, expected_us) in [(MODELS[0], 22.0), (MODELS[1], 32.0)] {
        let found_s = message_s([0, 2], 15_000, &platform(model, RING, 1, ""), &faults).unwrap();
        assert_near(found_s, expected_us * 1e-6, model);
    }
}

#[test]
fn a_ring_is_as_fast_as_its_slowest_link() {
    // Each of 2 (P - 1) steps sends n / P bytes over every link, and rank 0 is never ahead of its slow link.
    let ring = of(Collective::Allreduce, "ring", 8, 80_000);
    for model in &MODELS[..3] {
        let platform = platform(model, RING, 0, "");
        assert_near(time_s(&ring, &platform, &[]).unwrap(), 140e-6, model);
        assert_near(time_s(&ring, &platform, &["link 0 -> 1, 0 us.., 50 %"]).unwrap(), 280e-6, model);
    }
}

#[test]
fn messages_that_leave_later_go_around_a_link_that_is_down() {
    for model in MODELS {
        let platform = platform(model, "topology = \"torus\"\ndims = [4, 2]", 1, "");
        let along_s = message_s([0, 1], 1_000, &platform, &[]).unwrap();
        // A way of three links instead of one; and over the other axis there are two links.
        let around_s = message_s([0, 1], 1_000, &platform, &["link 0 -> 1, 0 us.., down"]).unwrap();
        assert_near(around_s - along_s, 2e-6, model);
        // Without another way, the message waits.
        let alone = ["node 0, 0..50 us, down"];
        assert_near(message_s([0, 1], 1_000, &platform, &alone).unwrap() - along_s, 50e-6, model);
    }
}

#[test]
fn a_message_that_waits_for_ever_is_named() {
    for model in MODELS {
        let ring = platform(model, RING, 0, "");
        let crossbar = platform(model, TOPOLOGIES[2], 0, "");
        for (platform, faults, expected) in [
            (&ring, "link 0 -> 1, 4 us.., down", "link 0 -> 1 (+x from (0)), which is down from 4 us on"),
            (&crossbar, "node 1, 0 us.., down", "link 8 -> 1 (down to node 1), which is down from 0 us on"),
        ] {
            let refusal = message_s([0, 1], 10_000, platform, &[faults]).unwrap_err().to_string();
            let message = "cannot end: the message of 10000 B from rank 0 to rank 1 waits for ever, from ";
            assert!(refusal.starts_with(message) && refusal.ends_with(expected), "{model}: {refusal}");
        }
    }
}

#[test]
fn a_node_of_circuits_that_is_down_has_no_ports() {
    // A set-up of 1 us, and 10 us for 10 kB. A message that was cut is sent again from its beginning.
    let circuits = |changes: &str| {
        let keys = "model = \"circuits\"\nlatency = \"0 us\"\nbandwidth = \"1 GB/s\"\nports = 1\n\
                    policy = \"naive\"\nreconfiguration = \"1 us\"";
        machine(&format!("{keys}\nchanges = [{changes}]\n{}", TOPOLOGIES[2]))
    };
    let changing = "\"12 us: node 1 has 0 ports\", \"15 us: nodes have 1 port\", \"30 us: node 1 has 1 port\"";
    for (changes, faults, expected_us) in [
        ("", &[][..], 11.0),
        ("", &["node 1, 2..20 us, down"], 31.0),
        ("", &["node 1, 0 us..9 us, down", "node 1, 8..20 us, down"], 31.0),
        (changing, &["node 1, 3..20 us, down"], 31.0),
    ] {
        assert_near(message_s([0, 1], 10_000, &circuits(changes), faults).unwrap(), expected_us * 1e-6, changes);
    }
    let refusal = message_s([0, 1], 10_000, &circuits(""), &["node 1, 2 us.., down"]).unwrap_err().to_string();
    assert_eq!(refusal, "deadlock: node 0 waits for ever for a circuit to node 1: node 1 has no working port");
    for fault in ["link 0 -> 1, 2 us.., down", "node 1, 2 us.., 50 %", "node 9, 2 us.., down"] {
        let refusal = circuits("").with_faults(&[Fault::parse(fault).unwrap()]).err().unwrap().to_string();
        assert!(refusal.starts_with(&format!("faults: got {}", fault.split(',').next().unwrap())), "{refusal}");
    }
}

#[test]
fn faults_that_take_nothing_change_no_bit() {
    for (model, topology) in MODELS.iter().flat_map(|model| TOPOLOGIES.map(|topology| (model, topology))) {
        let platform = platform(model, topology, 1, "");
        for of in catalogue() {
            let run = |faults| many(&of, &platform, faults, Trials::default());
            let without = run(&[]).unwrap();
            for faults in [&["node 0, 0 us.., 100 %"], &["node 0, 1 s.., down"], &["node 0, 1..2 s, 10 %"]] {
                assert_eq!(run(faults), Ok(without.clone()), "{}, {model}, {topology}, {faults:?}", of.0);
            }
        }
    }
}

#[test]
fn trials_with_noise_are_the_same_on_any_number_of_threads() {
    for model in MODELS {
        let platform = platform(model, TOPOLOGIES[0], 1, NOISE);
        for of in catalogue() {
            let run = |first, count, threads| {
                let trials = Trials { seed: 3, first, count, threads, ..Trials::default() };
                many(&of, &platform, &["link 0 <-> 1, 3..9 us, 20 %", "node 2, 5..8 us, down"], trials).map(|m| m.ends)
            };
            let all = run(0, 3, 1).unwrap();
            assert_eq!(run(0, 3, 2), Ok(all.clone()), "{}", of.0);
            assert_eq!(run(2, 1, 1), Ok(vec![all[2].clone()]), "{}", of.0);
        }
    }
}

/// Faults of links between neighbours, or of nodes.
fn some_faults() -> impl Strategy<Value = Vec<(usize, bool, u32, Option<u32>, u32)>> {
    let part = prop_oneof![Just(0), 1..100u32];
    prop::collection::vec((0..7usize, any::<bool>(), 0..30u32, prop::option::of(1..30u32), part), 1..5)
}

fn texts(faults: &[(usize, bool, u32, Option<u32>, u32)], has_neighbours: bool) -> Vec<String> {
    let text = |(at, is_node, start_us, length_us, part): &(usize, bool, u32, Option<u32>, u32)| {
        let place =
            if *is_node || !has_neighbours { format!("node {at}") } else { format!("link {at} <-> {}", at ^ 1) };
        let end = length_us.map_or(String::new(), |length_us| format!("{} us", start_us + length_us));
        let part = if *part == 0 { "down".to_owned() } else { format!("{part} %") };
        format!("{place}, {start_us} us..{end}, {part}")
    };
    faults.iter().map(text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// No fault makes a message faster that is alone.
    #[test]
    fn no_fault_makes_a_message_faster(given in some_faults(), ends in (0..8usize, 0..8usize), bytes in 0..30_000usize) {
        prop_assume!(ends.0 != ends.1);
        for (model, topology) in MODELS.iter().flat_map(|model| TOPOLOGIES.map(|topology| (model, topology))) {
            let texts = texts(&given, topology.contains("dims"));
            let faults: Vec<_> = texts.iter().map(String::as_str).collect();
            let platform = platform(model, topology, 1, "");
            let ends = [ends.0, ends.1];
            let without_s = message_s(ends, bytes, &platform, &[]).unwrap();
            match message_s(ends, bytes, &platform, &faults) {
                Ok(with_s) => prop_assert!(with_s >= without_s * (1.0 - 1e-12), "{model}, {topology}: {with_s} s"),
                Err(refusal) => prop_assert!(refusal.to_string().starts_with("cannot end: "), "{refusal}"),
            }
        }
    }

    /// Either all messages arrive, or the simulation ends with the message that does not.
    #[test]
    fn no_message_is_lost_silently(given in some_faults()) {
        for (model, topology) in MODELS.iter().flat_map(|model| TOPOLOGIES.map(|topology| (model, topology))) {
            let texts = texts(&given, topology.contains("dims"));
            let faults: Vec<_> = texts.iter().map(String::as_str).collect();
            let platform = platform(model, topology, 1, "");
            let lasts = given.iter().any(|(.., length_us, part)| length_us.is_none() && *part == 0);
            for of in catalogue() {
                match many(&of, &platform, &faults, Trials::default()) {
                    Ok(many) => {
                        let of_kind = |kind| many.first.trace.iter().filter(|record| record.kind == kind).count();
                        prop_assert_eq!(of_kind(Kind::Recv), of_kind(Kind::Send), "{}", of.0);
                    }
                    Err(refusal) => {
                        let refusal = refusal.to_string();
                        let is_circle = model.contains("packets") && refusal.starts_with("deadlock: ");
                        let is_stuck = lasts && refusal.starts_with("cannot end: ");
                        prop_assert!(is_circle || is_stuck, "{}, {model}, {topology}: {refusal}", of.0);
                    }
                }
            }
        }
    }
}

/// Circuits under each policy, of one port and of two, and with a wavelength that all of them share.
fn circuits() -> impl Iterator<Item = Platform> {
    let network = "model = \"circuits\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nreconfiguration = \"1 us\"";
    ["naive", "ahead", "keep", "oracle"].into_iter().flat_map(move |policy| {
        ["ports = 1", "ports = 2", "ports = 2\nwavelengths = 1"].map(|supply| {
            machine(&format!("{network}\npolicy = \"{policy}\"\n{supply}\ntopology = \"mesh\"\ndims = [8]"))
        })
    })
}

#[test]
fn what_happens_after_the_end_of_a_call_changes_nothing() {
    let after = ["node 0, 1000 s.., down", "node 5, 2000 s..3000 s, down"];
    let links = MODELS.map(|model| platform(model, RING, 1, ""));
    for (platform, entry) in links
        .into_iter()
        .chain(circuits())
        .flat_map(|platform| CATALOGUE.iter().map(move |entry| (platform.clone(), entry)))
    {
        let root = if entry.collective.has_root() { 2 } else { 0 };
        let Ok(call) = entry.accept(&Call { root, ..Call::new(entry.collective, 8, 400) }, &[]) else { continue };
        let first = |faults| many(&(entry, call.clone()), &platform, faults, Trials::default()).map(|many| many.first);
        assert_eq!(first(&after), first(&[]), "{entry} on {:?}", platform.network);
    }
}

#[test]
fn texts_are_read() {
    let link = |ends: [&str; 2], is_both_ways| Place::Link { ends: ends.map(str::to_owned), is_both_ways };
    for (text, place, start_s, end_s, part) in [
        ("link 0 -> 1, 20..80 us, 10 %", link(["0", "1"], false), 2e-5, 8e-5, 0.1),
        ("link 0 <-> 1,20 us..,down", link(["0", "1"], true), 2e-5, f64::INFINITY, 0.0),
        ("link (0,1) -> (1,1), 0 us..1 ms, 2.5%", link(["(0,1)", "(1,1)"], false), 0.0, 1e-3, 0.025),
        ("node 3, 20 us.., 50 %", Place::Node("3".to_owned()), 2e-5, f64::INFINITY, 0.5),
    ] {
        assert_eq!(Fault::parse(text), Ok(Fault { place, start_s, end_s, part }), "{text}");
    }
    for text in [
        "",
        "link 0, 1 us.., down",
        "link 0 -> , 1 us.., down",
        "rank 3, 1 us.., down",
        "node 3, 1 us, down",
        "node 3, 20.., down",
        "node 3, 5..5 us, down",
        "node 3, 1 us..1e9 s, down",
        "node 3, 1 us.., 0 %",
        "node 3, 1 us.., 101 %",
        "node 3, 1 us.., 10",
        "node 3, 1 us.., NaN %",
        "node 3, 1 us..",
    ] {
        let refused = Fault::parse(text).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("faults: got {text:?}, expected a link or a node")), "{refused}");
    }
}

#[test]
fn places_that_do_not_exist_are_refused() {
    let torus = platform(MODELS[0], TOPOLOGIES[0], 1, "");
    let hockney = machine("model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"");
    for (platform, fault, expected) in [
        (
            &torus,
            "node 8, 0 us.., down",
            "got node 8, expected numbers from 0 to 7, or names such as \"(3,1)\", of this torus",
        ),
        (&torus, "link 0 -> (9,9), 0 us.., down", "got link 0 -> (9,9), expected numbers from 0 to 7"),
        (&torus, "link 0 -> 6, 0 us.., down", "expected a link of this torus, in which 0 has links to 1, 3, 4"),
        (
            &hockney,
            "node 0, 0 us.., down",
            "got the model hockney, expected a machine with links: the model circuits, links or packets",
        ),
    ] {
        let refused = platform.with_faults(&[Fault::parse(fault).unwrap()]).err().unwrap().to_string();
        assert!(refused.starts_with("faults: ") && refused.contains(expected), "{refused}");
    }
}

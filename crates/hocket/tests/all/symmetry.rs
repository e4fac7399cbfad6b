//! The symmetry that an algorithm declares, compared with what its ranks do and with a simulation of all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::sweeps;
use hocket::pacing::Gap;
use hocket::{Cadence, Scene, Subject, Way, cases, check_symmetry, simulate, simulate_trials};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Collective, Program, Rank, Symmetry};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Options, Outcome, Platform, Trials, symmetry};

use crate::turns;

/// Calls of an algorithm, with equal blocks among them, at numbers of ranks that can have a symmetry.
fn calls(entry: &'static Entry) -> impl Iterator<Item = Call> {
    cases::rank_counts().flat_map(move |ranks| {
        let even = [ranks, 4 * ranks, 96 * ranks].map(|count| Call::new(entry.collective, ranks, count));
        let calls = cases::calls_also_in_place(entry.collective, ranks).chain(even).filter(sweeps::is_for_long_sweeps);
        let given: Vec<_> =
            cases::parameters(entry).into_iter().take(if ranks <= 9 { usize::MAX } else { 1 }).collect();
        calls.flat_map(move |call| given.iter().filter_map(|given| entry.accept(&call, given).ok()).collect::<Vec<_>>())
    })
}

#[test]
fn every_rank_does_what_the_rank_does_that_stands_for_it() {
    for entry in CATALOGUE {
        for call in calls(entry) {
            check_symmetry(entry.program(), &call).unwrap_or_else(|error| panic!("{entry} in {call:?}: {error}"));
        }
    }
}

/// A ring in which rank 2 sends two elements, and that says that all ranks do the same.
struct Uneven;

impl Program for Uneven {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let (rank, size, result) = (r.rank(), r.size(), c.result(r));
        let from = (rank + size - 1) % size;
        let sent = |rank| result.part(0, if rank == 2 { 2 } else { 1 });
        r.sendrecv((rank + 1) % size, sent(rank), from, sent(from)).await;
    }

    fn symmetry(&self, _: &Call, _: bool) -> Option<Symmetry> {
        Some(Symmetry::ROTATION)
    }
}

#[test]
fn a_wrong_symmetry_is_found() {
    let error = check_symmetry(&Uneven, &Call::new(Collective::Broadcast, 5, 8)).unwrap_err().to_string();
    assert!(error.contains("of 5 ranks, rank 2 does not do what rank 0 does"), "{error}");
}

/// Networks whose nodes are alike.
const NETWORKS: [&str; 7] = [
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"",
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nsend_overhead = \"0.5 us\"",
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nranks_per_node = 2\n\
     local.latency = \"100 ns\"\nlocal.bandwidth = \"4 GB/s\"",
    "model = \"loggp\"\nL = \"1 us\"\no = \"0.5 us\"\ng = \"0.7 us\"\nG = \"1 ns/B\"",
    "model = \"loggp\"\nL = \"1 us\"\no = \"0 s\"\ng = \"0 s\"\nG = \"1 ns/B\"\nS = \"64 B\"\nnew_peer = \"3 us\"",
    "model = \"loggp\"\nL = \"1 us\"\no = \"0.5 us\"\ng = \"0.7 us\"\nG = \"1 ns/B\"\nranks_per_node = 4\n\
     local.L = \"100 ns\"\nlocal.o = \"50 ns\"\nlocal.G = \"0.1 ns/B\"",
    "model = \"loggp\"\nL = \"1 us\"\no = \"0.5 us\"\ng = \"0.7 us\"\nG = \"1 ns/B\"\nranks_per_node = 3\n\
     local.L = \"100 ns\"\nlocal.o = \"50 ns\"\nlocal.G = \"0.1 ns/B\"",
];

/// With one port and with all of them, where ports count. The first touch of new memory takes time; for symmetries but for
/// copies, also machines on which it takes none.
fn machines(copies_differ: bool) -> Vec<Platform> {
    let shapes = NETWORKS.iter().flat_map(|network| {
        let ports: &[_] = if network.contains("hockney") { &["ports = 1", "ports = \"unlimited\""] } else { &[""] };
        ports.iter().map(move |ports| (network, ports))
    });
    let memories = ["scratch = { from = \"100 B\", together_from = \"40 B\", per_byte = \"3 ns\" }", ""];
    let memories = &memories[..if copies_differ { 2 } else { 1 }];
    let shapes = shapes.flat_map(|(network, ports)| memories.iter().map(move |scratch| (network, ports, scratch)));
    let machine = |(network, ports, scratch)| {
        let node = format!("[node]\ncall_overhead = \"0.3 us\"\nreduce_bandwidth = \"10 GB/s\"\n{ports}\n{scratch}");
        let text = format!("name = \"test\"\n[network]\n{network}\n{node}\n");
        let platform = Machine::parse(&text, "test.toml").and_then(|machine| Platform::new(&machine));
        platform.unwrap_or_else(|e| panic!("{e} in\n{text}"))
    };
    shapes.map(machine).collect()
}

#[test]
fn a_simulation_of_some_ranks_gives_the_bits_of_a_simulation_of_all() {
    compare_simulations(16);
}

#[test]
#[ignore = "long: make test-long"]
fn all_simulations_of_some_ranks_give_the_bits_of_simulations_of_all() {
    compare_simulations(1);
}

/// Compares the engines for each call on every `turns`-th machine.
fn compare_simulations(turns: usize) {
    let machines = [false, true].map(machines);
    let mut compared = 0;
    for entry in CATALOGUE {
        let calls = calls(entry).filter(|call| [2, 3, 4, 6, 8, 12, 16, 33].contains(&call.ranks));
        for (number, call) in calls.filter(|call| (entry.about.symmetry)(call).is_some()).enumerate() {
            for platform in turns::of(&machines[usize::from(entry.about.copies_differ)], number, turns) {
                let of = |engine| simulate(entry, &call, platform, Options { engine, ..Options::default() });
                let Ok(some) = of(Engine::Symmetry) else { continue };
                let all = Outcome { engine: "symmetry", ..of(Engine::Events).unwrap() };
                assert_eq!(some, all, "{entry} in {call:?} on {:?}", platform.network);
                compared += 1;
            }
        }
    }
    assert!(compared > 5_000 / turns, "{compared}");
}

/// The sizes of all tori of so many nodes that have three axes, also of one node.
fn tori(nodes: usize) -> impl Iterator<Item = [usize; 3]> {
    let divisors = |of: usize| (1..=of).filter(move |size| of.is_multiple_of(*size));
    divisors(nodes).flat_map(move |x| divisors(nodes / x).map(move |y| [x, y, nodes / x / y]))
}

/// Machines of links on a torus.
fn machines_on_torus(sizes: [usize; 3], sharing: &str) -> Vec<Platform> {
    let choices = [
        &["tie = \"plus\"", "tie = \"split\""][..],
        &["protocol = \"eager\"", "protocol = \"rendezvous\""],
        &["link_latency = \"0.1 us\"", "link_latency = \"0 s\""],
        &["[node]\nports = 1", "[node]\nports = 2", "[node]\nports = 3", "[node]\nports = 6"],
        &["reduce_bandwidth = \"10 GB/s\"", "call_overhead = \"0.3 us\"\nsoftware_latency = \"0.2 us\""],
    ];
    let fixed = format!(
        "name = \"torus\"\n[network]\nmodel = \"links\"\ntopology = \"torus\"\ndims = {sizes:?}\n\
         link_bandwidth = \"1 GB/s\"\nsharing = {sharing:?}\n"
    );
    let texts = choices.iter().fold(vec![fixed], |texts, choice| {
        texts.iter().flat_map(|text| choice.iter().map(move |line| format!("{text}{line}\n"))).collect()
    });
    texts.iter().map(|text| Platform::new(&Machine::parse(text, "torus.toml").unwrap()).unwrap()).collect()
}

#[test]
fn a_simulation_of_some_ranks_and_links_gives_the_bits_of_a_simulation_of_all() {
    compare_on_tori(CATALOGUE.iter(), &[2, 3, 4, 6, 8, 9, 12, 16], 128);
}

#[test]
#[ignore = "long: make test-long"]
fn all_simulations_of_some_ranks_and_links_give_the_bits_of_simulations_of_all() {
    compare_on_tori(CATALOGUE.iter(), &[8, 9, 12, 16, 32, 33], 16);
}

/// Compares the engines for each call on every `turns`-th machine of all tori of its ranks. Each algorithm that has a
/// symmetry in common with a torus is compared, with both ways to share links.
fn compare_on_tori(entries: impl Iterator<Item = &'static Entry>, ranks: &[usize], turns: usize) {
    let (mut tried, mut compared) = (BTreeSet::new(), BTreeSet::new());
    let mut machines = BTreeMap::new();
    for entry in entries {
        let calls = calls(entry).filter(|call| ranks.contains(&call.ranks));
        let symmetric = calls.filter(|call| (entry.about.symmetry)(call).is_some());
        let on_tori = symmetric.flat_map(|call| tori(call.ranks).map(move |sizes| (call.clone(), sizes)));
        let cases = on_tori.flat_map(|(call, sizes)| ["queue", "fair"].map(|sharing| (call.clone(), sizes, sharing)));
        for (number, (call, sizes, sharing)) in cases.enumerate() {
            let on_torus = machines.entry((sizes, sharing)).or_insert_with(|| machines_on_torus(sizes, sharing));
            for platform in turns::of(on_torus, number, turns) {
                if symmetry(entry.program(), &call, platform).is_none() {
                    continue;
                }
                tried.insert((entry.to_string(), sharing));
                if is_alike(entry, &call, platform) {
                    compared.insert((entry.to_string(), sharing));
                }
            }
        }
    }
    assert_eq!(compared, tried);
    assert!(!tried.is_empty());
}

/// Whether some ranks are enough for a call. Asserts that they give the bits of a simulation of all.
fn is_alike(entry: &'static Entry, call: &Call, platform: &Platform) -> bool {
    let of = |engine| simulate(entry, call, platform, Options { engine, ..Options::default() }).unwrap();
    let auto = of(Engine::Auto);
    let all = Outcome { engine: auto.engine, ..of(Engine::Events) };
    assert!(
        auto == all,
        "{entry} in {call:?} on {:?}: {} instead of {} s",
        platform.network,
        auto.time_s(),
        all.time_s()
    );
    auto.engine == "symmetry"
}

#[test]
#[ignore = "long: make test-long"]
fn one_of_4096_ranks_of_a_torus_stands_for_all() {
    let sizes = [16, 16, 16];
    for (number, entry) in CATALOGUE.iter().filter(|entry| entry.about.topology == Some("torus")).enumerate() {
        let counts = [1, 96].map(|times| if entry.collective.has_blocks() { 6 * times } else { 6 * 4096 * times });
        let calls = counts.map(|count| entry.accept(&Call::new(entry.collective, 4096, count), &[]).unwrap());
        for call in calls.iter().filter(|call| (entry.about.symmetry)(call).is_some()) {
            for platform in ["queue", "fair"]
                .map(|sharing| machines_on_torus(sizes, sharing))
                .iter()
                .flat_map(|all| turns::of(all, number, 8))
            {
                is_alike(entry, call, platform);
            }
        }
    }
}

#[test]
fn scenes_of_some_ranks_give_the_bits_of_scenes_of_all() {
    compare_scenes(40);
}

#[test]
#[ignore = "long: make test-long"]
fn all_scenes_of_some_ranks_give_the_bits_of_scenes_of_all() {
    compare_scenes(1);
}

/// Compares the engines for each call on every `turns`-th pair of a scene and a machine.
fn compare_scenes(turns: usize) {
    let in_cadence = |text| Scene { cadence: Some(Cadence::parse(text).unwrap()), ..Scene::default() };
    let cadences = ["3 calls", "3 calls, every 2 us", "4 calls, 2 at a time"].map(in_cadence);
    let scenes: Vec<_> = Way::ALL.map(|(_, way)| Scene::from(way)).into_iter().chain(cadences).collect();
    let on_torus =
        |ranks: usize| ["queue", "fair"].map(|sharing| machines_on_torus([ranks / 4, 2, 2], sharing).swap_remove(13));
    let at = |ranks: usize| [false, true].map(|differ| [machines(differ), on_torus(ranks).into()].concat());
    let [of_8, of_12] = [8, 12].map(at);
    for entry in CATALOGUE {
        let calls = calls(entry).filter(|call| [8, 12].contains(&call.ranks) && !call.in_place);
        for (number, call) in calls.filter(|call| (entry.about.symmetry)(call).is_some()).enumerate() {
            let machines = &(if call.ranks == 8 { &of_8 } else { &of_12 })[usize::from(entry.about.copies_differ)];
            let cases: Vec<_> = scenes.iter().flat_map(|scene| machines.iter().map(move |at| (scene, at))).collect();
            for (scene, platform) in turns::of(&cases, number, turns) {
                let subject = Subject::Entry(entry);
                let of = |engine| {
                    let (gap, options) = (Gap::default(), Options { engine, ..Options::default() });
                    let found = simulate_trials(&subject, &call, platform, gap, scene, Trials::default(), options);
                    found.map(|found| (found.many.ends, found.times_s)).unwrap()
                };
                assert_eq!(
                    of(Engine::Auto),
                    of(Engine::Events),
                    "{entry}, {scene:?}, {call:?}, {:?}",
                    platform.network
                );
            }
        }
    }
}

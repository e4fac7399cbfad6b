//! Routing policies: known answers on fat trees, dragonflies and tori, and laws that hold for all of them.

use hocket_machine::Machine;
use hocket_simulate::{Fault, Flight, LinkUse, Milestone, Platform, Routing};
use proptest::prelude::*;

const RATE: f64 = 1e9;
const BYTES: f64 = 1e6;

const FAT_TREE: &str = "topology = \"fat_tree\"\ndown = [4, 4]\nup = [1, 4]";
/// p = 2, a = 4, h = 2: nine groups of eight nodes.
const DRAGONFLY: &str =
    "topology = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2";
/// Of the same routers, five groups with two links for each pair of them.
const FEW_GROUPS: &str = "topology = \"dragonfly\"\nnodes_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\n\
                          groups = 5\nglobal_arrangement = \"absolute\"";
const LEAVES_AND_SPINES: &str = "topology = \"dragonfly_plus\"\nnodes_per_leaf = 2\nleaves_per_group = 2\nspines_per_group = 2\n\
                                 global_links_per_spine = 4\ngroups = 6\nglobal_arrangement = \"circulant\"";
const TORUS: &str = "topology = \"torus\"\ndims = [4, 4]";
const TOPOLOGIES: [(&str, usize); 5] =
    [(FAT_TREE, 16), (DRAGONFLY, 72), (FEW_GROUPS, 40), (LEAVES_AND_SPINES, 24), (TORUS, 16)];
const FAIR: &str = "model = \"links\"\nsharing = \"fair\"";
const QUEUES: &str = "model = \"links\"";
const PACKETS: &str = "model = \"packets\"\npacket = \"1000 B\"\nbuffer = 8";

fn read(keys: &[&str]) -> hocket_core::Result<Platform> {
    let keys = keys.join("\n");
    let text = format!("name = \"test\"\n[network]\nlink_bandwidth = \"1 GB/s\"\n{keys}\n[node]\nports = 64\n");
    Platform::new(&Machine::parse(&text, "m.toml")?)
}

fn routed(model: &str, topology: &str, routing: &str) -> Platform {
    read(&[model, topology, &format!("routing = \"{routing}\"")]).unwrap()
}

/// The times at which messages between nodes arrive, all sent at 0, and the use of links.
fn run(platform: &Platform, seed: u64, messages: &[(usize, usize)], bytes: f64) -> (Vec<f64>, Vec<LinkUse>) {
    let mut traffic = platform.network.shared_network().unwrap().traffic();
    traffic.set_seed(seed);
    let mut times_s = vec![f64::NAN; messages.len()];
    let mut progress = Vec::new();
    for (id, (from, to)) in (0..).zip(messages) {
        traffic.inject(0.0, Flight::from((id, *from, *to, bytes)));
    }
    while traffic.next_s() < f64::INFINITY {
        traffic.advance(&mut progress);
    }
    for (id, milestone) in progress {
        if let Milestone::Arrives(time_s) = milestone {
            times_s[id as usize] = time_s;
        }
    }
    (times_s, traffic.links())
}

/// The rate of the slowest message, as a share of a link's bandwidth.
fn rate(platform: &Platform, messages: &[(usize, usize)]) -> f64 {
    let (times_s, _) = run(platform, 0, messages, BYTES);
    BYTES / RATE / times_s.into_iter().fold(0.0, f64::max)
}

/// Each node sends to the one so many further on.
fn shift(nodes: usize, by: usize) -> Vec<(usize, usize)> {
    (0..nodes).map(|node| (node, (node + by) % nodes)).collect()
}

/// The bits of the numbers in reverse: the worst permutation for a fixed route.
fn transposed() -> Vec<(usize, usize)> {
    (0..16).map(|node| (node, node % 4 * 4 + node / 4)).collect()
}

#[test]
fn a_full_fat_tree_carries_every_permutation() {
    // Three nodes of a leaf send to others with one remainder by 4, whose fixed route is one link.
    assert_eq!(rate(&routed(FAIR, FAT_TREE, "fixed"), &transposed()), 1.0 / 3.0);
    for routing in ["spray", "adaptive"] {
        for permutation in [transposed(), shift(16, 4), shift(16, 5), shift(16, 1)] {
            let fluid = rate(&routed(FAIR, FAT_TREE, routing), &permutation);
            assert!(fluid > 0.99, "{routing}: {fluid}");
            let packets = rate(&routed(PACKETS, FAT_TREE, routing), &permutation);
            assert!(packets > 0.97, "{routing}: {packets}");
        }
    }
}

#[test]
fn the_parents_are_digits_of_the_receiver_or_of_the_sender() {
    let load = |routing: &str, messages: &[(usize, usize)]| rate(&routed(FAIR, FAT_TREE, routing), messages);
    // Nodes 0 and 1 send to 4 and 8, both multiples of 4; nodes 0 and 4 send to 9 and 10.
    assert_eq!([load("d-mod-k", &[(0, 4), (1, 8)]), load("s-mod-k", &[(0, 4), (1, 8)])], [0.5, 1.0]);
    assert_eq!([load("d-mod-k", &[(0, 9), (4, 10)]), load("s-mod-k", &[(0, 9), (4, 10)])], [1.0, 0.5]);
}

#[test]
fn a_dragonfly_under_its_worst_traffic() {
    // Each of the a p = 8 nodes of a group sends over the one link to the next group: 1 / (a h) of its injection at p = h.
    let worst = shift(72, 8);
    assert!((rate(&routed(FAIR, DRAGONFLY, "fixed"), &worst) - 0.125).abs() < 1e-12);
    // A global link carries 8/7 messages to a group on the way, and 8/7 from one; half of the injection in the limit.
    let valiant = rate(&routed(FAIR, DRAGONFLY, "valiant"), &worst);
    assert!((valiant - 7.0 / 16.0).abs() < 1e-6, "{valiant}");
    let ugal = rate(&routed(FAIR, DRAGONFLY, "ugal"), &worst);
    assert!(ugal > 0.95 * valiant, "{ugal} {valiant}");
    for by in [1, 3, 9, 20, 36] {
        let [fixed, valiant, ugal] =
            ["fixed", "valiant", "ugal"].map(|routing| rate(&routed(FAIR, DRAGONFLY, routing), &shift(72, by)));
        assert!(ugal > 0.95 * fixed.max(valiant), "{by}: {fixed} {valiant} {ugal}");
    }
}

/// Each of the a p = 8 nodes of a group sends to the next group, over m links: m / (a p). By Valiant's routing, each of g - 2
/// groups on the way takes 8 / (g - 2) messages from a group and sends as many to one, on the links of one pair of groups.
#[test]
fn more_links_of_a_pair_of_groups_carry_more_whatever_their_arrangement() {
    for arrangement in ["relative", "absolute", "circulant"] {
        for (keys, groups, links) in [("", 9, 1.0), ("groups = 5", 5, 2.0), ("links_per_pair_of_groups = 4", 3, 4.0)] {
            let dragonfly = format!("{DRAGONFLY}\nglobal_arrangement = \"{arrangement}\"\n{keys}");
            let [fixed, valiant, ugal] = ["fixed", "valiant", "ugal"]
                .map(|routing| rate(&routed(FAIR, &dragonfly, routing), &shift(8 * groups, 8)));
            assert!((fixed - links / 8.0).abs() < 1e-12, "{arrangement} {keys}: {fixed}");
            let expected = links * (groups - 2) as f64 / 16.0;
            assert!((valiant - expected).abs() < 1e-6, "{arrangement} {keys}: {valiant}");
            assert!(ugal > 0.95 * fixed.max(valiant), "{arrangement} {keys}: {ugal}");
        }
    }
}

#[test]
fn flows_fall_into_links_as_balls_into_bins() {
    // Four flows from one leaf to four others, each over one of four parents: the most loaded one has 1 to 4 of them.
    let wide = "topology = \"fat_tree\"\ndown = [4, 5]\nup = [1, 4]";
    let platform = routed(FAIR, wide, "ecmp");
    let messages = [(0, 4), (1, 8), (2, 12), (3, 16)];
    let mut counts = [0.0; 5];
    const DRAWS: u64 = 10_000;
    for seed in 0..DRAWS {
        let (times_s, _) = run(&platform, seed, &messages, BYTES);
        let most = times_s.into_iter().fold(0.0, f64::max) / (BYTES / RATE);
        counts[most.round() as usize] += 1.0 / DRAWS as f64;
    }
    // 4! / 4^4; all at one: 4 / 4^4; three at one: 4 x 4 x 3 / 4^4; the rest has two.
    let expected = [0.0, 24.0 / 256.0, 180.0 / 256.0, 48.0 / 256.0, 4.0 / 256.0];
    for (count, expected) in counts.into_iter().zip(expected) {
        assert!((count - expected).abs() < 0.02, "{counts:?}");
    }
}

#[test]
fn more_flows_of_a_pair_share_its_message() {
    let one = read(&[FAIR, FAT_TREE, "routing = \"ecmp\"\nflows_per_pair = 256"]).unwrap();
    let (_, uses) = run(&one, 0, &[(0, 15)], BYTES);
    let used: Vec<_> = uses.iter().map(|usage| usage.bytes / BYTES).filter(|share| *share > 0.0).collect();
    let total: f64 = used.iter().sum();
    assert!((total - 4.0).abs() < 1e-6, "{used:?}");
    assert_eq!(used.len(), 2 + 2 * 4);
}

#[test]
fn a_link_that_is_down_is_gone_around() {
    for model in [FAIR, QUEUES, PACKETS] {
        for routing in Routing::NAMES.iter().filter(|name| model != QUEUES || **name != "spray") {
            let platform = routed(model, FAT_TREE, routing);
            let (_, uses) = run(&platform, 1, &[(0, 15), (4, 15)], BYTES);
            let used = (0..uses.len()).filter(|link| uses[*link].bytes > 0.0);
            let fabric = platform.network.fabric().unwrap();
            let up = used.map(|link| fabric.topology.ends(link)).find(|(from, to)| *from >= 16 && *to >= 20).unwrap();
            let fault = Fault::parse(&format!("link {} -> {}, 0 us.., down", up.0, up.1)).unwrap();
            let faulty = platform.network.with_faults(&[fault]).unwrap();
            let faulty = Platform { network: faulty, ..platform.clone() };
            let (times_s, uses) = run(&faulty, 1, &[(0, 15), (4, 15)], BYTES);
            assert!(times_s.iter().all(|time_s| time_s.is_finite()), "{model} {routing}");
            let ends = |link: usize| fabric.topology.ends(link);
            assert!((0..uses.len()).all(|link| ends(link) != up || uses[link].bytes == 0.0), "{model} {routing}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let refusal = |keys: &[&str]| read(keys).map(|_| ()).unwrap_err().to_string();
    assert!(refusal(&[QUEUES, FAT_TREE, "routing = \"spray\""]).contains("sharing = \"fair\""));
    assert!(refusal(&[FAIR, TORUS, "routing = \"d-mod-k\""]).contains("only fat trees"));
    assert!(refusal(&[FAIR, TORUS, "routing = \"random\""]).contains("valiant"));
    assert!(refusal(&[PACKETS, TORUS, "routing = \"spray\"\npacing = \"adaptive\""]).contains("pacing"));
    assert!(refusal(&[FAIR, TORUS, "routing = \"ecmp\"\nflows_per_pair = 0"]).contains("flows_per_pair"));
    assert!(refusal(&[FAIR, TORUS, "routing = \"fixed\"\nthreshold = 1"]).contains("threshold"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Under every policy, in every model: all messages arrive, no earlier than alone; every byte crosses as many links
    /// as a way has; the same seed gives the same times.
    #[test]
    fn nothing_is_lost(
        topology in 0..TOPOLOGIES.len(),
        model in prop::sample::select(vec![FAIR, QUEUES, PACKETS]),
        routing in prop::sample::select(Routing::NAMES.to_vec()),
        pairs in prop::collection::vec((0..72_usize, 0..72_usize), 1..24),
        seed in any::<u64>(),
    ) {
        let (topology, nodes) = TOPOLOGIES[topology];
        let Ok(platform) = read(&[model, topology, &format!("routing = \"{routing}\"")]) else { return Ok(()) };
        let messages: Vec<_> = pairs.iter().map(|(from, to)| (from % nodes, to % nodes)).collect();
        let (times_s, uses) = run(&platform, seed, &messages, 10_000.0);
        prop_assert!(times_s.iter().all(|time_s| *time_s >= 10_000.0 / RATE * (1.0 - 1e-9)), "{times_s:?}");
        let total: f64 = uses.iter().map(|usage| usage.bytes).sum();
        let fabric = platform.network.fabric().unwrap();
        // A detour over two global links may have four links, where the shortest way has five.
        let links = |(from, to): &(usize, usize)| fabric.topology.route_length(*from, *to).min(4) as f64;
        let least = 10_000.0 * messages.iter().map(links).sum::<f64>();
        let most = 10_000.0 * 2.0 * (fabric.topology.longest_route() * messages.len()) as f64;
        prop_assert!(total >= least * (1.0 - 1e-6) && total <= most * (1.0 + 1e-6), "{least} {total} {most}");
        prop_assert_eq!(times_s, run(&platform, seed, &messages, 10_000.0).0);
    }
}

/// A generator of random numbers for traffic (G. Marsaglia, "Xorshift RNGs", J. Stat. Softw. 8, 2003).
fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Packets of one flit, that takes 1 ns on a link: each node sends one each nanosecond with this probability, to the node
/// that `receiver` gives. Returns how many arrive for each node and nanosecond in the second half of the time, and their
/// mean time from sender to receiver in nanoseconds.
fn carried(platform: &Platform, load: f64, receiver: impl Fn(usize, usize) -> usize) -> (f64, f64) {
    const STEPS: usize = 3000;
    let mut traffic = platform.network.shared_network().unwrap().traffic();
    let nodes = platform.network.fabric().unwrap().topology.nodes();
    let (mut state, mut progress, mut unused_ids, mut ids, mut count) = (1, Vec::new(), Vec::new(), 0, 0);
    let (mut sent_s, mut latencies_s) = (Vec::new(), 0.0);
    for step in 0..STEPS {
        let now_s = step as f64 * 1e-9;
        while traffic.next_s() < now_s {
            traffic.advance(&mut progress);
        }
        for (id, milestone) in progress.drain(..) {
            if let Milestone::Arrives(time_s) = milestone {
                unused_ids.push(id);
                if step > STEPS / 2 {
                    count += 1;
                    latencies_s += time_s - sent_s[id as usize];
                }
            }
        }
        for node in 0..nodes {
            if (xorshift(&mut state) >> 11) as f64 / (1_u64 << 53) as f64 <= load {
                let id = unused_ids.pop().unwrap_or(ids);
                ids = ids.max(id + 1);
                sent_s.resize(ids as usize, 0.0);
                sent_s[id as usize] = now_s;
                let to = receiver(node, (xorshift(&mut state) >> 20) as usize);
                traffic.inject(now_s, Flight::from((id, node, to, 16.0)));
            }
        }
    }
    (count as f64 / (STEPS / 2) as f64 / nodes as f64, latencies_s / count as f64 * 1e9)
}

/// As `carried`: how many arrive for each node and nanosecond.
fn accepted(platform: &Platform, load: f64, receiver: impl Fn(usize, usize) -> usize) -> f64 {
    carried(platform, load, receiver).0
}

/// A network of packets of 16 B that links of 1 ns carry at one each nanosecond.
fn as_in_booksim(router_latency: &str, keys: &str, topology: &str, routing: &str) -> Platform {
    let model = "model = \"packets\"\npacket = \"16 B\"\nlink_latency = \"1 ns\"\nlink_bandwidth = \"16 GB/s\"";
    let text = format!(
        "name = \"test\"\n[network]\n{model}\nrouter_latency = \"{router_latency}\"\n{keys}\n{topology}\nrouting = \"{routing}\"\n"
    );
    Platform::new(&Machine::parse(&text, "m.toml").unwrap()).unwrap()
}

const TREE_OF_64: &str = "topology = \"fat_tree\"\ndown = [4, 4, 4]\nup = [1, 4, 4]";

/// Cycles from the sender to the receiver in BookSim2, at half of a load that saturates: 16.78 (`anca`) and 16.57 (`nca`) on
/// the tree. Without load it has 5.43 links of a cycle, 4.43 routers of 2 and the flit in the mean: 15.3. Hocket's packets
/// spend a router's time at their node as well, 2 cycles more. On the dragonfly BookSim2 has 113.5 at a load of 0.4 with
/// minimal routes: its global links take 100 cycles and local ones 10, and a packet takes 64/72 and 102/72 of them.
#[test]
fn latency_is_as_in_booksim() {
    const AT_THE_NODE: f64 = 2.0;
    for (routing, expected) in [("adaptive", 16.7846), ("spray", 16.5675)] {
        let network = as_in_booksim("2 ns", "buffer = 64\nchannels_per_hop = 8", TREE_OF_64, routing);
        let (_, cycles) = carried(&network, 0.5, |_, random| random % 64);
        assert!(((cycles - AT_THE_NODE) / expected - 1.0).abs() < 0.05, "{routing}: {cycles}");
    }
    let network = as_in_booksim("2 ns", "buffer = 256", DRAGONFLY, "fixed");
    let (_, cycles) = carried(&network, 0.4, |_, random| random % 72);
    let longer_links = 99.0 * 64.0 / 72.0 + 9.0 * 102.0 / 72.0;
    assert!((cycles - AT_THE_NODE + longer_links - 113.548).abs() < 1.0, "{cycles}");
}

/// Flits that BookSim2 accepts for each node and cycle at a load of 1, or at the given one: routers with 8 virtual channels
/// of 64 flits on the fat tree, 2 or 3 of 256 on the dragonfly.
#[test]
fn throughput_is_as_in_booksim() {
    let network = |keys: &str, topology: &str, routing: &str| as_in_booksim("1 ns", keys, topology, routing);
    let tree = TREE_OF_64;
    let bits_reversed = |node: usize, _| (0..6).map(|bit| (node >> bit & 1) << (5 - bit)).sum();
    for routing in ["spray", "adaptive"] {
        let network = network("buffer = 64\nchannels_per_hop = 8", tree, routing);
        let [uniform, reversed] =
            [accepted(&network, 1.0, |_, random| random % 64), accepted(&network, 1.0, bits_reversed)];
        assert!((uniform / 0.9956 - 1.0).abs() < 0.05, "{routing}: {uniform}");
        assert!((reversed / 0.9975 - 1.0).abs() < 0.05, "{routing}: {reversed}");
    }
    let next_group = |node: usize, random| (node / 8 + 1) % 9 * 8 + random % 8;
    let fixed = accepted(&network("buffer = 256", DRAGONFLY, "fixed"), 0.4, next_group);
    // Where the one link of two groups ends, a buffer forwards a packet at a time, and some wait for local links.
    assert!((fixed / 0.125 - 1.0).abs() < 0.06, "{fixed}");
    let ugal = network("buffer = 64", DRAGONFLY, "ugal");
    assert!(accepted(&ugal, 0.3, next_group) > 0.95 * 0.2997);
    assert!((accepted(&ugal, 0.6, |_, random| random % 72) / 0.5997 - 1.0).abs() < 0.05);
}

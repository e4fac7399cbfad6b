//! Levels and cards: what ranks of a node share; times computed by hand.

use hocket::simulate;
use hocket_algorithms::find;
use hocket_core::{Call, Collective, Error, Program, Rank};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Fault, Options, Outcome, Platform};

fn read(network: &str, more: &str) -> Result<Platform, Error> {
    Platform::new(&Machine::parse(&format!("name = \"test\"\n[network]\n{network}\n{more}\n"), "test.toml")?)
}

fn platform(network: &str, more: &str) -> Platform {
    read(network, more).unwrap_or_else(|e| panic!("{e}"))
}

fn outcome(collective: Collective, name: &str, (ranks, size): (usize, usize), platform: &Platform) -> Outcome {
    let entry = find(collective, name).unwrap();
    let call = entry.accept(&Call::new(collective, ranks, size), &[]).unwrap();
    let run = |engine, shuffle| simulate(entry, &call, platform, Options { engine, shuffle, ..Options::default() });
    let outcome = run(Engine::Auto, None).unwrap();
    assert_eq!(run(Engine::Events, None).unwrap().rank_times_s, outcome.rank_times_s);
    assert_eq!(run(Engine::Events, Some(1)).unwrap().rank_times_s, outcome.rank_times_s, "in another order");
    outcome
}

fn time_s(collective: Collective, name: &str, of: (usize, usize), platform: &Platform) -> f64 {
    outcome(collective, name, of, platform).time_s()
}

/// Packets travel at moments 2^-50 s apart.
fn assert_close(found_s: f64, by_hand_s: f64, what: &str) {
    assert!((found_s - by_hand_s).abs() < 1e-12, "{what}: {found_s}, by hand {by_hand_s}");
}

/// Messages that are sent at once: sender, receiver, bytes.
struct Messages(&'static [(usize, usize, usize)]);

impl Program for Messages {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let mine =
            |end: fn(&(usize, usize, usize)) -> usize| self.0.iter().filter(move |message| end(message) == r.rank());
        let sends = mine(|message| message.0).map(|(_, to, bytes)| r.send(*to, r.scratch(*bytes)));
        let receives = mine(|message| message.1).map(|(from, _, bytes)| r.recv(*from, r.scratch(*bytes)));
        r.join(r.join_all(sends), r.join_all(receives)).await;
    }
}

/// When all ranks have their messages, whatever the order in which simultaneous events are looked at.
fn messages_s(messages: &'static [(usize, usize, usize)], platform: &Platform) -> f64 {
    let call = Call::new(Collective::Barrier, 8, 0);
    let times_s = [None, Some(1), Some(2)].map(|shuffle| {
        let options = Options { shuffle, ..Options::default() };
        hocket_simulate::simulate(&Messages(messages), &call, platform, options).unwrap().rank_times_s
    });
    assert!(times_s.iter().all(|times| *times == times_s[0]), "in another order");
    times_s[0].iter().copied().fold(0.0, f64::max)
}

/// Sockets of 2 ranks, nodes of 4, cabinets of 2 nodes.
const SOCKETS: &str = "[[level]]\nname = \"socket\"\nranks = 2\nlatency = \"1 us\"\nbandwidth = \"8 GB/s\"\n\
                       [[level]]\nname = \"node\"\nlatency = \"2 us\"\nbandwidth = \"4 GB/s\"\n\
                       [[level]]\nname = \"cabinet\"\nnodes = 2\nlatency = \"3 us\"\nbandwidth = \"2 GB/s\"";
const HOCKNEY: &str = "model = \"hockney\"\nlatency = \"4 us\"\nbandwidth = \"1 GB/s\"\nranks_per_node = 4\n\
                       [node]\nports = \"unlimited\"";

#[test]
fn a_message_costs_what_the_first_level_with_both_its_ranks_says() {
    // A broadcast in doubling distances: rank 0 sends over the cabinet's border, then over the node's, the socket's, and
    // within the socket; every message has 8000 B.
    let platform = platform(HOCKNEY, SOCKETS);
    let levels_s = [1e-6 + 8e3 / 8e9, 2e-6 + 8e3 / 4e9, 3e-6 + 8e3 / 2e9, 4e-6 + 8e3 / 1e9];
    for (rounds, ranks) in [(1, 2), (2, 4), (3, 8), (4, 16)] {
        let by_hand_s = levels_s[..rounds].iter().sum();
        assert_close(
            time_s(Collective::Allreduce, "recursive_doubling", (ranks, 8000), &platform),
            by_hand_s,
            "rounds",
        );
    }
}

#[test]
fn levels_have_the_costs_of_their_model() {
    let level = "[[level]]\nranks = 2\nL = \"1 us\"\no = \"0.1 us\"\nG = \"0.1 ns/B\"\n\
                 [[level]]\nL = \"2 us\"\no = \"0.1 us\"\nG = \"0.2 ns/B\"";
    for network in [
        "model = \"loggp\"\nL = \"9 us\"\no = \"0.1 us\"\nranks_per_node = 4",
        "model = \"links\"\ntopology = \"crossbar\"\nnodes = 2\nlink_bandwidth = \"1 GB/s\"\nranks_per_node = 4",
    ] {
        let platform = platform(network, level);
        // Within the socket, then across: o + L + m G + o each.
        let by_hand_s = 0.2e-6 + 1e-6 + 1000.0 * 0.1e-9 + 0.2e-6 + 2e-6 + 1000.0 * 0.2e-9;
        assert_close(time_s(Collective::Allreduce, "recursive_doubling", (4, 1001), &platform), by_hand_s, network);
    }
}

/// One level with all ranks of a node: `[network.local]` in other words.
#[test]
fn one_level_is_network_local() {
    let of_network = [
        (HOCKNEY, "latency = \"1 us\"\nbandwidth = \"2 GB/s\""),
        (
            "model = \"loggp\"\nL = \"2 us\"\no = \"1 us\"\nranks_per_node = 4",
            "L = \"1 us\"\no = \"0.5 us\"\nG = \"1 ns/B\"",
        ),
        (
            "model = \"links\"\ntopology = \"crossbar\"\nnodes = 8\nlink_bandwidth = \"1 GB/s\"\nranks_per_node = 4",
            "L = \"1 us\"\no = \"0.5 us\"\nG = \"1 ns/B\"",
        ),
    ];
    for (network, costs) in of_network {
        let [local, level] =
            ["[network.local]", "[[level]]"].map(|section| platform(network, &format!("{section}\n{costs}")));
        for (name, ranks) in [("ring", 7), ("recursive_doubling", 16), ("rabenseifner", 11)] {
            let times_s = [&local, &level]
                .map(|platform| outcome(Collective::Allreduce, name, (ranks, 999), platform).rank_times_s);
            assert_eq!(times_s[0], times_s[1], "{name} on {network}");
        }
    }
}

/// Levels of 4 ranks whose messages take 1 us and 8 GB/s each.
fn sharing(keys: &str) -> String {
    format!("[[level]]\nlatency = \"1 us\"\nbandwidth = \"8 GB/s\"\n{keys}")
}

#[test]
fn messages_of_a_node_share_its_memory() {
    let [free, shared] = ["", "shared_bandwidth = \"16 GB/s\""].map(|keys| platform(HOCKNEY, &sharing(keys)));
    // Two messages of 16000 B at a time keep the memory as busy as their own 2 us.
    let two = |platform: &Platform| time_s(Collective::Allreduce, "recursive_doubling", (2, 16_000), platform);
    assert_close(two(&free), 1e-6 + 2e-6, "alone");
    assert_close(two(&shared), 1e-6 + 2e-6, "as fast as their own time");
    // Of four messages, which pass after 1, 2, 3 and 4 us, the last ones arrive 1 us later: at 3, 3, 4, 5. The second round
    // begins when both partners are there, at 5 us, and is like the first one.
    let four = |platform: &Platform| time_s(Collective::Allreduce, "recursive_doubling", (4, 16_000), platform);
    assert_close(four(&free), 2.0 * (1e-6 + 2e-6), "alone");
    assert_close(four(&shared), 2.0 * (1e-6 + 4e-6), "shared");
}

#[test]
fn a_message_passes_the_groups_on_its_way() {
    let slow = |socket: &str, node: &str| {
        let levels = format!(
            "[[level]]\nranks = 2\nlatency = \"1 us\"\nbandwidth = \"8 GB/s\"\nshared_bandwidth = \"{socket}\"\n\
             [[level]]\nlatency = \"2 us\"\nbandwidth = \"8 GB/s\"\nshared_bandwidth = \"{node}\""
        );
        platform(HOCKNEY, &levels)
    };
    let [memory, interconnect] = [slow("4 GB/s", "100 GB/s"), slow("100 GB/s", "2 GB/s")];
    // Within a socket, its memory; between two sockets, the interconnect, too.
    assert_close(messages_s(&[(0, 1, 16_000)], &memory), 1e-6 + 4e-6, "socket");
    assert_close(messages_s(&[(0, 1, 16_000)], &interconnect), 1e-6 + 2e-6, "socket");
    assert_close(messages_s(&[(0, 2, 16_000)], &memory), 2e-6 + 4e-6, "node");
    assert_close(messages_s(&[(0, 2, 16_000)], &interconnect), 2e-6 + 8e-6, "node");
    // Two messages from one socket share its memory, and two messages of other sockets do not.
    assert_close(messages_s(&[(0, 1, 16_000), (1, 0, 16_000)], &memory), 1e-6 + 8e-6, "one socket");
    assert_close(messages_s(&[(0, 1, 16_000), (2, 3, 16_000)], &memory), 1e-6 + 4e-6, "two sockets");
    // A message to another node passes the memory at both ends, where it meets the others; on the wire it takes 4 + 16 us.
    assert_close(messages_s(&[(0, 4, 16_000)], &memory), 20e-6, "between nodes");
    assert_close(messages_s(&[(0, 4, 16_000), (1, 0, 64_000)], &memory), 1e-6 + 20e-6, "at the sender");
    assert_close(messages_s(&[(0, 4, 48_000), (6, 7, 48_000)], &interconnect), 4e-6 + 48e-6, "between nodes");
}

#[test]
fn a_message_gap_limits_the_rate() {
    // Four ranks send at once: the last message has passed after four gaps.
    let platform = platform(HOCKNEY, &sharing("message_gap = \"1.5 us\""));
    let time_s = time_s(Collective::Allreduce, "recursive_doubling", (4, 8), &platform);
    assert_close(time_s, 2.0 * (1e-6 + 4.0 * 1.5e-6), "four gaps");
}

/// Two nodes of four ranks: 1 us and 100 GB/s for each message.
const FAST: [&str; 5] = [
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"100 GB/s\"\nranks_per_node = 4\n[node]\nports = \"unlimited\"",
    "model = \"loggp\"\nL = \"1 us\"\no = \"0 s\"\nG = \"0.01 ns/B\"\nranks_per_node = 4",
    "model = \"links\"\ntopology = \"crossbar\"\nnodes = 2\nlink_bandwidth = \"100 GB/s\"\nlink_latency = \"0.5 us\"\n\
     sharing = \"fair\"\nranks_per_node = 4\n[node]\nports = 8",
    "model = \"links\"\ntopology = \"crossbar\"\nnodes = 2\nlink_bandwidth = \"100 GB/s\"\nlink_latency = \"0.5 us\"\n\
     ranks_per_node = 4\n[node]\nports = 8",
    "model = \"links\"\ntopology = \"crossbar\"\nnodes = 2\nlink_bandwidth = \"100 GB/s\"\nlink_latency = \"0.5 us\"\n\
     ranks_per_node = 4\n[host]\no = \"0 s\"\n[node]\nports = 8",
];

/// On each of these networks, the time of messages over cards of 10 GB/s.
fn over_cards(keys: &str, messages: &'static [(usize, usize, usize)], by_hand_s: f64) {
    for network in FAST {
        let platform = platform(network, &format!("[node.cards]\nbandwidth = \"10 GB/s\"\n{keys}"));
        let found_s = messages_s(messages, &platform);
        assert!((found_s - by_hand_s).abs() < 1e-11, "{keys} on {network}: {found_s}, by hand {by_hand_s}");
    }
}

#[test]
fn each_rank_has_a_card() {
    // Messages of 40 kB take 4 us on a card, and 1 us more. Ranks 0 and 1 have one card where cards are the nearest of two,
    // and two cards in turn; so have the receivers.
    over_cards("count = 1", &[(0, 4, 40_000)], 5e-6);
    over_cards("count = 1", &[(0, 4, 40_000), (1, 5, 40_000), (3, 7, 40_000)], 13e-6);
    over_cards("count = 2", &[(0, 4, 40_000), (1, 5, 40_000)], 9e-6);
    over_cards("count = 2", &[(0, 4, 40_000), (2, 6, 40_000)], 5e-6);
    over_cards("count = 2\nof_rank = \"round_robin\"", &[(0, 4, 40_000), (1, 5, 40_000)], 5e-6);
    over_cards("count = 2\nof_rank = \"round_robin\"", &[(0, 4, 40_000), (2, 6, 40_000)], 9e-6);
    over_cards("count = 4", &[(0, 4, 40_000), (1, 5, 40_000), (2, 6, 40_000), (3, 7, 40_000)], 5e-6);
    // Both ways at once, and more cards than ranks.
    over_cards("count = 1", &[(0, 4, 40_000), (4, 0, 40_000)], 5e-6);
    over_cards("count = 1\ndirections = \"together\"", &[(0, 4, 40_000), (4, 0, 40_000)], 8e-6);
    over_cards("count = 8", &[(0, 4, 40_000), (1, 5, 40_000)], 5e-6);
    // Two senders meet at the card of their receivers.
    over_cards("count = 2", &[(0, 4, 40_000), (2, 5, 40_000)], 9e-6);
}

#[test]
fn a_card_takes_so_many_messages_a_second() {
    over_cards("count = 1\nmessage_gap = \"5 us\"", &[(0, 4, 40_000), (1, 5, 40_000)], 11e-6);
}

#[test]
fn large_messages_pass_all_cards() {
    // 40 kB by four cards take 1 us on each.
    over_cards("count = 4\nstripe_from = \"40 kB\"", &[(0, 4, 40_000)], 2e-6);
    over_cards("count = 4\nstripe_from = \"40 kB\"", &[(0, 4, 39_990)], 4.999e-6);
    over_cards("count = 4\nstripe_from = \"40 kB\"", &[(0, 4, 40_000), (1, 5, 40_000)], 3e-6);
}

#[test]
fn levels_and_cards_take_the_place_of_a_rank_on_its_node() {
    // Cyclic on two nodes: ranks 0, 2, 4, 6 are on the first one, so 0 and 2 in its first socket, and 4 in its second one.
    let cyclic = platform(&HOCKNEY.replace("ranks_per_node = 4", "ranks_per_node = 4\nmap = \"cyclic\""), SOCKETS);
    assert_close(messages_s(&[(0, 2, 8000)], &cyclic), 1e-6 + 1e-6, "socket");
    assert_close(messages_s(&[(0, 4, 8000)], &cyclic), 2e-6 + 2e-6, "node");
    assert_close(messages_s(&[(0, 1, 8000)], &cyclic), 3e-6 + 4e-6, "cabinet");
    // 3 and 5 ranks: on the second node, ranks 3 to 5 have the nearest card of two, and ranks 6 and 7 the other one.
    for network in &FAST[..2] {
        let uneven = network.replace("ranks_per_node = 4", "ranks_on_nodes = [3, 5]");
        let cards = "[node.cards]\ncount = 2\nbandwidth = \"10 GB/s\"";
        let platform = platform(&uneven, cards);
        assert!((messages_s(&[(3, 0, 40_000), (5, 2, 40_000)], &platform) - 9e-6).abs() < 1e-11, "{network}");
        assert!((messages_s(&[(3, 0, 40_000), (6, 2, 40_000)], &platform) - 5e-6).abs() < 1e-11, "{network}");
    }
}

/// Four messages share a link that is as fast as both cards, and pass these meanwhile.
#[test]
fn cards_take_bytes_in_as_they_come() {
    let cards = "[node.cards]\ncount = 2\nbandwidth = \"10 GB/s\"\nstripe_from = \"1 kB\"";
    let platform = platform(&FAST[2].replace("100 GB/s", "20 GB/s"), cards);
    let messages = &[(0, 4, 40_000), (1, 5, 40_000), (2, 6, 40_000), (3, 7, 40_000)];
    assert_close(messages_s(messages, &platform), 1e-6 + 8e-6, "four");
}

/// Two senders each send to a node of their own, and then to node 3: these two messages wait for the cards of their senders,
/// and pass the card of node 3 one after the other.
#[test]
fn a_card_takes_in_no_byte_before_it_comes() {
    let messages = &[(0, 1, 40_000), (2, 4, 40_000), (0, 3, 40_000), (2, 3, 40_000)];
    for network in FAST {
        let network = network.replace("ranks_per_node = 4\n", "").replace("\nranks_per_node = 4", "");
        let platform =
            platform(&network.replace("nodes = 2", "nodes = 8"), "[node.cards]\ncount = 1\nbandwidth = \"10 GB/s\"");
        let found_s = messages_s(messages, &platform);
        assert!((found_s - (1e-6 + 4e-6 + 8e-6)).abs() < 2e-9 + 0.4e-6, "{network}: {found_s}");
    }
}

#[test]
fn a_ring_leaves_a_node_by_one_card() {
    for network in FAST {
        let [one, two] =
            [1, 2].map(|count| platform(network, &format!("[node.cards]\ncount = {count}\nbandwidth = \"10 GB/s\"")));
        let times_s = [one, two].map(|platform| time_s(Collective::Allreduce, "ring", (8, 80_000), &platform));
        assert_eq!(times_s[0], times_s[1], "{network}");
    }
}

#[test]
fn messages_within_a_node_use_no_card() {
    for network in FAST {
        let platform = platform(network, "[node.cards]\ncount = 1\nmessage_gap = \"50 us\"");
        assert!(messages_s(&[(0, 1, 8), (1, 2, 8)], &platform) < 2e-6, "{network}");
    }
}

#[test]
fn levels_and_cards_have_these_keys() {
    let level = "[[level]]\nlatency = \"1 us\"\nbandwidth = \"8 GB/s\"\n";
    let wrong = [
        (format!("{level}{level}"), "level[1].ranks is missing, expected larger groups than those of the level before"),
        (
            format!("{level}ranks = 4\n{level}ranks = 4"),
            "level[1].ranks: got 4, expected larger groups than those of the level before",
        ),
        (format!("{level}nodes = 2\n{level}ranks = 2"), "level[1].ranks: got 2, expected larger groups"),
        (format!("{level}nodes = 2\nranks = 2"), "level[0].nodes: got 2, expected either ranks, of a node, or nodes"),
        (format!("{level}ranks = 0"), "level[0].ranks: got 0, expected a whole number of at least 1"),
        ("[[level]]\nranks = 2".to_owned(), "level[0].latency is missing"),
        (format!("{level}cores = 2"), "level[0].cores: unknown key"),
        (
            format!("{level}[network.local]\nlatency = \"1 us\"\nbandwidth = \"8 GB/s\""),
            "expected no such section beside [[level]]",
        ),
        ("[level]\nranks = 2".to_owned(), "level: got table, expected sections [[level]]"),
        ("[node.cards]\ncount = 2".to_owned(), "node.cards.bandwidth is missing, expected a rate"),
        ("[node.cards]\nbandwidth = \"1 GB/s\"".to_owned(), "node.cards.count is missing"),
        (
            "[node.cards]\ncount = 1025\nbandwidth = \"1 GB/s\"".to_owned(),
            "node.cards.count: got 1025, expected a whole number from 1 to 1024",
        ),
        (
            "[node.cards]\ncount = 2\nbandwidth = \"1 GB/s\"\nof_rank = \"far\"".to_owned(),
            "node.cards.of_rank: got \"far\"",
        ),
        ("[node.cards]\ncount = 2\nbandwidth = \"1 GB/s\"\nrate = 1".to_owned(), "node.cards.rate: unknown key"),
    ];
    let network = HOCKNEY.replace("[node]\nports = \"unlimited\"", "");
    for (more, why) in wrong {
        let error = read(&network, &more).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{more}: {error}");
    }
    let error = read(&network.replace("ranks_per_node = 4", ""), level).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("[level[0]]: got a section, expected network.ranks_per_node, or another key"), "{error}");
    let torus = "model = \"links\"\ntopology = \"torus\"\ndims = [4]\nlink_bandwidth = \"1 GB/s\"";
    let error = read(torus, "[[level]]\nnodes = 2\nL = \"1 us\"\no = \"1 us\"").map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("expected a level within a node, as a topology is what is between nodes"), "{error}");
}

/// A fat tree of 2 x 4 nodes, with 10 GB/s at nodes and 5 GB/s above, and 1 us per link.
const TAPERED: [&str; 4] = [
    "model = \"links\"",
    "model = \"links\"\nswitching = \"wormhole\"",
    "model = \"links\"\nsharing = \"fair\"",
    "model = \"packets\"\npacket = \"1000 B\"\nbuffer = 64",
];

#[test]
fn kinds_of_links_have_a_bandwidth_of_their_own() {
    for model in TAPERED {
        let tree = |rates: &str| {
            let shape = "topology = \"fat_tree\"\ndown = [2, 4]\nup = [1, 1]\nlink_latency = \"1 us\"";
            platform(&format!("{model}\n{shape}\nlink_bandwidth = {rates}"), "")
        };
        let [tapered, even] = [tree("[\"10 GB/s\", \"5 GB/s\"]"), tree("\"10 GB/s\"")];
        // Below one switch 2 links; to the other switch 4 links, at the rate of the slower ones.
        assert_close(messages_s(&[(0, 1, 40_000)], &tapered), 2e-6 + 4e-6, model);
        // Each slow link delays the head of a packet by 0.1 us, so that its rest follows at full bandwidth.
        let heads_s = if model.contains("packets") { 0.1e-6 } else { 0.0 };
        assert_close(messages_s(&[(0, 2, 40_000)], &tapered), 4e-6 + 8e-6 + heads_s, model);
        assert_close(messages_s(&[(0, 2, 40_000)], &even), 4e-6 + 4e-6, model);
        // A fault leaves a half of its own bandwidth to a link of 5 GB/s.
        if !model.contains("packets") {
            let fault = Fault::parse("link 8 -> 12, 0 us.., 50 %").unwrap();
            let faulty = tapered.with_faults(std::slice::from_ref(&fault)).unwrap();
            assert_close(messages_s(&[(0, 2, 40_000)], &faulty), 4e-6 + 16e-6, model);
            assert_eq!(tapered.changes_of_links(&[fault]).unwrap(), [(0.0, 16, 0.5)], "of its own bandwidth");
        }
    }
    let dragonfly =
        "topology = \"dragonfly\"\nrouters_per_group = 2\nnodes_per_router = 2\nglobal_links_per_router = 1";
    let rates = "[\"10 GB/s\", \"5 GB/s\", \"2 GB/s\"]";
    let platform =
        platform(&format!("model = \"links\"\nsharing = \"fair\"\n{dragonfly}\nlink_bandwidth = {rates}"), "");
    assert_close(messages_s(&[(0, 2, 40_000)], &platform), 8e-6, "local link");
    assert_close(messages_s(&[(0, 4, 40_000)], &platform), 20e-6, "global link");
}

#[test]
fn a_list_of_bandwidths_has_one_for_each_kind() {
    let model = "model = \"links\"\nlink_bandwidth = [\"1 GB/s\", \"2 GB/s\"]";
    let of_shapes = [
        ("topology = \"torus\"\ndims = [4]", "expected a text, or a list of 1, one for each axis"),
        (
            "topology = \"fat_tree\"\ndown = [2]\nup = [1]",
            "expected a text, or a list of 1, one for each level, from the nodes up",
        ),
        ("topology = \"crossbar\"\nnodes = 4", "expected a text, or a list of 1, one for each kind of link"),
    ];
    for (shape, why) in of_shapes {
        let error = read(&format!("{model}\n{shape}"), "").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{shape}: {error}");
    }
}

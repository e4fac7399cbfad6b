//! Placements of ranks on nodes, and how many messages meet on the busiest link.

use hocket_core::{Nodes, Result};
use hocket_machine::topology::Torus;
use hocket_machine::{AnyTopology, Layout, Placement, Section, Topology, overlap};
use proptest::prelude::*;

fn placement(keys: &str, nodes: usize) -> Result<Placement> {
    let section = Section::parse(keys, "m.toml")?;
    let placement = Placement::read(&section, nodes, None)?;
    section.finish()?;
    Ok(placement)
}

fn topology(keys: &str) -> AnyTopology {
    AnyTopology::read(&Section::parse(keys, "m.toml").unwrap()).unwrap()
}

#[test]
fn ranks_are_on_the_nodes_in_order_unless_the_keys_say_otherwise() {
    let places = |keys: &str, ranks: usize| {
        let placement = placement(keys, 4).unwrap();
        (0..ranks).map(|rank| placement.node_of(rank, ranks)).collect::<Vec<_>>()
    };
    assert_eq!(places("", 4), [0, 1, 2, 3]);
    assert_eq!(places("ranks_per_node = 2", 8), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(places("permutation = [2, 0, 3, 1]", 4), [2, 0, 3, 1]);
    assert_eq!(places("ranks_per_node = 2\npermutation = [2, 0, 3, 1]", 8), [2, 2, 0, 0, 3, 3, 1, 1]);
    assert_eq!(placement("", 4).unwrap(), Placement::linear());
}

/// Round robin: 7 ranks, at most 3 on a node, are on 3 nodes; 6 on 2. Nodes with room for 2, 1 and 3: the second one is full
/// after the first round, the first one after the second.
#[test]
fn nodes_take_ranks_in_turn_if_the_map_is_cyclic() {
    let places = |keys: &str, ranks: usize| {
        let placement = placement(keys, 4).unwrap();
        (0..ranks).map(|rank| placement.node_of(rank, ranks)).collect::<Vec<_>>()
    };
    let cyclic = "ranks_per_node = 3\nmap = \"cyclic\"";
    assert_eq!(places(cyclic, 7), [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(places(cyclic, 6), [0, 1, 0, 1, 0, 1]);
    assert_eq!(places(&format!("{cyclic}\npermutation = [2, 0, 3, 1]"), 7), [2, 0, 3, 2, 0, 3, 2]);
    assert_eq!(places("ranks_on_nodes = [2, 1, 3]\nmap = \"cyclic\"", 6), [0, 1, 2, 0, 2, 2]);
    assert_eq!(placement("map = \"cyclic\"", 4).unwrap(), Placement::linear());
    assert_eq!(placement("ranks_per_node = 3\nmap = \"block\"", 4), placement("ranks_per_node = 3", 4));
    let seven = placement(cyclic, 4).unwrap();
    assert_eq!([0, 1, 2, 3].map(|node| seven.ranks_on(node, 7)), [vec![0, 3, 6], vec![1, 4], vec![2, 5], vec![]]);
    assert_eq!(seven.nodes(6).unwrap(), Nodes::of(&[0, 1, 0, 1, 0, 1]));
    assert_eq!((seven.room(4), seven.is_linear(), seven.ranks_per_node()), (12, false, None));
}

/// Of jobs of fewer ranks, the first ones are on the nodes of the list.
#[test]
fn nodes_may_be_uneven_or_listed() {
    let uneven = placement("ranks_on_nodes = [1, 3]", 4).unwrap();
    assert_eq!([4, 3, 1].map(|ranks| uneven.ranks_on(1, ranks)), [vec![1, 2, 3], vec![1, 2], vec![]]);
    assert_eq!([4, 1].map(|ranks| (uneven.count_at(1, ranks.max(2)), uneven.nodes_of_job(ranks))), [(3, 2), (1, 1)]);
    assert_eq!(uneven.nodes(3).unwrap(), Nodes::of(&[0, 1, 1]));
    let refusal = uneven.nodes(5).unwrap_err().to_string();
    assert_eq!(refusal, "ranks: got 5, expected at most 4, the ranks that the map lists");
    assert_eq!(uneven.check(5, 4).unwrap_err().to_string(), refusal);

    let listed = placement("map = [3, 1, 3, 1, 1]\npermutation = [2, 0, 3, 1]", 4).unwrap();
    assert_eq!((0..5).map(|rank| listed.node_of(rank, 5)).collect::<Vec<_>>(), [1, 0, 1, 0, 0]);
    assert_eq!([0, 1, 2, 3].map(|node| listed.ranks_on(node, 4)), [vec![1, 3], vec![0, 2], vec![], vec![]]);
    assert_eq!(placement("map = [0, 1, 2, 3]", 4).map(|listed| listed.is_linear()), Ok(true));
    assert_eq!(
        placement("map = [0, 0, 1, 1]", 4).map(|listed| (listed.ranks_per_node(), listed.room(4))),
        Ok((Some(2), 4))
    );
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_key() {
    let each = "expected each of the nodes 0 to 3 once";
    let cases = [
        ("ranks_per_node = 0", "m.toml:1: ranks_per_node: got 0, expected a whole number of at least 1".to_owned()),
        (
            "ranks_per_node = 9223372036854775807",
            "m.toml:1: ranks_per_node: got 9223372036854775807, expected at most 2^26 ranks on all nodes together"
                .to_owned(),
        ),
        ("permutation = [0, 1, 2]", format!("m.toml:1: permutation: got [0, 1, 2], {each}")),
        ("permutation = [0, 1, 2, 2]", format!("m.toml:1: permutation: got [0, 1, 2, 2], {each}")),
        ("permutation = [1, 2, 3, 4]", format!("m.toml:1: permutation: got [1, 2, 3, 4], {each}")),
        ("permutation = [\n0, 1,\n2, 2]", format!("m.toml:1: permutation: got array, {each}")),
        (
            "permutation = \"random\"",
            "m.toml:1: permutation: got \"random\", expected a list of whole numbers such as [8, 8]".to_owned(),
        ),
    ];
    let numbers = "expected 1 to 4 numbers of ranks of at least 1 each, and of at most 2^22 in all";
    let nodes = "expected the node of each of 1 to 2^22 ranks, from 0 to 3";
    let maps = [
        ("map = []", format!("m.toml:1: map: got [], {nodes}")),
        ("map = [0, 4]", format!("m.toml:1: map: got [0, 4], {nodes}")),
        (
            "map = [0]\nranks_per_node = 1",
            "m.toml:2: ranks_per_node: got 1, expected no such key beside network.map, a list of nodes".to_owned(),
        ),
        (
            "map = [0]\nranks_on_nodes = [1]",
            "m.toml:2: ranks_on_nodes: got [1], expected no such key beside network.map, a list of nodes".to_owned(),
        ),
        ("ranks_on_nodes = []", format!("m.toml:1: ranks_on_nodes: got [], {numbers}")),
        ("ranks_on_nodes = [1, 0]", format!("m.toml:1: ranks_on_nodes: got [1, 0], {numbers}")),
        ("ranks_on_nodes = [1, 1, 1, 1, 1]", format!("m.toml:1: ranks_on_nodes: got [1, 1, 1, 1, 1], {numbers}")),
        ("ranks_on_nodes = [1, 4194304]", format!("m.toml:1: ranks_on_nodes: got [1, 4194304], {numbers}")),
        (
            "ranks_on_nodes = [1]\nranks_per_node = 1",
            "m.toml:2: ranks_per_node: got 1, expected no such key beside network.ranks_on_nodes".to_owned(),
        ),
    ];
    for (keys, expected) in cases.into_iter().chain(maps) {
        assert_eq!(placement(keys, 4).unwrap_err().to_string(), expected);
    }
}

/// The nodes of a torus of 3 x 2 x 2, along which a job of 6 x 2 winds: along x, up y, back along x.
#[test]
fn a_layout_is_a_snake_per_axis_of_the_job() {
    let layout = Layout::parse("3x2, 2").unwrap();
    assert_eq!((layout.torus(), layout.job()), (vec![3, 2, 2], vec![6, 2]));
    assert_eq!(layout.nodes(), [0, 1, 2, 5, 4, 3, 6, 7, 8, 11, 10, 9]);
    let topology = topology("topology = \"torus\"\nlayout = \"3x2, 2\"");
    let section = Section::parse("ranks_per_node = 2", "m.toml").unwrap();
    let placement = Placement::read(&section, 12, topology.layout()).unwrap();
    assert_eq!([placement.node_of(6, 24), placement.node_of(7, 24)], [5, 5]);
    assert_eq!(placement.ranks_on(5, 24), [6, 7]);
    let straight = Layout::parse("3, 2").unwrap();
    assert_eq!(
        Placement::read(&Section::parse("", "m.toml").unwrap(), 6, Some(&straight)).unwrap(),
        Placement::linear()
    );
}

#[test]
fn a_layout_that_cannot_be_is_refused() {
    let refusal = |keys: &str| AnyTopology::read(&Section::parse(keys, "m.toml").unwrap()).unwrap_err().to_string();
    for text in ["", "16 by 4", "4x0", "4,,4", "x4", "-4", "1.5", "70000x70000", "99999999999x99999999999"] {
        let expected = format!(
            "m.toml:2: layout: got \"{text}\", expected the sizes of a torus by axes of the job, such as \"16x4, 16x4\""
        );
        assert_eq!(refusal(&format!("topology = \"torus\"\nlayout = \"{text}\"")), expected);
    }
    let both = refusal("topology = \"torus\"\nlayout = \"4, 4\"\ndims = [4, 4]");
    assert!(both.contains("m.toml:3: dims") && both.contains("no such key beside network.layout"), "{both}");
    let section = Section::parse("permutation = [1, 0]", "m.toml").unwrap();
    let refusal = Placement::read(&section, 2, Layout::parse("2").ok().as_ref()).unwrap_err().to_string();
    assert!(refusal.contains("no such key beside network.layout"), "{refusal}");
}

proptest! {
    /// Every node once; and neighbours along an axis of the job are neighbours on the torus.
    #[test]
    fn neighbours_in_a_job_are_neighbours_on_the_torus(axes in prop::collection::vec(prop::collection::vec(1usize..5, 1..4), 1..3)) {
        let text = axes.iter().map(|axis| axis.iter().map(ToString::to_string).collect::<Vec<_>>().join("x"));
        let layout = Layout::parse(&text.collect::<Vec<_>>().join(", ")).unwrap();
        let (torus, nodes) = (Torus::new(&layout.torus()), layout.nodes());
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..torus.nodes()).collect::<Vec<_>>());
        let mut stride = 1;
        for length in layout.job() {
            for place in (0..nodes.len()).filter(|place| place / stride % length + 1 < length) {
                prop_assert_eq!(torus.route_length(nodes[place], nodes[place + stride]), 1);
            }
            stride *= length;
        }
    }
}

#[test]
fn more_ranks_than_there_is_room_for_are_refused() {
    let placement = placement("ranks_per_node = 2", 4).unwrap();
    assert!(placement.check(8, 4).is_ok());
    let refusal = placement.check(9, 4).unwrap_err().to_string();
    assert_eq!(refusal, "ranks: got 9, expected at most 8, the ranks that the network holds");
}

/// The overlap of one rank per node, in order.
fn linear(topology: &dyn Topology, pairs: impl IntoIterator<Item = (usize, usize)>) -> usize {
    overlap(topology, (&Placement::linear(), topology.nodes()), pairs)
}

fn shift(ranks: usize, by: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..ranks).map(move |rank| (rank, (rank + by) % ranks))
}

/// A message goes `by` links ahead, and each link belongs to the routes of the `by` ranks behind it; beyond half of the ring
/// it goes back. On the longest axis of a torus it is the same, for every ring of that axis.
#[test]
fn a_shift_on_a_ring_loads_each_link_with_its_distance() {
    for by in 0..12 {
        assert_eq!(linear(&Torus::new(&[12]), shift(12, by)), by.min(12 - by), "{by}");
        let rows = (0..3).flat_map(|row| shift(12, by).map(move |(from, to)| (row * 12 + from, row * 12 + to)));
        assert_eq!(linear(&Torus::new(&[12, 3]), rows), by.min(12 - by), "{by}");
    }
}

/// On a torus with rows of 8, (x, y) sends to (y, x): all of row y go along it to x = y, and then along that column. Of the 7
/// others, the 4 whose distance ahead is 1 to 4 come over one link into (y, y), and 4 leave (y, y) likewise. Without the wrap,
/// all 7 others of row 7 come from the left.
#[test]
fn a_transpose_meets_on_the_diagonal() {
    let transpose = || (0..64).map(|rank| (rank, rank % 8 * 8 + rank / 8));
    assert_eq!(linear(&Torus::new(&[8, 8]), transpose()), 4);
    assert_eq!(linear(&*topology("topology = \"torus\"\ndims = [8, 8]\ntie = \"split\""), transpose()), 4);
    assert_eq!(linear(&*topology("topology = \"mesh\"\ndims = [8, 8]"), transpose()), 7);
}

/// (x, y) sends to (x XOR 4, y): a distance of half the ring. With ties ahead, all 8 routes of a row of 4 links go the same
/// way round: 32 steps over 8 links. With split ties, the even and the odd ranks share: those from 0, 2, 4 and 6 ahead, so
/// that 16 steps are over 8 links, and as many back.
#[test]
fn ties_that_are_split_halve_the_overlap_of_the_farthest_exchange() {
    let exchange = || (0..64).map(|rank| (rank, rank ^ 4));
    assert_eq!(linear(&Torus::new(&[8, 8]), exchange()), 4);
    assert_eq!(linear(&*topology("topology = \"torus\"\ndims = [8, 8]\ntie = \"split\""), exchange()), 2);
}

/// (x, y) sends to (x XOR 1, y XOR 2): to a neighbour along x, which nobody shares; along y two ahead, over the link from 1
/// to 2 as well from y = 0 as from y = 1.
#[test]
fn an_exchange_by_bits_meets_where_its_intervals_cross() {
    let exchange = (0..64).map(|rank| (rank, rank ^ 0b010_001));
    assert_eq!(linear(&Torus::new(&[8, 8]), exchange), 2);
}

/// Zahavi: on a k-ary n-tree with D-mod-k routing no two messages of a shift meet.
#[test]
fn no_shift_meets_itself_on_a_full_fat_tree() {
    for (keys, nodes) in [("down = [4, 4]\nup = [1, 4]", 16), ("down = [3, 3, 3]\nup = [1, 3, 3]", 27)] {
        let tree = topology(&format!("topology = \"fat_tree\"\n{keys}"));
        for by in 1..nodes {
            assert_eq!(linear(&*tree, shift(nodes, by)), 1, "{keys}, {by}");
        }
    }
}

/// Half of the links up: a shift by one subtree has 4 messages on the 2 links that leave each.
#[test]
fn a_thin_fat_tree_shares_its_links() {
    let tree = topology("topology = \"fat_tree\"\ndown = [4, 4]\nup = [1, 2]");
    assert_eq!(linear(&*tree, shift(16, 4)), 2);
}

/// Each group sends 4 messages to the next one, over their one link.
#[test]
fn a_shift_by_a_group_meets_on_the_global_links_of_a_dragonfly() {
    let keys = "nodes_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1";
    assert_eq!(linear(&*topology(&format!("topology = \"dragonfly\"\n{keys}")), shift(12, 4)), 4);
}

#[test]
fn on_a_crossbar_messages_meet_at_the_ends_only() {
    let crossbar = topology("topology = \"crossbar\"\nnodes = 9");
    assert_eq!(linear(&*crossbar, shift(9, 4)), 1);
    assert_eq!(linear(&*crossbar, (1..9).map(|rank| (rank, 0))), 8);
}

/// Two ranks on a node: a shift by one rank leaves each node once, a shift by two ranks twice.
#[test]
fn ranks_of_a_node_share_its_links() {
    let two = placement("ranks_per_node = 2", 6).unwrap();
    let ring = Torus::new(&[6]);
    assert_eq!(overlap(&ring, (&two, 12), shift(12, 1)), 1);
    assert_eq!(overlap(&ring, (&two, 12), shift(12, 2)), 2);
    assert_eq!(overlap(&ring, (&two, 12), (0..12).map(|rank| (rank, rank ^ 1))), 0);
    assert_eq!(overlap(&ring, (&two, 12), []), 0);
}

/// Every second node first: a shift by one rank goes two nodes ahead, but from node 4 to 1 three, and from 5 to 0 one. The
/// link from 0 to 1 lies on the routes from 4 to 1 only, that from 5 to 0 on those from 4 and 5, that from 2 to 3 on those
/// from 1 and 2.
#[test]
fn a_permutation_changes_which_messages_meet() {
    let spread = placement("permutation = [0, 2, 4, 1, 3, 5]", 6).unwrap();
    assert_eq!(overlap(&Torus::new(&[6]), (&spread, 6), shift(6, 1)), 2);
}

proptest! {
    /// Of any job on 12 nodes: each rank is among those of its node, which are as many as the ranks beside it say.
    #[test]
    fn the_ranks_of_a_node_are_those_placed_there(
        order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
        map in prop_oneof![
            (1..5_usize).prop_map(|ranks| format!("ranks_per_node = {ranks}")),
            (1..5_usize).prop_map(|ranks| format!("ranks_per_node = {ranks}\nmap = \"cyclic\"")),
            prop::collection::vec(1..5_usize, 1..13).prop_map(|counts| format!("ranks_on_nodes = {counts:?}")),
            prop::collection::vec(1..5_usize, 1..13)
                .prop_map(|counts| format!("ranks_on_nodes = {counts:?}\nmap = \"cyclic\"")),
            prop::collection::vec(0..12_usize, 1..30).prop_map(|nodes| format!("map = {nodes:?}")),
        ],
        share in 0.0..1.0_f64,
    ) {
        let placement = placement(&format!("{map}\npermutation = {order:?}"), 12).unwrap();
        let ranks = (share * placement.room(12) as f64) as usize + 1;
        let on: Vec<_> = (0..12).map(|node| placement.ranks_on(node, ranks)).collect();
        prop_assert_eq!(on.concat().len(), ranks);
        prop_assert_eq!(on.iter().filter(|ranks| !ranks.is_empty()).count(), placement.nodes_of_job(ranks));
        let nodes = placement.nodes(ranks).unwrap();
        for rank in 0..ranks {
            let node = placement.node_of(rank, ranks);
            prop_assert!(on[node].contains(&rank) && on[node].is_sorted());
            let (place, on_node) = placement.node_and_place(rank, ranks);
            prop_assert_eq!(place, placement.place_of(rank, ranks));
            prop_assert_eq!((placement.count_at(place, ranks), on[node][on_node]), (on[node].len(), rank));
            for other in [0, rank, ranks - 1] {
                let are_together = matches!(nodes.select(&[rank, other]), Nodes::Equal(2)) || rank == other;
                prop_assert_eq!(are_together, placement.place_of(other, ranks) == place);
            }
        }
        let mut counts: Vec<_> = on.iter().map(Vec::len).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        for count in 1..=ranks {
            let fewest = (0..12).find(|nodes| counts[..*nodes].iter().sum::<usize>() >= count).unwrap_or(12);
            prop_assert_eq!(placement.fewest_nodes(count, ranks), fewest);
        }
        prop_assert!(placement.check(placement.room(12) + 1, 12).is_err());
    }
}

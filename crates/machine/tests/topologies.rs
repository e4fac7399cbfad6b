//! Topologies: laws that hold for all of them, known routes, and what is said of bad input.
//!
//! A new topology is tested once its name is in the registry and a few lines of its keys are in [`examples`].

use std::collections::{HashSet, VecDeque};

use hocket_core::Result;
use hocket_machine::topology::Torus;
use hocket_machine::{AnyTopology, Hop, Section, Topology};
use proptest::prelude::*;

/// The keys of small instances of a topology.
fn examples(name: &str) -> Vec<String> {
    let examples: &[&str] = match name {
        "crossbar" => &["nodes = 1", "nodes = 2", "nodes = 6", "nodes = 7"],
        "dragonfly" => &[
            "nodes_per_router = 2; routers_per_group = 4; global_links_per_router = 2",
            "nodes_per_router = 1; routers_per_group = 2; global_links_per_router = 3",
            "nodes_per_router = 2; routers_per_group = 4; global_links_per_router = 2; groups = 3",
            "nodes_per_router = 1; routers_per_group = 3; global_links_per_router = 4; groups = 5",
            "nodes_per_router = 3; routers_per_group = 1; global_links_per_router = 3; groups = 3",
            "nodes_per_router = 3; routers_per_group = 3; global_links_per_router = 1; groups = 1",
            "nodes_per_router = 1; routers_per_group = 1; global_links_per_router = 1; groups = 1",
            "nodes_per_router = 2; routers_per_group = 4; global_links_per_router = 2; global_arrangement = \"absolute\"",
            "nodes_per_router = 2; routers_per_group = 4; global_links_per_router = 2; global_arrangement = \"circulant\"",
            "nodes_per_router = 1; routers_per_group = 3; global_links_per_router = 4; links_per_pair_of_groups = 3",
            "nodes_per_router = 1; routers_per_group = 3; global_links_per_router = 4; groups = 5; \
             global_arrangement = \"absolute\"",
            "nodes_per_router = 1; routers_per_group = 3; global_links_per_router = 4; groups = 6; \
             global_arrangement = \"circulant\"",
            "nodes_per_router = 1; routers_per_group = 4; global_links_per_router = 3; groups = 4; \
             links_per_pair_of_groups = 2; global_arrangement = \"absolute\"",
            "nodes_per_router = 1; routers_per_group = 2; global_links_per_router = 4; groups = 4; \
             global_arrangement = \"absolute\"",
        ],
        "dragonfly_plus" => &[
            "nodes_per_leaf = 2; leaves_per_group = 2; spines_per_group = 2; global_links_per_spine = 2",
            "nodes_per_leaf = 1; leaves_per_group = 3; spines_per_group = 2; global_links_per_spine = 4; groups = 3",
            "nodes_per_leaf = 3; leaves_per_group = 1; spines_per_group = 1; global_links_per_spine = 1; groups = 1",
            "nodes_per_leaf = 1; leaves_per_group = 2; spines_per_group = 2; global_links_per_spine = 4; \
             links_per_pair_of_groups = 2; global_arrangement = \"absolute\"",
            "nodes_per_leaf = 1; leaves_per_group = 2; spines_per_group = 2; global_links_per_spine = 4; groups = 6; \
             global_arrangement = \"circulant\"",
        ],
        "hyperx" => &[
            "dims = [3]; nodes_per_switch = 2",
            "dims = [2, 3]; nodes_per_switch = 1",
            "dims = [4, 3, 2]; nodes_per_switch = 2",
            "dims = [1]; nodes_per_switch = 1",
        ],
        "rails" => &[
            "nodes = 5; rails = 3",
            "nodes = 1; rails = 1",
            "nodes = 6; rails = 2; nodes_per_pod = 3; spines = 2",
            "nodes = 7; rails = 2; nodes_per_pod = 3; spines = 1",
        ],
        "file" => &[
            "file = \"tests/networks/topology.conf\"",
            "file = \"tests/networks/edges.csv\"",
            "file = \"tests/networks/unequal_leaves.csv\"",
        ],
        "slim_fly" => &["q = 5; nodes_per_switch = 1", "q = 7; nodes_per_switch = 1"],
        "fat_tree" => &[
            "down = [4, 4]; up = [1, 4]",
            "down = [2, 2, 2]; up = [1, 2, 2]",
            "down = [4, 3, 2]; up = [2, 3, 2]",
            "down = [6, 4]; up = [1, 2]",
            "down = [3, 1, 2, 1]; up = [1, 2, 1, 3]",
            "down = [5]; up = [1]",
            "down = [1]; up = [1]",
        ],
        "mesh" => &[
            "dims = [1]",
            "dims = [6]",
            "dims = [5, 2]",
            "dims = [4, 4]",
            "dims = [2, 2, 3]",
            "dims = [1, 4, 1, 2]",
            "dims = [3, 2, 4]",
        ],
        "torus" => return tori(),
        _ => panic!("topology {name}: expected examples of its keys"),
    };
    examples.iter().map(|keys| (*keys).to_owned()).collect()
}

/// All tori of 2 to 6 nodes along each of 1 to 3 axes, and some others.
fn tori() -> Vec<String> {
    let sizes = || 2..=6_usize;
    let mut all: Vec<Vec<usize>> = vec![vec![1], vec![1, 3, 1], vec![2, 1, 3, 2]];
    all.extend(sizes().map(|x| vec![x]));
    all.extend(sizes().flat_map(|x| sizes().map(move |y| vec![x, y])));
    all.extend(sizes().flat_map(|x| sizes().flat_map(move |y| sizes().map(move |z| vec![x, y, z]))));
    let keys = |dims: &Vec<usize>| ["plus", "split"].map(|tie| format!("dims = {dims:?}; tie = \"{tie}\""));
    all.iter().flat_map(keys).collect()
}

fn read(name: &str, keys: &str) -> Result<AnyTopology> {
    let section = section(name, keys)?;
    let topology = AnyTopology::read(&section)?;
    section.finish()?;
    Ok(topology)
}

fn section(name: &str, keys: &str) -> Result<Section> {
    Section::parse(&format!("topology = \"{name}\"\n{}", keys.replace("; ", "\n")), "m.toml")
}

fn topology(name: &str, keys: &str) -> AnyTopology {
    read(name, keys).unwrap_or_else(|error| panic!("{name}, {keys}: {error}"))
}

/// Every example of every topology, and what to call it.
fn all() -> impl Iterator<Item = (String, AnyTopology)> {
    let instance = |name: &str, keys: String| (format!("{name}: {keys}"), topology(name, &keys));
    AnyTopology::NAMES.iter().flat_map(move |name| examples(name).into_iter().map(move |keys| instance(name, keys)))
}

fn route(topology: &AnyTopology, from: usize, to: usize) -> Vec<Hop> {
    let mut hops = Vec::new();
    topology.route(from, to, &mut hops);
    hops
}

fn route_names(topology: &AnyTopology, from: usize, to: usize) -> Vec<String> {
    route(topology, from, to).iter().map(|hop| topology.link_name(hop.link as usize)).collect()
}

/// All pairs of nodes with their routes.
fn routes(topology: &AnyTopology) -> impl Iterator<Item = (usize, usize, Vec<Hop>)> {
    let nodes = topology.nodes();
    (0..nodes).flat_map(move |from| (0..nodes).map(move |to| (from, to, route(topology, from, to))))
}

#[test]
fn every_route_leads_from_its_node_to_the_other() {
    for (what, topology) in all() {
        for (from, to, hops) in routes(&topology) {
            let mut at = from;
            for hop in &hops {
                let (start, end) = topology.ends(hop.link as usize);
                assert!(
                    (hop.link as usize) < topology.links() && (hop.channel as usize) < topology.channels(),
                    "{what}"
                );
                assert_eq!(start, at, "{what}: {from} to {to}: {hops:?}");
                at = end;
            }
            assert_eq!(at, to, "{what}: {from} to {to}: {hops:?}");
            assert!(from != to || hops.is_empty(), "{what}: {from} to itself: {hops:?}");
        }
    }
}

#[test]
fn links_and_vertices_have_names_of_their_own() {
    for (what, topology) in all() {
        let names: HashSet<_> = (0..topology.links()).map(|link| topology.link_name(link)).collect();
        assert_eq!(names.len(), topology.links(), "{what}");
        let names: HashSet<_> = (0..topology.vertices()).map(|vertex| topology.vertex_name(vertex)).collect();
        assert_eq!(names.len(), topology.vertices(), "{what}");
    }
}

#[test]
fn links_have_spots_of_their_own_on_a_map() {
    for (what, topology) in all() {
        let spots: Vec<_> = (0..topology.links()).map(|link| topology.spot(link)).collect();
        assert_eq!(spots.iter().collect::<HashSet<_>>().len(), topology.links(), "{what}");
        let panels: HashSet<_> = spots.iter().map(|spot| (&spot.panel, &spot.place)).collect();
        let axes: HashSet<_> = spots.iter().map(|spot| (&spot.panel, &spot.place, spot.axes)).collect();
        assert_eq!(axes.len(), panels.len(), "{what}: the cells of a panel have the same axes");
    }
}

#[test]
fn vertices_are_apart_in_a_drawing() {
    for (what, topology) in all() {
        let positions: Vec<_> = (0..topology.vertices()).map(|vertex| topology.position(vertex)).collect();
        for (number, [x, y]) in positions.iter().enumerate() {
            let distance = |other: &[f64; 2]| (x - other[0]).hypot(y - other[1]);
            let least = positions[..number].iter().map(distance).fold(f64::INFINITY, f64::min);
            assert!(least > 0.25, "{what}: {} is {least} from another", topology.vertex_name(number));
        }
    }
}

#[test]
fn every_link_has_one_that_leads_back() {
    for (what, topology) in all() {
        let mut ends: Vec<_> = (0..topology.links()).map(|link| topology.ends(link)).collect();
        let mut back: Vec<_> = ends.iter().map(|(from, to)| (*to, *from)).collect();
        assert!(ends.iter().all(|(from, to)| *from.max(to) < topology.vertices()), "{what}");
        ends.sort_unstable();
        back.sort_unstable();
        assert_eq!(ends, back, "{what}");
    }
}

#[test]
fn what_is_said_of_the_lengths_of_routes_is_so() {
    for (what, topology) in all() {
        for (from, to, hops) in routes(&topology) {
            assert_eq!(topology.route_length(from, to), hops.len(), "{what}: {from} to {to}");
        }
        let lengths: Vec<_> =
            routes(&topology).filter(|(from, to, _)| from != to).map(|(_, _, hops)| hops.len()).collect();
        assert_eq!(topology.longest_route(), lengths.iter().copied().max().unwrap_or(0), "{what}");
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
        assert!((topology.mean_route() - mean).abs() <= 1e-12 * mean, "{what}: {} {mean}", topology.mean_route());
    }
}

/// Links on the shortest way from a vertex to each other.
fn distances(topology: &AnyTopology, from: usize) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); topology.vertices()];
    for (from, to) in (0..topology.links()).map(|link| topology.ends(link)) {
        neighbours[from].push(to);
    }
    let mut distances = vec![usize::MAX; topology.vertices()];
    distances[from] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(vertex) = queue.pop_front() {
        for next in &neighbours[vertex] {
            if distances[*next] == usize::MAX {
                distances[*next] = distances[vertex] + 1;
                queue.push_back(*next);
            }
        }
    }
    distances
}

/// A dragonfly's are minimal among those of one global link; two of them in a row can be a shorter way.
#[test]
fn routes_are_as_short_as_can_be() {
    for (what, topology) in all().filter(|(_, topology)| topology.name() != "dragonfly") {
        for from in 0..topology.nodes() {
            let distances = distances(&topology, from);
            for (to, distance) in distances.iter().enumerate().take(topology.nodes()) {
                assert_eq!(route(&topology, from, to).len(), *distance, "{what}: {from} to {to}");
            }
        }
    }
}

/// The numbers of nodes, of links and of the longest route's links, and how many nodes are the fewest and most links away.
#[test]
fn shapes_have_the_sizes_of_their_formulas() {
    let sizes = |name: &str, keys: &str| {
        let shape = topology(name, keys);
        (shape.nodes(), shape.links(), shape.longest_route())
    };
    // p l g nodes; 2 (p l g + l s g + g (g - 1) / 2) links; leaf, spine, spine, leaf.
    let dragonfly_plus = "nodes_per_leaf = 2; leaves_per_group = 2; spines_per_group = 2; global_links_per_spine = 2";
    assert_eq!(sizes("dragonfly_plus", dragonfly_plus), (20, 2 * (20 + 20 + 10), 5));
    // Leaves of 4, 2 and 1 nodes with 3, 2 and 1 cables to spines.
    assert_eq!(sizes("file", "file = \"tests/networks/unequal_leaves.csv\""), (7, 2 * (7 + 6), 4));
    // T switches' lines: each axis of k switches has k (k - 1) / 2 cables for each of the other switches.
    assert_eq!(sizes("hyperx", "dims = [4, 3, 2]; nodes_per_switch = 2"), (48, 2 * (48 + 24 * (3 + 2 + 1) / 2), 5));
    assert_eq!(sizes("rails", "nodes = 8; rails = 4; nodes_per_pod = 4; spines = 2"), (8, 2 * (8 * 4 + 2 * 4 * 2), 4));
    // 2 q^2 switches of degree (3 q - 1) / 2 or, for q = 4 w - 1, (3 q + 1) / 2; two links apart at most.
    assert_eq!(sizes("slim_fly", "q = 5; nodes_per_switch = 1"), (50, 2 * (50 + 50 * 7 / 2), 4));
    assert_eq!(sizes("slim_fly", "q = 7; nodes_per_switch = 2"), (196, 2 * (196 + 98 * 11 / 2), 4));
    assert_eq!(sizes("slim_fly", "q = 13; nodes_per_switch = 1"), (338, 2 * (338 + 338 * 19 / 2), 4));
}

/// Tries all ways to put half of the nodes, and any of the switches, on one side.
#[test]
fn the_bisection_is_the_smallest_cut_into_halves() {
    let small = |topology: &AnyTopology| topology.vertices() <= 16;
    for (what, topology) in all().filter(|(_, topology)| small(topology)) {
        let Some(bisection) = topology.bisection() else { continue };
        let nodes = (1_u32 << topology.nodes()) - 1;
        let ends: Vec<_> = (0..topology.links()).map(|link| topology.ends(link)).collect();
        let cut = |side: u32| ends.iter().filter(|(from, to)| side >> from & 1 == 1 && side >> to & 1 == 0).count();
        let is_half = |side: &u32| (side & nodes).count_ones() as usize * 2 == topology.nodes();
        let least = (0..1_u32 << topology.vertices()).filter(is_half).map(cut).min();
        assert_eq!(Some(bisection), least, "{what}");
    }
}

/// Whether packets that hold one virtual channel of a link and wait for the next one of their route can wait in a circle.
fn has_circle(topology: &AnyTopology, channel_of: impl Fn(&Hop) -> u8) -> bool {
    let channels = topology.channels();
    let place = |hop: &Hop| hop.link as usize * channels + channel_of(hop) as usize;
    let mut after = vec![HashSet::new(); topology.links() * channels];
    for (_, _, hops) in routes(topology) {
        for pair in hops.windows(2) {
            after[place(&pair[0])].insert(place(&pair[1]));
        }
    }
    let mut waited_for = vec![0; after.len()];
    after.iter().flatten().for_each(|next| waited_for[*next] += 1);
    let mut free: Vec<_> = (0..after.len()).filter(|place| waited_for[*place] == 0).collect();
    let mut left = after.len();
    while let Some(place) = free.pop() {
        left -= 1;
        for next in &after[place] {
            waited_for[*next] -= 1;
            if waited_for[*next] == 0 {
                free.push(*next);
            }
        }
    }
    left > 0
}

#[test]
fn packets_never_wait_in_a_circle() {
    for (what, topology) in all() {
        assert!(!has_circle(&topology, |hop| hop.channel), "{what}");
    }
}

#[test]
fn with_one_virtual_channel_they_do_on_rings_and_dragonflies() {
    let dragonfly = "nodes_per_router = 2; routers_per_group = 4; global_links_per_router = 2";
    for (name, keys) in [("torus", "dims = [4]"), ("torus", "dims = [3, 5]"), ("dragonfly", dragonfly)] {
        assert!(has_circle(&topology(name, keys), |_| 0), "{name}: {keys}");
    }
}

#[test]
fn links_keep_their_numbers_and_names() {
    let dragonfly = "nodes_per_router = 2; routers_per_group = 4; global_links_per_router = 2";
    let known = [
        ("torus", "dims = [4, 3, 2]", 0, "+x from (0,0,0)", "(1,0,0)"),
        ("torus", "dims = [4, 3, 2]", 90, "+x from (3,0,1)", "(0,0,1)"),
        ("torus", "dims = [4, 3, 2]", 93, "-y from (3,0,1)", "(3,2,1)"),
        ("torus", "dims = [2, 2, 2, 2]", 6, "+axis 3 from (0,0,0,0)", "(0,0,0,1)"),
        ("mesh", "dims = [4, 3, 2]", 0, "+x from (0,0,0)", "(1,0,0)"),
        ("mesh", "dims = [4, 3, 2]", 23, "-x from (3,0,1)", "(2,0,1)"),
        ("mesh", "dims = [4, 3, 2]", 67, "-y from (3,2,1)", "(3,1,1)"),
        ("mesh", "dims = [4, 3, 2]", 91, "-z from (3,2,1)", "(3,2,0)"),
        ("crossbar", "nodes = 4", 4, "up from node 2", "switch"),
        ("crossbar", "nodes = 4", 5, "down to node 2", "node 2"),
        ("fat_tree", "down = [4, 4]; up = [1, 4]", 10, "up 0 from node 5", "switch 1.1"),
        ("fat_tree", "down = [4, 4]; up = [1, 4]", 11, "down 1 from switch 1.1", "node 5"),
        ("fat_tree", "down = [4, 4]; up = [1, 4]", 46, "up 3 from switch 1.1", "switch 2.3"),
        ("fat_tree", "down = [4, 4]; up = [1, 4]", 47, "down 1 from switch 2.3", "switch 1.1"),
        ("dragonfly", dragonfly, 143, "down to node 71", "node 71"),
        ("dragonfly", dragonfly, 144, "local 1 from router 0.0", "router 0.1"),
        ("dragonfly", dragonfly, 148, "local 2 from router 0.1", "router 0.2"),
        ("dragonfly", dragonfly, 252, "global 0 from router 0.0", "router 1.3"),
        ("dragonfly", dragonfly, 259, "global 7 from router 0.3", "router 8.0"),
    ];
    for (name, keys, link, link_name, end) in known {
        let topology = topology(name, keys);
        let (_, to) = topology.ends(link);
        assert_eq!((topology.link_name(link).as_str(), topology.vertex_name(to).as_str()), (link_name, end));
    }
}

#[test]
fn ties_go_ahead_or_by_the_parity_of_where_they_start() {
    let first = |tie: &str, from: usize, to: usize| {
        route_names(&topology("torus", &format!("dims = [6, 2]; tie = \"{tie}\"")), from, to)[0].clone()
    };
    for (from, to) in [(0, 3), (1, 4), (2, 5), (4, 1)] {
        assert_eq!(first("plus", from, to), format!("+x from ({from},0)"));
        let direction = if from % 2 == 0 { '+' } else { '-' };
        assert_eq!(first("split", from, to), format!("{direction}x from ({from},0)"));
    }
    assert_eq!(first("plus", 6, 0), "+y from (0,1)");
    assert_eq!(first("split", 6, 0), "-y from (0,1)");
    assert_eq!(first("split", 1, 7), "+y from (1,0)");
}

#[test]
fn a_route_on_a_torus_changes_channel_where_the_ring_closes() {
    let torus = topology("torus", "dims = [5, 4]");
    let hops = route(&torus, 3 + 5 * 2, 5 * 3);
    let named: Vec<_> = hops.iter().map(|hop| (torus.link_name(hop.link as usize), hop.channel)).collect();
    let expected = [("+x from (3,2)", 0), ("+x from (4,2)", 1), ("+y from (0,2)", 0)];
    assert_eq!(named, expected.map(|(name, channel)| (name.to_owned(), channel)));
    let back = route(&torus, 1, 4 + 5 * 3);
    assert_eq!(back.iter().map(|hop| hop.channel).collect::<Vec<_>>(), [0, 1, 1]);
}

/// All that goes to one node comes down the same way, and the switches at the top share the nodes evenly.
#[test]
fn a_fat_tree_routes_by_destination() {
    let tree = topology("fat_tree", "down = [4, 4]; up = [1, 4]");
    let way = |from, to| route_names(&tree, from, to);
    assert_eq!(
        way(0, 6),
        ["up 0 from node 0", "up 2 from switch 1.0", "down 1 from switch 2.2", "down 2 from switch 1.1"]
    );
    assert_eq!(way(4, 6), ["up 0 from node 4", "down 2 from switch 1.1"]);
    for to in 0..16 {
        let last: HashSet<_> =
            (0..16).filter(|from| from / 4 != to / 4).map(|from| way(from, to)[2..].to_vec()).collect();
        assert_eq!(last.len(), 1);
        assert!(last.iter().all(|names| names[0].ends_with(&format!("switch 2.{}", to % 4))));
    }
}

/// One local link, a global one, a local one: each only where it is needed.
#[test]
fn a_dragonfly_goes_by_the_nearest_global_link() {
    let dragonfly = topology("dragonfly", "nodes_per_router = 1; routers_per_group = 4; global_links_per_router = 2");
    let way = |from, to| route_names(&dragonfly, from, to)[1..].to_vec();
    assert_eq!(way(1, 2), ["local 2 from router 0.1", "down to node 2"]);
    assert_eq!(way(0, 7), ["global 0 from router 0.0", "down to node 7"]);
    assert_eq!(way(1, 7), ["local 0 from router 0.1", "global 0 from router 0.0", "down to node 7"]);
    assert_eq!(way(0, 4), ["global 0 from router 0.0", "local 0 from router 1.3", "down to node 4"]);
    assert_eq!(way(35, 31), ["global 7 from router 8.3", "local 3 from router 7.0", "down to node 31"]);
}

/// Two groups of 6 routers, each router linked with the same one of the other group. To another router there are two ways of
/// one local and one global link: half of its nodes are reached by each.
#[test]
fn destinations_take_turns_on_the_global_links_of_a_dragonfly() {
    let keys = "nodes_per_router = 4; routers_per_group = 6; global_links_per_router = 1; groups = 2";
    let dragonfly = topology("dragonfly", keys);
    let ways: Vec<_> = (0..4).map(|node| route_names(&dragonfly, 0, 24 + 4 + node)[1].clone()).collect();
    let (first, second) = ("global 0 from router 0.0", "local 1 from router 0.0");
    assert_eq!(ways, [first, second, first, second]);
}

/// The group to which a port of a group leads.
type Leads<'a> = &'a dyn Fn(usize, usize) -> usize;

/// The definitions of Hastings et al., port by port, on nine groups.
#[test]
fn global_ports_lead_where_their_arrangement_says() {
    let absolute = |group: usize, port: usize| if port < group { port } else { port + 1 };
    let relative = |group: usize, port: usize| (group + port + 1) % 9;
    let circulant =
        |group: usize, port: usize| (group + if port.is_multiple_of(2) { port / 2 + 1 } else { 8 - port / 2 }) % 9;
    let arrangements: [(&str, Leads); 4] = [
        ("", &relative),
        ("; global_arrangement = \"relative\"", &relative),
        ("; global_arrangement = \"absolute\"", &absolute),
        ("; global_arrangement = \"circulant\"", &circulant),
    ];
    for (key, other) in arrangements {
        let keys = format!("nodes_per_router = 1; routers_per_group = 4; global_links_per_router = 2{key}");
        let dragonfly = topology("dragonfly", &keys);
        let global = dragonfly.links() - 9 * 8;
        for (group, port) in (0..9).flat_map(|group| (0..8).map(move |port| (group, port))) {
            let (from, to) = dragonfly.ends(global + group * 8 + port);
            let back = (0..8).find(|back| other(other(group, port), *back) == group).unwrap();
            assert_eq!(from, 36 + group * 4 + port / 2, "{keys}");
            assert_eq!(to, 36 + other(group, port) * 4 + back / 2, "{keys}: {group} {port}");
        }
    }
}

/// Numbers of shortest ways from a node to each other, by the lengths of links.
fn ways(topology: &AnyTopology, from: usize) -> Vec<(usize, usize)> {
    let mut ways = vec![(usize::MAX, 0); topology.vertices()];
    ways[from] = (0, 1);
    for length in 0..=topology.vertices() {
        for vertex in (0..ways.len()).filter(|vertex| ways[*vertex].0 == length).collect::<Vec<_>>() {
            for link in (0..topology.links()).filter(|link| topology.ends(*link).0 == vertex) {
                let (end, next) = (topology.ends(link).1, length + usize::from(topology.length_of(link)));
                let count = ways[vertex].1 + if ways[end].0 == next { ways[end].1 } else { 0 };
                ways[end] = if next <= ways[end].0 { (next, count) } else { ways[end] };
            }
        }
    }
    ways
}

/// Nodes p a g, links g (2 p a + a (a - 1) + m (g - 1)) for m links of each pair of groups, of which m g g / 4 leave half of
/// the groups. Two routers without a global link to each other's group have m shortest ways, each with its two local links.
#[test]
fn a_dragonfly_has_as_many_links_for_each_pair_of_groups_as_asked_for_or_as_fit() {
    const KEYS: &str = "nodes_per_router = 2; routers_per_group = 4; global_links_per_router = 2";
    let sizes = [
        ("", 9, 1),
        ("; groups = 5", 5, 2),
        ("; links_per_pair_of_groups = 2", 5, 2),
        ("; links_per_pair_of_groups = 3", 3, 3),
        ("; groups = 4", 4, 2),
        ("; groups = 4; links_per_pair_of_groups = 1", 4, 1),
        ("; groups = 2; links_per_pair_of_groups = 8", 2, 8),
    ];
    let arrangements = ["relative", "absolute", "circulant"];
    for ((keys, groups, each), arrangement) in sizes.iter().flat_map(|size| arrangements.map(|name| (*size, name))) {
        let what = format!("{KEYS}{keys}; global_arrangement = \"{arrangement}\"");
        let dragonfly = topology("dragonfly", &what);
        assert_eq!((dragonfly.nodes(), dragonfly.links()), (8 * groups, groups * (28 + each * (groups - 1))), "{what}");
        let half = &dragonfly.halves()[0];
        let ends = (0..dragonfly.links()).map(|link| dragonfly.ends(link));
        let cut = ends.filter(|(from, to)| half(*from) && !half(*to)).count();
        assert_eq!(cut, each * (groups / 2) * (groups - groups / 2), "{what}");
        for from in 0..dragonfly.nodes() {
            let ways = ways(&dragonfly, from);
            for to in (0..dragonfly.nodes()).filter(|to| to / 8 != from / 8) {
                let has_link = |router: usize, group: usize| {
                    let is_global = |(start, end): &(usize, usize)| {
                        *start == dragonfly.nodes() + router
                            && *end >= dragonfly.nodes()
                            && (end - dragonfly.nodes()) / 4 == group
                    };
                    (0..dragonfly.links()).map(|link| dragonfly.ends(link)).any(|ends| is_global(&ends))
                };
                let are_near = has_link(from / 2, to / 8) || has_link(to / 2, from / 8);
                let links = route(&dragonfly, from, to).len();
                assert!(are_near && links < 5 || (links, ways[to].1) == (5, each), "{what}: {from} to {to}");
            }
        }
    }
}

fn picture(name: &str, keys: &str) -> String {
    topology(name, keys).picture(&|node| node.to_string())
}

#[test]
fn pictures_show_small_networks_whole() {
    let torus = "\
x      0   1   2
       │   │   │
y 0  ─ 0 ─ 1 ─ 2 ─
       │   │   │
y 1  ─ 3 ─ 4 ─ 5 ─
       │   │   │
";
    assert_eq!(picture("torus", "dims = [3, 2]"), torus);
    assert_eq!(picture("mesh", "dims = [4]"), "x      0   1   2   3\n       0 ─ 1 ─ 2 ─ 3\n");
    let planes = "\
z = 0
x      0   1
y 0    0 ─ 1

z = 1
x      0   1
y 0    2 ─ 3
";
    assert_eq!(picture("mesh", "dims = [2, 1, 2]"), planes);
    let tree = "\
level 2  3 switches, each above 4 nodes
         │ 6 links each way
level 1  2 switches, each above 2 nodes
         │ 4 links each way
level 0  4 nodes

switch 1.0 ─ 0 1
switch 1.1 ─ 2 3
";
    assert_eq!(picture("fat_tree", "down = [2, 2]; up = [1, 3]"), tree);
    let dragonfly = "\
group 0
  router 0.0 ─ 0 1 ─ to groups 1
  router 0.1 ─ 2 3 ─ to groups 2
group 1
  router 1.0 ─ 4 5 ─ to groups 2
  router 1.1 ─ 6 7 ─ to groups 0
group 2
  router 2.0 ─ 8 9 ─ to groups 0
  router 2.1 ─ 10 11 ─ to groups 1
";
    let keys = "nodes_per_router = 2; routers_per_group = 2; global_links_per_router = 1";
    assert_eq!(picture("dragonfly", keys), dragonfly);
    assert_eq!(picture("crossbar", "nodes = 3"), "switch ─ 0 1 2\n");
}

#[test]
fn pictures_show_large_networks_in_part() {
    let mesh = picture("mesh", "dims = [20, 20, 9]");
    for part in ["z = 0\n", "y 9 ", "⋮", "y 19   3580 ─ 3581 ─", "\n…\n", "─    … ─ 3599\n"] {
        assert!(mesh.contains(part), "{part}: {mesh}");
    }
    assert_eq!(picture("crossbar", "nodes = 100"), "switch ─ 0 1 2 3 4 5 … 99\n");
    let large = [
        ("torus", "dims = [48, 6, 32]"),
        ("fat_tree", "down = [16, 16, 16]; up = [1, 16, 16]"),
        ("dragonfly", "nodes_per_router = 16; routers_per_group = 32; global_links_per_router = 16; groups = 80"),
    ];
    for (name, keys) in large {
        let picture = picture(name, keys);
        assert!(picture.contains("…\n") && picture.lines().count() < 90, "{picture}");
        assert!(picture.lines().all(|line| line.chars().count() <= 100), "{picture}");
    }
}

#[test]
fn a_torus_tells_its_sizes() {
    assert_eq!(Torus::new(&[4, 3]).torus(), Some(&[4, 3][..]));
    assert_eq!(topology("mesh", "dims = [4, 3]").torus(), None);
}

#[test]
fn the_header_of_each_topology_lists_its_keys() {
    for name in AnyTopology::NAMES {
        let section = section(name, &(examples(name)[0].clone() + "; nonsense = 1")).unwrap();
        AnyTopology::read(&section).unwrap();
        let refusal = section.finish().unwrap_err().to_string();
        let (_, keys) = refusal.split_once("expected one of ").unwrap();
        let file = format!("{}/src/topology/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(&file).unwrap();
        let header: String = source.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(header.contains("Source"), "{file}: the header does not say where it comes from");
        for key in keys.split(", ").filter(|key| *key != "topology") {
            assert!(header.contains(&format!("`{key}`")), "{file}: the header does not say what {key} is");
        }
    }
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_key() {
    let dragonfly = "nodes_per_router = 1; routers_per_group = 2; global_links_per_router = 3";
    let cases = [
        ("torsu", "dims = [4]", "m.toml:1: topology: got \"torsu\", did you mean \"torus\"?"),
        ("torus", "tie = \"plus\"", "m.toml: dims is missing, expected a list of sizes such as [8, 8]"),
        ("torus", "dims = [4, 0]", "m.toml:2: dims: got [4, 0], expected sizes of at least 1 and"),
        ("torus", "dims = []", "m.toml:2: dims: got [], expected sizes of at least 1 and"),
        ("torus", "dims = [8192, 8193]", "m.toml:2: dims: got [8192, 8193], expected sizes of at least 1 and"),
        ("torus", "dims = 4", "m.toml:2: dims: got 4, expected a list of whole numbers such as [8, 8]"),
        ("torus", "dims = [4]; tie = \"odd\"", "m.toml:3: tie: got \"odd\", expected one of \"plus\", \"split\""),
        ("mesh", "dims = [4]; tie = \"plus\"", "m.toml:3: tie: unknown key, expected one of dims, topology"),
        ("mesh", "dims = [4, -1]", "m.toml:2: dims: got [4, -1], expected a list of whole numbers such as [8, 8]"),
        ("crossbar", "", "m.toml: nodes is missing, expected a whole number of at least 1"),
        ("crossbar", "nodes = 0", "m.toml:2: nodes: got 0, expected a whole number of at least 1"),
        (
            "crossbar",
            "nodes = 67108865",
            "m.toml:2: nodes: got 67108865, expected a topology of at most 2^26 nodes and 2^32 - 1 links",
        ),
        ("fat_tree", "down = [4, 4]", "m.toml: up is missing, expected a list of sizes such as [8, 8]"),
        ("fat_tree", "down = [4, 4]; up = [1]", "m.toml:3: up: got [1], expected 2 numbers, as in `down`"),
        (
            "fat_tree",
            "down = [1024, 1024]; up = [8192, 8192]",
            "m.toml:3: up: got [8192, 8192], expected a topology of at most 2^26 nodes and 2^32 - 1 links",
        ),
        ("dragonfly", "nodes_per_router = 1", "m.toml: routers_per_group is missing, expected a whole number of at"),
        (
            "dragonfly",
            &format!("{dragonfly}; groups = 8"),
            "m.toml:5: groups: got 8, expected at most 7, so that each pair of groups has 1 global link",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}; links_per_pair_of_groups = 2; groups = 5"),
            "m.toml:6: groups: got 5, expected at most 4, so that each pair of groups has 2 global links",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}; links_per_pair_of_groups = 7"),
            "m.toml:5: links_per_pair_of_groups: got 7, expected at most 6, the global ports of a group",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}; global_arrangement = \"palmtree\""),
            "m.toml:5: global_arrangement: got \"palmtree\", expected one of \"relative\", \"absolute\", \"circulant\"",
        ),
        (
            "dragonfly",
            "nodes_per_router = 9223372036854775807; routers_per_group = 9223372036854775807; \
             global_links_per_router = 9223372036854775807",
            "m.toml:3: routers_per_group: got 9223372036854775807, expected a topology of at most 2^26 nodes and 2^32 - 1 links",
        ),
    ];
    for (name, keys, expected) in cases {
        let message = read(name, keys).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}\n{expected}");
    }
    let axes = format!("dims = [{}67108864]", "1, ".repeat(64));
    let expected = "m.toml:2: dims: got array, expected a topology of at most 2^26 nodes and 2^32 - 1 links";
    assert_eq!(read("torus", &axes).unwrap_err().to_string(), expected);
}

proptest! {
    #[test]
    fn a_torus_takes_the_shorter_way_round_every_ring_and_a_mesh_none(
        dims in prop::collection::vec(1..40_usize, 1..4),
        (from, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        tie in prop::sample::select(vec!["plus", "split"]),
    ) {
        let nodes = dims.iter().product();
        let (from, to) = (from.index(nodes), to.index(nodes));
        let (mut on_torus, mut on_mesh) = (0, 0);
        let (mut rest_from, mut rest_to) = (from, to);
        for size in &dims {
            let apart = (rest_from % size).abs_diff(rest_to % size);
            on_torus += apart.min(size - apart);
            on_mesh += apart;
            rest_from /= size;
            rest_to /= size;
        }
        let torus = topology("torus", &format!("dims = {dims:?}; tie = \"{tie}\""));
        prop_assert_eq!(route(&torus, from, to).len(), on_torus);
        prop_assert_eq!(route(&topology("mesh", &format!("dims = {dims:?}")), from, to).len(), on_mesh);
    }
}

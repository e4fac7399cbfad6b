//! Networks in files of sites: what is read, on which nodes hosts are, and what is refused.

use std::sync::atomic::{AtomicU64, Ordering};

use hocket_core::{Error, Result};
use hocket_machine::{AnyTopology, Placement, Section};
use proptest::prelude::*;

const ALL: [&str; 5] = ["topology.conf", "edges.csv", "fabric.ibnetdiscover", "network.json", "platform.xml"];

fn section(keys: &str) -> Section {
    Section::parse(&format!("topology = \"file\"\n{keys}"), "tests/networks/m.toml").unwrap()
}

fn network(file: &str) -> AnyTopology {
    AnyTopology::read(&section(&format!("file = \"{file}\""))).unwrap_or_else(|error| panic!("{error}"))
}

/// What `use_path` makes of the path of a file with this text.
fn with_file<T>(text: &str, use_path: impl FnOnce(&str) -> T) -> T {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("hocket-network-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    let result = use_path(&path.display().to_string());
    std::fs::remove_file(path).unwrap();
    result
}

fn read(text: &str) -> Result<AnyTopology> {
    let section = |path: &str| section(&format!("file = \"{path}\""));
    with_file(text, |path| {
        AnyTopology::read(&section(path)).map_err(|error| Error::new(error.to_string().replace(path, "FILE")))
    })
}

fn names(topology: &AnyTopology) -> Vec<String> {
    (0..topology.vertices()).map(|vertex| topology.vertex_name(vertex)).collect()
}

#[test]
fn every_form_has_its_nodes_switches_and_cables() {
    let sizes = ALL.map(|file| (network(file).nodes(), network(file).vertices(), network(file).links()));
    assert_eq!(sizes, [(6, 9, 16), (4, 6, 12), (3, 6, 12), (2, 3, 4), (5, 9, 16)]);
    let slurm = ["node01", "node02", "node03", "node04", "node05", "login", "leaf1", "leaf2", "spine"];
    assert_eq!(names(&network("topology.conf")), slurm);
    assert_eq!(names(&network("network.json")), ["7", "b", "sw"]);
    let platform = ["ant-0.site", "ant-1.site", "ant-9.site", "desk1", "desk2"];
    let between = ["ant-ants_router.site", "ants", "office", "street|wan"];
    assert_eq!(names(&network("platform.xml")), [&platform[..], &between].concat());
    let leaf = names(&network("fabric.ibnetdiscover")).into_iter().nth(3);
    assert_eq!(leaf.as_deref(), Some("MF0;leaf1:MQM8700/U1"));
    let blocks = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2";
    assert_eq!(read(blocks).unwrap().longest_route(), 4);
}

#[test]
fn speeds_are_parts_of_the_highest() {
    let parts = |file: &str| -> Vec<f64> {
        let topology = network(file);
        (0..topology.links()).step_by(2).map(|link| topology.part_of(link)).collect()
    };
    assert_eq!(parts("edges.csv"), [0.5, 0.5, 0.5, 0.25, 1.0, 1.0]);
    assert_eq!(parts("fabric.ibnetdiscover"), [1.0, 1.0, 1.0, 1.0, 1.0, 0.25]);
    // Of 500 MB/s: the backbone, three hosts of the cluster, two wires, the street, and 0.2 Gbit/s.
    assert_eq!(parts("platform.xml"), [0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 1.0, 0.05]);
}

/// Two hosts at a router, by links of these bandwidths.
fn platform(bandwidths: [&str; 2], routes: &str) -> String {
    let link =
        |id: &str, bandwidth: &str| format!("<host id=\"{id}\"/>\n<link id=\"to-{id}\" bandwidth=\"{bandwidth}\"/>");
    let links = [link("a", bandwidths[0]), link("b", bandwidths[1])].join("\n");
    format!("<platform>\n<zone routing=\"Dijkstra\"><router id=\"r\"/>\n{links}\n{routes}</zone></platform>")
}

const ROUTES: &str = "<route src=\"a\" dst=\"r\"><link_ctn id=\"to-a\"/></route>
<route src=\"a\" dst=\"b\"><link_ctn id=\"to-a\"/><link_ctn id=\"to-b\"/></route>";

#[test]
fn simgrid_has_units_of_its_own() {
    for (text, bytes_per_s) in [
        ("125MBps", "125000000"),
        ("1Gbps", "125000000Bps"),
        ("8Kibps", "1024"),
        ("1.5TiBps", "1649267441664"),
        ("8kbps", "1e3"),
        ("1E3Bps", "1kBps"),
        ("1EBps", "1e18"),
        ("8bps", "1"),
    ] {
        let network = read(&platform([text, bytes_per_s], ROUTES)).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(network.is_even(), "{text}");
    }
    for text in ["", "fast", "1GB/s", "1 Gbps ", "1mBps", "1iBps", "54Mbps,36Mbps", "KiBps"] {
        let refusal = read(&platform([text, "1Bps"], ROUTES)).map(|_| ()).unwrap_err().to_string();
        let expected = format!("FILE: line 4: got <link> with bandwidth={text:?}, expected a rate such as");
        assert!(refusal.starts_with(&expected), "{refusal}");
    }
}

#[test]
fn links_of_several_routes_are_one_cable() {
    let network = read(&platform(["1Bps", "1Bps"], ROUTES)).unwrap();
    assert_eq!((network.vertices(), network.links(), network.longest_route()), (3, 4, 2));
    // A route between the hosts alone: its links meet in a switch.
    let line = ROUTES.lines().last().unwrap();
    assert_eq!(names(&read(&platform(["1Bps", "1Bps"], line)).unwrap())[2..], ["r", "to-a|to-b"]);
    // Four hosts, two by two: where the links of the second route are is told by the third.
    let dumbbell: String = ["a1:a,m,b:b1", "a2:c,m,d:b2", "a1:a,m,d:b2"]
        .iter()
        .map(|route| {
            let [from, links, to] = route.split(':').collect::<Vec<_>>()[..] else { panic!("{route}") };
            let links: String = links.split(',').map(|link| format!("<link_ctn id=\"{link}\"/>")).collect();
            format!("<route src=\"{from}\" dst=\"{to}\">{links}</route>")
        })
        .collect();
    let hosts: String = ["a1", "a2", "b1", "b2"].map(|host| format!("<host id=\"{host}\"/>")).concat();
    let links: String = ["a", "b", "c", "d", "m"].map(|link| format!("<link id=\"{link}\" bandwidth=\"1\"/>")).concat();
    let network = read(&format!("<platform>{hosts}{links}{dumbbell}</platform>")).unwrap();
    assert_eq!(names(&network)[4..], ["a|m", "m|b"]);
    assert_eq!((network.links(), network.longest_route()), (10, 3));
}

#[test]
fn what_is_lopsided_is_said() {
    let expected = [
        "a leaf has up to 4.00 times as much bandwidth to its nodes as to switches",
        "MF0;leaf1:MQM8700/U1: the bandwidth of 2.000 cables to switches, where most leaves have that of 0.250",
        "MF0;leaf2:MQM8700/U1 to MF0;spine:MQM8700/U1: 0.250 of the speed of others",
    ];
    assert_eq!(network("fabric.ibnetdiscover").remarks()[..1], expected[..1]);
    assert_eq!(network("fabric.ibnetdiscover").remarks().last().map(String::as_str), Some(expected[2]));
    assert_eq!(
        network("topology.conf").remarks().last().unwrap(),
        "node01 to leaf1 and 2 more: 0.500 of the speed of others"
    );
    let even = "from,to\na,l\nb,l\nl,s\nl,s\nc,m\nd,m\nm,s\nm,s";
    assert_eq!(read(even).unwrap().remarks(), [""; 0]);
}

#[test]
fn ranks_are_on_the_hosts_that_are_named() {
    let topology = network("topology.conf");
    let on = |keys: &str, ranks: usize| -> Vec<usize> {
        let placement = Placement::read_on(&section(keys), &*topology).unwrap_or_else(|error| panic!("{error}"));
        (0..ranks).map(|rank| placement.node_of(rank, ranks)).collect()
    };
    assert_eq!(on("hosts = \"node[04-05],node02\"", 3), [3, 4, 1]);
    assert_eq!(on("hosts = \"node[04-05]\"\nranks_per_node = 2", 4), [3, 3, 4, 4]);
    let of_file = with_file("login slots=1\nnode03 slots=2\n", |path| on(&format!("map = \"{path}\""), 3));
    assert_eq!(of_file, [5, 2, 2]);
    let refused = |keys: &str| Placement::read_on(&section(keys), &*topology).unwrap_err().to_string();
    assert!(refused("hosts = \"node[04-06]\"").contains("has no \"node06\""));
    assert!(refused("hosts = \"node01,node01\"").contains("each host once"));
    assert!(refused("hosts = \"node01\"\nmap = \"cyclic\"").contains("beside network.hosts"));
    let three = Placement::read_on(&section("hosts = \"node[01-03]\""), &*topology).unwrap();
    assert!(three.check(4, topology.nodes()).is_err());
}

#[test]
fn what_is_wrong_in_xml_is_said_with_its_line() {
    let two = ["1Bps", "1Bps"];
    let one_way = ROUTES.replace("dst=\"r\"", "dst=\"r\" symmetrical=\"NO\"").lines().next().unwrap().to_owned();
    let cluster =
        |keys: &str| format!("<platform>\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" bw=\"1Bps\" {keys}/></platform>");
    let bomb = "<!DOCTYPE platform [\n<!ENTITY a \"aaaa\">\n<!ENTITY b \"&a;&a;&a;\">]>\n<platform id=\"&b;\"/>";
    for (text, expected) in [
        (bomb.to_owned(), "FILE: line 2: got an entity"),
        ("<platform>\n<zone></platform>".to_owned(), "FILE: line 2: got no XML ("),
        ("<platform/>".to_owned(), "FILE: got no nodes"),
        (platform(two, "<route src=\"a\" dst=\"x\"/>"), "FILE: line 7: got <route> with dst=\"x\""),
        (platform(two, "<route src=\"a\" dst=\"b\"/>"), "FILE: line 7: got a route without links"),
        (platform(two, &ROUTES.replace("id=\"to-b\"", "id=\"wire\"")), "FILE: line 8: got the link \"wire\""),
        (platform(two, &format!("{ROUTES}\n<peer id=\"p\"/>")), "FILE: line 9: got <peer>"),
        (platform(two, &one_way), "FILE: line 7: got a link in one direction"),
        (
            platform(two, &format!("{ROUTES}<route src=\"r\" dst=\"b\"><link_ctn id=\"to-a\"/></route>")),
            "FILE: line 8: got the link to-a from r to b, expected it between a and r",
        ),
        (
            cluster("radical=\"0-1\" topology=\"DRAGONFLY\""),
            "FILE: line 2: got <cluster> with topology=\"DRAGONFLY\", \
          expected FLAT, or in the machine file topology = \"torus\", \"fat_tree\" or \"dragonfly\"",
        ),
        (cluster("radical=\"1-0\""), "FILE: line 2: got <cluster> with radical=\"1-0\""),
        (cluster("radical=\"0-999999999\""), "FILE: line 2: got <cluster> with radical=\"0-999999999\""),
        (
            "<platform><zone routing=\"Vivaldi\"/></platform>".to_owned(),
            "FILE: line 1: got <zone> with routing=\"Vivaldi\"",
        ),
        ("<platform><host id=\"&#7;\"/></platform>".to_owned(), "FILE: line 1: got no XML ("),
        ("<platform><host id=\"&#x9b;\"/></platform>".to_owned(), "FILE: line 1: got the name \"\\u{9b}\""),
    ] {
        let refusal = read(&text).map(|_| ()).unwrap_err().to_string();
        assert!(refusal.starts_with(expected), "{text}: {refusal}");
        assert!(!refusal.contains(char::is_control), "{refusal:?}");
    }
}

/// A ring of so many nodes.
fn ring(nodes: usize) -> String {
    (0..nodes).fold("from,to".to_owned(), |text, node| format!("{text}\nn{node},n{}", (node + 1) % nodes))
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    for (text, expected) in [
        ("SwitchName=a Nodes=n[1-2]\nSwitchName=b Node=n3", "FILE: line 2: got \"SwitchName=b Node=n3\""),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2", "FILE: got n2 without a way to n1"),
        ("from,to\na,b,fast", "FILE: line 2: got \"a,b,fast\""),
        ("from,to\na,a", "FILE: line 2: got a cable from a to a"),
        ("from,to\na,\u{1b}[31m", "FILE: line 2: got the name \"\\u{1b}[31m\""),
        ("{\"nodes\": []}", "FILE: got no network (missing field `links`"),
        ("{\"nodes\": [{\"id\": 1}], \"links\": [{\"source\": 1, \"target\": 2}]}", "FILE: got a link from 1 to 2"),
        (&ring(300), "FILE: got a way of 150 links from n0, expected at most 127"),
        ("<plan>", "FILE: got another text"),
        ("Switch 2 \"S-1\" # \"s\"\n[1] \"H-1\"[1] # lid 4xHDR", "FILE: line 2: got the neighbour \"H-1\""),
        (
            "{\"nodes\": [{\"id\": 1, \"kind\": \"node\"}, {\"id\": 2, \"kind\": \"node\"}, {\"id\": 3, \"kind\": \"node\"}, \
          {\"id\": 4, \"kind\": \"switch\"}], \"links\": [{\"source\": 1, \"target\": 4}, {\"source\": 1, \"target\": 2}, \
          {\"source\": 4, \"target\": 3}]}",
            "FILE: got 2 without a way to 1",
        ),
        ("SwitchName=a Nodes=n[1-2] LinkSpeed=inf", "FILE: line 1: got a cable from n1 to a of speed inf"),
        ("Switch 2 \"S-1\" # \"s\"\n[1] cut", "FILE: line 2: got \"[1] cut\""),
    ] {
        let refusal = read(text).map(|_| ()).unwrap_err().to_string();
        assert!(refusal.starts_with(expected), "{text}: {refusal}");
    }
}

proptest! {
    /// A damaged file is read or refused in one line.
    #[test]
    fn a_damaged_file_is_read_or_refused(file in 0..ALL.len(), cut in 0.0..1.0_f64, insert in "[\\PC\n]{0,8}") {
        let text = std::fs::read_to_string(format!("tests/networks/{}", ALL[file])).unwrap();
        let mut at = (text.len() as f64 * cut) as usize;
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let damaged = format!("{}{insert}{}", &text[..at], text.get(at + 3..).unwrap_or(""));
        if let Err(error) = read(&damaged) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

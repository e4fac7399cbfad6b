//! Machine files: what is read, what is said when something is wrong, and that no text makes the parser panic.

use hocket_core::Result;
use hocket_machine::{Discrepancy, Machine, Section, Value};
use proptest::prelude::*;

const EXAMPLE: &str = "name = \"my-cluster\"
[network]
model = \"hockney\"
latency = \"1 us\"
bandwidth = \"1 GB/s\"
[node]
reduce_bandwidth = \"10 GB/s\"
";

/// Reads the example's network section as a model would.
fn read(section: &Section) -> Result<(f64, f64)> {
    section.text("model")?;
    let values = (section.time_s("latency")?, section.bytes_per_s("bandwidth")?);
    section.finish()?;
    Ok(values)
}

fn message(text: &str) -> String {
    let result = Machine::parse(text, "m.toml").and_then(|machine| read(&machine.network));
    result.unwrap_err().to_string()
}

#[test]
fn quantities_are_read_in_si_units() {
    let machine = Machine::parse(EXAMPLE, "m.toml").unwrap();
    assert_eq!(machine.name, "my-cluster");
    assert_eq!(read(&machine.network).unwrap(), (1e-6, 1e9));
    assert_eq!(machine.node.optional_bytes_per_s("reduce_bandwidth").unwrap(), Some(1e10));
}

/// Every way to read a key tells its value, with the unit that the way to read it gives.
#[test]
fn what_was_read_is_told_by_full_keys_in_si_units() {
    let text = "name = \"x\"\n[network]\nL = \"1 us\"\nS = \"4 KiB\"\nB = \"8 Gbit/s\"\nd = [2, 3]\nc = 4\n\
                u = \"unlimited\"\nk = \"b\"\nt = [\"y\", \"z\"]\n[noise.os]\nf = 1.5\n";
    let machine = Machine::parse(text, "m.toml").unwrap();
    let network = &machine.network;
    network.time_s("L").unwrap();
    network.optional_bytes("S").unwrap();
    network.bytes_per_s("B").unwrap();
    network.sizes("d").unwrap();
    network.count("c").unwrap();
    network.count_or_unlimited("u", 1, 2).unwrap();
    network.choice("k", &[("a", 1), ("b", 2)]).unwrap();
    network.optional_list("t", |_| Ok(())).unwrap();
    network.time_s_or("absent", 1.0).unwrap();
    machine.noise.optional_section("os").unwrap().number("f").unwrap();
    let text = |text: &str| Value::Text(text.to_owned());
    let expected = [
        ("name", text("x")),
        ("network.B_bytes_per_s", Value::Number(1e9)),
        ("network.L_s", Value::Number(1e-6)),
        ("network.S_bytes", Value::Count(4096)),
        ("network.c", Value::Count(4)),
        ("network.d", Value::Counts(vec![2, 3])),
        ("network.k", text("b")),
        ("network.t", Value::Texts(vec!["y".to_owned(), "z".to_owned()])),
        ("network.u", text("unlimited")),
        ("noise.os.f", Value::Number(1.5)),
    ];
    let found = network.read_so_far();
    assert_eq!(found.iter().map(|(key, value)| (key.as_str(), value.clone())).collect::<Vec<_>>(), expected);
}

#[test]
fn values_are_told_as_they_are_in_the_file_but_long_ones_by_their_type() {
    let text = "name = \"x\"\ndims = [8, 8]\nports = 4\nlong = [\n1]\n[network]\nmodel = \"hockney\"\n";
    let section = Section::parse(text, "m.toml").unwrap();
    let values: Vec<_> = section.values().collect();
    assert_eq!(values, [("name", "x"), ("dims", "[8, 8]"), ("ports", "4"), ("long", "array")]);
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_key() {
    let cases = [
        (
            ("1 us", "1 parsec"),
            "m.toml:4: network.latency: got \"1 parsec\", expected a time such as \"1.27 us\" (s, ms, us, ns, ps)",
        ),
        (("\"1 us\"", "1e-6"), "m.toml:4: network.latency: got float, expected a text in quotes, with a unit if any"),
        (("latency = \"1 us\"\n", ""), "m.toml: network.latency is missing, expected a time such as \"1 us\""),
        (("latency", "lattency"), "m.toml: network.latency is missing, expected a time such as \"1 us\""),
        (
            ("[node]", "frequency = \"1\"\n[node]"),
            "m.toml:6: network.frequency: unknown key, expected one of bandwidth, latency, model",
        ),
        (("[network]", "[netwerk]"), "m.toml: section [network] is missing"),
        (("[node]", "[nodes]"), "m.toml:6: nodes: unknown key, did you mean node?"),
        (("name = ", "nick = "), "m.toml: name is missing, expected a text in quotes"),
    ];
    for ((from, to), expected) in cases {
        assert_eq!(message(&EXAMPLE.replacen(from, to, 1)), expected);
    }
    assert!(message("name = ").starts_with("m.toml:1: "));
    assert!(message("name = \"x\"\n[network\n").starts_with("m.toml:2: "));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = Machine::parse(&text, "m.toml");
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_in_one_line(at in 0..EXAMPLE.len(), character in any::<char>()) {
        let mut characters: Vec<_> = EXAMPLE.chars().collect();
        characters[at] = character;
        let text: String = characters.into_iter().collect();
        if let Err(error) = Machine::parse(&text, "m.toml").and_then(|machine| read(&machine.network)) {
            prop_assert!(error.to_string().starts_with("m.toml") && !error.to_string().contains('\n'));
        }
    }
}

const DISCREPANCY: &str = "[[discrepancy]]
collective = \"bcast\"
algorithm = \"binomial\"
from = \"1 KiB\"
below = \"64 KiB\"
ranks = 65
low = 0.5
high = 2
calls = 19
[[discrepancy]]
low = 0.25
high = 4.0
ratio = 3.0
calls = 100
ranks = 512
";

#[test]
fn discrepancies_are_read_in_their_order_and_what_is_absent_holds_for_all() {
    let machine = Machine::parse(&format!("{EXAMPLE}{DISCREPANCY}"), "m.toml").unwrap();
    let [first, second] = machine.discrepancies.try_into().unwrap();
    let expected = Discrepancy {
        collective: Some("broadcast"),
        algorithm: Some("binomial".to_owned()),
        from_bytes: 1024,
        below_bytes: Some(65536),
        low: 0.5,
        high: 2.0,
        ratio: 4.0,
        calls: 19,
        ranks: 65,
    };
    assert_eq!(first, expected);
    let of_all = Discrepancy { collective: None, algorithm: None, from_bytes: 0, below_bytes: None, ..expected };
    assert_eq!(second, Discrepancy { low: 0.25, high: 4.0, ratio: 3.0, calls: 100, ranks: 512, ..of_all });
    assert!(Machine::parse(EXAMPLE, "m.toml").unwrap().discrepancies.is_empty());
}

#[test]
fn what_is_wrong_in_a_discrepancy_is_said_with_its_line_and_number() {
    let cases = [
        (("calls = 19", "size = 19\ncalls = 19"), "m.toml:16: discrepancy[0].size: unknown key, expected one of"),
        (("ranks = 65\n", ""), "m.toml: discrepancy[0].ranks is missing, expected a whole number of at least 1"),
        (
            ("\"bcast\"", "\"allredue\""),
            "m.toml:9: discrepancy[0].collective: got \"allredue\", did you mean allreduce?",
        ),
        (
            ("\"64 KiB\"", "\"1 KiB\""),
            "m.toml:12: discrepancy[0].below: got \"1 KiB\", expected a size larger than `from`",
        ),
        (("low = 0.5", "low = 0"), "m.toml:14: discrepancy[0].low: got 0, expected a number above 0"),
        (("low = 0.5", "low = \"1\""), "m.toml:14: discrepancy[0].low: got string, expected a number"),
        (("high = 4.0", "high = 0.1"), "m.toml:19: discrepancy[1].high: got 0.1, expected a number of at least `low`"),
        (("calls = 100\n", ""), "m.toml: discrepancy[1].calls is missing, expected a whole number of at least 1"),
        (("calls = 19", "calls = 0"), "m.toml:16: discrepancy[0].calls: got 0, expected a whole number of at least 1"),
    ];
    for ((from, to), expected) in cases {
        let said = message(&format!("{EXAMPLE}{}", DISCREPANCY.replacen(from, to, 1)));
        assert!(said.starts_with(expected), "{said}");
    }
    let expected = "m.toml:8: discrepancy: got table, expected sections [[discrepancy]]";
    assert_eq!(message(&format!("{EXAMPLE}[discrepancy]\nlow = 1.0\n")), expected);
}

const GPU: &str = "[gpu]
generation = \"hopper\"
channels = 12
channel_bandwidth = \"30 GB/s\"
";

#[test]
fn protocols_are_named_and_change_nothing() {
    let text = format!("{EXAMPLE}[protocol.LL.network]\nlatency = \"3 us\"\n[protocol.LL128]\n");
    let machine = Machine::parse(&text, "m.toml").unwrap();
    assert_eq!(machine.protocols, ["LL", "LL128"]);
    let plain = Machine::parse(EXAMPLE, "m.toml").unwrap();
    assert!(machine.network.values().eq(plain.network.values()));
    let refusal = Machine::parse(&format!("{EXAMPLE}[protocol]\nLL = 3\n"), "m.toml").unwrap_err().to_string();
    assert!(refusal.ends_with("protocol.LL: got integer, expected a section [LL]"), "{refusal}");
}

#[test]
fn accelerators_are_read_for_tables_alone() {
    let machine = Machine::parse(&format!("{EXAMPLE}{GPU}"), "m.toml").unwrap();
    assert!(machine.gpu.is_some());
    let values = machine.network.read_so_far();
    assert_eq!(values["gpu.channels"], Value::Count(12));
    assert_eq!(values["gpu.channel_bandwidth_bytes_per_s"], Value::Number(30e9));
    assert!(Machine::parse(EXAMPLE, "m.toml").unwrap().gpu.is_none());
}

#[test]
fn what_is_wrong_with_accelerators_is_said_with_its_line() {
    let cases = [
        (("hopper", "hoper"), "m.toml:9: gpu.generation: got \"hoper\", did you mean \"hopper\"?"),
        (("generation = \"hopper\"\n", ""), "m.toml: gpu.generation is missing, expected one of \"volta\""),
        (("channels = 12", "channels = 0"), "m.toml:10: gpu.channels: got 0, expected a whole number of at least 1"),
        (("\"30 GB/s\"", "30"), "m.toml:11: gpu.channel_bandwidth: got integer, expected a text"),
        (("channels = 12", "channels = 12\nlink = \"pcie\""), "m.toml:11: gpu.link: unknown key, did you mean links?"),
        (("channels = 12", "channels = 12\nlinks = \"x\""), "m.toml:11: gpu.links: got \"x\", expected one of"),
    ];
    for ((from, to), expected) in cases {
        let said = message(&format!("{EXAMPLE}{}", GPU.replacen(from, to, 1)));
        assert!(said.starts_with(expected), "{said}");
    }
}

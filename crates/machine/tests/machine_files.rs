//! Machine files: what is read, what is said when something is wrong, and that no text makes the parser panic.

use hocket_core::Result;
use hocket_machine::{Machine, Section, Value};
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

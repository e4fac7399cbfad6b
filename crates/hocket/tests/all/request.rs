//! What a user sets parameters to, as values.

use hocket::request::{CallValues, Setting, Signature};
use hocket_algorithms::find;
use hocket_core::{Collective, Domain, Parameter, Result, Unit};
use hocket_machine::Machine;
use hocket_simulate::Platform;

const TORUS: &str = r#"
name = "ring of rings"
[network]
model = "links"
topology = "torus"
dims = [4, 2]
link_bandwidth = "1 GB/s"
"#;

fn platform(text: &str) -> Platform {
    Platform::new(&Machine::parse(text, "machine").unwrap()).unwrap()
}

fn of(collective: Collective, name: &str) -> Signature {
    Signature::from(find(collective, name).unwrap())
}

fn text(name: &str, text: &str) -> (String, Setting) {
    (name.to_owned(), Setting::Text(text.to_owned()))
}

fn whole(name: &str, number: u64) -> (String, Setting) {
    (name.to_owned(), Setting::Whole(number))
}

fn number(values: &CallValues, name: &str) -> Option<u64> {
    values.numbers.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
}

fn refusal(result: Result<CallValues>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_size_may_have_a_unit_and_is_cut_to_whole_elements() {
    let chain = of(Collective::Broadcast, "chain");
    assert_eq!(number(&chain.values(&[text("segment", "1KiB")], 1).unwrap(), "segment"), Some(1024));
    assert_eq!(number(&chain.values(&[whole("segment", 20)], 8).unwrap(), "segment"), Some(16));
    let wrong = refusal(chain.values(&[text("segment", "large")], 1));
    assert!(wrong.starts_with("parameter segment: got \"large\", expected a whole number of bytes"), "{wrong}");
}

#[test]
fn a_count_is_a_whole_number() {
    let tree = of(Collective::Broadcast, "k_nomial");
    assert_eq!(refusal(tree.values(&[text("radix", "4")], 1)), "parameter radix: got '4', expected a whole number");
    let real = ("radix".to_owned(), Setting::Real(2.5));
    assert_eq!(refusal(tree.values(&[real], 1)), "parameter radix: got 2.5, expected a whole number");
    let long = refusal(tree.values(&[text("radix", &"x".repeat(100))], 1));
    assert_eq!(long, format!("parameter radix: got '{}…, expected a whole number", "x".repeat(59)));
    let unknown = refusal(tree.values(&[whole("radiks", 4)], 1));
    assert_eq!(unknown, "broadcast k_nomial: unknown parameter \"radiks\", did you mean radix?");
}

#[test]
fn only_on_a_machine_values_are_automatic() {
    let trees = of(Collective::Allreduce, "trinaryx3");
    let automatic = [text("segment", "auto"), whole("X", 8)];
    let values = trees.values_on(&automatic, 1, 8, Some(&platform(TORUS)), None).unwrap();
    assert_eq!(
        (values.automatic, number(&CallValues { automatic: Vec::new(), ..values }, "segment")),
        (vec!["segment".to_owned()], None)
    );
    assert!(refusal(trees.values_on(&automatic, 1, 8, None, None)).contains("got \"auto\""));
}

#[test]
fn the_torus_of_the_machine_is_that_of_the_call() {
    let trees = of(Collective::Allreduce, "trinaryx3");
    let torus = platform(TORUS);
    let values = trees.values_on(&[], 1, 8, Some(&torus), None).unwrap();
    assert_eq!(["X", "Y", "Z"].map(|axis| number(&values, axis)), [Some(4), Some(2), Some(0)]);
    let values = trees.values_on(&[whole("Y", 8)], 1, 8, Some(&torus), None).unwrap();
    assert_eq!(["X", "Y"].map(|axis| number(&values, axis)), [Some(0), Some(8)]);
    assert_eq!(
        refusal(trees.values_on(&[], 1, 9, Some(&torus), None)),
        "allreduce trinaryx3 needs X * Y * Z = P, but the torus of machine ring of rings is 4 x 2, and no X, Y or Z was \
         given (P = 9)"
    );
    let star = platform(&TORUS.replace("\"torus\"\ndims = [4, 2]", "\"fat_tree\"\ndown = [8]\nup = [1]"));
    assert_eq!(
        refusal(trees.values_on(&[], 1, 8, Some(&star), None)),
        "allreduce trinaryx3 needs a torus of up to 3 axes, but machine ring of rings is a fat tree"
    );
}

#[test]
fn the_rank_that_is_late_is_known_to_the_algorithms_that_ask() {
    let late = of(Collective::Allreduce, "late_rank");
    let of_late =
        |settings: &[_], ranks, rank| number(&late.values_on(settings, 1, ranks, None, rank).unwrap(), "late");
    let default = of_late(&[], 8, None);
    assert_eq!(of_late(&[], 8, Some(3)), Some(3));
    assert_eq!(of_late(&[whole("late", 5)], 8, Some(3)), Some(5));
    assert_eq!(of_late(&[], 3, Some(3)), default);
    assert!(of(Collective::Allreduce, "ring").values_on(&[], 1, 8, None, Some(3)).unwrap().numbers.is_empty());
}

#[test]
fn a_program_of_the_user_has_its_own_parameters() {
    let width = Parameter {
        name: "width",
        unit: Unit::Count,
        default: 3,
        least: 2,
        tries: &[],
        domain: Domain::Given,
        meaning: "",
    };
    let own = Signature::own("allreduce mine".to_owned(), vec![width]);
    assert_eq!(number(&own.values(&[], 1).unwrap(), "width"), Some(3));
    assert_eq!(
        refusal(own.values(&[whole("width", 1)], 1)),
        "allreduce mine: parameter width = 1, expected at least 2"
    );
    assert_eq!(own.values(&[], 1).unwrap().gap, None);
}

//! What verifying an algorithm costs, as a count that is the same on any host.

use std::collections::BTreeMap;

use crate::sweeps;
use hocket::cases;
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::Collective;
use hocket_verify::{Limits, verify};

/// The work of each algorithm's verification, when they were last accepted.
const WORK: &str = include_str!("costs.csv");
/// An algorithm without a line may cost so many times the median of the algorithms of its collective.
const NEW: usize = 4;

/// The work of all orders of messages on some ranks, with one root and the defaults of parameters.
fn work(entry: &Entry) -> usize {
    let of_ranks = |ranks| {
        let calls = cases::calls_to_verify(entry.collective, ranks);
        let calls = calls.filter(sweeps::is_for_long_sweeps).filter_map(|call| entry.accept(&call, &[]).ok());
        calls
            .map(|call| verify(entry.program(), None, &call, Limits::default(), &|| false).unwrap().work)
            .sum::<usize>()
    };
    [5, 8, 16].into_iter().map(of_ranks).sum()
}

/// The commands that verify all algorithms, and the tests, take as long as the algorithms cost together.
#[test]
fn no_verification_costs_much_more_work_than_it_did() {
    let accepted: BTreeMap<&str, usize> = WORK
        .lines()
        .filter_map(|line| line.rsplit_once(','))
        .map(|(name, count)| (name, count.parse().unwrap()))
        .collect();
    let counts: Vec<_> = CATALOGUE.iter().map(|entry| (entry.collective, entry.to_string(), work(entry))).collect();
    let median = |collective: Collective| {
        let mut own: Vec<_> = counts.iter().filter(|one| one.0 == collective).map(|one| one.2).collect();
        own.sort_unstable();
        own[own.len() / 2]
    };
    let is_dear = |(collective, name, count): &&(Collective, String, usize)| match accepted.get(name.as_str()) {
        Some(before) => 5 * count > 6 * before,
        None => *count > NEW * median(*collective),
    };
    let dear: Vec<_> = counts.iter().filter(is_dear).map(|(_, name, count)| format!("{name},{count}")).collect();
    assert!(dear.is_empty(), "make these cheaper, or accept them in costs.csv:\n{}", dear.join("\n"));
}

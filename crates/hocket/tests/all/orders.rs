//! The order in which every reducing algorithm combines operands, compared with the order that it declares.

use std::collections::{BTreeMap, BTreeSet};

use crate::sweeps;
use hocket::cases;
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Collective};
use hocket_verify::{Order, orders};

/// What an order may depend on: ranks, root, whether operands may be swapped, and parameters but segments.
type Key = (usize, usize, bool, Vec<(String, u64)>);
/// The orders that occur on each rank.
type Found = Vec<BTreeSet<Order>>;

/// The orders of all calls; beyond a few ranks, with other values of parameters than the first only if complete.
fn found(entry: &Entry, is_complete: bool) -> BTreeMap<Key, Found> {
    let mut all = BTreeMap::new();
    for ranks in (2..=9).chain([12, 16, 17, 33]) {
        let most = if is_complete || sweeps::has_all_values_in_long_sweeps(ranks) { usize::MAX } else { 1 };
        for parameters in cases::parameters(entry).into_iter().take(most) {
            let calls = cases::calls_to_verify(entry.collective, ranks);
            let calls = calls.chain([Call::new(entry.collective, ranks, 4 * ranks + 3)]);
            let others: Vec<_> = parameters.iter().filter(|(name, _)| name != "segment").cloned().collect();
            let mut accepts = BTreeMap::new();
            for call in calls.filter(|call| [0, 1, ranks - 1].contains(&call.root)) {
                let accepted = entry.accept(&call, &parameters);
                if entry.about.order.is_some() {
                    let first = accepts.entry((call.root, call.commutative)).or_insert(accepted.is_ok());
                    assert_eq!(*first, accepted.is_ok(), "{entry} takes some sizes and refuses others: {call:?}");
                }
                let Ok(call) = accepted else { continue };
                let key = (ranks, call.root, call.commutative, others.clone());
                let of_ranks = all.entry(key).or_insert_with(|| vec![BTreeSet::new(); ranks]);
                let more = orders(entry.program(), &call, &|| false).unwrap();
                of_ranks.iter_mut().zip(more).for_each(|(known, more)| known.extend(more));
            }
        }
    }
    all
}

/// An allreduce gives all ranks the same bits, so all of them have the same order.
fn differs(entry: &Entry, of_ranks: &Found) -> bool {
    let all: BTreeSet<_> = of_ranks.iter().flatten().collect();
    of_ranks.iter().any(|orders| orders.len() > 1) || entry.collective == Collective::Allreduce && all.len() > 1
}

#[test]
fn every_algorithm_combines_in_the_order_that_it_declares() {
    check(false);
}

#[test]
#[ignore = "long: make test-long"]
fn every_algorithm_combines_in_the_order_that_it_declares_with_every_value_of_parameters() {
    check(true);
}

fn check(is_complete: bool) {
    let mut known: BTreeMap<_, (&Entry, BTreeMap<Key, Found>)> = BTreeMap::new();
    for entry in CATALOGUE.iter().filter(|entry| entry.collective.reduces()) {
        let found = found(entry, is_complete);
        let different = found.iter().find(|(_, of_ranks)| differs(entry, of_ranks)).map(|(key, _)| key);
        let is_composed = found.keys().any(|(.., parameters)| parameters.iter().any(|(name, _)| name == "group"));
        match entry.about.order {
            Some(_) => assert_eq!(different, None, "{entry} combines elements in different orders"),
            None => assert!(different.is_some() || is_composed, "{entry} combines all elements alike"),
        }
        let Some(order) = entry.about.order else { continue };
        let (first, alike) = known.entry((entry.collective.name(), order)).or_insert_with(|| (entry, found.clone()));
        assert_eq!(*alike, found, "{entry} and {first} combine in different orders");
    }
    assert!(known.len() > 20);
}

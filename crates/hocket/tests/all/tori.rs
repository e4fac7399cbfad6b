//! Algorithms for tori of any number of axes: that they are right beyond the axes that contracts try, what they do to the links,
//! and how long trees take where reducing is slow.

use std::collections::{HashMap, HashSet};

use hocket::{predict, simulate, verify};
use hocket_algorithms::shapes::torus::{AXES, Torus};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective};
use hocket_machine::Machine;
use hocket_simulate::{Options, Platform};
use hocket_verify::Limits;

use crate::trinaryx3::{are_neighbours, messages, platform};

fn given(sizes: &[usize]) -> Vec<(String, u64)> {
    AXES.iter().zip(sizes).map(|(axis, size)| (axis.name.to_owned(), *size as u64)).collect()
}

fn accepted(entry: &Entry, sizes: &[usize], root: usize, count: usize) -> Call {
    let call = Call { root, element_bytes: 8, ..Call::new(entry.collective, sizes.iter().product(), count) };
    let has_segment = entry.about.parameter("segment").is_some();
    let segment = has_segment.then(|| ("segment".to_owned(), 8));
    let given: Vec<_> = given(sizes).into_iter().chain(segment).collect();
    entry.accept(&call, &given).unwrap_or_else(|e| panic!("{entry}: {e}"))
}

#[test]
fn on_five_and_six_axes_they_are_right() {
    let last = AXES[AXES.len() - 1].name;
    for entry in CATALOGUE.iter().filter(|entry| entry.about.parameter(last).is_some()) {
        for sizes in [[2, 2, 2, 2, 2, 1], [2, 3, 1, 2, 1, 2], [3, 1, 1, 3, 1, 3]] {
            let report = verify(entry, sizes.iter().product(), &given(&sizes), Limits::default()).unwrap();
            assert!(report.counterexample.is_none(), "{entry} on {sizes:?}: {:?}", report.counterexample);
            assert!(report.calls > 0 || entry.name == "swing_torus", "{entry} refused all calls on {sizes:?}");
        }
    }
}

/// Elements that each link carries.
fn carried(entry: &Entry, sizes: &[usize], call: &Call) -> HashMap<(usize, usize), usize> {
    let mut carried = HashMap::new();
    for (from, to, data) in messages(entry.collective, entry.name, call) {
        assert!(are_neighbours(Torus::new(sizes), from, to), "{entry}: {from} to {to} of {sizes:?}");
        *carried.entry((from, to)).or_default() += data.len;
    }
    carried
}

const TORI: [&[usize]; 8] =
    [&[7], &[3, 5], &[3, 3, 3], &[4, 1, 3], &[3, 4, 5], &[3, 3, 1, 3], &[2, 3, 4], &[2, 2, 2, 2]];

fn trees(sizes: &[usize]) -> usize {
    let axes = sizes.iter().filter(|size| **size > 1).count();
    if sizes.contains(&2) { axes } else { 2 * axes }
}

#[test]
fn each_link_carries_the_part_of_one_tree_at_most() {
    for collective in [Collective::Broadcast, Collective::Reduce] {
        let entry = find(collective, "edge_disjoint_trees").unwrap();
        for sizes in TORI {
            for root in 0..sizes.iter().product() {
                let carried = carried(entry, sizes, &accepted(entry, sizes, root, 24));
                let parts: HashSet<_> = carried.values().copied().collect();
                assert_eq!(parts, HashSet::from([24 / trees(sizes)]), "{entry} on {sizes:?}");
                assert_eq!(carried.len(), trees(sizes) * (sizes.iter().product::<usize>() - 1), "{entry} on {sizes:?}");
            }
        }
    }
}

#[test]
fn where_all_axes_are_alike_buckets_use_all_links_alike() {
    for collective in [Collective::Allreduce, Collective::ReduceScatter, Collective::Allgather] {
        let entry = find(collective, "torus_bucket").unwrap();
        for sizes in [&[7][..], &[3, 3], &[5, 1, 5], &[3, 3, 3], &[3, 3, 3, 3]] {
            let (ranks, links) = (sizes.iter().product::<usize>(), trees(sizes));
            let count = if collective == Collective::Allgather { links } else { links * ranks };
            let carried = carried(entry, sizes, &accepted(entry, sizes, 0, count));
            let each = if collective == Collective::Allreduce { 2 * (ranks - 1) } else { ranks - 1 };
            assert_eq!(carried.len(), links * ranks, "{entry} on {sizes:?}");
            assert!(carried.values().all(|carried| *carried == each), "{entry} on {sizes:?}");
        }
    }
}

/// Parts do not take turns evenly: with 3 ports, some of 6 take longer than two turns, and some of 8 longer than three.
#[test]
fn formulas_of_parts_that_wait_for_ports_are_upper_bounds() {
    let names = [
        (Collective::Allgather, "torus_bucket"),
        (Collective::ReduceScatter, "torus_bucket"),
        (Collective::Allreduce, "torus_bucket"),
        (Collective::Allreduce, "swing_torus"),
    ];
    for ports in 1..=8 {
        let platform = hockney(ports);
        for (collective, name) in names {
            let entry = find(collective, name).unwrap();
            for sizes in [&[5, 3, 2][..], &[4, 4], &[2, 8, 4], &[16], &[3, 4, 5], &[7, 2], &[2, 2, 2, 2]] {
                let call = |count| Call { element_bytes: 8, ..Call::new(collective, sizes.iter().product(), count) };
                let accepted = [1, 100, 12_500].map(|count| entry.accept(&call(count), &given(sizes)));
                for call in accepted.into_iter().flatten() {
                    let time_s = simulate(entry, &call, &platform, Options::default()).unwrap().time_s();
                    let predicted = predict(entry, &call, &platform).unwrap().unwrap();
                    let is_bound = time_s <= predicted.time_s * (1.0 + 1e-12);
                    assert!(is_bound, "{entry} takes {time_s}, not {}, {ports} ports, {call:?}", predicted.time_s);
                }
            }
        }
    }
}

fn hockney(ports: usize) -> Platform {
    let network = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
    let node = format!("ports = {ports}\nreduce_bandwidth = \"10 GB/s\"");
    let text = format!("name = \"test\"\n[network]\n{network}\n[node]\n{node}\n");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

/// 8 B take 1.008 us on a link; they are combined in 0.4 us, 0.8 us, and 4 us.
#[test]
fn formulas_are_exact_also_where_a_rank_with_several_children_is_slower_than_its_links() {
    for reduce_bandwidth in ["20 MB/s", "10 MB/s", "2 MB/s"] {
        let platform = platform(reduce_bandwidth);
        for collective in [Collective::Broadcast, Collective::Reduce, Collective::Allreduce] {
            let entry = find(collective, "edge_disjoint_trees").unwrap();
            for sizes in TORI {
                let call = accepted(entry, sizes, 0, 48);
                let predicted = predict(entry, &call, &platform).unwrap().unwrap();
                let time_s = simulate(entry, &call, &platform, Options::default()).unwrap().time_s();
                assert!(predicted.is_exact);
                let error = (time_s / predicted.time_s - 1.0).abs();
                assert!(error < 1e-12, "{entry} on {sizes:?}: {time_s}, not {}", predicted.time_s);
            }
        }
    }
}

//! Trinaryx3: what its messages do to the links of a torus, and how long it takes where reducing is slow.

use std::collections::HashMap;

use hocket::{predict, simulate};
use hocket_algorithms::find;
use hocket_algorithms::shapes::torus::Torus;
use hocket_core::{Call, Collective, Span};
use hocket_machine::Machine;
use hocket_record::{Action, record};
use hocket_simulate::{Options, Platform};

/// A call on a torus, of 3 parts of 4 segments of 8 B.
fn accepted(collective: Collective, name: &str, sizes: [usize; 3], root: usize) -> Call {
    let call = Call { root, element_bytes: 8, ..Call::new(collective, sizes.iter().product(), 12) };
    let sizes = ["X", "Y", "Z"].iter().zip(sizes).map(|(axis, size)| ((*axis).to_owned(), size as u64));
    let given: Vec<_> = sizes.chain([("segment".to_owned(), 8)]).collect();
    find(collective, name).unwrap().accept(&call, &given).unwrap()
}

/// What is sent from whom to whom.
pub fn messages(collective: Collective, name: &str, call: &Call) -> Vec<(usize, usize, Span)> {
    let schedule = record(find(collective, name).unwrap().program(), call).unwrap();
    let sends = (0..call.ranks).flat_map(|rank| {
        schedule.tasks(rank).actions.into_iter().filter_map(move |action| match action {
            Action::Send { to, data, .. } => Some((rank, to as usize, data)),
            _ => None,
        })
    });
    sends.collect()
}

pub fn are_neighbours(torus: Torus, a: usize, b: usize) -> bool {
    let (a, b) = (torus.coordinates(a), torus.coordinates(b));
    let distances = (0..a.len()).map(|axis| (a[axis] + torus.sizes[axis] - b[axis]) % torus.sizes[axis]);
    let moves: Vec<_> = distances.zip(torus.sizes).filter(|(distance, _)| *distance != 0).collect();
    matches!(moves[..], [(distance, size)] if distance == 1 || distance == size - 1)
}

const TORI: [[usize; 3]; 5] = [[2, 2, 2], [3, 2, 4], [4, 3, 2], [3, 3, 3], [2, 5, 3]];

#[test]
fn each_link_carries_one_third_of_the_message_and_that_once() {
    for (collective, name) in [(Collective::Broadcast, "trinaryx3"), (Collective::Reduce, "trinaryx3")] {
        for sizes in TORI {
            for root in 0..sizes.iter().product() {
                let call = accepted(collective, name, sizes, root);
                let mut carried: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
                for (from, to, data) in messages(collective, name, &call) {
                    assert!(are_neighbours(Torus::new(&sizes), from, to), "{from} to {to} of {sizes:?}");
                    carried.entry((from, to)).or_default().push(data.offset);
                }
                assert_eq!(carried.len(), 3 * (call.ranks - 1), "{collective} on {sizes:?}");
                for (link, mut offsets) in carried {
                    offsets.sort_unstable();
                    let part = offsets[0] / 4;
                    assert_eq!(
                        offsets,
                        (4 * part..4 * part + 4).collect::<Vec<_>>(),
                        "{collective}: {link:?} of {sizes:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn reduce_and_broadcast_use_opposite_directions_of_the_same_links() {
    for sizes in TORI {
        let links = |collective| {
            let call = accepted(collective, "trinaryx3", sizes, 0);
            let links = messages(collective, "trinaryx3", &call).into_iter().map(|(from, to, data)| match collective {
                Collective::Reduce => (to, from, data.offset),
                _ => (from, to, data.offset),
            });
            let mut links: Vec<_> = links.collect();
            links.sort_unstable();
            links
        };
        assert_eq!(links(Collective::Reduce), links(Collective::Broadcast), "{sizes:?}");
    }
}

pub fn platform(reduce_bandwidth: &str) -> Platform {
    let network = "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"";
    let text = format!(
        "name = \"test\"\n[network]\n{network}\n[node]\nports = \"unlimited\"\nreduce_bandwidth = \"{reduce_bandwidth}\"\n"
    );
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

/// 8 B take 1.008 us on a link; they are combined in 0.4 us, 0.8 us, and 4 us.
#[test]
fn formulas_are_exact_also_where_a_rank_with_several_children_is_slower_than_its_links() {
    let names = [
        (Collective::Reduce, "trinaryx3"),
        (Collective::Allreduce, "trinaryx3"),
        (Collective::Allreduce, "trinaryx3_overlapped"),
    ];
    for reduce_bandwidth in ["20 MB/s", "10 MB/s", "2 MB/s"] {
        let platform = platform(reduce_bandwidth);
        for (collective, name) in names {
            for sizes in TORI.into_iter().chain([[4, 4, 4], [5, 1, 3], [1, 9, 1], [2, 2, 1]]) {
                let call = accepted(collective, name, sizes, 0);
                let entry = find(collective, name).unwrap();
                let predicted = predict(entry, &call, &platform).unwrap().unwrap();
                let time_s = simulate(entry, &call, &platform, Options::default()).unwrap().time_s();
                assert!(predicted.is_exact);
                let error = (time_s / predicted.time_s - 1.0).abs();
                assert!(error < 1e-12, "{entry} on {sizes:?}: {time_s}, not {}", predicted.time_s);
            }
        }
    }
}

#[test]
fn sizes_are_completed_or_refused() {
    let entry = find(Collective::Broadcast, "trinaryx3").unwrap();
    let call = Call::new(Collective::Broadcast, 24, 8);
    let sizes = |given: &[(&str, u64)]| {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        entry.accept(&call, &given).map(|call| ["X", "Y", "Z"].map(|axis| call.parameter(axis)))
    };
    assert_eq!(sizes(&[]).unwrap(), [4, 3, 2]);
    assert_eq!(sizes(&[("Y", 24)]).unwrap(), [1, 24, 1]);
    assert_eq!(sizes(&[("X", 2), ("Z", 12)]).unwrap(), [2, 1, 12]);
    let refusal = "broadcast trinaryx3 needs X * Y * Z = P (P = 24)";
    assert_eq!(sizes(&[("X", 5), ("Y", 5)]).unwrap_err().to_string(), refusal);
    assert_eq!(sizes(&[("X", 1 << 40), ("Y", 1 << 40)]).unwrap_err().to_string(), refusal);
}

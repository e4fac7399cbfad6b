//! Deadlines: a run with a deadline has the result of the run without, or ends late exactly if its time is later.

use hocket::{cases, simulate};
use hocket_algorithms::{CATALOGUE, Entry, find};
use hocket_core::{Call, Collective, Error, Result};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Many, Options, Platform, Trials, simulate_trials};

use crate::turns;

const NETWORKS: [&str; 6] = [
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"rendezvous\"",
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"",
    "model = \"hockney\"\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\nprotocol = \"eager\"\n[node]\nports = \"unlimited\"",
    "model = \"loggp\"\nL = \"2 us\"\no = \"0.7 us\"\ng = \"1.1 us\"\nG = \"0.3 ns/B\"\nO = \"0.1 ns/B\"",
    "model = \"links\"\ntopology = \"crossbar\"\nnodes = 40\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"",
    "model = \"packets\"\ntopology = \"crossbar\"\nnodes = 40\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"\n\
     router_latency = \"0.2 us\"\npacket = \"512 B\"",
];

fn platform(network: &str, rest: &str) -> Platform {
    let node = if network.contains("[node]") { "" } else { "[node]" };
    let text = format!("name = \"test\"\n[network]\n{network}\n{node}\nreduce_bandwidth = \"10 GB/s\"\n{rest}");
    Platform::new(&Machine::parse(&text, "test.toml").unwrap()).unwrap()
}

/// Calls of an algorithm, if it has a root with the last rank as root, and with the defaults of its parameters.
fn calls(entry: &Entry) -> impl Iterator<Item = Call> {
    let calls = [5, 8, 12].into_iter().flat_map(|ranks| cases::calls(entry.collective, ranks));
    let calls = calls.filter(|call| !call.collective.has_root() || call.root + 1 == call.ranks);
    calls.filter_map(|call| entry.accept(&Call { element_bytes: 64, ..call }, &[]).ok())
}

#[test]
fn a_run_ends_late_exactly_if_its_time_is_later() {
    let mut late = [0; NETWORKS.len()];
    for (network, late) in NETWORKS.iter().zip(&mut late) {
        let platform = platform(network, "");
        for entry in CATALOGUE {
            for (_, call) in calls(entry).enumerate().filter(|(number, _)| turns::takes(*number, 4)) {
                for engine in [Engine::Auto, Engine::Events] {
                    let until =
                        |until_s| simulate(entry, &call, &platform, Options { engine, until_s, ..Options::default() });
                    let Ok(whole) = until(f64::INFINITY) else { continue };
                    let time_s = whole.time_s();
                    for share in [0.0, 0.1, 0.5, 0.9, 1.0 - f64::EPSILON] {
                        if share * time_s < time_s {
                            let run = until(share * time_s);
                            assert_eq!(run, Err(Error::lateness()), "{entry}, {share} of {time_s}: {network}");
                            *late += 1;
                        }
                    }
                    assert_eq!(until(time_s), Ok(whole), "{entry} in {call:?}: {network}");
                }
            }
        }
    }
    assert!(late.iter().all(|late| *late > 200), "{late:?}");
}

#[test]
fn trials_end_late_if_one_of_them_does() {
    let noise = "[noise.os]\nmodel = \"gaussian\"\nmean = \"1 us\"\ndeviation = \"0.3 us\"\n";
    for network in NETWORKS {
        let platform = platform(network, noise);
        let entry = find(Collective::Allreduce, "recursive_doubling").unwrap();
        let call = entry.accept(&Call::new(Collective::Allreduce, 8, 1024), &[]).unwrap();
        let until = |until_s| -> Result<Many> {
            let trials = Trials { count: 20, ..Trials::default() };
            simulate_trials(entry.program(), &call, &platform, trials, Options { until_s, ..Options::default() })
        };
        let whole = until(f64::INFINITY).unwrap();
        let last_s = whole.ends.iter().map(|ends| ends.last_s).fold(0.0, f64::max);
        assert_eq!(until(last_s).as_ref(), Ok(&whole), "{network}");
        assert_eq!(until(last_s * (1.0 - f64::EPSILON)), Err(Error::lateness()), "{network}");
    }
}

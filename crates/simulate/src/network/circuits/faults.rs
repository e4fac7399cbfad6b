//! Faults of nodes: changes to no ports, and back to those that the node has then.

use std::collections::BTreeMap;

use hocket_core::{Error, Result};

use super::super::faults::{Fault, Place, Rates, vertex};
use super::changes::{Change, Supply};
use super::parameters::Circuits;

/// Adds faults to the changes of a network.
pub(super) fn add(network: &mut Circuits, faults: &[Fault]) -> Result<()> {
    let mut of_nodes: BTreeMap<usize, Vec<&Fault>> = BTreeMap::new();
    for fault in faults {
        of_nodes.entry(node(network, fault)?).or_default().push(fault);
    }
    let mut changes = network.changes.clone();
    for (node, faults) in of_nodes {
        let rates = Rates::of(&faults);
        let ports_at = |now_s: f64| {
            let earlier = network.changes.iter().take_while(|change| change.time_s <= now_s);
            earlier.filter_map(|change| ports_of(node, *change)).last().unwrap_or(network.ports)
        };
        let own = network.changes.iter().filter(|change| ports_of(node, **change).is_some());
        let times = rates.changes().map(|(time_s, _)| time_s).chain(own.map(|change| change.time_s));
        changes.extend(times.map(|time_s| {
            let ports = if rates.part_at(time_s) == 0.0 { 0 } else { ports_at(time_s) };
            Change { time_s, what: Supply::Ports { node: Some(node), ports } }
        }));
    }
    changes.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    network.changes = changes;
    Ok(())
}

/// The node of a fault.
///
/// # Errors
/// A fault of a link, or that leaves a part of the bandwidth; or no such node.
fn node(network: &Circuits, fault: &Fault) -> Result<usize> {
    let Fault { place, part, .. } = fault;
    match place {
        Place::Node(name) if *part == 0.0 => {
            let vertex_or_refusal = vertex(name, &network.fabric.topology);
            vertex_or_refusal.map_err(|expected| Error::new(format!("faults: got {place}, expected {expected}")))
        }
        _ => {
            let got = if *part == 0.0 { "down".to_owned() } else { format!("at {} %", part * 100.0) };
            let expected = "nodes that are down, as circuits have no links of their own";
            Err(Error::new(format!("faults: got {place} {got}, expected {expected}")))
        }
    }
}

/// The ports that a node has after a change, if the change is about them.
fn ports_of(node: usize, change: Change) -> Option<usize> {
    match change.what {
        Supply::Ports { node: of, ports } if of.is_none_or(|of| of == node) => Some(ports),
        _ => None,
    }
}

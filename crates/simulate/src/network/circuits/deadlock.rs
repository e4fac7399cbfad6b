//! The description of a deadlock of nodes and programs.

use super::super::traffic::ENDLESS;
use super::switch::{Circuit, Stage, Switch};

/// The largest number of nodes named.
const MOST_NAMED: usize = 4;

impl Switch<'_> {
    /// One line about what waits for ever, if anything does: a request, or a program that connects or disconnects.
    pub(super) fn who_waits(&self) -> Option<String> {
        if self.is_endless() {
            return Some(ENDLESS.to_owned());
        }
        let requests = self.circuits.iter().filter_map(|circuit| match circuit.stage {
            Stage::Wanted(number) => Some((number, circuit)),
            _ => None,
        });
        let oldest = requests.min_by_key(|(number, _)| *number).map(|(_, circuit)| {
            let [from, to] = Self::wanting(circuit);
            format!("deadlock: node {from} waits for ever for a circuit to node {to}: {}", self.why(circuit))
        });
        oldest.or_else(|| self.who_asks())
    }

    /// The nodes of a circuit, beginning with the node that wants it.
    fn wanting(circuit: &Circuit) -> [u32; 2] {
        let is_backwards = circuit.queues[0].is_empty() && !circuit.queues[1].is_empty();
        let [low, high] = circuit.ends;
        if is_backwards { [high, low] } else { [low, high] }
    }

    /// The reason why a circuit is not granted.
    fn why(&self, circuit: &Circuit) -> String {
        let full_node = circuit.ends.into_iter().find(|node| !self.nodes[*node as usize].has_free_port());
        let Some(node) = full_node else { return "no wavelength is free on the route".to_owned() };
        let ports = self.nodes[node as usize].ports;
        if ports == 0 {
            return format!("node {node} has no working port");
        }
        let others = self.nodes[node as usize].circuits.iter().map(|index| {
            let [low, high] = self.circuits[*index as usize].ends;
            (if low == node { high } else { low }).to_string()
        });
        let mut others: Vec<_> = others.collect();
        if others.len() > MOST_NAMED {
            let more = others.len() - MOST_NAMED;
            others.truncate(MOST_NAMED);
            others.push(format!("{more} more"));
        }
        format!("node {node} has no free port: its {ports} ports hold circuits to {}", others.join(", "))
    }

    /// A program that waits for another one.
    fn who_asks(&self) -> Option<String> {
        let wishes = self.circuits.iter().flat_map(|circuit| circuit.wishes.iter().flatten());
        let opening = wishes.filter(|wish| !wish.waiting.is_empty()).map(|wish| wish.ranks).next();
        let closing = self.circuits.iter().flat_map(|circuit| &circuit.closing).next();
        match (opening, closing) {
            (Some([rank, peer]), _) => Some(format!(
                "deadlock: rank {rank} waits for ever for a circuit to rank {peer}: rank {peer} does not connect to rank {rank}"
            )),
            (None, Some((_, [rank, peer]))) => Some(format!(
                "deadlock: rank {rank} waits for ever for its circuit to rank {peer} to close: rank {peer} does not disconnect"
            )),
            (None, None) => None,
        }
    }
}

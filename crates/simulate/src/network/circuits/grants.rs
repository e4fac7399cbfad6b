//! The assignment of circuits: the queue of requests, in the order of asking.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::switch::{Node, Stage, Switch};
use super::wavelengths::Choice;

/// The grant of a circuit: its wavelength, and the circuits that are closed for it.
struct Grant {
    wavelength: u32,
    victims: Vec<u32>,
}

impl Switch<'_> {
    /// Serves the requests at nodes where something has changed, in the order of asking.
    pub(super) fn look_through(&mut self) {
        let mut changed_nodes = std::mem::take(&mut self.changed_nodes);
        if std::mem::take(&mut self.have_all_changed) {
            changed_nodes = (0..self.nodes.len() as u32).collect();
        }
        changed_nodes.sort_unstable();
        changed_nodes.dedup();
        let first = |node: u32| Some(Reverse((*self.nodes[node as usize].waiting.first_key_value()?.0, node)));
        let mut next: BinaryHeap<_> = changed_nodes.into_iter().filter_map(first).collect();
        while let Some(Reverse((number, node))) = next.pop() {
            if let Some(index) = self.nodes[node as usize].waiting.get(&number).copied() {
                self.serve(index);
            }
            if self.has_hope(node) {
                let behind = self.nodes[node as usize].waiting.range(number + 1..).next();
                next.extend(behind.map(|(number, _)| Reverse((*number, node))));
            }
        }
    }

    /// Whether a request that waits at a node may be granted or refused.
    fn has_hope(&self, node: u32) -> bool {
        self.nodes[node as usize].has_free_port() || self.policy.opens([true; 2])
    }

    /// Grants a request, refuses it, or lets it wait.
    fn serve(&mut self, index: u32) {
        if let Some(grant) = self.possible(index) {
            self.grant(index, grant);
        } else if !self.circuits[index as usize].has_messages() && self.is_refused(index) {
            self.refuse(index);
        }
    }

    /// Whether a request without messages that cannot be granted is refused.
    fn is_refused(&self, index: u32) -> bool {
        let waits_for_itself = |node: &u32| {
            let Node { circuits, ports, .. } = &self.nodes[*node as usize];
            *ports > 0 && circuits.iter().filter(|other| self.is_held_at(**other, *node)).count() >= *ports
        };
        self.network.is_refusing
            || (!self.policy.evicts(false) && self.circuits[index as usize].ends.iter().any(waits_for_itself))
    }

    /// The grant that a circuit can get now; none while something is missing.
    fn possible(&self, index: u32) -> Option<Grant> {
        let circuit = &self.circuits[index as usize];
        let may_evict = self.policy.evicts(circuit.has_messages());
        let mut victims = Vec::new();
        for node in circuit.ends.map(|node| &self.nodes[node as usize]) {
            if !node.has_free_port() {
                let idle = node.circuits.iter().copied().filter(|other| may_evict && self.is_idle(*other));
                victims.push(idle.min_by_key(|other| self.worth(*other))?);
            }
        }
        let last_use =
            |holder: u32| (may_evict && self.is_idle(holder)).then(|| self.circuits[holder as usize].last_use);
        let Choice { wavelength, victims: others } = self.wavelengths.choose(&circuit.route, &victims, last_use)?;
        victims.extend(others);
        Some(Grant { wavelength, victims })
    }

    fn is_idle(&self, index: u32) -> bool {
        self.circuits[index as usize].is_idle()
    }

    /// The order in which idle circuits are closed.
    fn worth(&self, index: u32) -> (bool, u64) {
        let circuit = &self.circuits[index as usize];
        (circuit.is_asked_for(), circuit.last_use)
    }

    fn grant(&mut self, index: u32, grant: Grant) {
        self.leave_queue(index);
        let mut start_s = self.now_s;
        let mut left = Vec::new();
        for victim in grant.victims {
            if let Some(release) = self.close(victim) {
                start_s = self.now_s + self.times.release_s;
                left.push(release);
            }
        }
        let circuit = self.circuit(index);
        circuit.wavelength = grant.wavelength;
        let (ends, route) = (circuit.ends, circuit.route.clone());
        for end in ends {
            self.take_port(end, &left);
            self.nodes[end as usize].circuits.push(index);
        }
        self.take_wavelength(&route, grant.wavelength, &left, index);
        self.open_at(index, start_s + self.times.set_up_s);
    }

    /// Takes a port from these releases, or else a free one.
    fn take_port(&mut self, node: u32, left: &[u64]) {
        let released_port = left.iter().find_map(|number| {
            let nodes = &mut self.releases.get_mut(number)?.nodes;
            nodes.iter().position(|other| *other == node).map(|at| nodes.remove(at))
        });
        if released_port.is_none() {
            self.nodes[node as usize].busy_ports += 1;
        }
    }

    /// Takes a wavelength of links, which is free or comes from these releases.
    fn take_wavelength(&mut self, route: &[u32], wavelength: u32, left: &[u64], index: u32) {
        for number in left {
            if let Some(release) = self.releases.get_mut(number).filter(|release| release.wavelength == wavelength) {
                release.links.retain(|link| !route.contains(link));
            }
        }
        self.wavelengths.take(route, wavelength, index);
    }

    /// Refuses the request without messages that has waited longest. Returns true if there was one.
    pub(super) fn refuse_oldest(&mut self) -> bool {
        let waiting = self.circuits.iter().zip(0..).filter_map(|(circuit, index)| match circuit.stage {
            Stage::Wanted(number) if !circuit.has_messages() => Some((number, index)),
            _ => None,
        });
        let oldest = waiting.min();
        oldest.into_iter().for_each(|(_, index)| self.refuse(index));
        oldest.is_some()
    }
}

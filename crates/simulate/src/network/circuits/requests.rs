//! What programs ask for, and what is wanted.

use super::super::Ask;
use super::switch::{Stage, Switch};

impl Switch<'_> {
    /// A program connects.
    pub(super) fn ask_for(&mut self, ask: Ask) {
        let Ask { id, ranks, nodes: [from, to] } = ask;
        if from == to || !self.rules.opens([true; 2]) {
            self.answers.push((id, true));
            return;
        }
        let (index, end) = (self.between(from, to), usize::from(from > to));
        let circuit = &mut self.circuits[index as usize];
        if !circuit.askers[end].contains(&ranks) {
            circuit.askers[end].push(ranks);
        }
        circuit.opening.push((id, ranks));
        circuit.is_leaving = false;
        circuit.is_agreed |= circuit.is_live() && self.rules.opens(circuit.asked());
        if circuit.stage == Stage::Open && circuit.is_agreed {
            self.answer_opening(index, true);
        }
        self.want(index);
    }

    /// A program disconnects.
    pub(super) fn do_without(&mut self, ask: Ask) {
        let Ask { id, ranks, nodes: [from, to] } = ask;
        if from == to {
            self.answers.push((id, true));
            return;
        }
        let (index, end) = (self.between(from, to), usize::from(from > to));
        let circuit = &mut self.circuits[index as usize];
        circuit.askers[end].retain(|asker| *asker != ranks);
        let withdrawn = circuit.opening.extract_if(.., |(_, asker)| *asker == ranks);
        self.answers.extend(withdrawn.map(|(id, _)| (id, false)));
        circuit.is_leaving |= self.rules.closes_early();
        self.unwant(index);
        let circuit = &mut self.circuits[index as usize];
        if circuit.stage == Stage::Closed {
            let ends = circuit.ends;
            self.answer_released(id, ends);
            self.forget(index);
        } else {
            circuit.closing.push((id, ranks));
            self.rest(index);
        }
    }

    /// Answers a program that disconnects where there is no circuit.
    fn answer_released(&mut self, id: u32, ends: [u32; 2]) {
        let closed_s = self.closed_s.get(&ends).copied();
        self.answer_at(id, closed_s.map_or(self.now_s, |closed_s| closed_s + self.times.final_release_s));
    }

    /// Whether messages or programs want a circuit.
    fn is_wanted(&self, index: u32) -> bool {
        let circuit = &self.circuits[index as usize];
        circuit.has_messages() || (!circuit.opening.is_empty() && self.rules.opens(circuit.asked()))
    }

    /// The circuit joins the queue, if it is not there and is wanted.
    pub(super) fn want(&mut self, index: u32) {
        if self.circuits[index as usize].stage != Stage::Closed || !self.is_wanted(index) {
            return;
        }
        let number = self.requests;
        self.requests += 1;
        let circuit = self.circuit(index);
        circuit.stage = Stage::Wanted(number);
        let ends = circuit.ends;
        for node in ends {
            self.nodes[node as usize].waiting.insert(number, index);
        }
        self.stirred.extend(ends);
    }

    /// The circuit leaves the queue, if it is there and not wanted any more.
    fn unwant(&mut self, index: u32) {
        if !self.is_wanted(index) {
            self.leave_queue(index);
        }
    }

    /// The circuit leaves the queue, if it is there.
    pub(super) fn leave_queue(&mut self, index: u32) {
        let circuit = &mut self.circuits[index as usize];
        if let Stage::Wanted(number) = circuit.stage {
            circuit.stage = Stage::Closed;
            for node in circuit.ends {
                self.nodes[node as usize].waiting.remove(&number);
            }
        }
    }
}

//! The requests of programs, and the queue of wanted circuits.

use super::super::Ask;
use super::switch::{Circuit, Stage, Switch, Wish};

impl Switch<'_> {
    /// A program connects.
    pub(super) fn ask_for(&mut self, ask: Ask) {
        let Ask { id, ranks, nodes: [from, to] } = ask;
        if from == to || !self.policy.opens([true; 2]) {
            self.answers.push((id, true));
            return;
        }
        let (index, end) = (self.between(from, to), usize::from(from > to));
        let number = self.wishes_over(ranks);
        let circuit = self.circuit(index);
        circuit.is_leaving = false;
        match circuit.wishes[end].iter_mut().find(|wish| wish.ranks == ranks) {
            Some(wish) => wish.waiting.push(id),
            None => circuit.wishes[end].push(Wish { ranks, number, waiting: vec![id], is_met: false }),
        }
        self.meet(index);
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
        self.circuit(index).is_leaving |= self.policy.closes_early();
        self.end_wish(index, end, ranks);
        self.meet(index);
        if !self.is_wanted(index) {
            self.leave_queue(index);
        }
        let circuit = &mut self.circuits[index as usize];
        circuit.closing.push((id, ranks));
        if circuit.stage == Stage::Closed {
            self.answer_closing(index);
            self.forget(index);
        } else {
            self.rest(index);
        }
    }

    /// Answers all programs that wait for the closing of this circuit, as there is none.
    fn answer_closing(&mut self, index: u32) {
        let circuit = self.circuit(index);
        let (ends, closing) = (circuit.ends, std::mem::take(&mut circuit.closing));
        closing.into_iter().for_each(|(id, _)| self.answer_released(id, ends));
    }

    /// Answers a program that disconnects where there is no circuit.
    fn answer_released(&mut self, id: u32, ends: [u32; 2]) {
        let closed_s = self.closed_s.get(&ends).copied();
        self.answer_at(id, closed_s.map_or(self.now_s, |closed_s| closed_s + self.times.final_release_s));
    }

    fn wishes_over(&self, ranks: [u32; 2]) -> u32 {
        self.wishes.get(&ranks).copied().unwrap_or(0)
    }

    /// Ends a wish, if there is one; calls that wait for its answer are refused.
    fn end_wish(&mut self, index: u32, end: usize, ranks: [u32; 2]) {
        let wishes = &mut self.circuits[index as usize].wishes[end];
        let Some(at) = wishes.iter().position(|wish| wish.ranks == ranks) else { return };
        let Wish { waiting, .. } = wishes.remove(at);
        self.counts.refused += waiting.len() as u64;
        self.answers.extend(waiting.into_iter().map(|id| (id, false)));
        *self.wishes.entry(ranks).or_insert(0) += 1;
    }

    /// Whether the policy would set up a circuit for a wish.
    fn is_agreed(&self, circuit: &Circuit, end: usize, wish: &Wish) -> bool {
        let mut requests = [true; 2];
        requests[1 - end] = circuit.answering(end, wish).is_some();
        self.policy.opens(requests)
    }

    /// The wishes at one end for which the policy would set up a circuit.
    fn agreed_pairs(&self, index: u32, end: usize) -> Vec<[u32; 2]> {
        let circuit = &self.circuits[index as usize];
        let agreed_pairs = circuit.wishes[end].iter().filter(|wish| self.is_agreed(circuit, end, wish));
        agreed_pairs.map(|wish| wish.ranks).collect()
    }

    /// Answers the wishes for an open circuit, and refuses wishes whose peer has given up its own.
    pub(super) fn meet(&mut self, index: u32) {
        for end in [0, 1] {
            let agreed_pairs = self.agreed_pairs(index, end);
            let circuit = &self.circuits[index as usize];
            let is_given_up = |wish: &&Wish| {
                let peers = self.wishes_over([wish.ranks[1], wish.ranks[0]]);
                !wish.waiting.is_empty() && !agreed_pairs.contains(&wish.ranks) && peers > wish.number
            };
            let abandoned_pairs: Vec<_> =
                circuit.wishes[end].iter().filter(is_given_up).map(|wish| wish.ranks).collect();
            abandoned_pairs.into_iter().for_each(|ranks| self.end_wish(index, end, ranks));
            let circuit = &mut self.circuits[index as usize];
            if circuit.stage != Stage::Open {
                continue;
            }
            for wish in circuit.wishes[end].iter_mut().filter(|wish| agreed_pairs.contains(&wish.ranks)) {
                wish.is_met = true;
                self.answers.extend(wish.waiting.drain(..).map(|id| (id, true)));
            }
        }
    }

    /// Whether messages or programs want a circuit.
    fn is_wanted(&self, index: u32) -> bool {
        let circuit = &self.circuits[index as usize];
        let waits = |end: usize| {
            circuit.wishes[end].iter().any(|wish| !wish.waiting.is_empty() && self.is_agreed(circuit, end, wish))
        };
        circuit.has_messages() || waits(0) || waits(1)
    }

    /// Whether a program at that node holds a circuit: it knows, or will know, that the circuit is open.
    pub(super) fn is_held_at(&self, index: u32, node: u32) -> bool {
        let circuit = &self.circuits[index as usize];
        let end = usize::from(circuit.ends[1] == node);
        circuit.wishes[end].iter().any(|wish| wish.is_met || self.is_agreed(circuit, end, wish))
    }

    /// Refuses the requests of programs, at both ends.
    pub(super) fn refuse(&mut self, index: u32) {
        self.leave_queue(index);
        for (end, ranks) in [self.agreed_pairs(index, 0), self.agreed_pairs(index, 1)].into_iter().enumerate() {
            ranks.into_iter().for_each(|ranks| self.end_wish(index, end, ranks));
        }
        self.answer_closing(index);
        self.forget(index);
    }

    /// Adds the circuit to the queue, if it is wanted and absent.
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
        self.changed_nodes.extend(ends);
    }

    /// Removes the circuit from the queue, if it is there.
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

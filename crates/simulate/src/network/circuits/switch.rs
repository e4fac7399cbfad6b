//! The circuits of a run: the messages on them, and their events.

use std::collections::{BTreeMap, VecDeque};

use hocket_machine::Hop;
use rustc_hash::FxHashMap;

use super::super::{Ask, CircuitCounts, Flight, LinkUse, Milestone, OnDemand, Traffic};
use super::changes::Supply;
use super::parameters::Circuits;
use super::policy::{Policy, Times};
use super::wavelengths::Wavelengths;
use crate::timetable::{Event, Timetable};

/// All circuits of a run.
pub struct Switch<'a> {
    pub(super) network: &'a Circuits,
    pub(super) policy: &'static dyn Policy,
    pub(super) times: Times,
    pub(super) now_s: f64,
    timetable: Timetable<CircuitEvent>,
    sequence: u64,
    /// Number of events to come, but for changes of the network and void events: nothing waits for these.
    live_events: usize,
    pub(super) nodes: Vec<Node>,
    /// Circuits that are open, wanted or requested; and free places among them.
    pub(super) circuits: Vec<Circuit>,
    vacant: Vec<u32>,
    pub(super) by_pair: FxHashMap<[u32; 2], u32>,
    pub(super) wavelengths: Wavelengths,
    links: Vec<LinkLoad>,
    /// The ports and wavelengths of circuits that are being released.
    pub(super) releases: FxHashMap<u64, Release>,
    /// When the last circuit between two nodes was closed, if programs wait for that.
    pub(super) closed_s: FxHashMap<[u32; 2], f64>,
    /// Number of ended wishes of a rank for a peer.
    pub(super) wishes: FxHashMap<[u32; 2], u32>,
    /// Nodes where something has changed for waiting requests, and whether it has changed at all nodes.
    pub(super) changed_nodes: Vec<u32>,
    pub(super) have_all_changed: bool,
    /// The decided answers to programs.
    pub(super) answers: Vec<(u32, bool)>,
    /// Number of requests so far, and of uses of circuits.
    pub(super) requests: u64,
    uses: u64,
    pub(super) counts: CircuitCounts,
    /// Messages on their way.
    under_way: usize,
}

/// The events, in their order at one time.
#[derive(Clone, Copy)]
pub(super) enum CircuitEvent {
    /// A message of a circuit, in one direction, has arrived.
    Carried { circuit: u32, epoch: u32, direction: u8 },
    /// A message to the own node has arrived.
    Local { id: u32 },
    /// A circuit is open.
    Opened { circuit: u32, epoch: u32 },
    /// The ports and the wavelength of a closed circuit are free.
    Released { release: u64 },
    /// A program learns that its circuit is released.
    Answer { id: u32 },
    /// The network changes.
    Change { index: u32 },
}

impl CircuitEvent {
    fn kind(self) -> u64 {
        match self {
            Self::Carried { .. } | Self::Local { .. } => 0,
            Self::Opened { .. } => 1,
            Self::Released { .. } => 2,
            Self::Answer { .. } => 3,
            Self::Change { .. } => CHANGE,
        }
    }
}

/// The kind of [`CircuitEvent::Change`].
const CHANGE: u64 = 4;

/// Bits of an event's key below its kind: its sequence number.
const SEQUENCE_BITS: u32 = 61;

#[derive(Default)]
pub(super) struct Node {
    /// Number of working ports.
    pub ports: usize,
    /// Number of taken ports, including those of circuits that are being released.
    pub busy_ports: usize,
    /// Circuits that are open or being set up.
    pub circuits: Vec<u32>,
    /// Circuits that are wanted, by request number.
    pub waiting: BTreeMap<u64, u32>,
}

impl Node {
    pub fn has_free_port(&self) -> bool {
        self.busy_ports < self.ports
    }
}

/// The state of a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Closed,
    /// It is wanted, under this number.
    Wanted(u64),
    SettingUp,
    Open,
}

#[derive(Clone, Copy)]
pub(super) struct Message {
    id: u32,
    bytes: f64,
    /// When it left its sender.
    left_s: f64,
}

/// A program's wish for a circuit, from `connect` to `disconnect`.
pub(super) struct Wish {
    /// The rank whose program it is, and its peer.
    pub ranks: [u32; 2],
    /// Number of earlier wishes of this rank for this peer.
    pub number: u32,
    /// Calls that wait for an answer.
    pub waiting: Vec<u32>,
    /// Whether the wish was answered with a circuit.
    pub is_met: bool,
}

/// A circuit between two nodes, or a wish for one.
#[derive(Default)]
pub(super) struct Circuit {
    /// The two nodes, the lower one first; directions are numbered by the node that they lead away from.
    pub ends: [u32; 2],
    pub stage: Stage,
    /// Number of times that it was closed; events of earlier epochs are void.
    epoch: u32,
    pub queues: [VecDeque<Message>; 2],
    is_carrying: [bool; 2],
    /// Wishes of programs at each end.
    pub wishes: [Vec<Wish>; 2],
    /// Whether the circuit is closed as soon as it carries nothing.
    pub is_leaving: bool,
    /// Programs that wait until it is closed, as [`Wish::ranks`].
    pub closing: Vec<(u32, [u32; 2])>,
    /// The number of its last use among all uses.
    pub last_use: u64,
    pub wavelength: u32,
    /// Links there and back, and the number of links there.
    pub route: Vec<u32>,
    links_there: usize,
}

impl Circuit {
    pub fn is_live(&self) -> bool {
        matches!(self.stage, Stage::SettingUp | Stage::Open)
    }

    pub fn has_messages(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Open && !self.has_messages()
    }

    /// Whether a program knows that it is open, and has not disconnected since.
    pub fn is_asked_for(&self) -> bool {
        self.wishes.iter().flatten().any(|wish| wish.is_met)
    }

    /// The matching wish of the other program: the same number of earlier wishes.
    pub fn answering(&self, end: usize, wish: &Wish) -> Option<&Wish> {
        let [rank, peer] = wish.ranks;
        self.wishes[1 - end].iter().find(|other| other.ranks == [peer, rank] && other.number == wish.number)
    }

    fn links(&self, direction: usize) -> &[u32] {
        if direction == 0 { &self.route[..self.links_there] } else { &self.route[self.links_there..] }
    }

    /// Whether nothing refers to the circuit any more.
    fn is_forgotten(&self) -> bool {
        let is_asked = self.wishes.iter().any(|wishes| !wishes.is_empty()) || !self.closing.is_empty();
        self.stage == Stage::Closed && !self.has_messages() && !is_asked
    }
}

/// The ports and the wavelength that a closed circuit still holds.
pub(super) struct Release {
    pub nodes: Vec<u32>,
    pub links: Vec<u32>,
    pub wavelength: u32,
}

#[derive(Clone, Copy, Default)]
struct LinkLoad {
    usage: LinkUse,
    /// Number of messages on the link, and the time since which there have been any.
    messages: usize,
    since_s: f64,
}

impl<'a> Switch<'a> {
    pub fn new(network: &'a Circuits) -> Self {
        let topology = &network.fabric.topology;
        let node = |_| Node { ports: network.ports, ..Node::default() };
        let mut switch = Self {
            network,
            policy: network.policy.policy(),
            times: network.times,
            now_s: 0.0,
            timetable: Timetable::new(),
            sequence: 0,
            live_events: 0,
            nodes: (0..topology.nodes()).map(node).collect(),
            circuits: Vec::new(),
            vacant: Vec::new(),
            by_pair: FxHashMap::default(),
            wavelengths: Wavelengths::new(network.wavelengths, topology.links()),
            links: vec![LinkLoad::default(); topology.links()],
            releases: FxHashMap::default(),
            closed_s: FxHashMap::default(),
            wishes: FxHashMap::default(),
            changed_nodes: Vec::new(),
            have_all_changed: false,
            answers: Vec::new(),
            requests: 0,
            uses: 0,
            counts: CircuitCounts::default(),
            under_way: 0,
        };
        for (index, change) in (0..).zip(&network.changes) {
            switch.at(change.time_s, CircuitEvent::Change { index });
        }
        switch
    }

    pub(super) fn at(&mut self, time_s: f64, step: CircuitEvent) -> u64 {
        let sequence = self.sequence;
        self.sequence += 1;
        self.live_events += usize::from(step.kind() != CHANGE);
        self.timetable.push(Event { time_s, key: step.kind() << SEQUENCE_BITS | sequence, what: step });
        sequence
    }

    pub(super) fn circuit(&mut self, index: u32) -> &mut Circuit {
        &mut self.circuits[index as usize]
    }

    /// The circuit between two nodes, created if necessary.
    pub(super) fn between(&mut self, a: usize, b: usize) -> u32 {
        let ends = [a.min(b) as u32, a.max(b) as u32];
        if let Some(index) = self.by_pair.get(&ends) {
            return *index;
        }
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.circuits.push(Circuit::default());
            self.circuits.len() as u32 - 1
        });
        self.by_pair.insert(ends, index);
        let mut hops: Vec<Hop> = Vec::new();
        let topology = &self.network.fabric.topology;
        topology.route(ends[0] as usize, ends[1] as usize, &mut hops);
        let links_there = hops.len();
        topology.route(ends[1] as usize, ends[0] as usize, &mut hops);
        let circuit = &mut self.circuits[index as usize];
        (circuit.ends, circuit.links_there, circuit.last_use) = (ends, links_there, 0);
        circuit.route.clear();
        circuit.route.extend(hops.iter().map(|hop| hop.link));
        index
    }

    /// Frees the place of a circuit, if nothing refers to it any more.
    pub(super) fn forget(&mut self, index: u32) {
        let circuit = &self.circuits[index as usize];
        if circuit.is_forgotten() && self.by_pair.remove(&circuit.ends).is_some() {
            self.vacant.push(index);
        }
    }

    /// Notes a use of the circuit.
    pub(super) fn touch(&mut self, index: u32) {
        self.uses += 1;
        self.circuit(index).last_use = self.uses;
    }

    /// The next message in that direction starts, if there is one.
    fn start(&mut self, index: u32, direction: usize) {
        let circuit = &mut self.circuits[index as usize];
        let Some(message) = circuit.queues[direction].front() else { return };
        circuit.is_carrying[direction] = true;
        let (now_s, waited_s) = (self.now_s, self.now_s - message.left_s);
        let end_s = now_s + self.network.duration_s(message.bytes);
        for link in circuit.links(direction) {
            let line = &mut self.links[*link as usize];
            line.usage.waiting_s += waited_s;
            line.since_s = if line.messages == 0 { now_s } else { line.since_s };
            line.messages += 1;
        }
        let epoch = circuit.epoch;
        self.at(end_s, CircuitEvent::Carried { circuit: index, epoch, direction: direction as u8 });
    }

    /// The links of that direction stop carrying a message; `bytes` have arrived.
    fn stop(&mut self, index: u32, direction: usize, bytes: f64) {
        let circuit = &mut self.circuits[index as usize];
        circuit.is_carrying[direction] = false;
        for link in circuit.links(direction) {
            let line = &mut self.links[*link as usize];
            line.messages -= 1;
            line.usage.bytes += bytes;
            if line.messages == 0 {
                line.usage.busy_s += self.now_s - line.since_s;
            }
        }
    }

    fn end_transfer(&mut self, index: u32, direction: usize, progress: &mut Vec<(u32, Milestone)>) {
        let Some(message) = self.circuit(index).queues[direction].pop_front() else { return };
        self.under_way -= 1;
        self.stop(index, direction, message.bytes);
        progress.extend([(message.id, Milestone::Sent), (message.id, Milestone::Arrives(self.now_s))]);
        self.touch(index);
        self.start(index, direction);
        self.rest(index);
    }

    fn finish_opening(&mut self, index: u32) {
        self.touch(index);
        self.circuit(index).stage = Stage::Open;
        self.meet(index);
        self.start(index, 0);
        self.start(index, 1);
        self.rest(index);
    }

    /// Closes the circuit if it is open and idle, and nothing keeps it.
    pub(super) fn rest(&mut self, index: u32) {
        let circuit = &self.circuits[index as usize];
        if !circuit.is_idle() {
            return;
        }
        // Later messages, or a cut, do not delay a program that disconnects.
        let is_left = self.policy.closes_early() && !circuit.closing.is_empty();
        if circuit.is_leaving || is_left || !self.policy.keeps(circuit.is_asked_for()) {
            self.close(index);
        } else {
            let ends = circuit.ends;
            self.stir(&ends);
        }
    }

    /// Closes the circuit. Returns the number of its release, if the release takes time.
    pub(super) fn close(&mut self, index: u32) -> Option<u64> {
        let circuit = &mut self.circuits[index as usize];
        let (ends, wavelength) = (circuit.ends, circuit.wavelength);
        self.live_events -= usize::from(circuit.stage == Stage::SettingUp);
        (circuit.stage, circuit.is_leaving) = (Stage::Closed, false);
        circuit.epoch += 1;
        let closing = if circuit.has_messages() { Vec::new() } else { std::mem::take(&mut circuit.closing) };
        let release = Release { nodes: ends.to_vec(), links: circuit.route.clone(), wavelength };
        let Times { release_s, final_release_s, .. } = self.times;
        for node in ends {
            self.nodes[node as usize].circuits.retain(|other| *other != index);
        }
        if final_release_s > 0.0 {
            self.closed_s.insert(ends, self.now_s);
        }
        for (id, _) in closing {
            self.answer_at(id, self.now_s + final_release_s);
        }
        self.forget(index);
        if release_s == 0.0 {
            self.free(&release);
            return None;
        }
        self.wavelengths.release(&release.links, wavelength);
        let number = self.sequence;
        self.at(self.now_s + release_s, CircuitEvent::Released { release: number });
        self.releases.insert(number, release);
        Some(number)
    }

    /// Tells a program at `time_s` that its circuit is released.
    pub(super) fn answer_at(&mut self, id: u32, time_s: f64) {
        if time_s > self.now_s {
            self.at(time_s, CircuitEvent::Answer { id });
        } else {
            self.answers.push((id, true));
        }
    }

    fn free(&mut self, release: &Release) {
        for node in &release.nodes {
            self.nodes[*node as usize].busy_ports -= 1;
        }
        self.wavelengths.free(&release.links, release.wavelength);
        self.stir(&release.nodes);
    }

    /// Something has changed for requests that wait at these nodes; with limited wavelengths, requests at all nodes may be
    /// concerned.
    pub(super) fn stir(&mut self, nodes: &[u32]) {
        if self.wavelengths.limit.is_some() {
            self.have_all_changed = true;
        } else {
            self.changed_nodes.extend_from_slice(nodes);
        }
    }

    fn change(&mut self, index: u32) {
        match self.network.changes[index as usize].what {
            Supply::Ports { node: Some(node), ports } => self.set_ports(node, ports),
            Supply::Ports { node: None, ports } => (0..self.nodes.len()).for_each(|node| self.set_ports(node, ports)),
            Supply::Wavelengths(count) => self.set_wavelengths(count),
        }
    }

    fn set_ports(&mut self, node: usize, ports: usize) {
        self.nodes[node].ports = ports;
        while self.nodes[node].circuits.len() > ports {
            let circuits = self.nodes[node].circuits.iter();
            let Some(victim) = circuits.copied().min_by_key(|index| self.loss(*index)) else { break };
            self.cut(victim);
        }
        self.stir(&[node as u32]);
    }

    fn set_wavelengths(&mut self, count: usize) {
        self.wavelengths.limit = Some(count);
        let is_beyond = |circuit: &Circuit| circuit.is_live() && circuit.wavelength as usize >= count;
        let mut victims: Vec<_> = (0..self.circuits.len() as u32).collect();
        victims.retain(|index| is_beyond(&self.circuits[*index as usize]));
        victims.sort_by_key(|index| self.loss(*index));
        victims.into_iter().for_each(|victim| self.cut(victim));
        self.stir(&[]);
    }

    /// The loss from closing a circuit; circuits are cut in ascending order of loss.
    fn loss(&self, index: u32) -> (u8, u64) {
        let circuit = &self.circuits[index as usize];
        let rank = match circuit.stage {
            Stage::SettingUp => 1,
            _ if circuit.has_messages() => 2,
            _ => 0,
        };
        (rank, circuit.last_use)
    }

    /// The circuit is lost: messages on it, and those waiting for it, start again on another one.
    fn cut(&mut self, index: u32) {
        for direction in [0, 1] {
            if self.circuit(index).is_carrying[direction] {
                self.counts.cut += 1;
                self.live_events -= 1;
                self.stop(index, direction, 0.0);
                let now_s = self.now_s;
                let cut = self.circuit(index).queues[direction].front_mut();
                cut.into_iter().for_each(|message| message.left_s = now_s);
            }
        }
        self.close(index);
        self.want(index);
    }

    /// Appends the answers to programs.
    pub(super) fn report(&mut self, progress: &mut Vec<(u32, Milestone)>) {
        progress.extend(self.answers.drain(..).map(|(id, is_open)| (id, Milestone::Answered(is_open))));
    }

    /// Whether messages are under way that never arrive although they wait for nothing.
    pub(super) fn is_endless(&self) -> bool {
        let is_waiting = self.nodes.iter().any(|node| !node.waiting.is_empty());
        self.under_way > 0 && !is_waiting
    }
}

impl Traffic for Switch<'_> {
    fn inject(&mut self, now_s: f64, flight: Flight) {
        self.now_s = now_s;
        self.under_way += 1;
        let Flight { id, from, to, bytes, .. } = flight;
        if from == to {
            self.at(now_s + self.network.duration_s(bytes), CircuitEvent::Local { id });
            return;
        }
        let (index, direction) = (self.between(from, to), usize::from(from > to));
        let circuit = self.circuit(index);
        circuit.queues[direction].push_back(Message { id, bytes, left_s: now_s });
        circuit.is_leaving = false;
        match circuit.stage {
            Stage::Open if !circuit.is_carrying[direction] => self.start(index, direction),
            Stage::Wanted(_) => {
                let ends = circuit.ends;
                self.stir(&ends);
            }
            Stage::Closed => self.want(index),
            Stage::Open | Stage::SettingUp => (),
        }
    }

    fn next_s(&self) -> f64 {
        self.timetable.first_s()
    }

    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>) {
        let Some(event) = self.timetable.pop_until(f64::MAX) else { return };
        self.now_s = event.time_s;
        if let CircuitEvent::Carried { circuit, epoch, .. } | CircuitEvent::Opened { circuit, epoch } = event.what
            && epoch != self.circuit(circuit).epoch
        {
            return;
        }
        self.live_events -= usize::from(event.what.kind() != CHANGE);
        match event.what {
            CircuitEvent::Carried { circuit, direction, .. } => self.end_transfer(circuit, direction.into(), progress),
            CircuitEvent::Opened { circuit, .. } => self.finish_opening(circuit),
            CircuitEvent::Local { id } => {
                self.under_way -= 1;
                progress.extend([(id, Milestone::Sent), (id, Milestone::Arrives(self.now_s))]);
            }
            CircuitEvent::Released { release } => {
                if let Some(release) = self.releases.remove(&release) {
                    self.free(&release);
                }
            }
            CircuitEvent::Answer { id } => self.answers.push((id, true)),
            CircuitEvent::Change { index } => self.change(index),
        }
        self.report(progress);
    }

    fn links(&self) -> Vec<LinkUse> {
        self.links.iter().map(|line| line.usage).collect()
    }

    fn deadlock(&self) -> Option<String> {
        self.who_waits()
    }

    fn circuits(&mut self) -> Option<&mut dyn OnDemand> {
        Some(self)
    }
}

impl OnDemand for Switch<'_> {
    fn ports(&self) -> usize {
        self.policy.ports(self.network.ports)
    }

    fn connect(&mut self, now_s: f64, ask: Ask) {
        self.now_s = now_s;
        self.ask_for(ask);
    }

    fn disconnect(&mut self, now_s: f64, ask: Ask) {
        self.now_s = now_s;
        self.do_without(ask);
    }

    fn is_undecided(&self) -> bool {
        self.have_all_changed || !self.changed_nodes.is_empty() || !self.answers.is_empty()
    }

    fn decide(&mut self, now_s: f64, progress: &mut Vec<(u32, Milestone)>) {
        self.now_s = now_s;
        self.look_through();
        self.report(progress);
    }

    fn give_way(&mut self, now_s: f64) -> bool {
        self.now_s = now_s;
        self.live_events == 0 && self.refuse_oldest()
    }

    fn counts(&self) -> CircuitCounts {
        self.counts
    }
}

impl Switch<'_> {
    /// Sets up a granted circuit, which is open at `time_s`.
    pub(super) fn open_at(&mut self, index: u32, time_s: f64) {
        let circuit = self.circuit(index);
        circuit.stage = Stage::SettingUp;
        let epoch = circuit.epoch;
        self.counts.set_ups += 1;
        self.at(time_s, CircuitEvent::Opened { circuit: index, epoch });
    }
}

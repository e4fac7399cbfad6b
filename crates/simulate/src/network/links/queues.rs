//! Messages on links that carry one message after another.

use std::collections::VecDeque;

use hocket_machine::Hop;

use super::super::routing::Chooser;
use super::super::traffic::ENDLESS;
use super::super::{Flight, LinkUse, Milestone, Passages, Traffic};
use super::faulty::{DelayedMessages, Span};
use super::orbits::Orbits;
use super::parameters::{Links, Switching};
use crate::timetable::{Event, Timetable, Words};

/// The messages under way, and the times at which links and ports are free.
pub struct Queues<'a> {
    network: &'a Links,
    switching: Switching,
    /// Whether a message that starts cannot get before others that start at the same time.
    starts_alone: bool,
    timetable: Timetable<u32, Key>,
    messages: Vec<Message>,
    /// Free places in `messages`.
    vacant: Vec<u32>,
    nodes: Vec<Node>,
    links: Vec<Link>,
    passages: Passages,
    faulty: Option<Box<DelayedMessages<'a>>>,
    chooser: Option<Box<Chooser<'a>>>,
    /// The representatives, if only these are simulated.
    orbits: Option<Box<Orbits>>,
}

/// The events of messages, in their order for one message at one time.
#[derive(Clone, Copy)]
enum QueueEvent {
    /// The head reaches the next link of the route, or the receiver.
    Head,
    Sent,
    Arrived,
}

const KINDS: [QueueEvent; 3] = [QueueEvent::Head, QueueEvent::Sent, QueueEvent::Arrived];

/// The order of events at one time: of the message that started first; of those that started at one time, of the node
/// with the lowest number; of this node's, of the one that started first. The first word is the time of the start, as bits:
/// times sort like their bits. The second one has, from the highest bit, the sender's node, the number of messages that
/// started there before, and the kind of event.
type Key = Words;

/// Bits of an event's key that tell its kind, and above these, the number of messages that a node started before.
const KIND_BITS: u32 = 2;
const COUNT_BITS: u32 = 38;

/// A message under way.
#[derive(Default)]
struct Message {
    flight: Flight,
    /// The key of its events, without their kind.
    key: Key,
    duration_s: f64,
    route: Vec<Hop>,
    /// Number of links that carry it.
    links_passed: u32,
    /// The time since which the head has been moving freely, and the number of links behind it then.
    free_s: f64,
    free_after: u32,
    /// Number of events still ahead: sent, and arrived.
    left: u8,
}

impl Message {
    fn event(&self, index: u32, time_s: f64, kind: QueueEvent) -> Event<u32, Key> {
        Event { time_s, key: Words([self.key.0[0], self.key.0[1] | kind as u64]), what: index }
    }

    /// When it has got its port.
    fn start_s(&self) -> f64 {
        f64::from_bits(self.key.0[0])
    }

    /// Takes the next link at `start_s`. Returns the time at which the head is at the end of the link.
    fn take(&mut self, start_s: f64, is_delayed: bool, latency_s: f64) -> f64 {
        if is_delayed || self.links_passed == 0 {
            (self.free_s, self.free_after) = (start_s, self.links_passed);
        }
        self.links_passed += 1;
        self.free_s + f64::from(self.links_passed - self.free_after) * latency_s
    }
}

/// The ports of a node.
#[derive(Default)]
struct Node {
    /// Number of ports that are sending.
    sending: u32,
    /// Number of messages that have started.
    starts: u64,
    /// Messages that wait for a sending port.
    waiting: VecDeque<u32>,
    /// The times at which the receiving ports used so far are free again.
    receiving: Vec<f64>,
}

impl Node {
    /// The receiving port for a message whose head arrives at `head_s`: the one that is free first, unless it is still
    /// busy then and another port is unused.
    fn receiver(&mut self, ports: usize, head_s: f64) -> &mut f64 {
        let frees = self.receiving.iter().enumerate();
        let first = frees.min_by(|a, b| a.1.total_cmp(b.1)).map(|(port, free_s)| (port, *free_s));
        let port = match first {
            Some((port, free_s)) if free_s <= head_s || self.receiving.len() == ports => port,
            _ => {
                self.receiving.push(0.0);
                self.receiving.len() - 1
            }
        };
        &mut self.receiving[port]
    }
}

#[derive(Clone, Copy, Default)]
struct Link {
    free_s: f64,
    bytes: f64,
    waiting_s: f64,
}

impl Link {
    /// Carries a message of these bytes, whose head arrives at `head_s`, from `start_s` on for `held_s`.
    fn carry(&mut self, bytes: f64, head_s: f64, start_s: f64, held_s: f64) {
        self.waiting_s += (self.free_s - head_s).max(0.0);
        self.bytes += bytes;
        self.free_s = start_s + held_s;
    }
}

impl<'a> Queues<'a> {
    pub fn new(network: &'a Links, switching: Switching, orbits: Option<Box<Orbits>>) -> Self {
        let topology = &network.fabric.topology;
        Self {
            network,
            switching,
            starts_alone: switching == Switching::CutThrough && network.link_latency_s > 0.0,
            timetable: Timetable::new(),
            messages: Vec::new(),
            vacant: Vec::new(),
            nodes: (0..topology.nodes()).map(|_| Node::default()).collect(),
            links: vec![Link::default(); topology.links()],
            passages: Passages::default(),
            faulty: DelayedMessages::new(network),
            chooser: network.fabric.chooser(),
            orbits,
        }
    }

    /// Finds a place and the route for a message.
    fn place(&mut self, flight: Flight) -> u32 {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.messages.push(Message::default());
            self.messages.len() as u32 - 1
        });
        let message = &mut self.messages[index as usize];
        message.route.clear();
        self.network.fabric.topology.route(flight.from, flight.to, &mut message.route);
        (message.flight, message.duration_s) = (flight, self.network.duration_s(flight.bytes));
        (message.links_passed, message.left) = (0, 2);
        index
    }

    /// An event of a message has passed. After the last one, the next message may take its place.
    fn pass(&mut self, index: u32) {
        let message = &mut self.messages[index as usize];
        message.left -= 1;
        if message.left == 0 {
            self.vacant.push(index);
        }
    }

    fn push(&mut self, index: u32, time_s: f64, kind: QueueEvent) {
        let event = self.messages[index as usize].event(index, time_s, kind);
        self.timetable.push(event);
    }

    /// The message has a port of its sender.
    fn start(&mut self, index: u32, now_s: f64) {
        let message = &mut self.messages[index as usize];
        let node = &mut self.nodes[message.flight.from];
        let count = node.starts << KIND_BITS;
        node.starts += 1;
        message.key = Words([now_s.to_bits(), (message.flight.from as u64) << (COUNT_BITS + KIND_BITS) | count]);
        let wait_s = |link: u32| (self.links[link as usize].free_s - now_s).max(0.0);
        let (flight, route) = (message.flight, &mut message.route);
        let lead = |chooser: &mut Box<Chooser<'a>>| chooser.lead_packet(now_s, &flight, node.starts, &wait_s, route);
        if !self.chooser.as_mut().is_some_and(lead)
            && let Some(faulty) = &mut self.faulty
            && !faulty.ways.find(now_s, &flight, &mut message.route)
        {
            return;
        }
        if message.route.is_empty() {
            let end_s = now_s + message.duration_s;
            self.push(index, end_s, QueueEvent::Sent);
            self.push(index, end_s, QueueEvent::Arrived);
        } else if self.starts_alone && now_s < self.timetable.first_s() {
            self.reach(index, now_s);
        } else {
            self.push(index, now_s, QueueEvent::Head);
        }
    }

    /// The head is in front of the next link of its route, or of the receiver.
    fn reach(&mut self, index: u32, now_s: f64) {
        match self.switching {
            Switching::CutThrough => self.cut_through(index, now_s),
            Switching::Wormhole => self.reserve(index, now_s),
        }
    }

    /// The head takes the next link, and further ones while no other event comes before it reaches them.
    fn cut_through(&mut self, index: u32, now_s: f64) {
        loop {
            let message = &mut self.messages[index as usize];
            let Some(mut hop) = message.route.get(message.links_passed as usize).copied() else {
                return self.receive(index, now_s);
            };
            if let Some(orbits) = &mut self.orbits {
                hop.link = orbits.comes_to_link(hop.link, now_s, message.start_s(), message.flight.from as u32);
            }
            let link = &mut self.links[hop.link as usize];
            let span = Span { start_s: link.free_s.max(now_s), held_s: message.duration_s };
            let span = match &mut self.faulty {
                None => {
                    self.passages.note(hop.link, message.flight.bytes, span.start_s, span.start_s + span.held_s);
                    Some(span)
                }
                Some(faulty) => faulty.carry(&message.flight, hop.link, span, &mut self.passages),
            };
            let Some(Span { start_s, held_s }) = span else { return };
            link.carry(message.flight.bytes, now_s, start_s, held_s);
            let is_first = message.links_passed == 0;
            let head_s = message.take(start_s, start_s > now_s, self.network.link_latency_s);
            if is_first {
                let sent = message.event(index, start_s + held_s, QueueEvent::Sent);
                self.timetable.push(sent);
            }
            let event = message.event(index, head_s, QueueEvent::Head);
            if head_s > now_s || !self.timetable.is_before_all(event.time_s, event.key) {
                return self.timetable.push(event);
            }
        }
    }

    /// The receiver takes in the message, whose head arrives at `head_s`.
    fn receive(&mut self, index: u32, head_s: f64) {
        let message = &self.messages[index as usize];
        let Flight { from, to, bytes, .. } = message.flight;
        let node = self.orbits.as_ref().map_or(to, |orbits| orbits.node(to as u32) as usize);
        let receiver = self.nodes[node].receiver(self.network.fabric.ports, head_s);
        let start_s = head_s.max(*receiver);
        if let Some(orbits) = &mut self.orbits {
            let matters = start_s > head_s || bytes == 0.0;
            orbits.comes_to_node(to as u32, head_s, message.start_s(), from as u32, matters);
        }
        let taken_s = match &mut self.faulty {
            None => message.duration_s,
            Some(faulty) => faulty.receive_s(&message.flight, start_s, message.duration_s),
        };
        *receiver = start_s + taken_s;
        let arrived = message.event(index, *receiver, QueueEvent::Arrived);
        self.timetable.push(arrived);
    }

    /// The message reserves its whole route and a receiving port, from the earliest time at which all are free.
    fn reserve(&mut self, index: u32, now_s: f64) {
        let message = &self.messages[index as usize];
        let after_s = |links: usize| links as f64 * self.network.link_latency_s;
        let last_s = after_s(message.route.len());
        let receiver = self.nodes[message.flight.to].receiver(self.network.fabric.ports, now_s + last_s);
        let mut start_s = now_s.max(*receiver - last_s);
        for (place, hop) in message.route.iter().enumerate() {
            start_s = start_s.max(self.links[hop.link as usize].free_s - after_s(place));
        }
        let span = Span { start_s, held_s: message.duration_s };
        let span = match &mut self.faulty {
            None => Some(span),
            Some(faulty) => faulty.reserve(&message.flight, &message.route, span, &mut self.passages),
        };
        let Some(Span { start_s, held_s }) = span else { return };
        for (place, hop) in message.route.iter().enumerate() {
            let link = &mut self.links[hop.link as usize];
            link.carry(message.flight.bytes, now_s + after_s(place), start_s + after_s(place), held_s);
            if self.faulty.is_none() {
                self.passages.note(hop.link, message.flight.bytes, start_s + after_s(place), link.free_s);
            }
        }
        *receiver = start_s + last_s + held_s;
        let arrived = message.event(index, *receiver, QueueEvent::Arrived);
        let sent = message.event(index, start_s + held_s, QueueEvent::Sent);
        self.timetable.push(sent);
        self.timetable.push(arrived);
    }

    /// A port of the sender is free; the message that has waited longest gets it.
    fn release(&mut self, node: usize, now_s: f64) {
        let node = &mut self.nodes[node];
        match node.waiting.pop_front() {
            Some(next) => self.start(next, now_s),
            None => node.sending -= 1,
        }
    }
}

impl Traffic for Queues<'_> {
    fn inject(&mut self, now_s: f64, flight: Flight) {
        let index = self.place(flight);
        let node = &mut self.nodes[flight.from];
        if node.sending as usize == self.network.fabric.ports {
            node.waiting.push_back(index);
        } else {
            node.sending += 1;
            self.start(index, now_s);
        }
    }

    fn next_s(&self) -> f64 {
        self.timetable.first_s()
    }

    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>) {
        let now_s = self.next_s();
        while let Some(event) = self.timetable.pop_until(now_s) {
            let message = &self.messages[event.what as usize];
            match KINDS[(event.key.0[1] & ((1 << KIND_BITS) - 1)) as usize] {
                QueueEvent::Head => self.reach(event.what, now_s),
                QueueEvent::Sent => {
                    progress.push((message.flight.id, Milestone::Sent));
                    let from = message.flight.from;
                    self.pass(event.what);
                    self.release(from, now_s);
                }
                QueueEvent::Arrived => {
                    progress.push((message.flight.id, Milestone::Arrives(now_s)));
                    self.pass(event.what);
                }
            }
        }
    }

    fn knows_numbers(&self) -> bool {
        self.orbits.as_ref().is_some_and(|orbits| orbits.has_tie)
    }

    fn links(&self) -> Vec<LinkUse> {
        let usage_of = |link: &Link| {
            let Link { bytes, waiting_s, .. } = *link;
            LinkUse { bytes, busy_s: self.network.duration_s(bytes), waiting_s }
        };
        let mut uses: Vec<_> = self.links.iter().map(usage_of).collect();
        self.orbits.iter().for_each(|orbits| orbits.spread(&mut uses));
        for (usage, longer) in uses.iter_mut().zip(self.faulty.iter().flat_map(|faulty| &faulty.longer)) {
            usage.busy_s += longer.busy_s;
            usage.waiting_s += longer.waiting_s;
        }
        uses
    }

    fn set_seed(&mut self, seed: u64) {
        self.chooser.iter_mut().for_each(|chooser| chooser.set_seed(seed));
    }

    fn passages(&mut self) -> Option<&mut Passages> {
        Some(&mut self.passages)
    }

    fn stuck(&self) -> Option<String> {
        self.faulty.as_ref().and_then(|faulty| faulty.ways.stuck())
    }

    fn deadlock(&self) -> Option<String> {
        (self.vacant.len() < self.messages.len()).then(|| ENDLESS.to_owned())
    }
}

//! Messages of different ranks that share links at equal rates.

use std::collections::VecDeque;

use hocket_machine::Hop;

use super::super::faults::Ways;
use super::super::routing::{Chooser, Lane};
use super::super::traffic::ENDLESS;
use super::super::{Flight, LinkUse, Memo, Milestone, Passages, Traffic};
use super::orbits::Orbits;
use super::parameters::Links;
use super::shares::{Share, Shares};
use crate::timetable::{Event, Timetable};

/// The messages under way, and their rates.
pub struct Fair<'a> {
    network: &'a Links,
    timetable: Timetable<u32>,
    /// The fixed routes, and what chooses others.
    routes: Memo<Vec<Lane>>,
    chooser: Option<Box<Chooser<'a>>>,
    hops: Vec<Hop>,
    shares: Shares,
    messages: Vec<Flow>,
    /// Free places in `messages`.
    vacant: Vec<u32>,
    /// Messages injected so far.
    injections: u64,
    nodes: Vec<Node>,
    links: Vec<CarryingLink>,
    passages: Passages,
    /// A reused buffer for the messages whose shares change.
    changed_messages: Vec<u32>,
    faulty: Option<FairFaults<'a>>,
    /// The representatives, if only these are simulated.
    orbits: Option<Box<Orbits>>,
}

/// The faults of a network.
struct FairFaults<'a> {
    ways: Ways<'a>,
    /// The way of the message that starts.
    way: Vec<Lane>,
    /// When links change, which link, and the part of its bandwidth from then on.
    changes: Vec<(f64, u32, f64)>,
}

/// The events of messages, in their order for one message at one time.
#[derive(Clone, Copy)]
enum FairEvent {
    /// It requests a port of its node.
    Wants,
    /// Its last byte leaves.
    Ends,
    /// A link has another part of its bandwidth.
    Changes,
}

const KINDS: [FairEvent; 3] = [FairEvent::Wants, FairEvent::Ends, FairEvent::Changes];

/// Bits of an event's key that tell its kind, and above these, the number of messages that left before. The highest bits
/// have the sender's node: of messages at one time, that of the lowest node comes first.
const KIND_BITS: u32 = 2;
const COUNT_BITS: u32 = 38;
const KIND_MASK: u64 = (1 << KIND_BITS) - 1;

/// An end that exceeds the present time by at most this factor happens now: the difference is rounding.
const ROUNDING: f64 = 1.0 + 1e-14;

/// A message under way.
struct Flow {
    flight: Flight,
    /// The key of its events, without their kind; unique.
    key: u64,
    /// Number of links of the longest way.
    links: u32,
    start_s: f64,
    /// The present share, since when it applies, and the remaining time at full bandwidth.
    share: Share,
    since_s: f64,
    left_s: f64,
    /// The end at the present rates; infinite before the start and after the end.
    end_s: f64,
}

impl Flow {
    /// Whether all bytes, if there are any, have been carried but for rounding.
    fn has_passed(&self) -> bool {
        self.flight.bytes > 0.0 && self.since_s + self.left_s <= self.since_s * ROUNDING
    }
}

/// The ports of a node.
#[derive(Default)]
struct Node {
    /// The sender and the receiver of each message that holds a sending port.
    sending: Vec<[u32; 2]>,
    receiving: usize,
    /// Messages that wait for a sending port, or for the message before them of the same two ranks.
    to_send: VecDeque<u32>,
    /// Messages that hold a sending port elsewhere and wait for a receiving port.
    to_receive: VecDeque<u32>,
}

#[derive(Clone, Copy, Default)]
struct CarryingLink {
    usage: LinkUse,
    /// The time since which the link has been carrying something, and until when if it is idle.
    since_s: f64,
    until_s: f64,
}

impl CarryingLink {
    /// A message comes to the idle link. At the time at which the last one left, the link stays busy, so that the order of
    /// the two does not matter.
    fn resume(&mut self, now_s: f64) {
        if self.until_s != now_s {
            self.usage.busy_s += self.until_s - self.since_s;
            (self.since_s, self.until_s) = (now_s, now_s);
        }
    }

    fn usage(&self) -> LinkUse {
        LinkUse { busy_s: self.usage.busy_s + (self.until_s - self.since_s), ..self.usage }
    }
}

impl<'a> Fair<'a> {
    pub fn new(network: &'a Links, orbits: Option<Box<Orbits>>) -> Self {
        let topology = &network.fabric.topology;
        let changes = || network.fabric.faults.changes();
        let faulty = Ways::new(&network.fabric).map(|ways| FairFaults { ways, way: Vec::new(), changes: changes() });
        let mut timetable = Timetable::new();
        for (number, (time_s, ..)) in faulty.iter().flat_map(|faulty| &faulty.changes).enumerate() {
            let key = (number as u64) << KIND_BITS | FairEvent::Changes as u64;
            timetable.push(Event { time_s: *time_s, key, what: number as u32 });
        }
        Self {
            network,
            timetable,
            faulty,
            routes: Memo::new(topology.nodes()),
            chooser: network.fabric.chooser(),
            hops: Vec::new(),
            shares: Shares::new(topology.links()),
            messages: Vec::new(),
            vacant: Vec::new(),
            injections: 0,
            nodes: (0..topology.nodes()).map(|_| Node::default()).collect(),
            links: vec![CarryingLink::default(); topology.links()],
            passages: Passages::default(),
            changed_messages: Vec::new(),
            orbits,
        }
    }

    /// Finds a place for a message.
    fn place(&mut self, flight: Flight) -> u32 {
        let index = self.vacant.pop().unwrap_or(self.messages.len() as u32);
        let message = Flow {
            flight,
            key: (flight.from as u64) << (COUNT_BITS + KIND_BITS) | self.injections << KIND_BITS,
            links: 0,
            start_s: 0.0,
            share: Share::FULL,
            since_s: 0.0,
            left_s: self.network.duration_s(flight.bytes),
            end_s: f64::INFINITY,
        };
        self.injections += 1;
        match self.messages.get_mut(index as usize) {
            Some(place) => *place = message,
            None => self.messages.push(message),
        }
        index
    }

    fn push(&mut self, index: u32, time_s: f64, kind: FairEvent) {
        let key = self.messages[index as usize].key | kind as u64;
        self.timetable.push(Event { time_s, key, what: index });
    }

    /// The message requests a port of its node.
    fn want(&mut self, index: u32, now_s: f64) {
        let Flight { from, ranks, .. } = self.messages[index as usize].flight;
        let node = &mut self.nodes[from];
        if node.sending.len() == self.network.fabric.ports || node.sending.contains(&ranks) {
            node.to_send.push_back(index);
        } else {
            node.sending.push(ranks);
            self.leave(index, now_s);
        }
    }

    /// The message has a port of its node, and requests one of its receiver, unless both are the same node.
    fn leave(&mut self, index: u32, now_s: f64) {
        let Flight { from, to, bytes, .. } = self.messages[index as usize].flight;
        if from == to {
            return self.start(index, now_s);
        }
        let ports = self.network.fabric.ports;
        let node = self.receiver(to);
        let waits = node.receiving == ports;
        if waits {
            node.to_receive.push_back(index);
        } else {
            node.receiving += 1;
        }
        if let Some(orbits) = &mut self.orbits {
            orbits.comes_to_node(to as u32, now_s, now_s, from as u32, waits || bytes == 0.0);
        }
        if !waits {
            self.start(index, now_s);
        }
    }

    /// The ports of a receiving node, or of its representative.
    fn receiver(&mut self, node: usize) -> &mut Node {
        let node = self.orbits.as_ref().map_or(node, |orbits| orbits.node(node as u32) as usize);
        &mut self.nodes[node]
    }

    /// The message has all ports and starts: over the ways that the policy chooses now, or over the fixed route, or with
    /// faults over a way around.
    fn start(&mut self, index: u32, now_s: f64) {
        let Self { network, faulty, routes, hops, chooser, shares, messages, links, orbits, .. } = self;
        let (topology, faults) = (&network.fabric.topology, &network.fabric.faults);
        let message = &mut messages[index as usize];
        (message.start_s, message.since_s) = (now_s, now_s);
        let Flight { from, to, .. } = message.flight;
        let course = chooser.as_mut().and_then(|chooser| chooser.lead_whole(now_s, &message.flight));
        let route = if let Some(course) = course {
            message.links = course.links;
            &course.lanes
        } else {
            let mut route = routes.get([from as u32, to as u32], |route| {
                hops.clear();
                topology.route(from, to, hops);
                let link = |hop: &Hop| orbits.as_ref().map_or(hop.link, |orbits| orbits.link(hop.link));
                route.clear();
                route.extend(hops.iter().map(|hop| Lane::whole(link(hop))));
            });
            if let Some(FairFaults { ways, way, .. }) = faulty {
                hops.clear();
                topology.route(from, to, hops);
                if !ways.find(now_s, &message.flight, hops) {
                    return;
                }
                way.clear();
                way.extend(hops.iter().map(|hop| Lane::whole(hop.link)));
                route = way;
            }
            message.links = route.len() as u32;
            route
        };
        for lane in route.iter().filter(|lane| shares.users(lane.link) == 0) {
            links[lane.link as usize].resume(now_s);
        }
        shares.add(index, route);
        if let Some(chooser) = chooser {
            shares.lanes(index).for_each(|lane| chooser.add(lane));
        }
        if faulty.is_none() || shares.lanes(index).all(|lane| faults.is_up(lane.link, now_s)) {
            self.expect(index);
        }
    }

    /// Computes the end at the present rate.
    fn expect(&mut self, index: u32) {
        let message = &mut self.messages[index as usize];
        let left_s = match message.share.rate {
            0.0 if message.has_passed() => 0.0,
            0.0 => return self.wait(index),
            rate => message.left_s / rate,
        };
        let end_s = message.since_s + left_s;
        let is_now = end_s <= message.since_s * ROUNDING;
        let end_s = if is_now { message.since_s } else { end_s };
        message.end_s = end_s;
        self.push(index, end_s, FairEvent::Ends);
    }

    /// A link of the message is down.
    fn wait(&mut self, index: u32) {
        let message = &mut self.messages[index as usize];
        message.end_s = f64::INFINITY;
        let Flow { since_s, share, .. } = *message;
        let lost_link = share.bottleneck.filter(|link| self.network.fabric.faults.is_lost(*link, since_s));
        if let (Some(faulty), Some(link)) = (&mut self.faulty, lost_link) {
            faulty.ways.stop(&message.flight, link, since_s);
        }
    }

    /// A link has another part of its bandwidth.
    fn change(&mut self, number: u32) {
        if let Some(faulty) = &self.faulty {
            let (_, link, part) = faulty.changes[number as usize];
            self.shares.set_part(link, part);
        }
    }

    /// Accounts for the progress of the message at its rate up to now.
    fn settle(&mut self, index: u32, now_s: f64) {
        let message = &mut self.messages[index as usize];
        let passed_s = now_s - message.since_s;
        let carried_s = passed_s * message.share.rate;
        message.left_s = (message.left_s - carried_s).max(0.0);
        message.since_s = now_s;
        if let Some(link) = message.share.bottleneck {
            let lost_s = passed_s - carried_s;
            self.links[link as usize].usage.waiting_s += lost_s;
            self.orbits.iter_mut().for_each(|orbits| orbits.adds(link, now_s, lost_s));
        }
    }

    /// The last byte has left.
    fn end(&mut self, index: u32, now_s: f64, progress: &mut Vec<(u32, Milestone)>) {
        self.settle(index, now_s);
        self.shares.remove(index);
        let message = &mut self.messages[index as usize];
        if let Some(chooser) = &mut self.chooser {
            self.shares.lanes(index).for_each(|lane| chooser.remove(lane));
        }
        message.end_s = f64::INFINITY;
        let arrival_s = now_s + f64::from(message.links) * self.network.link_latency_s;
        for lane in self.shares.lanes(index) {
            let (link, bytes) = (&mut self.links[lane.link as usize], message.flight.bytes * lane.part());
            link.usage.bytes += bytes;
            self.passages.note(lane.link, bytes, message.start_s, now_s);
            if self.shares.users(lane.link) == 0 {
                link.until_s = now_s;
            }
        }
        let Flight { id, from, to, ranks, .. } = message.flight;
        progress.push((id, Milestone::Sent));
        // A message that arrives after all times is under way for ever.
        if arrival_s.is_finite() {
            progress.push((id, Milestone::Arrives(arrival_s)));
            self.vacant.push(index);
        }
        if from != to {
            self.release_receiver(to, now_s);
        }
        self.release_sender(from, ranks, now_s);
    }

    fn release_receiver(&mut self, node: usize, now_s: f64) {
        let node = self.receiver(node);
        match node.to_receive.pop_front() {
            Some(next) => self.start(next, now_s),
            None => node.receiving -= 1,
        }
    }

    /// The message of these ranks passes its port to the first waiting message whose ranks hold none.
    fn release_sender(&mut self, node: usize, ranks: [u32; 2], now_s: f64) {
        let Node { sending, to_send, .. } = &mut self.nodes[node];
        sending.retain(|other| *other != ranks);
        let ranks_of = |index: &u32| self.messages[*index as usize].flight.ranks;
        let next = to_send.iter().position(|index| !sending.contains(&ranks_of(index)));
        if let Some(next) = next.and_then(|place| to_send.remove(place)) {
            sending.push(ranks_of(&next));
            self.leave(next, now_s);
        }
    }

    /// Updates the rates after messages have started or ended.
    fn share(&mut self, now_s: f64) {
        if !self.shares.may_change() {
            return self.shares.settle();
        }
        let mut changed_messages = std::mem::take(&mut self.changed_messages);
        changed_messages.extend_from_slice(self.shares.fill());
        changed_messages.retain(|index| self.shares.share(*index) != self.messages[*index as usize].share);
        changed_messages.sort_unstable_by_key(|index| self.messages[*index as usize].share.bottleneck);
        if !changed_messages.is_sorted_by(|a, b| self.have_waited_alike(*a, *b)) {
            self.shares.sort_as_connected(&mut changed_messages);
        }
        for index in changed_messages.drain(..) {
            self.settle(index, now_s);
            self.messages[index as usize].share = self.shares.share(index);
            self.expect(index);
        }
        self.changed_messages = changed_messages;
        self.shares.settle();
    }

    /// Whether the sum of a link's waiting is independent of the order in which two messages are settled.
    fn have_waited_alike(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|index| &self.messages[index as usize]);
        let is_one_sum = a.share.bottleneck.is_some() && a.share.bottleneck == b.share.bottleneck;
        !is_one_sum || (a.share.rate == b.share.rate && a.since_s == b.since_s)
    }

    /// Whether the event is an end that is outdated because rates have changed.
    fn is_void(&self, event: &Event<u32>) -> bool {
        if !matches!(kind(event), FairEvent::Ends) {
            return false;
        }
        let message = &self.messages[event.what as usize];
        message.end_s != event.time_s || message.key != event.key & !KIND_MASK
    }
}

fn kind(event: &Event<u32>) -> FairEvent {
    KINDS[(event.key & KIND_MASK) as usize]
}

impl Traffic for Fair<'_> {
    fn inject(&mut self, now_s: f64, flight: Flight) {
        let index = self.place(flight);
        self.push(index, now_s, FairEvent::Wants);
    }

    fn is_told_early(&self) -> bool {
        true
    }

    fn next_s(&self) -> f64 {
        self.timetable.first_s()
    }

    fn advance(&mut self, progress: &mut Vec<(u32, Milestone)>) {
        let now_s = self.next_s();
        while let Some(event) = self.timetable.pop_until(now_s) {
            if self.is_void(&event) {
                continue;
            }
            match kind(&event) {
                FairEvent::Wants => self.want(event.what, now_s),
                FairEvent::Ends => self.end(event.what, now_s, progress),
                FairEvent::Changes => self.change(event.what),
            }
        }
        self.share(now_s);
    }

    fn links(&self) -> Vec<LinkUse> {
        let mut uses: Vec<_> = self.links.iter().map(CarryingLink::usage).collect();
        self.orbits.iter().for_each(|orbits| orbits.spread(&mut uses));
        uses
    }

    fn knows_numbers(&self) -> bool {
        self.orbits.as_ref().is_some_and(|orbits| orbits.has_tie)
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

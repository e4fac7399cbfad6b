//! Messages under way, and their routes.

use hocket_machine::Hop;

use super::super::faults::Ways;
use super::super::{Flight, Routing};
use super::parameters::Packets;
use super::wiring::Wiring;

/// No message.
pub(super) const NOBODY: u32 = u32::MAX;

/// The times that a packet takes, in seconds.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// On a link.
    pub link_s: f64,
    /// From a port.
    pub injection_s: f64,
    /// Into its node.
    pub ejection_s: f64,
}

impl Pace {
    /// The pace of a packet of this size.
    pub fn of(network: &Packets, bytes: f64) -> Self {
        Self {
            link_s: nearest(bytes * network.link_s_per_byte),
            injection_s: nearest(bytes * network.injection_s_per_byte),
            ejection_s: nearest(bytes * network.ejection_s_per_byte),
        }
    }
}

/// The least time per byte of any packet on a link, in seconds: the time of a packet is rounded.
pub(super) fn least_s_per_byte(network: &Packets) -> f64 {
    let (exact, mut least) = (network.link_s_per_byte, f64::INFINITY);
    for bytes in (1..=network.packet_bytes as u64).map(|bytes| bytes as f64) {
        least = least.min(Pace::of(network, bytes).link_s / bytes);
        // What rounding can take from each byte of a larger packet.
        let most_s = 0.5 / MOMENTS_PER_S / bytes;
        if least <= exact - most_s || most_s < NEGLIGIBLE * exact {
            return least.min(exact - most_s);
        }
    }
    least
}

/// The share of a time that does not matter to a bound.
const NEGLIGIBLE: f64 = 1e-9;

/// Moments per second.
const MOMENTS_PER_S: f64 = (1u64 << 50) as f64;

/// The nearest moment.
pub(super) fn nearest(time_s: f64) -> f64 {
    (time_s * MOMENTS_PER_S).round() / MOMENTS_PER_S
}

/// The first moment that is no earlier.
pub(super) fn no_earlier(time_s: f64) -> f64 {
    (time_s * MOMENTS_PER_S).ceil() / MOMENTS_PER_S
}

/// A message under way.
#[derive(Clone, Copy)]
pub(super) struct Message {
    /// The caller's message.
    pub flight: Flight,
    /// From the highest bit: the sender's node, and the number of messages that left it before.
    pub key: u64,
    /// The start of its route in [`Messages::steps`]; the last step is an ejection. If packets take ways of their own, the
    /// route of the next packet; [`NOBODY`] if there is none yet.
    pub route: u32,
    steps: u32,
    /// Number of packets that have not left.
    pub packets_left: u64,
    /// Number of packets that have not arrived, and when the last of the others did.
    pub packets_under_way: u64,
    pub arrival_s: f64,
    /// From the start of a packet to the start of the next, in seconds.
    pub period_s: f64,
    /// Bytes of the last packet.
    pub last_bytes: f64,
    /// The pace of the last packet.
    pub last: Pace,
    /// The next message behind this one that waits for a port.
    pub behind: u32,
    /// Number of milestones (sent, arrived) still ahead.
    pub milestones_left: u8,
}

/// All messages. Records and routes of finished messages are reused.
pub(super) struct Messages {
    all: Vec<Message>,
    unused: Vec<u32>,
    /// Steps of routes, as [`Wiring`] numbers them.
    pub steps: Vec<u32>,
    /// By length, the starts of unused routes.
    unused_routes: Vec<Vec<u32>>,
    /// The links of the route that is taken next.
    pub hops: Vec<Hop>,
}

impl Messages {
    pub fn new() -> Self {
        let (all, unused, steps, unused_routes, hops) = Default::default();
        Self { all, unused, steps, unused_routes, hops }
    }

    pub fn get(&self, message: u32) -> &Message {
        &self.all[message as usize]
    }

    pub fn get_mut(&mut self, message: u32) -> &mut Message {
        &mut self.all[message as usize]
    }

    /// Number of messages under way.
    pub fn under_way(&self) -> usize {
        self.all.len() - self.unused.len()
    }

    /// Takes on a message.
    pub fn add(&mut self, network: &Packets, wiring: &Wiring, flight: &Flight, key: u64) -> u32 {
        let packets = (flight.bytes / network.packet_bytes).ceil().max(1.0);
        let last_bytes = flight.bytes - (packets - 1.0) * network.packet_bytes;
        let paced_s_per_byte = ((1.0 + flight.gap_packets) * network.link_s_per_byte).max(network.injection_s_per_byte);
        let message = Message {
            flight: *flight,
            key,
            route: NOBODY,
            steps: 0,
            packets_left: packets as u64,
            packets_under_way: packets as u64,
            arrival_s: 0.0,
            period_s: nearest(network.packet_bytes * paced_s_per_byte),
            last_bytes,
            last: Pace::of(network, last_bytes),
            behind: NOBODY,
            milestones_left: 2,
        };
        let number = self.unused.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(number as usize) {
            Some(place) => *place = message,
            None => self.all.push(message),
        }
        if network.fabric.routing == Routing::Fixed {
            self.hops.clear();
            network.fabric.topology.route(flight.from, flight.to, &mut self.hops);
            self.take_route(number, network, wiring);
        }
        number
    }

    /// A message has been sent or has arrived. Returns the caller's id of the message.
    pub fn pass(&mut self, number: u32) -> u32 {
        let message = self.get_mut(number);
        message.milestones_left -= 1;
        if message.milestones_left == 0 {
            self.unused.push(number);
            self.drop_route(number);
        }
        self.get(number).flight.id
    }

    /// A message leaves in a network with faults, over a way that it finds now. Returns false if it waits for ever.
    pub fn leave(&mut self, number: u32, now_s: f64, network: &Packets, wiring: &Wiring, ways: &mut Ways<'_>) -> bool {
        let flight = self.get(number).flight;
        self.hops.clear();
        network.fabric.topology.route(flight.from, flight.to, &mut self.hops);
        let is_there = ways.find(now_s, &flight, &mut self.hops);
        if is_there {
            self.take_route(number, network, wiring);
        }
        is_there
    }

    /// A packet with a route of its own has arrived at its last step.
    pub fn drop_route_before(&mut self, last: u32) {
        let start = self.steps[last as usize + 1];
        self.unused_routes[(last + 1 - start) as usize].push(start);
    }

    fn drop_route(&mut self, number: u32) {
        let Message { route, steps, .. } = *self.get(number);
        if route != NOBODY {
            self.unused_routes[steps as usize].push(route);
        }
    }

    /// The message, or its next packet, takes the route whose links are in `hops`. Behind the route of a packet is its start.
    pub fn take_route(&mut self, number: u32, network: &Packets, wiring: &Wiring) {
        self.drop_route(number);
        let (length, to) = (self.hops.len() + 1, self.get(number).flight.to);
        let behind = usize::from(network.fabric.routing != Routing::Fixed);
        if self.unused_routes.len() <= length {
            self.unused_routes.resize(length + 1, Vec::new());
        }
        let start = self.unused_routes[length].pop().unwrap_or(self.steps.len() as u32);
        let end = start as usize + length;
        self.steps.resize(self.steps.len().max(end + behind), 0);
        let classes = (network.channels / network.lanes) as u8;
        for (step, hop) in self.steps[start as usize..end].iter_mut().zip(&self.hops) {
            *step = wiring.step(hop.link, u32::from(hop.channel.min(classes - 1)) * network.lanes as u32);
        }
        self.steps[end - 1] = wiring.step((wiring.links + to) as u32, 0);
        self.steps[end..end + behind].fill(start);
        let message = self.get_mut(number);
        (message.route, message.steps) = (start, length as u32);
    }
}

//! Packets on links with faults.
//!
//! A link that is slow holds a packet longer, and one that is down starts none. The packet's head leaves the next router
//! so late that the rest follows it without a pause at full bandwidth.

use super::super::Flight;
use super::super::faults::Ways;
use super::Packets;
use super::messages::no_earlier;

/// The faults of a network.
pub(super) struct PacketFaults<'a> {
    network: &'a Packets,
    pub ways: Ways<'a>,
    /// The messages by number.
    flights: Vec<Flight>,
}

impl<'a> PacketFaults<'a> {
    /// None without faults.
    pub fn new(network: &'a Packets) -> Option<Box<Self>> {
        Ways::new(&network.fabric).map(|ways| Box::new(Self { network, ways, flights: Vec::new() }))
    }

    /// A message has this number from now on.
    pub fn add(&mut self, message: u32, flight: Flight) {
        match self.flights.get_mut(message as usize) {
            Some(place) => *place = flight,
            None => self.flights.push(flight),
        }
    }

    pub fn flight(&self, message: u32) -> Flight {
        self.flights[message as usize]
    }

    /// The first moment, from now on, at which an output can start a packet; infinite if there is none.
    pub fn up_s(&self, output: usize, now_s: f64) -> f64 {
        self.network.fabric.faults.of(output as u32).map_or(now_s, |rates| no_earlier(rates.up_s(now_s)))
    }

    /// How long a packet of a message occupies a link from now on, if it is `duration_s` at full bandwidth; infinite if
    /// it is for ever.
    #[cold]
    pub fn duration_s(&mut self, message: u32, output: usize, now_s: f64, duration_s: f64) -> f64 {
        let rates = self.network.fabric.faults.of(output as u32);
        let Some(rates) = rates.filter(|rates| !rates.are_full_within(now_s, now_s + duration_s)) else {
            return duration_s;
        };
        match rates.carry(None, now_s, duration_s) {
            Ok(span) => no_earlier(span.end_s()) - now_s,
            Err(since_s) => {
                self.stop(message, output, since_s);
                f64::INFINITY
            }
        }
    }

    /// A message waits for ever for a link.
    pub fn stop(&mut self, message: u32, output: usize, since_s: f64) {
        self.ways.stop(&self.flights[message as usize], output as u32, since_s);
    }
}

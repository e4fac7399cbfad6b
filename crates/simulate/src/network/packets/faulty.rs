//! Packets on links with faults.
//!
//! A link that is slow holds a packet longer, and one that is down starts none. The packet's head leaves the next router
//! so late that the rest follows it without a pause at full bandwidth.

use super::super::Flight;
use super::super::faults::Ways;
use super::messages::no_earlier;
use super::parameters::Packets;

/// The faults of a network.
pub(super) struct PacketFaults<'a> {
    network: &'a Packets,
    pub ways: Ways<'a>,
}

impl<'a> PacketFaults<'a> {
    /// None without faults.
    pub fn new(network: &'a Packets) -> Option<Box<Self>> {
        Ways::new(&network.fabric).map(|ways| Box::new(Self { network, ways }))
    }

    /// The first moment, from now on, at which an output can start a packet; infinite if there is none.
    pub fn up_s(&self, output: usize, now_s: f64) -> f64 {
        self.network.fabric.faults.of(output as u32).map_or(now_s, |rates| no_earlier(rates.up_s(now_s)))
    }

    /// How long a packet of a message occupies a link from now on, if it is `duration_s` at full bandwidth; infinite if
    /// it is for ever.
    #[cold]
    pub fn duration_s(&mut self, flight: &Flight, output: usize, now_s: f64, duration_s: f64) -> f64 {
        let rates = self.network.fabric.faults.of(output as u32);
        let Some(rates) = rates.filter(|rates| !rates.are_full_within(now_s, now_s + duration_s)) else {
            return duration_s;
        };
        match rates.carry(None, now_s, duration_s) {
            Ok(span) => no_earlier(span.end_s()) - now_s,
            Err(since_s) => {
                self.ways.stop(flight, output as u32, since_s);
                f64::INFINITY
            }
        }
    }
}

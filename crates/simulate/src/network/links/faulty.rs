//! Messages on links with faults, one after another.
//!
//! The last byte of a message may follow the first one later than n / B. So it is kept when each part of a message
//! arrives at the end of a link. The next link carries what has arrived, at its own bandwidth.

use hocket_machine::Hop;
use rustc_hash::FxHashMap;

use super::super::faults::{Curve, Rates, Ways};
use super::super::{Flight, LinkUse, Passages};
use super::parameters::Links;

/// The messages under way in a network with faults.
pub struct DelayedMessages<'a> {
    network: &'a Links,
    pub ways: Ways<'a>,
    /// How messages arrive at the end of their last links, by their ids, if faults have changed that.
    curves: FxHashMap<u32, Curve>,
    /// What links were longer busy, and waited for, because of faults.
    pub longer: Vec<LinkUse>,
    full: Rates,
}

/// When a link begins with a message, and for how long it is busy with it, in seconds.
#[derive(Clone, Copy)]
pub struct Span {
    pub start_s: f64,
    pub held_s: f64,
}

impl<'a> DelayedMessages<'a> {
    /// None without faults.
    pub fn new(network: &'a Links) -> Option<Box<Self>> {
        let longer = || vec![LinkUse::default(); network.fabric.topology.links()];
        let faulty = |ways| {
            Box::new(Self { network, ways, curves: FxHashMap::default(), longer: longer(), full: Rates::always(1.0) })
        };
        Ways::new(&network.fabric).map(faulty)
    }

    /// A link carries a message in this span, or later or longer. Returns none if that never ends.
    #[cold]
    pub fn carry(&mut self, flight: &Flight, link: u32, span: Span, passages: &mut Passages) -> Option<Span> {
        let input = self.curves.remove(&flight.id);
        let rates = self.network.fabric.faults.of(link).unwrap_or(&self.full);
        match pass(rates, input.as_ref(), span) {
            Ok((actual, curve)) => {
                self.use_link(link, span, actual);
                note(flight, link, actual, curve.as_ref(), passages);
                let later = curve.map(|curve| curve.later(self.network.link_latency_s));
                self.curves.extend(later.map(|later| (flight.id, later)));
                Some(actual)
            }
            Err(since_s) => self.stop(flight, link, since_s),
        }
    }

    /// All links of a route carry a message, each a latency after the one before it: the first link in this span, or
    /// later or longer. Returns none if that never ends.
    #[cold]
    pub fn reserve(&mut self, flight: &Flight, route: &[Hop], span: Span, passages: &mut Passages) -> Option<Span> {
        let faults = &self.network.fabric.faults;
        let latency_s = self.network.link_latency_s;
        let rates = Rates::lowest(route.iter().map(|hop| faults.of(hop.link)), latency_s);
        match pass(&rates, None, span) {
            Ok((actual, mut curve)) => {
                for (place, hop) in route.iter().enumerate() {
                    let later = Span { start_s: actual.start_s + place as f64 * latency_s, ..actual };
                    self.use_link(hop.link, span, actual);
                    note(flight, hop.link, later, curve.as_ref(), passages);
                    curve = curve.map(|curve| curve.later(latency_s));
                }
                Some(actual)
            }
            Err(since_s) => {
                let is_lost = |hop: &&Hop| faults.is_lost(hop.link, f64::MAX);
                let link = route.iter().find(is_lost).map_or(0, |hop| hop.link);
                self.stop(flight, link, since_s)
            }
        }
    }

    /// How long a port of the receiver takes in a message from `start_s` on, in seconds.
    #[cold]
    pub fn receive_s(&mut self, flight: &Flight, start_s: f64, duration_s: f64) -> f64 {
        let Some(curve) = self.curves.remove(&flight.id) else { return duration_s };
        let own_span = self.full.carry(Some(&curve), start_s, duration_s);
        own_span.map_or(duration_s, |own_span| own_span.end_s() - start_s)
    }

    /// A link carries a message in the span that was found instead of `span`.
    fn use_link(&mut self, link: u32, span: Span, actual: Span) {
        let longer = &mut self.longer[link as usize];
        longer.busy_s += actual.held_s - span.held_s;
        longer.waiting_s += actual.start_s - span.start_s;
    }

    /// A message waits for ever for a link.
    fn stop(&mut self, flight: &Flight, link: u32, since_s: f64) -> Option<Span> {
        self.ways.stop(flight, link, since_s);
        None
    }
}

fn note(flight: &Flight, link: u32, span: Span, curve: Option<&Curve>, passages: &mut Passages) {
    match curve {
        None => passages.note(link, flight.bytes, span.start_s, span.start_s + span.held_s),
        Some(curve) => {
            for (start_s, end_s, part) in curve.pieces() {
                passages.note(link, part * flight.bytes, start_s, end_s);
            }
        }
    }
}

/// The span in which a link carries a message instead of `span`, and how the message passes if that is not as without
/// faults.
///
/// # Errors
/// It never ends: the time from which on it waits.
fn pass(rates: &Rates, input: Option<&Curve>, span: Span) -> Result<(Span, Option<Curve>), f64> {
    let Span { start_s, held_s } = span;
    if input.is_none() && rates.are_full_within(start_s, start_s + held_s) {
        return Ok((span, None));
    }
    let up_s = rates.up_s(start_s);
    if up_s.is_infinite() {
        return Err(start_s);
    }
    let curve = rates.carry(input, up_s, held_s)?;
    Ok((Span { start_s: up_s, held_s: curve.end_s() - up_s }, Some(curve)))
}

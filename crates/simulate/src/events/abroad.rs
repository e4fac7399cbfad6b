//! The events of one region of a network, and what it tells the others: see [`Regions`](crate::network::Regions).
//!
//! A rank's messages to a rank of another region are *announced*, in the order of sending, so that the receiver's region
//! matches them with receives. The data follows when the network takes it across. A receive *grants* a rendezvous.

use std::mem::{replace, take};
use std::thread;

use hocket_core::{AnyProgram, Call, Error, Result, Tag};
use hocket_machine::Node;
use rustc_hash::FxHashMap;

use super::{Action, Delivery, Envelope, Events, Flying, Unmatched};
use crate::clock::Trial;
use crate::exchange::Exchange;
use crate::in_time::{InTime, Outcome};
use crate::network::{Crossing, Entrant, Network, Part, Regions};
use crate::options::Options;

/// What one region tells another one.
pub(super) enum Letter {
    /// A message was sent to a rank there. The request of a rendezvous arrives at `time_s`; its sender waits in this slot.
    Announced { envelope: Envelope, tag: Tag, rendezvous: Option<(u32, f64)> },
    /// A rendezvous leaves its sender there at `time_s`.
    Granted { envelope: Envelope, sender_slot: u32, time_s: f64 },
    /// The head of a message that left its sender at `left_s` enters the region.
    Enters { envelope: Envelope, left_s: f64, entrant: Entrant },
}

impl Letter {
    /// The earliest time at which it can have an effect.
    fn time_s(&self) -> f64 {
        match self {
            Self::Announced { rendezvous, .. } => rendezvous.map_or(f64::INFINITY, |(_, time_s)| time_s),
            Self::Granted { time_s, .. } => *time_s,
            Self::Enters { entrant, .. } => entrant.time_s(),
        }
    }
}

/// A region, and its relations to the others.
pub(super) struct Abroad<'a> {
    part: Part<'a>,
    exchange: &'a Exchange<Letter>,
    /// Letters to each region, and the time of the first effect of any.
    letters: Vec<Vec<Letter>>,
    first_s: f64,
    /// Number of events up to the last meeting.
    steps: u64,
    /// The flights of messages that come from abroad, by sender and number.
    coming: FxHashMap<(u32, u64), u32>,
}

impl<'a> Abroad<'a> {
    fn new(part: Part<'a>, exchange: &'a Exchange<Letter>) -> Self {
        let letters = (0..part.regions.count).map(|_| Vec::new()).collect();
        Self { part, exchange, letters, first_s: f64::INFINITY, steps: 0, coming: FxHashMap::default() }
    }

    #[inline]
    pub(super) fn has_rank(&self, rank: usize) -> bool {
        self.part.has_rank(rank as u32)
    }

    fn post(&mut self, region: u16, letter: Letter) {
        self.first_s = self.first_s.min(letter.time_s());
        self.letters[usize::from(region)].push(letter);
    }

    /// Tells the receiver's region of a message.
    pub(super) fn announce(&mut self, tag: Tag, message: &Unmatched) {
        let Unmatched { envelope, time_s, state } = *message;
        let rendezvous = match state {
            Delivery::Rendezvous(sender_slot) => Some((sender_slot, time_s)),
            Delivery::Known | Delivery::Flying(_) => None,
        };
        self.post(self.part.of_rank(envelope.to), Letter::Announced { envelope, tag, rendezvous });
    }

    /// The regions cannot be simulated side by side: all stop.
    pub(super) fn give_up(&self) {
        self.exchange.stop();
    }
}

/// A panic in one region ends the others.
impl Drop for Abroad<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.give_up();
        }
    }
}

impl<N: Network> Events<'_, N> {
    /// Whether a rank is in another region.
    #[inline(always)]
    pub(super) fn is_abroad(&self, rank: u32) -> bool {
        self.abroad.as_ref().is_some_and(|abroad| !abroad.part.has_rank(rank))
    }

    /// Meets the other regions, and begins the next window. Returns false when all events are over, or without regions.
    pub(super) fn meet(&mut self) -> bool {
        self.send_crossings();
        let own_s = self.network_s().min(self.agenda.first_s());
        let steps = self.steps;
        let Some(abroad) = &mut self.abroad else { return false };
        let happened = steps - replace(&mut abroad.steps, steps);
        let first_s = own_s.min(replace(&mut abroad.first_s, f64::INFINITY));
        let number = usize::from(abroad.part.number);
        let Some((first_s, letters)) = abroad.exchange.meet(number, &mut abroad.letters, first_s, happened) else {
            return false;
        };
        if letters.iter().any(|letter| letter.time_s() < self.until_s) {
            abroad.give_up();
        }
        self.until_s = first_s + abroad.part.regions.look_ahead_s;
        letters.into_iter().for_each(|letter| self.read(letter));
        first_s.is_finite()
    }

    /// Sends the messages off whose heads have left this region.
    fn send_crossings(&mut self) {
        let crossings = self.traffic.as_mut().and_then(|traffic| traffic.crossings()).map(take);
        let Some(abroad) = &mut self.abroad else { return };
        for Crossing { id, region, entrant } in crossings.into_iter().flatten() {
            let Flying { envelope, left_s, .. } = *self.flights.get(id);
            if abroad.part.has_rank(envelope.to) {
                abroad.coming.insert((envelope.from, envelope.number), id);
            } else {
                self.flights.pass(id);
            }
            abroad.post(region, Letter::Enters { envelope, left_s, entrant });
        }
    }

    fn read(&mut self, letter: Letter) {
        match letter {
            Letter::Announced { envelope, tag, rendezvous } => self.expect(envelope, tag, rendezvous),
            Letter::Granted { envelope, sender_slot, time_s } => {
                let flight = self.flights.add(Flying::new(envelope, f64::NAN, Some(sender_slot), None));
                self.grant_at(time_s, flight);
            }
            Letter::Enters { envelope, left_s, entrant } => {
                let coming =
                    self.abroad.as_mut().and_then(|abroad| abroad.coming.remove(&(envelope.from, envelope.number)));
                let flight = coming.unwrap_or_else(|| self.flights.add(Flying::coming(envelope, None)));
                self.flights.get_mut(flight).left_s = left_s;
                self.traffic.iter_mut().for_each(|traffic| traffic.enter(flight, entrant));
            }
        }
    }

    /// A message for a rank of this region was sent abroad.
    fn expect(&mut self, envelope: Envelope, tag: Tag, rendezvous: Option<(u32, f64)>) {
        let message = match rendezvous {
            Some((sender_slot, time_s)) => Unmatched { envelope, time_s, state: Delivery::Rendezvous(sender_slot) },
            None => {
                let state = Delivery::Flying(self.comes(envelope, None));
                Unmatched { envelope, time_s: f64::INFINITY, state }
            }
        };
        match self.mailboxes.take_receive(envelope.to as usize, envelope.from, tag) {
            Some(receiver_slot) => self.bind(self.agenda.now_s, receiver_slot, &message),
            None => self.hold(tag, message),
        }
    }

    /// Returns the flight of a message that will come from abroad.
    fn comes(&mut self, envelope: Envelope, receiver_slot: Option<u32>) -> u32 {
        let flight = self.flights.add(Flying::coming(envelope, receiver_slot));
        if let Some(abroad) = &mut self.abroad {
            abroad.coming.insert((envelope.from, envelope.number), flight);
        }
        flight
    }

    /// A rendezvous from abroad has its receive; its request has arrived by `met_s`.
    pub(super) fn bind_from_abroad(&mut self, met_s: f64, envelope: Envelope, [sender_slot, receiver_slot]: [u32; 2]) {
        self.comes(envelope, Some(receiver_slot));
        if met_s > self.agenda.now_s {
            let flight = self.flights.add(Flying::new(envelope, f64::NAN, Some(sender_slot), None));
            return self.at(met_s, Action::Grant { flight });
        }
        self.grant(envelope, sender_slot);
    }

    /// A request from abroad has met its receive now.
    pub(super) fn grant(&mut self, envelope: Envelope, sender_slot: u32) {
        let time_s = self.granted_s(self.agenda.now_s, &envelope);
        let Some(abroad) = &mut self.abroad else { return };
        abroad.post(abroad.part.of_rank(envelope.from), Letter::Granted { envelope, sender_slot, time_s });
    }
}

/// The run of [`super::run`], with the regions side by side. None if that is not possible: a receive from any source, a
/// failure that one run has to explain.
pub(super) fn run<N: Network + Sync>(
    program: &dyn AnyProgram,
    call: &Call,
    network: &N,
    trial: &Trial<'_>,
    node: &Node,
    regions: &Regions,
    options: Options<'_>,
) -> Result<Option<Outcome>> {
    let exchange = Exchange::new(regions.count);
    let in_region = |number: usize, is_interrupted: &dyn Fn() -> bool| {
        let part = Part { regions, number: number as u16 };
        let mut events = Events::new(call, network, trial, is_interrupted);
        events.traffic = network.shared().map(|shared| shared.traffic_in(part));
        (events.abroad, events.until_s) = (Some(Box::new(Abroad::new(part, &exchange))), 0.0);
        let world = InTime::new(call, call.ranks, events, node, network.post_s(), &Options::default());
        let (events, _, outcome) = hocket_core::run(program, call, world).into_outcome("events");
        if let Some(failure) = events.failure {
            exchange.stop();
            return Err(failure);
        }
        Ok(Outcome { links: events.links(), ..outcome })
    };
    let parts = thread::scope(|scope| {
        let others: Vec<_> =
            (1..regions.count).map(|number| scope.spawn(move || in_region(number, &|| false))).collect();
        let own = in_region(0, options.is_interrupted);
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(own).chain(others).collect::<Vec<_>>()
    });
    if (options.is_interrupted)() {
        return Err(Error::interrupted());
    }
    if exchange.has_stopped() {
        return Ok(None);
    }
    Ok(parts.into_iter().collect::<Result<Vec<_>>>().ok().map(|parts| merged(parts, regions)))
}

/// The outcome of all regions.
fn merged(mut parts: Vec<Outcome>, regions: &Regions) -> Outcome {
    let mut times: Vec<_> = parts.iter_mut().map(|part| take(&mut part.rank_times_s).into_iter()).collect();
    let rank_times_s = regions.of_ranks().filter_map(|region| times[region].next()).collect();
    let all = parts.into_iter().reduce(|one, other| one.with_region(other));
    Outcome { rank_times_s, ..all.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use hocket_core::{Buffer, Collective, Program, Rank, Source, Span};
    use hocket_machine::{Machine, Noise};

    use super::*;
    use crate::network::Visitor;
    use crate::{Engine, Platform, simulate};

    /// Data goes around a ring: every rank sends to the next one and receives from the one before, or from any.
    struct Around {
        rounds: usize,
        is_from_any: bool,
    }

    impl Program for Around {
        async fn run(&self, r: &Rank<'_>, _: &Call) {
            let (next, last) = ((r.rank() + 1) % r.size(), (r.rank() + r.size() - 1) % r.size());
            let from = if self.is_from_any { Source::Any } else { Source::Rank(last as u32) };
            for _ in 0..self.rounds {
                let receive = r.recv_with(from, Span::new(Buffer::Result, 1000), 0);
                r.join(r.send(next, Span::new(Buffer::Input, 1000)), receive).await;
            }
        }
    }

    struct InRegions<'a>(&'a Around, &'a Call, &'a Platform);

    impl Visitor for InRegions<'_> {
        type Output = Option<Outcome>;

        fn visit<N: Network + Sync>(self, network: &N) -> Option<Outcome> {
            let Self(program, call, platform) = self;
            let regions = network.shared().unwrap().regions(call.ranks, 3).unwrap();
            let noise = Noise::default();
            let trial = Trial { noise: &noise, seed: 0, trial: 0, ranks: call.ranks };
            run(program, call, network, &trial, &platform.node, &regions, Options::default()).unwrap()
        }
    }

    #[test]
    fn regions_are_simulated_side_by_side_unless_a_rank_receives_from_any() {
        let text = "name = \"torus\"\n[network]\nmodel = \"links\"\ntopology = \"torus\"\ndims = [40]\n\
                    link_bandwidth = \"1 GB/s\"\nlink_latency = \"1 us\"\n";
        let platform = Platform::new(&Machine::parse(text, "torus.toml").unwrap()).unwrap();
        let call = Call::new(Collective::Barrier, 40, 0);
        for (rounds, is_from_any, is_possible) in [(1000, false, true), (1000, true, false)] {
            let program = Around { rounds, is_from_any };
            let found = platform.network.visit(InRegions(&program, &call, &platform));
            let options = Options { engine: Engine::Events, ..Options::default() };
            let expected = simulate(&program, &call, &platform, options).unwrap();
            assert_eq!(found, is_possible.then_some(expected), "from any: {is_from_any}");
        }
    }
}

//! What one region of a network tells the others: see [`Regions`](crate::network::Regions).
//!
//! A rank's messages to a rank of another region are *announced*, in the order of sending, so that the receiver's region
//! matches them with receives. The data follows when the network takes it across. A receive *grants* a rendezvous.

use std::mem::replace;
use std::thread;

use hocket_core::Tag;
use rustc_hash::FxHashMap;

use crate::exchange::Exchange;
use crate::flights::{Delivery, Envelope, UnmatchedMessage};
use crate::network::{Entrant, Follower, Part};

/// What one region tells another one.
pub enum Letter {
    /// A message was sent to a rank there. The request of a rendezvous arrives at `time_s`; its sender waits in this slot.
    Announced { envelope: Envelope, tag: Tag, rendezvous: Option<(u32, f64)> },
    /// A rendezvous leaves its sender there at `time_s`.
    Granted { envelope: Envelope, sender_slot: u32, time_s: f64 },
    /// A message that left its sender at `left_s` enters the region.
    Enters { envelope: Envelope, left_s: f64, entrant: Entrant },
    /// What belongs to such a message follows it.
    Follows(Follower),
}

impl Letter {
    /// The earliest time at which it can have an effect.
    fn time_s(&self) -> f64 {
        match self {
            Self::Announced { rendezvous, .. } => rendezvous.map_or(f64::INFINITY, |(_, time_s)| time_s),
            Self::Granted { time_s, .. } => *time_s,
            Self::Enters { entrant, .. } => entrant.time_s(),
            Self::Follows(follower) => follower.time_s(),
        }
    }
}

/// The least look-ahead, as a part of the time: in shorter windows, the error of rounding counts.
const LEAST_LOOK_AHEAD: f64 = 1e-12;

/// A region, and its relations to the others.
pub struct Border<'a> {
    pub part: Part<'a>,
    exchange: &'a Exchange<Letter>,
    /// Letters to each region, and the time of the first effect of any.
    letters: Vec<Vec<Letter>>,
    first_s: f64,
    /// Number of events up to the last meeting.
    events: u64,
    /// The flights of messages that come from other regions, by sender and number.
    coming: FxHashMap<(u32, u64), u32>,
}

impl<'a> Border<'a> {
    pub fn new(part: Part<'a>, exchange: &'a Exchange<Letter>) -> Self {
        let letters = (0..part.regions.count).map(|_| Vec::new()).collect();
        Self { part, exchange, letters, first_s: f64::INFINITY, events: 0, coming: FxHashMap::default() }
    }

    pub fn post(&mut self, region: u16, letter: Letter) {
        self.first_s = self.first_s.min(letter.time_s());
        self.letters[usize::from(region)].push(letter);
    }

    /// Tells the receiver's region of a message.
    pub fn announce(&mut self, tag: Tag, message: &UnmatchedMessage) {
        let UnmatchedMessage { envelope, time_s, state } = *message;
        let rendezvous = match state {
            Delivery::Rendezvous(sender_slot) => Some((sender_slot, time_s)),
            Delivery::Known | Delivery::Flying(_) => None,
        };
        self.post(self.part.of_rank(envelope.to), Letter::Announced { envelope, tag, rendezvous });
    }

    /// A message with this flight will come from another region, or come back.
    pub fn expect(&mut self, envelope: &Envelope, flight: u32) {
        self.coming.insert((envelope.from, envelope.number), flight);
    }

    /// The flight of a message that comes from another region; none if it only passes through.
    pub fn flight_of(&mut self, envelope: &Envelope) -> Option<u32> {
        self.coming.remove(&(envelope.from, envelope.number))
    }

    /// Meets the other regions after all events before `until_s`. `first_s` is the time of this region's next event, and
    /// `events` its number of events so far. Returns the end of the next window, which is infinite when all events are
    /// over, and the letters; none if the regions stop.
    pub fn meet(
        &mut self,
        until_s: f64,
        (first_s, events): (f64, u64),
        is_interrupted: &dyn Fn() -> bool,
    ) -> Option<(f64, Vec<Letter>)> {
        let new_events = events - replace(&mut self.events, events);
        let first_s = first_s.min(replace(&mut self.first_s, f64::INFINITY));
        let number = usize::from(self.part.number);
        let (first_s, letters) =
            self.exchange.meet(number, &mut self.letters, (first_s, new_events), is_interrupted)?;
        let look_ahead_s = self.part.regions.look_ahead_s;
        let is_exact = first_s.is_infinite() || look_ahead_s > LEAST_LOOK_AHEAD * first_s;
        if !is_exact || letters.iter().any(|letter| letter.time_s() < until_s) {
            self.give_up();
            return None;
        }
        Some((first_s + look_ahead_s, letters))
    }

    /// The regions cannot be simulated side by side: all stop.
    pub fn give_up(&self) {
        self.exchange.stop();
    }
}

/// A panic in one region ends the others.
impl Drop for Border<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.give_up();
        }
    }
}

//! What will happen when: events in the order of time, and at one time in the order of their keys.
//!
//! A radix heap (R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, "Faster algorithms for the shortest path problem",
//! J. ACM 37, 1990): time never goes back, so an event is kept by the highest bit in which its time differs from now, and
//! moves to lower bits as time comes closer. Times that are not negative are in the order of their bits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen to a message.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, in seconds; not negative.
    pub time_s: f64,
    /// Its place among the events of one time.
    pub key: u64,
    /// The message.
    pub message: u32,
}

/// Events to come.
pub struct Timetable {
    /// The time of the last event taken, as bits.
    now: u64,
    /// Events of that time, the last one first.
    due: Vec<Event>,
    /// Events that have been added for this very time since it came.
    added: BinaryHeap<Reverse<(u64, u32)>>,
    /// Later events, by the highest bit of difference, and which of these have any.
    later: [Vec<Event>; 64],
    occupied: u64,
    /// When the first of the later ones is; infinite when there is none.
    first_later_s: f64,
}

impl Timetable {
    pub fn new() -> Self {
        Self {
            now: 0,
            due: Vec::new(),
            added: BinaryHeap::new(),
            later: std::array::from_fn(|_| Vec::new()),
            occupied: 0,
            first_later_s: f64::INFINITY,
        }
    }

    /// Adds an event, no earlier than the last one taken.
    pub fn push(&mut self, event: Event) {
        let difference = event.time_s.to_bits() ^ self.now;
        if difference == 0 {
            self.added.push(Reverse((event.key, event.message)));
        } else {
            self.keep(event, difference);
            self.first_later_s = self.first_later_s.min(event.time_s);
        }
    }

    fn keep(&mut self, event: Event, difference: u64) {
        let bit = difference.ilog2();
        self.later[bit as usize].push(event);
        self.occupied |= 1 << bit;
    }

    /// When the next event is; infinite when there is none.
    pub fn first_s(&self) -> f64 {
        if self.due.is_empty() && self.added.is_empty() { self.first_later_s } else { f64::from_bits(self.now) }
    }

    /// Whether an event certainly comes before all others: of two in the future, by its time alone.
    pub fn is_before_all(&self, event: &Event) -> bool {
        let due = self.due.last().map(|due| due.key);
        let added = self.added.peek().map(|Reverse(added)| added.0);
        match due.into_iter().chain(added).min() {
            Some(first) => event.time_s == f64::from_bits(self.now) && event.key < first,
            None => event.time_s < self.first_later_s,
        }
    }

    /// Takes the next event, unless it is later than that time.
    pub fn pop_until(&mut self, time_s: f64) -> Option<Event> {
        if self.first_s() > time_s {
            return None;
        }
        if self.due.is_empty() && self.added.is_empty() {
            self.come();
        }
        let is_added = match (self.due.last(), self.added.peek()) {
            (Some(due), Some(Reverse(added))) => added.0 < due.key,
            (due, _) => due.is_none(),
        };
        if !is_added {
            return self.due.pop();
        }
        let Reverse((key, message)) = self.added.pop()?;
        Some(Event { time_s: f64::from_bits(self.now), key, message })
    }

    /// Lets the time of the next events come.
    fn come(&mut self) {
        if self.occupied == 0 {
            return;
        }
        let lowest = self.occupied.trailing_zeros() as usize;
        self.occupied &= self.occupied - 1;
        self.now = self.first_later_s.to_bits();
        let mut events = std::mem::take(&mut self.later[lowest]);
        for event in events.drain(..) {
            match event.time_s.to_bits() ^ self.now {
                0 => self.due.push(event),
                difference => self.keep(event, difference),
            }
        }
        self.later[lowest] = events;
        self.due.sort_unstable_by_key(|event| Reverse(event.key));
        let next = self.later.get(self.occupied.trailing_zeros() as usize);
        let times = next.into_iter().flatten().map(|event| event.time_s);
        self.first_later_s = times.fold(f64::INFINITY, f64::min);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a sorted set: events are added at times from now on, and all of the next time are taken now and then.
        #[test]
        fn events_come_in_order(pushes in prop::collection::vec((0..9u32, 0..3u32, 0..1000u64, any::<bool>()), 1..200)) {
            let (mut timetable, mut expected) = (Timetable::new(), BTreeSet::new());
            let mut now_s = 0.0;
            for (number, (factor, scale, key, takes)) in (0..).zip(pushes) {
                let time_s: f64 = now_s + f64::from(factor) * 10f64.powi(-3 * scale as i32);
                let event = Event { time_s, key: key << 32 | u64::from(number), message: number };
                let is_first = expected.first().is_none_or(|first| (time_s.to_bits(), event.key) < *first);
                prop_assert!(is_first || !timetable.is_before_all(&event));
                timetable.push(event);
                expected.insert((time_s.to_bits(), event.key));
                let first_s = expected.first().map_or(f64::INFINITY, |first| f64::from_bits(first.0));
                prop_assert_eq!(timetable.first_s(), first_s);
                if takes {
                    now_s = first_s;
                    prop_assert!(timetable.pop_until(now_s * 0.5 - 1.0).is_none());
                    let event = timetable.pop_until(now_s).unwrap();
                    prop_assert_eq!(Some((event.time_s.to_bits(), event.key)), expected.pop_first());
                }
            }
        }
    }
}

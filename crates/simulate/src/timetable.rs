//! Future events in the order of time; at one time, in the order of their keys.
//!
//! A radix heap (R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, "Faster algorithms for the shortest path
//! problem", J. ACM 37, 1990). Time never goes back, so an event is stored by the highest bit in which its time differs
//! from now, and moves to lower bits as its time comes closer. Non-negative times sort like their bits.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A future event.
#[derive(Clone, Copy, Debug)]
pub struct Event<T, K = u64> {
    /// The time in seconds; not negative.
    pub time_s: f64,
    /// The order of events at one time.
    pub key: K,
    /// The action of the event.
    pub what: T,
}

/// A key of two words, the first of which counts more. Compared as one number, without a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words(pub [u64; 2]);

impl Words {
    #[inline]
    fn number(self) -> u128 {
        let [high, low] = self.0;
        u128::from(high) << 64 | u128::from(low)
    }
}

impl Ord for Words {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number())
    }
}

impl PartialOrd for Words {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Future events.
pub struct Timetable<T, K = u64> {
    /// The time of the last event taken, as bits.
    now: u64,
    /// The events of that time, the last one first.
    due: Vec<Event<T, K>>,
    /// Events of that time that were added since it became the present.
    present_events: BinaryHeap<PresentEvent<T, K>>,
    /// Later events by the highest bit of difference, and the set of bits that have any.
    later: [Later<T, K>; 64],
    nonempty: u64,
}

/// Later events, and the time of the first of them; infinite when there is none.
struct Later<T, K> {
    events: Vec<Event<T, K>>,
    first_s: f64,
}

/// An event in [`Timetable::present_events`]; the greatest is the one with the least key.
struct PresentEvent<T, K> {
    key: K,
    what: T,
}

impl<T, K: Ord> Ord for PresentEvent<T, K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl<T, K: Ord> PartialOrd for PresentEvent<T, K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T, K: Eq> PartialEq for PresentEvent<T, K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T, K: Eq> Eq for PresentEvent<T, K> {}

impl<T, K: Ord + Copy> Timetable<T, K> {
    pub fn new() -> Self {
        Self {
            now: 0,
            due: Vec::new(),
            present_events: BinaryHeap::new(),
            later: std::array::from_fn(|_| Later { events: Vec::new(), first_s: f64::INFINITY }),
            nonempty: 0,
        }
    }

    /// Adds an event, no earlier than the last one taken.
    #[inline]
    pub fn push(&mut self, event: Event<T, K>) {
        match event.time_s.to_bits() ^ self.now {
            0 => self.present_events.push(PresentEvent { key: event.key, what: event.what }),
            difference => self.keep(event, difference),
        }
    }

    #[inline]
    fn keep(&mut self, event: Event<T, K>, difference: u64) {
        let bit = difference.ilog2();
        let later = &mut self.later[bit as usize];
        later.first_s = later.first_s.min(event.time_s);
        later.events.push(event);
        self.nonempty |= 1 << bit;
    }

    /// The time of the next event; infinite when there is none.
    #[inline]
    pub fn first_s(&self) -> f64 {
        if self.is_over() { self.first_later_s() } else { f64::from_bits(self.now) }
    }

    /// Whether all events of the present time have been taken.
    #[inline]
    fn is_over(&self) -> bool {
        self.due.is_empty() && self.present_events.is_empty()
    }

    #[inline]
    fn first_later_s(&self) -> f64 {
        self.later.get(self.nonempty.trailing_zeros() as usize).map_or(f64::INFINITY, |later| later.first_s)
    }

    /// The key of the next event, if it is at this time; events added from now on must be no earlier.
    #[inline]
    pub fn first_key_at(&mut self, time_s: f64) -> Option<K> {
        if self.is_over() && self.first_later_s() == time_s {
            self.advance();
        }
        let is_now = f64::from_bits(self.now) == time_s;
        if is_now { self.first_key() } else { None }
    }

    /// The key of the next event of the present time.
    #[inline]
    fn first_key(&self) -> Option<K> {
        let (due, present) = (self.due.last().map(|due| due.key), self.present_events.peek().map(|event| event.key));
        due.into_iter().chain(present).min()
    }

    /// Whether an event certainly comes before all others. Future events are compared by time alone.
    #[inline]
    pub fn is_before_all(&self, time_s: f64, key: K) -> bool {
        match self.first_key() {
            Some(first) => time_s == f64::from_bits(self.now) && key < first,
            None => time_s < self.first_later_s(),
        }
    }

    /// Takes the next event, unless it is later than `time_s`.
    #[inline]
    pub fn pop_until(&mut self, time_s: f64) -> Option<Event<T, K>> {
        if self.first_s() > time_s {
            return None;
        }
        if self.is_over() {
            self.advance();
        }
        let is_added = match (self.due.last(), self.present_events.peek()) {
            (Some(due), Some(present)) => present.key < due.key,
            (due, _) => due.is_none(),
        };
        if !is_added {
            return self.due.pop();
        }
        let PresentEvent { key, what } = self.present_events.pop()?;
        Some(Event { time_s: f64::from_bits(self.now), key, what })
    }

    /// Advances to the time of the next events.
    fn advance(&mut self) {
        if self.nonempty == 0 {
            return;
        }
        let lowest = self.nonempty.trailing_zeros() as usize;
        self.now = self.later[lowest].first_s.to_bits();
        self.nonempty &= self.nonempty - 1;
        self.later[lowest].first_s = f64::INFINITY;
        let mut events = std::mem::take(&mut self.later[lowest].events);
        for event in events.drain(..) {
            match event.time_s.to_bits() ^ self.now {
                0 => self.due.push(event),
                difference => self.keep(event, difference),
            }
        }
        self.later[lowest].events = events;
        self.due.sort_unstable_by_key(|event| Reverse(event.key));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with a sorted set of events.
        #[test]
        fn events_come_in_order(pushes in prop::collection::vec((0..9u32, 0..3u32, 0..1000u64, any::<bool>()), 1..200)) {
            let (mut timetable, mut expected) = (Timetable::new(), BTreeSet::new());
            let mut now_s = 0.0;
            for (number, (factor, scale, key, takes)) in (0u32..).zip(pushes) {
                let time_s: f64 = now_s + f64::from(factor) * 10f64.powi(-3 * scale as i32);
                let event = Event { time_s, key: key << 32 | number as u64, what: number };
                let is_first = expected.first().is_none_or(|first| (time_s.to_bits(), event.key) < *first);
                prop_assert!(is_first || !timetable.is_before_all(event.time_s, event.key));
                timetable.push(event);
                expected.insert((time_s.to_bits(), event.key));
                let first_s = expected.first().map_or(f64::INFINITY, |first| f64::from_bits(first.0));
                prop_assert_eq!(timetable.first_s(), first_s);
                if takes {
                    now_s = first_s;
                    prop_assert!(timetable.pop_until(now_s * 0.5 - 1.0).is_none());
                    prop_assert_eq!(timetable.first_key_at(now_s), expected.first().map(|first| first.1));
                    let event = timetable.pop_until(now_s).unwrap();
                    prop_assert_eq!(Some((event.time_s.to_bits(), event.key)), expected.pop_first());
                }
            }
        }
    }
}

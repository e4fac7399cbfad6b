//! Future events in the order of time; at one time, in the order of their keys.

use std::cmp::{Ordering, Reverse};
use std::mem::swap;

use crate::later::Later;

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
    /// The time of the last event taken.
    now_s: f64,
    /// The events of that time, the last one first; and those that were added since, in any order.
    due: Vec<(K, T)>,
    fresh: Vec<(K, T)>,
    later: Later<(K, T)>,
}

impl<T: Copy, K: Ord + Copy> Timetable<T, K> {
    pub fn new() -> Self {
        Self { now_s: 0.0, due: Vec::new(), fresh: Vec::new(), later: Later::new() }
    }

    /// Adds an event, no earlier than the last one taken.
    #[inline]
    pub fn push(&mut self, Event { time_s, key, what }: Event<T, K>) {
        if time_s == self.now_s {
            self.fresh.push((key, what));
        } else {
            self.later.push(time_s, (key, what));
        }
    }

    /// The time of the next event; infinite when there is none.
    #[inline]
    pub fn first_s(&self) -> f64 {
        if self.is_over() { self.later.first_s() } else { self.now_s }
    }

    /// Whether all events of the present time have been taken.
    #[inline]
    fn is_over(&self) -> bool {
        self.due.is_empty() && self.fresh.is_empty()
    }

    /// Whether an event certainly comes before all others. Future events are compared by time alone.
    #[inline]
    pub fn is_before_all(&mut self, time_s: f64, key: K) -> bool {
        if self.is_over() {
            return time_s < self.later.first_s();
        }
        self.sort();
        time_s == self.now_s && self.due.last().is_some_and(|first| key < first.0)
    }

    /// Takes the next event, unless it is later than `time_s`.
    #[inline]
    pub fn pop_until(&mut self, time_s: f64) -> Option<Event<T, K>> {
        if self.first_s() > time_s {
            return None;
        }
        if self.is_over() {
            self.now_s = self.later.first_s();
            if let Some((key, what)) = self.later.take_only() {
                return Some(Event { time_s: self.now_s, key, what });
            }
            self.later.take_first(|event| self.fresh.push(event));
        }
        self.sort();
        self.due.pop().map(|(key, what)| Event { time_s: self.now_s, key, what })
    }

    /// Puts the events that were added in their places.
    #[inline]
    fn sort(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        if self.due.is_empty() {
            swap(&mut self.due, &mut self.fresh);
        } else if self.fresh.len() == 1
            && let Some(event) = self.fresh.pop()
        {
            let place = self.due.partition_point(|due| due.0 > event.0);
            return self.due.insert(place, event);
        } else {
            self.due.append(&mut self.fresh);
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|event| Reverse(event.0));
        }
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
                    let event = timetable.pop_until(now_s).unwrap();
                    prop_assert_eq!(Some((event.time_s.to_bits(), event.key)), expected.pop_first());
                }
            }
        }
    }
}

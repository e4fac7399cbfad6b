//! Future events: a calendar queue (R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the
//! simulation event set problem", Communications of the ACM 31, 1988) with days shorter than a packet.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Number of days ahead.
const DAYS: usize = 256;

/// Events in the order of time. Events of the days ahead lie unsorted under their day; a day is sorted when it begins.
/// Events further ahead, or added after their day has begun, are in a heap.
pub(super) struct Calendar {
    days_per_s: f64,
    today: u64,
    /// Today's events, the latest first.
    open: Vec<Entry>,
    days: Box<[Vec<Entry>; DAYS]>,
    /// A bit for each day that has events.
    occupied_days: [u64; DAYS / 64],
    others: BinaryHeap<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    time_s: f64,
    what: u32,
}

impl Calendar {
    /// An empty calendar with days of `day_s` seconds.
    pub fn new(day_s: f64) -> Self {
        Self {
            days_per_s: 1.0 / day_s,
            today: 0,
            open: Vec::new(),
            days: Box::new(std::array::from_fn(|_| Vec::new())),
            occupied_days: [0; DAYS / 64],
            others: BinaryHeap::new(),
        }
    }

    /// The time of the next event; infinite when there is none. Only after [`Calendar::settle`].
    pub fn next_s(&self) -> f64 {
        let soonest = |event: Option<&Entry>| event.map_or(f64::INFINITY, |event| event.time_s);
        soonest(self.open.last()).min(soonest(self.others.peek()))
    }

    /// Adds an event.
    pub fn push(&mut self, time_s: f64, what: u32) {
        let day = self.day(time_s);
        if day > self.today && day - self.today < DAYS as u64 {
            let slot = day as usize % DAYS;
            self.days[slot].push(Entry { time_s, what });
            self.occupied_days[slot / 64] |= 1 << (slot % 64);
        } else {
            self.others.push(Entry { time_s, what });
        }
    }

    fn day(&self, time_s: f64) -> u64 {
        (time_s * self.days_per_s) as u64
    }

    /// Appends the events of this time, the next one.
    pub fn take(&mut self, time_s: f64, happening: &mut Vec<u32>) {
        while let Some(event) = self.open.pop_if(|event| event.time_s == time_s) {
            happening.push(event.what);
        }
        while self.others.peek().is_some_and(|event| event.time_s == time_s) {
            happening.extend(self.others.pop().map(|event| event.what));
        }
    }

    /// If today has no events left, begins the next day that has, and returns true; if none has, days restart.
    pub fn settle(&mut self) -> bool {
        if !self.open.is_empty() {
            return false;
        }
        let Some(ahead) = self.ahead() else {
            self.today = self.others.peek().map_or(self.today, |next| self.day(next.time_s));
            return false;
        };
        self.today += ahead;
        let slot = self.today as usize % DAYS;
        self.occupied_days[slot / 64] &= !(1 << (slot % 64));
        std::mem::swap(&mut self.open, &mut self.days[slot]);
        self.open.sort_unstable_by(|a, b| b.time_s.total_cmp(&a.time_s));
        true
    }

    /// Today's events.
    pub fn today(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.open.iter().map(|event| event.what)
    }

    /// Number of days until the next one with events.
    fn ahead(&self) -> Option<u64> {
        let words = self.occupied_days.len();
        let tomorrow = (self.today as usize + 1) % DAYS;
        (0..=words).find_map(|step| {
            let word = (tomorrow / 64 + step) % words;
            let from = if step == 0 { u64::MAX << (tomorrow % 64) } else { u64::MAX };
            let bits = self.occupied_days[word] & from;
            let day = word * 64 + bits.trailing_zeros() as usize;
            (bits != 0).then(|| ((day + DAYS - tomorrow) % DAYS) as u64 + 1)
        })
    }
}

impl Ord for Entry {
    /// The earliest is the greatest, for the heap.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time_s.total_cmp(&self.time_s).then(other.what.cmp(&self.what))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_idle_time_events_lie_under_their_days_again() {
        let mut calendar = Calendar::new(1.0);
        calendar.push(1000.5, 1);
        calendar.settle();
        calendar.push(1003.5, 2);
        let mut happening = Vec::new();
        calendar.take(1000.5, &mut happening);
        assert!(calendar.settle());
        assert_eq!((calendar.next_s(), happening), (1003.5, vec![1]));
    }
}

//! What will happen when: events in the order of time, and at one time in the order of their keys.
//!
//! Most events come a fixed delay after the one that makes them, and so in order: each kind of event has a lane, first in,
//! first out, and only what would be out of order in its lane goes to a heap.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// Something that will happen to a message.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, in seconds.
    pub time_s: f64,
    /// Its place among the events of one time.
    pub key: u64,
    /// The message.
    pub message: u32,
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time_s.total_cmp(&other.time_s).then(self.key.cmp(&other.key))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

/// Events to come, in `LANES` lanes.
#[derive(Debug)]
pub struct Timetable<const LANES: usize> {
    lanes: [VecDeque<Event>; LANES],
    heap: BinaryHeap<Reverse<Event>>,
}

impl<const LANES: usize> Timetable<LANES> {
    pub fn new() -> Self {
        Self { lanes: std::array::from_fn(|_| VecDeque::new()), heap: BinaryHeap::new() }
    }

    pub fn push(&mut self, lane: usize, event: Event) {
        match self.lanes[lane].back() {
            Some(last) if event < *last => self.heap.push(Reverse(event)),
            _ => self.lanes[lane].push_back(event),
        }
    }

    /// The next event.
    pub fn first(&self) -> Option<&Event> {
        let fronts = self.lanes.iter().filter_map(VecDeque::front);
        fronts.chain(self.heap.peek().map(|Reverse(event)| event)).min()
    }

    /// When the next event is; infinite when there is none.
    pub fn first_s(&self) -> f64 {
        self.first().map_or(f64::INFINITY, |event| event.time_s)
    }

    /// Takes the next event, unless it is later than that time.
    pub fn pop_until(&mut self, time_s: f64) -> Option<Event> {
        let first = *self.first().filter(|event| event.time_s <= time_s)?;
        let lane = self.lanes.iter_mut().find(|lane| lane.front() == Some(&first));
        match lane {
            Some(lane) => lane.pop_front(),
            None => self.heap.pop().map(|Reverse(event)| event),
        }
    }
}

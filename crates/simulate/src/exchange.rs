//! The news that regions, simulated side by side, exchange at the end of each window.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;
use std::time::Instant;

/// One of two places for the news at the end of a window: the other one is still being read.
#[derive(Default)]
struct Board<M> {
    /// The mail from each region to each region.
    boxes: Vec<Mutex<Vec<M>>>,
    /// The time of the first event that each region knows of, in the mail, too; as bits.
    firsts: Vec<AtomicU64>,
}

/// Where regions meet after each window.
pub struct Exchange<M> {
    regions: usize,
    boards: [Board<M>; 2],
    /// Number of regions that have come to the present meeting, and of meetings so far.
    arrivals: AtomicUsize,
    meetings: AtomicUsize,
    /// Number of events of all regions, and the time since which they happen.
    events: AtomicU64,
    start: Instant,
    /// Whether regions that mostly wait for each other are stopped.
    is_checked: bool,
    has_stopped: AtomicBool,
}

/// Regions that mostly wait for each other are stopped. This is checked after so many meetings, and whenever the number has
/// doubled.
const FIRST_CHECK: usize = 1 << 3;
/// The least number of events of all regions between two meetings, on average.
const FEWEST_EVENTS: u64 = 32;
/// The longest time that an event may take, on average. It takes longer where other processes take the processors.
const LONGEST_EVENT_S: f64 = 5e-6;

/// Number of meetings, and of times that another thread gets the processor, between two looks for interruptions.
const UNTIL_LOOK: usize = 1 << 8;

/// Number of looks at the other regions before another thread gets the processor.
const LOOKS: usize = 1 << 6;

impl<M> Exchange<M> {
    pub fn new(regions: usize, is_checked: bool) -> Self {
        let board = || Board {
            boxes: (0..regions * regions).map(|_| Mutex::default()).collect(),
            firsts: (0..regions).map(|_| AtomicU64::default()).collect(),
        };
        Self {
            regions,
            boards: [board(), board()],
            arrivals: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            events: AtomicU64::new(0),
            start: Instant::now(),
            is_checked,
            has_stopped: AtomicBool::new(false),
        }
    }

    /// Ends the simulation in all regions.
    pub fn stop(&self) {
        self.has_stopped.store(true, Ordering::Release);
    }

    /// Whether it was ended before all events were over.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Acquire)
    }

    /// Gives `mail` to the other regions, by number, and waits for them. `first_s` is the time of the first event that
    /// this region knows of, in the mail, too; `events` is its number of events since the last meeting. Returns the time of
    /// the first event of all, and the mail for this region; none if the simulation was ended.
    pub fn meet(
        &self,
        region: usize,
        mail: &mut [Vec<M>],
        (first_s, events): (f64, u64),
        is_interrupted: &dyn Fn() -> bool,
    ) -> Option<(f64, Vec<M>)> {
        let meeting = self.meetings.load(Ordering::Acquire);
        let Board { boxes, firsts } = &self.boards[meeting % 2];
        let open =
            |from: usize, to: usize| boxes[from * self.regions + to].lock().unwrap_or_else(PoisonError::into_inner);
        for (to, letters) in mail.iter_mut().enumerate().filter(|(_, letters)| !letters.is_empty()) {
            open(region, to).append(letters);
        }
        firsts[region].store(first_s.to_bits(), Ordering::Relaxed);
        let events = self.events.fetch_add(events, Ordering::Relaxed) + events;
        let is_due = self.is_checked && meeting >= FIRST_CHECK && meeting.is_power_of_two();
        if is_due && !self.pays_off(meeting, events) || meeting.is_multiple_of(UNTIL_LOOK) && is_interrupted() {
            self.stop();
        }
        self.wait(meeting, is_interrupted);
        if self.has_stopped() {
            return None;
        }
        let times_s = firsts.iter().map(|first| f64::from_bits(first.load(Ordering::Relaxed)));
        let mut letters = Vec::new();
        (0..self.regions).for_each(|from| letters.append(&mut open(from, region)));
        Some((times_s.fold(f64::INFINITY, f64::min), letters))
    }

    fn pays_off(&self, meetings: usize, events: u64) -> bool {
        events >= FEWEST_EVENTS * meetings as u64
            && self.start.elapsed().as_secs_f64() < LONGEST_EVENT_S * events as f64
    }

    /// Waits until all regions have come to this meeting, or one has stopped.
    fn wait(&self, meeting: usize, is_interrupted: &dyn Fn() -> bool) {
        if self.arrivals.fetch_add(1, Ordering::AcqRel) + 1 == self.regions {
            self.arrivals.store(0, Ordering::Relaxed);
            self.meetings.store(meeting + 1, Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.meetings.load(Ordering::Acquire) == meeting && !self.has_stopped() {
            looks += 1;
            if looks % LOOKS != 0 {
                spin_loop();
            } else if looks % (LOOKS * UNTIL_LOOK) == 0 && is_interrupted() {
                self.stop();
            } else {
                yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_regions_learn_the_first_time_and_get_their_mail() {
        let exchange = Exchange::new(3, true);
        thread::scope(|scope| {
            for region in 0..3 {
                let exchange = &exchange;
                scope.spawn(move || {
                    for meeting in 0..1000 {
                        let mut mail: Vec<_> = (0..3).map(|to| vec![(region, to, meeting)]).collect();
                        let (first_s, letters) = exchange
                            .meet(region, &mut mail, ((meeting + region) as f64, 1 << 20), &|| false)
                            .expect("nobody stops");
                        assert_eq!(first_s, meeting as f64);
                        assert_eq!(letters, [0, 1, 2].map(|from| (from, region, meeting)));
                        assert!(mail.iter().all(Vec::is_empty));
                    }
                });
            }
        });
    }

    #[test]
    fn regions_with_little_to_do_are_stopped() {
        let exchange = Exchange::<()>::new(1, true);
        let meetings = (0..2 * FIRST_CHECK)
            .take_while(|_| exchange.meet(0, &mut [], (0.0, FEWEST_EVENTS / 2), &|| false).is_some());
        assert_eq!(meetings.count(), FIRST_CHECK);
    }

    #[test]
    fn regions_that_are_kept_from_work_are_stopped() {
        let mut exchange = Exchange::<()>::new(1, true);
        exchange.start = exchange.start.checked_sub(Duration::from_secs(1)).unwrap();
        let meetings =
            (0..2 * FIRST_CHECK).take_while(|_| exchange.meet(0, &mut [], (0.0, FEWEST_EVENTS), &|| false).is_some());
        assert_eq!(meetings.count(), FIRST_CHECK);
    }

    #[test]
    fn a_region_that_waits_looks_for_interruptions() {
        let exchange = Exchange::<()>::new(2, true);
        assert_eq!(exchange.meet(0, &mut [], (0.0, 0), &|| true), None);
    }

    #[test]
    fn who_stops_ends_the_wait_of_all() {
        let exchange = Exchange::<()>::new(2, true);
        thread::scope(|scope| {
            let waits = scope.spawn(|| exchange.meet(0, &mut [], (0.0, 0), &|| false));
            exchange.stop();
            assert_eq!(waits.join().unwrap(), None);
        });
    }
}

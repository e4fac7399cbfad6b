//! What regions that are simulated side by side tell each other at the end of each window.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;
use std::time::Duration;

/// One of two places for what is told at the end of a window: the other one is still being read.
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
    come: AtomicUsize,
    meetings: AtomicUsize,
    /// The time that all regions have worked between meetings, in nanoseconds.
    work_ns: AtomicU64,
    has_stopped: AtomicBool,
}

/// After these numbers of meetings, regions that on average have worked less than this between two meetings are stopped:
/// they would mostly wait for each other.
const CHECKED: [usize; 2] = [1 << 8, 1 << 12];
const LEAST_WORK_NS: u64 = 2000;

/// Number of looks at the other regions before another thread gets the processor.
const LOOKS: u32 = 1 << 6;

impl<M> Exchange<M> {
    pub fn new(regions: usize) -> Self {
        let board = || Board {
            boxes: (0..regions * regions).map(|_| Mutex::default()).collect(),
            firsts: (0..regions).map(|_| AtomicU64::default()).collect(),
        };
        Self {
            regions,
            boards: [board(), board()],
            come: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            work_ns: AtomicU64::new(0),
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
    /// this region knows of, in the mail, too; `work` is the time since its last meeting. Returns the time of the first
    /// event of all, and the mail for this region; none if the simulation was ended.
    pub fn meet(&self, region: usize, mail: &mut [Vec<M>], first_s: f64, work: Duration) -> Option<(f64, Vec<M>)> {
        let meeting = self.meetings.load(Ordering::Acquire);
        let Board { boxes, firsts } = &self.boards[meeting % 2];
        let open =
            |from: usize, to: usize| boxes[from * self.regions + to].lock().unwrap_or_else(PoisonError::into_inner);
        for (to, letters) in mail.iter_mut().enumerate().filter(|(_, letters)| !letters.is_empty()) {
            open(region, to).append(letters);
        }
        firsts[region].store(first_s.to_bits(), Ordering::Relaxed);
        let work_ns = work.as_nanos() as u64;
        let all_ns = self.work_ns.fetch_add(work_ns, Ordering::Relaxed) + work_ns;
        if CHECKED.contains(&meeting) && all_ns < LEAST_WORK_NS * (self.regions * meeting) as u64 {
            self.stop();
        }
        self.wait(meeting);
        if self.has_stopped() {
            return None;
        }
        let times_s = firsts.iter().map(|first| f64::from_bits(first.load(Ordering::Relaxed)));
        let mut letters = Vec::new();
        (0..self.regions).for_each(|from| letters.append(&mut open(from, region)));
        Some((times_s.fold(f64::INFINITY, f64::min), letters))
    }

    /// Waits until all regions have come to this meeting, or one has stopped.
    fn wait(&self, meeting: usize) {
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == self.regions {
            self.come.store(0, Ordering::Relaxed);
            self.meetings.store(meeting + 1, Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.meetings.load(Ordering::Acquire) == meeting && !self.has_stopped() {
            looks += 1;
            if looks % LOOKS == 0 { yield_now() } else { spin_loop() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn all_regions_learn_the_first_time_and_get_their_mail() {
        let exchange = Exchange::new(3);
        thread::scope(|scope| {
            for region in 0..3 {
                let exchange = &exchange;
                scope.spawn(move || {
                    for meeting in 0..1000 {
                        let mut mail: Vec<_> = (0..3).map(|to| vec![(region, to, meeting)]).collect();
                        let (first_s, letters) = exchange
                            .meet(region, &mut mail, (meeting + region) as f64, Duration::from_micros(9))
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
        let exchange = Exchange::<()>::new(1);
        let meetings =
            (0..2 * CHECKED[0]).take_while(|_| exchange.meet(0, &mut [], 0.0, Duration::from_nanos(1900)).is_some());
        assert_eq!(meetings.count(), CHECKED[0]);
    }

    #[test]
    fn who_stops_ends_the_wait_of_all() {
        let exchange = Exchange::<()>::new(2);
        thread::scope(|scope| {
            let waits = scope.spawn(|| exchange.meet(0, &mut [], 0.0, Duration::ZERO));
            exchange.stop();
            assert_eq!(waits.join().unwrap(), None);
        });
    }
}

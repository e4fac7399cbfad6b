//! Future events, of which all of the least time are taken at once.
//!
//! A radix heap (R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, "Faster algorithms for the shortest path
//! problem", J. ACM 37, 1990). Time never goes back, so an event lies in a bucket by the highest digit in which its time
//! differs from a time up to the present. When a bucket comes next, its events move to lower digits; if they are few,
//! they are sorted instead. Non-negative times sort like their bits.

use std::mem::{replace, swap};

/// Up to so many events of a bucket are sorted, and so many sorted events return to buckets.
const FEW: usize = 16;
const MANY: usize = 3 * FEW;

/// Bits of a digit, its values, and the digits of a time.
const DIGIT_BITS: u32 = 6;
const VALUES: usize = 1 << DIGIT_BITS;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;

/// Events later than the last ones taken.
pub struct Later<E> {
    /// The time of the last events taken, and of the next ones; infinite when there is none.
    now_s: f64,
    first_s: f64,
    /// Differences count from this time up to the present, as bits.
    base: u64,
    /// Events that differ from `base` in none but the lowest `sorted_bits` bits, and the index of the next one.
    sorted: Vec<(f64, E)>,
    next: usize,
    sorted_bits: u32,
    /// The others by the highest digit of difference and its value; the digits that have any, and the values of each.
    buckets: Box<[Bucket<E>]>,
    digits: u16,
    values: [u64; DIGITS],
    /// The time of the last event that came to a bucket, and this bucket: many events are at one time.
    last_s: f64,
    last: usize,
}

/// Events with their times, and the first of these.
struct Bucket<E> {
    events: Vec<(f64, E)>,
    first_s: f64,
}

impl<E: Copy> Later<E> {
    pub fn new() -> Self {
        let bucket = |_| Bucket { events: Vec::new(), first_s: f64::INFINITY };
        Self {
            now_s: 0.0,
            first_s: f64::INFINITY,
            base: 0,
            sorted: Vec::new(),
            next: 0,
            sorted_bits: 0,
            buckets: (0..DIGITS * VALUES).map(bucket).collect(),
            digits: 0,
            values: [0; DIGITS],
            last_s: f64::NAN,
            last: 0,
        }
    }

    /// Adds an event, later than the last ones taken.
    #[inline]
    pub fn push(&mut self, time_s: f64, event: E) {
        if time_s < self.first_s {
            self.first_s = time_s;
        }
        if (time_s.to_bits() ^ self.base) >> self.sorted_bits != 0 {
            return self.keep(time_s, event);
        }
        // Of one time, the event added last comes last.
        let place = self.next + self.sorted[self.next..].partition_point(|other| other.0 <= time_s);
        self.sorted.insert(place, (time_s, event));
        if self.sorted.len() == self.next + MANY {
            self.scatter(self.now_s);
        }
    }

    #[inline]
    fn keep(&mut self, time_s: f64, event: E) {
        if time_s != self.last_s {
            let digit = ((time_s.to_bits() ^ self.base).ilog2() / DIGIT_BITS) as usize;
            let value = (time_s.to_bits() >> (digit as u32 * DIGIT_BITS)) as usize % VALUES;
            (self.last_s, self.last) = (time_s, digit * VALUES + value);
            self.digits |= 1 << digit;
            self.values[digit] |= 1 << value;
        }
        let bucket = &mut self.buckets[self.last];
        if time_s < bucket.first_s {
            bucket.first_s = time_s;
        }
        bucket.events.push((time_s, event));
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.next == self.sorted.len() && self.digits == 0
    }

    /// The next bucket, if there is one.
    #[inline]
    fn next_bucket(&self) -> Option<usize> {
        let digit = self.digits.trailing_zeros() as usize;
        Some(digit * VALUES + self.values.get(digit)?.trailing_zeros() as usize)
    }

    /// The time of the next events; infinite when there is none.
    #[inline]
    pub fn first_s(&self) -> f64 {
        self.first_s
    }

    /// Looks for the next events after some were taken.
    #[inline]
    fn find_first(&mut self) {
        self.first_s = match self.sorted.get(self.next) {
            Some((time_s, _)) => *time_s,
            None => self.next_bucket().map_or(f64::INFINITY, |next| self.buckets[next].first_s),
        }
    }

    /// Takes the events of the least time, in the order in which they were added.
    #[inline]
    pub fn take_first(&mut self, mut take: impl FnMut(E)) {
        if self.next == self.sorted.len() {
            self.sort_next();
        }
        self.now_s = self.first_s;
        let first = self.sorted[self.next..].iter().take_while(|event| event.0 == self.now_s);
        self.next += first.map(|(_, event)| take(*event)).count();
        self.find_first();
    }

    /// Takes the event of the least time, if it is the only one.
    #[inline]
    pub fn take_only(&mut self) -> Option<E> {
        if self.next == self.sorted.len() {
            self.sort_next();
        }
        let (time_s, event) = *self.sorted.get(self.next)?;
        if self.sorted.get(self.next + 1).is_some_and(|second| second.0 == time_s) {
            return None;
        }
        self.now_s = time_s;
        self.next += 1;
        self.find_first();
        Some(event)
    }

    /// Sorts the events of the next bucket, if there is one.
    fn sort_next(&mut self) {
        let Some(next) = self.next_bucket() else { return };
        let digit = next / VALUES;
        self.values[digit] &= self.values[digit] - 1;
        if self.values[digit] == 0 {
            self.digits &= self.digits - 1;
        }
        let bucket = &mut self.buckets[next];
        let first_s = replace(&mut bucket.first_s, f64::INFINITY);
        self.sorted_bits = digit as u32 * DIGIT_BITS;
        self.base = first_s.to_bits() >> self.sorted_bits << self.sorted_bits;
        self.last_s = f64::NAN;
        self.sorted.clear();
        self.next = 0;
        swap(&mut self.sorted, &mut bucket.events);
        let are_several = self.sorted.iter().any(|event| event.0 > first_s);
        if are_several && self.sorted.len() > FEW {
            self.scatter(first_s);
        } else if are_several {
            self.sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
    }

    /// Puts all sorted events but those of `base_s` into buckets; those of one time are in order.
    fn scatter(&mut self, base_s: f64) {
        (self.base, self.sorted_bits, self.last_s) = (base_s.to_bits(), 0, f64::NAN);
        let mut stay = 0;
        for at in self.next..self.sorted.len() {
            let (time_s, event) = self.sorted[at];
            if time_s == base_s {
                self.sorted[stay] = (time_s, event);
                stay += 1;
            } else {
                self.keep(time_s, event);
            }
        }
        self.sorted.truncate(stay);
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with events sorted by time, those of one time as they were added.
        #[test]
        fn events_come_in_order(pushes in prop::collection::vec((1..9u32, 0..9u32, 0..6u32), 1..600)) {
            let (mut later, mut expected, mut now_s) = (Later::new(), Vec::<(f64, usize)>::new(), 0.0);
            for (number, (factor, scale, takes)) in pushes.into_iter().enumerate() {
                let time_s = now_s + f64::from(factor) * 10f64.powi(-(scale as i32));
                later.push(time_s, number);
                let place = expected.partition_point(|other| other.0 <= time_s);
                expected.insert(place, (time_s, number));
                prop_assert_eq!(later.first_s(), expected[0].0);
                if takes == 0 {
                    now_s = expected[0].0;
                    let first: Vec<_> = expected.extract_if(.., |event| event.0 == now_s).map(|event| event.1).collect();
                    let mut taken = Vec::new();
                    later.take_first(|number| taken.push(number));
                    prop_assert_eq!(taken, first);
                    prop_assert_eq!(later.is_empty(), expected.is_empty());
                }
            }
        }
    }
}

//! Future events, of which all of the least time are taken at once.
//!
//! A radix heap (R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, "Faster algorithms for the shortest path
//! problem", J. ACM 37, 1990). Time never goes back, so an event is stored by the highest bit in which its time differs
//! from that of the last events taken, and moves to lower bits as its time comes closer. Non-negative times sort like
//! their bits.

/// Events later than the last ones taken.
pub struct Later<E> {
    /// The time of the last events taken, as bits.
    now: u64,
    /// The events by the highest bit of difference, and the set of bits that have any.
    buckets: [Bucket<E>; 64],
    nonempty: u64,
}

/// Events with their times, and the time of the first of them; infinite when there is none.
struct Bucket<E> {
    events: Vec<(f64, E)>,
    first_s: f64,
}

impl<E> Later<E> {
    pub fn new() -> Self {
        let buckets = std::array::from_fn(|_| Bucket { events: Vec::new(), first_s: f64::INFINITY });
        Self { now: 0, buckets, nonempty: 0 }
    }

    /// Adds an event, later than the last ones taken.
    #[inline]
    pub fn push(&mut self, time_s: f64, event: E) {
        let bit = (time_s.to_bits() ^ self.now).ilog2();
        let bucket = &mut self.buckets[bit as usize];
        bucket.first_s = bucket.first_s.min(time_s);
        bucket.events.push((time_s, event));
        self.nonempty |= 1 << bit;
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nonempty == 0
    }

    /// The time of the next events; infinite when there is none.
    #[inline]
    pub fn first_s(&self) -> f64 {
        self.buckets.get(self.nonempty.trailing_zeros() as usize).map_or(f64::INFINITY, |bucket| bucket.first_s)
    }

    /// Takes the events of the least time, in the order in which they were added.
    #[inline]
    pub fn take_first(&mut self, mut take: impl FnMut(E)) {
        let lowest = self.nonempty.trailing_zeros() as usize;
        let Some(bucket) = self.buckets.get_mut(lowest) else { return };
        let first_s = std::mem::replace(&mut bucket.first_s, f64::INFINITY);
        self.now = first_s.to_bits();
        self.nonempty &= self.nonempty - 1;
        let mut events = std::mem::take(&mut bucket.events);
        for (time_s, event) in events.drain(..) {
            if time_s == first_s { take(event) } else { self.push(time_s, event) }
        }
        self.buckets[lowest].events = events;
    }
}

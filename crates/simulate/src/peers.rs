//! Which ranks have sent to which, where a first message costs more than others.

use rustc_hash::FxHashSet;

/// Pairs of a sender and a receiver.
pub struct Peers(Option<FxHashSet<(u32, u32)>>);

impl Peers {
    /// No pair has met yet; none is noted unless that matters.
    pub fn new(are_known: bool) -> Self {
        Self(are_known.then(FxHashSet::default))
    }

    /// Notes that a rank sends to another. Returns whether it is the first time, if that matters.
    #[inline(always)]
    pub fn meet(&mut self, from: u32, to: u32) -> bool {
        self.0.as_mut().is_some_and(|met| met.insert((from, to)))
    }
}

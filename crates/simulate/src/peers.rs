//! Pairs of ranks that have communicated, for networks on which a pair's first message costs more.

use rustc_hash::FxHashSet;

/// Pairs of a sender and a receiver.
pub struct Peers(Option<FxHashSet<(u32, u32)>>);

impl Peers {
    /// No pairs; pairs are noted only if `are_known`.
    pub fn new(are_known: bool) -> Self {
        Self(are_known.then(FxHashSet::default))
    }

    /// Notes that a rank sends to another. Returns true at the pair's first message, if pairs are noted.
    #[inline(always)]
    pub fn meet(&mut self, from: u32, to: u32) -> bool {
        self.0.as_mut().is_some_and(|met| met.insert((from, to)))
    }
}

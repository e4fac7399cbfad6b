//! Pairs of ranks that have communicated, for networks on which a pair's first message costs more.

use rustc_hash::{FxHashMap, FxHashSet};

/// Pairs of a sender and a receiver.
pub struct Peers(Option<KnownPairs>);

#[derive(Default)]
struct KnownPairs {
    /// A sender, a receiver, and how often the sender had forgotten its peers.
    pairs: FxHashSet<(u32, u32, u32)>,
    forgets_by_rank: FxHashMap<u32, u32>,
}

impl Peers {
    /// No pairs; pairs are noted only if `are_known`.
    pub fn new(are_known: bool) -> Self {
        Self(are_known.then(KnownPairs::default))
    }

    /// Notes that a rank sends to another. Returns true at the pair's first message, if pairs are noted.
    #[inline(always)]
    pub fn meet(&mut self, from: u32, to: u32) -> bool {
        let Some(known_pairs) = &mut self.0 else { return false };
        let times = known_pairs.forgets_by_rank.get(&from).copied().unwrap_or(0);
        known_pairs.pairs.insert((from, to, times))
    }

    /// The next message of this rank to each peer is a first message again.
    pub fn forget(&mut self, from: u32) {
        if let Some(known_pairs) = &mut self.0 {
            *known_pairs.forgets_by_rank.entry(from).or_default() += 1;
        }
    }
}

//! Pairs of ranks that have communicated, for networks on which a pair's first message costs more.

use rustc_hash::{FxHashMap, FxHashSet};

/// Pairs of a sender and a receiver.
pub struct Peers(Option<Met>);

#[derive(Default)]
struct Met {
    /// A sender, a receiver, and how often the sender had forgotten its peers.
    pairs: FxHashSet<(u32, u32, u32)>,
    forgotten: FxHashMap<u32, u32>,
}

impl Peers {
    /// No pairs; pairs are noted only if `are_known`.
    pub fn new(are_known: bool) -> Self {
        Self(are_known.then(Met::default))
    }

    /// Notes that a rank sends to another. Returns true at the pair's first message, if pairs are noted.
    #[inline(always)]
    pub fn meet(&mut self, from: u32, to: u32) -> bool {
        let Some(met) = &mut self.0 else { return false };
        let times = met.forgotten.get(&from).copied().unwrap_or(0);
        met.pairs.insert((from, to, times))
    }

    /// The next message of this rank to each peer is a first message again.
    pub fn forget(&mut self, from: u32) {
        if let Some(met) = &mut self.0 {
            *met.forgotten.entry(from).or_default() += 1;
        }
    }
}

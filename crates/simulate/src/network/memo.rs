//! What was computed for pairs of ranks or nodes, to be looked up instead of computed again.

/// A table of the pairs seen last, one for each hash.
pub struct Memo<V> {
    /// Each pair as a number, plus 1; 0 where there is none.
    pairs: Vec<u64>,
    values: Vec<V>,
    shift: u32,
}

/// The most entries, and the entries for each rank or node: messages mostly go to a few peers.
const MOST_BITS: u32 = 14;
const PEERS: usize = 16;

impl<V: Default + Clone> Memo<V> {
    /// An empty table for so many ranks or nodes.
    pub fn new(members: usize) -> Self {
        let bits = (members * PEERS).next_power_of_two().ilog2().min(MOST_BITS);
        Self { pairs: vec![0; 1 << bits], values: vec![V::default(); 1 << bits], shift: u64::BITS - bits }
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.pairs.fill(0);
    }

    /// The value of a pair; `compute` changes the value of another pair into it.
    #[inline]
    pub fn get(&mut self, [one, other]: [u32; 2], compute: impl FnOnce(&mut V)) -> &V {
        let pair = (u64::from(one) << u32::BITS | u64::from(other)) + 1;
        let place = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        if self.pairs[place] != pair {
            compute(&mut self.values[place]);
            self.pairs[place] = pair;
        }
        &self.values[place]
    }
}

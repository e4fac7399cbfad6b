//! The links that a message takes, with their shares.

/// The links of a message, or of a packet in the order of its way.
#[derive(Clone, Default)]
pub struct Course {
    /// The links, with their shares.
    pub lanes: Vec<Lane>,
    /// The number of links of the longest way.
    pub links: u32,
}

/// A link that carries a share of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    /// The link.
    pub link: u32,
    /// The share of the message, in parts of [`WHOLE`].
    pub share: u32,
}

/// The share of all bytes of a message.
pub const WHOLE: u32 = 1 << 30;

impl Lane {
    /// The link carries the whole message.
    pub fn whole(link: u32) -> Self {
        Self { link, share: WHOLE }
    }

    /// The share as a number up to 1.
    pub fn part(self) -> f64 {
        f64::from(self.share) / f64::from(WHOLE)
    }
}

impl Course {
    pub fn clear(&mut self) {
        self.lanes.clear();
        self.links = 0;
    }

    /// Makes one lane of all lanes of a link.
    pub fn merge(&mut self) {
        self.lanes.sort_unstable();
        self.lanes.dedup_by(|next, lane| {
            let is_same = next.link == lane.link;
            lane.share += if is_same { next.share } else { 0 };
            is_same
        });
    }
}

/// A random number by a seed and two words: the mixing of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
pub fn draw(seed: u64, [one, other]: [u64; 2]) -> u64 {
    [one, other].into_iter().fold(seed, |state, word| {
        let mut mixed = (state ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    })
}

/// The shares of so many equal parts of a message, with their numbers.
pub fn shares(count: usize) -> impl Iterator<Item = (usize, u32)> {
    let parts = count as u32;
    (0..count).map(move |number| (number, WHOLE / parts + u32::from((number as u32) < WHOLE % parts)))
}

/// One of so many, by a random number.
pub fn one_of(count: usize, random: u64) -> usize {
    ((u128::from(random) * count as u128) >> u64::BITS) as usize
}

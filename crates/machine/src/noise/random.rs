//! Counter-based random numbers: a number is a function of its source and counter only.
//!
//! Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011:
//! Philox4x32 with 10 rounds. A block of the generator serves four trials; eight blocks are computed side by side.

/// Number of trials whose draws are made together.
pub const GROUP: usize = 32;
/// Number of blocks computed side by side.
const BLOCKS: usize = 8;

/// A word for each trial of a group, in whole cache lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct TrialWords(pub [u32; GROUP]);

/// The draws of one operation, or of one rank's noise, in `L` successive trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draws<'a> {
    /// The seed, combined with the kind of noise.
    pub key: [u32; 2],
    /// The source, see [`super::Model::draw`].
    pub who: u64,
    /// The first trial; a multiple of the number of trials drawn together.
    pub first_trial: u64,
    /// Number of ranks.
    pub ranks: usize,
    /// The words with index 0 of the sources 0, 1, ..., if they are known already.
    pub first_words: &'a [TrialWords],
    /// The number behind the first gap, if it is known already from [`Draws::first_gaps`].
    pub first_gap: Option<f64>,
}

/// Number of sources whose first gaps are made side by side.
pub const SOURCES: usize = 16;

/// Up to this probability, hits are found by the gaps between them.
const RARE: f64 = 0.125;
/// The index of the first word used for gaps.
const GAPS: u32 = 1 << 31;

impl Draws<'_> {
    /// The `index`-th number of each trial, uniform in (0, 1) in steps of 2^-32.
    #[inline(always)]
    pub fn uniform<const L: usize>(&self, index: u32) -> [f64; L] {
        let words = self.words::<L>(index);
        let mut numbers = [0.0; L];
        for i in 0..L {
            numbers[i] = (f64::from(words[i]) + 0.5) * (1.0 / 4_294_967_296.0);
        }
        numbers
    }

    /// The trials that an event of this probability hits: a bit for each.
    #[inline(always)]
    pub fn hits<const L: usize>(&self, chance: f64) -> u32 {
        if chance > RARE {
            let uniform: [f64; L] = self.uniform(0);
            let mut hits = 0;
            for (i, uniform) in uniform.iter().enumerate() {
                hits |= u32::from(*uniform < chance) << i;
            }
            return hits;
        }
        let miss = 1.0 - chance;
        let mut none = miss;
        for _ in 0..GROUP.ilog2() {
            none *= none;
        }
        let first = self.first_gap.unwrap_or_else(|| self.gap(0));
        if first <= none {
            return 0;
        }
        self.hits_by_gaps(first, chance) >> (self.first_trial % GROUP as u64) & (u32::MAX >> (32 - L))
    }

    /// The hits of the whole group. The gap to the next hit is at least g with probability (1 - chance)^g.
    #[cold]
    fn hits_by_gaps(&self, first: f64, chance: f64) -> u32 {
        let scale = 1.0 / libm::log1p(-chance);
        let (mut hits, mut lane, mut uniform) = (0, 0, first);
        for number in 1.. {
            lane += (libm::log(uniform) * scale) as u64;
            if lane >= GROUP as u64 {
                break;
            }
            hits |= 1 << lane;
            lane += 1;
            uniform = self.gap(number);
        }
        hits
    }

    /// The number behind a gap, uniform in (0, 1) in steps of 2^-53; the same for the whole group.
    #[inline(always)]
    fn gap(&self, number: u32) -> f64 {
        let [gap] = self.gaps([self.who], number);
        gap
    }

    /// The numbers behind the first gaps of these sources, whatever the source of these draws.
    #[inline(always)]
    pub fn first_gaps(&self, sources: [u64; SOURCES]) -> [f64; SOURCES] {
        self.gaps(sources, 0)
    }

    #[inline(always)]
    fn gaps<const N: usize>(&self, sources: [u64; N], number: u32) -> [f64; N] {
        let group = (self.first_trial / GROUP as u64) as u32;
        let halves = [sources.map(|who| who as u32), sources.map(|who| (who >> 32) as u32)];
        let [a, b, ..] = philox([[group; N], halves[0], halves[1], [GAPS + number; N]], self.key);
        let mut gaps = [0.0; N];
        for n in 0..N {
            let word = u64::from(a[n]) << 32 | u64::from(b[n]);
            gaps[n] = ((word >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64);
        }
        gaps
    }

    /// The `index`-th word of each trial. Trial t takes word (t mod 32) / 8 of block 8 (t / 32) + t mod 8.
    #[inline(always)]
    pub fn words<const L: usize>(&self, index: u32) -> [u32; L] {
        const { assert!(L == 1 || (L.is_multiple_of(BLOCKS) && GROUP.is_multiple_of(L)), "1, 8, 16 or 32 lanes") };
        let first_block = (self.first_trial / GROUP as u64 * BLOCKS as u64) as u32;
        let first_lane = (self.first_trial % GROUP as u64) as usize;
        let mut words = [0; L];
        if index == 0
            && let Some(TrialWords(first_words)) = self.first_words.get(self.who as usize)
        {
            words.copy_from_slice(&first_words[first_lane..first_lane + L]);
            return words;
        }
        if L == 1 {
            let [block] = self.blocks::<1>(first_block + (first_lane % BLOCKS) as u32, index)[first_lane / BLOCKS];
            words[0] = block;
            return words;
        }
        let blocks = self.blocks::<BLOCKS>(first_block, index);
        for (words, block) in words.chunks_exact_mut(BLOCKS).zip(&blocks[first_lane / BLOCKS..]) {
            words.copy_from_slice(block);
        }
        words
    }

    /// The four words of `N` successive blocks.
    #[inline(always)]
    fn blocks<const N: usize>(&self, first: u32, index: u32) -> [[u32; N]; 4] {
        let mut counters = [[first; N], [self.who as u32; N], [(self.who >> 32) as u32; N], [index; N]];
        for (n, counter) in counters[0].iter_mut().enumerate() {
            *counter += n as u32;
        }
        philox(counters, self.key)
    }
}

/// Philox4x32-10 of `N` counters, given and returned word by word.
#[inline(always)]
fn philox<const N: usize>([mut a, mut b, mut c, mut d]: [[u32; N]; 4], [mut k0, mut k1]: [u32; 2]) -> [[u32; N]; 4] {
    for _ in 0..10 {
        for n in 0..N {
            let (x, y) = (u64::from(a[n]) * 0xD251_1F53, u64::from(c[n]) * 0xCD9E_8D57);
            (a[n], b[n], c[n], d[n]) = ((y >> 32) as u32 ^ b[n] ^ k0, y as u32, (x >> 32) as u32 ^ d[n] ^ k1, x as u32);
        }
        (k0, k1) = (k0.wrapping_add(0x9E37_79B9), k1.wrapping_add(0xBB67_AE85));
    }
    [a, b, c, d]
}

/// One number for an operation of a rank: the mixing step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), twice.
pub(crate) fn mix(rank: usize, position: u64) -> u64 {
    scramble(scramble(position) ^ rank as u64)
}

fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers from Random123.
    #[test]
    fn philox_gives_the_known_answers() {
        assert_eq!(philox([[0]; 4], [0; 2]), [[0x6627_e8d5], [0xe169_c58d], [0xbc57_ac4c], [0x9b00_dbd8]]);
        assert_eq!(
            philox([[u32::MAX]; 4], [u32::MAX; 2]),
            [[0x408f_276d], [0x41c8_3b0e], [0xa20b_c7c6], [0x6d54_51fd]]
        );
    }

    #[test]
    fn a_draw_does_not_depend_on_the_number_of_lanes() {
        let draws = |first_trial| Draws {
            key: [7, 9],
            who: 0x1234_5678_9abc,
            first_trial,
            ranks: 1,
            first_words: &[],
            first_gap: None,
        };
        let wide: Vec<_> = (0..4).flat_map(|group| draws(32 * group).words::<32>(3)).collect();
        let middle: Vec<_> = (0..16).flat_map(|group| draws(8 * group).words::<8>(3)).collect();
        let single: Vec<_> = (0..128).flat_map(|trial| draws(trial).words::<1>(3)).collect();
        assert_eq!(wide, middle);
        assert_eq!(wide, single);
        let mut distinct = wide.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), wide.len());
    }

    #[test]
    fn the_first_gaps_of_many_sources_are_those_of_each() {
        let draws = |who| Draws { key: [3, 4], who, first_trial: 64, ranks: 1, first_words: &[], first_gap: None };
        let sources = std::array::from_fn(|number| scramble(number as u64));
        for (who, first_gap) in sources.into_iter().zip(draws(0).first_gaps(sources)) {
            assert_eq!(first_gap, draws(who).gap(0));
            let first_words = Draws { first_gap: Some(first_gap), ..draws(who) };
            assert_eq!(first_words.hits::<GROUP>(0.03), draws(who).hits::<GROUP>(0.03));
        }
    }

    /// On every lane, the number of hits in n draws is within 5 standard deviations of n p, for rare and common hits. A
    /// lane's hit is independent of the number of lanes.
    #[test]
    fn hits_have_their_probability_on_every_lane() {
        for chance in [1e-4, 1e-2, RARE, 0.2, 0.9] {
            let mut hits = [0; GROUP];
            let groups = 200_000;
            for who in 0..groups {
                let draws =
                    |first_trial| Draws { key: [1, 2], who, first_trial, ranks: 1, first_words: &[], first_gap: None };
                let mask = draws(64).hits::<GROUP>(chance);
                let narrow = (0..4).fold(0, |all, part| all | draws(64 + 8 * part).hits::<8>(chance) << (8 * part));
                assert_eq!(mask, narrow);
                let lane = who % GROUP as u64;
                assert_eq!(mask >> lane & 1, draws(64 + lane).hits::<1>(chance));
                for (lane, hits) in hits.iter_mut().enumerate() {
                    *hits += mask >> lane & 1;
                }
            }
            let (mean, deviation) = (groups as f64 * chance, (groups as f64 * chance * (1.0 - chance)).sqrt());
            for (lane, hits) in hits.into_iter().enumerate() {
                assert!((f64::from(hits) - mean).abs() < 5.0 * deviation, "chance {chance}, lane {lane}: {hits} hits");
            }
        }
    }
}

//! Another order in which simultaneous events are looked at: tests draw it, to show that no time depends on it.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

/// An order of ranks, by a seed. Events of one rank keep their order.
pub struct Shuffle {
    seed: u64,
    /// The place of each rank, and the rank at each place.
    places: Vec<usize>,
    ranks: Vec<usize>,
}

impl Shuffle {
    pub fn new(seed: u64, ranks: usize) -> Self {
        let draw = |rank: &usize| FxBuildHasher.hash_one((seed, rank));
        let mut shuffled: Vec<_> = (0..ranks).collect();
        shuffled.sort_by_key(draw);
        let mut places = vec![0; ranks];
        shuffled.iter().enumerate().for_each(|(place, rank)| places[*rank] = place);
        Self { seed, places, ranks: shuffled }
    }

    /// The place of a rank among those that can go on.
    pub fn place_of(&self, rank: usize) -> usize {
        self.places[rank]
    }

    pub fn rank_at(&self, place: usize) -> usize {
        self.ranks[place]
    }

    /// The place of an event among those of its time and kind, below 2^`bits`, for the rank or message that it concerns
    /// and the number of events before.
    pub fn place_of_event(&self, subject: u32, number: u64, bits: u32) -> u64 {
        const NUMBER_BITS: u32 = 40;
        let random_bits = FxBuildHasher.hash_one((self.seed, subject)) >> (u64::BITS + NUMBER_BITS - bits);
        random_bits << NUMBER_BITS | number
    }
}

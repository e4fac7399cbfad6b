//! Exchanges on a circulant graph: in each round, every rank has the same distance to its partners on both sides.
//!
//! ```text
//! P = 11    distances  1  2  3  6  11     each is half of the next one, rounded up; 11 itself is no round
//!           an allgather gives rank 0 the blocks    0 | 1 | 2 | 3 4 5 | 6 7 8 9 10
//! ```
//!
//! Source: J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234 (2024).
//! Schedules of broadcasts: J. L. Träff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to
//! Broadcast, All-Broadcast, Reduction and All-Reduction", arXiv:2407.18004 (2024).

use hocket_core::{Rank, Span};

use crate::shapes::Rotation;

/// The distances of the ceil(log2 P) rounds, from 1 on, and P at the end.
pub fn distances(ranks: usize) -> Vec<usize> {
    let mut distances = vec![ranks];
    while distances[0] > 1 {
        distances.insert(0, distances[0].div_ceil(2));
    }
    distances
}

/// Reduces the first block of `rotated`, which holds all blocks in the order that begins with this rank's own block.
pub async fn reduce_scatter(r: &Rank<'_>, blocks: &Rotation<impl Fn(usize) -> usize>, rotated: Span) {
    let (rank, size) = (r.rank(), r.size());
    let scratch = r.scratch(blocks.len(size / 2));
    for round in distances(size).windows(2).rev() {
        let (nearer, farther) = (round[0], round[1]);
        let (to, from) = ((rank + nearer) % size, (rank + size - nearer) % size);
        let own_blocks = blocks.part(rotated, 0..farther - nearer);
        let arrived = scratch.part(0, own_blocks.len);
        r.sendrecv(to, blocks.part(rotated, nearer..farther), from, arrived).await;
        r.reduce(from, arrived, own_blocks).await;
    }
}

/// Fills `rotated` with all blocks, in the order that begins with this rank's own block, which is there already.
pub async fn allgather(r: &Rank<'_>, blocks: &Rotation<impl Fn(usize) -> usize>, rotated: Span) {
    let (rank, size) = (r.rank(), r.size());
    for round in distances(size).windows(2) {
        let (nearer, farther) = (round[0], round[1]);
        let (to, from) = ((rank + size - nearer) % size, (rank + nearer) % size);
        r.sendrecv(to, blocks.part(rotated, 0..farther - nearer), from, blocks.part(rotated, nearer..farther)).await;
    }
}

/// A round of a pipelined broadcast, as one rank sees it; a reduce goes through the rounds backwards.
pub struct CirculantRound {
    /// The distance of the partners: segments come from the rank this far before, and go to the rank this far after.
    pub distance: usize,
    /// The segment that this rank receives.
    pub received: Option<usize>,
    /// The segment that this rank sends.
    pub sent: Option<usize>,
}

/// The ceil(log2 P) - 1 + `segments` rounds of the rank at distance `rank` from the root.
pub fn broadcast_rounds(rank: usize, ranks: usize, segments: usize) -> impl DoubleEndedIterator<Item = CirculantRound> {
    let (distances, receives, sends) = (distances(ranks), receives(rank, ranks), sends(rank, ranks));
    let (phase, last) = (receives.len(), segments - 1);
    // All phases have the same rounds, so the first phase skips some rounds at its beginning. One rank has no phase.
    let rounds_to_skip = (phase - last % phase.max(1)) % phase.max(1);
    let rounds = if ranks > 1 { rounds_to_skip..rounds_to_skip + last + phase } else { 0..0 };
    rounds.map(move |round| {
        let (phase_start, round) = (round - round % phase, round % phase);
        let distance = distances[round];
        let segment = |block: isize| {
            let segment = block.checked_add_unsigned(phase_start)?.checked_sub_unsigned(rounds_to_skip)?;
            usize::try_from(segment).ok().map(|segment| segment.min(last))
        };
        CirculantRound {
            distance,
            received: segment(receives[round]).filter(|_| rank > 0),
            sent: segment(sends[round]).filter(|_| rank + distance != ranks),
        }
    })
}

/// The blocks that the rank at distance `rank` from the root receives in the rounds of a phase of a broadcast. Blocks
/// are counted from the blocks of that phase: numbers below 0 belong to earlier phases. The root itself would receive
/// -1 .. -rounds.
///
/// The source states the conditions of a schedule. This search follows the source's search, but may differ in detail.
/// A test checks the conditions for fewer than 700 ranks.
pub fn receives(rank: usize, ranks: usize) -> Vec<isize> {
    let distances = distances(ranks);
    let rounds = distances.len() - 1;
    let new_block = base_block(rank, &distances);
    let mut unused = vec![true; rounds + 1];
    unused[new_block] = false;
    let path_starts = Vec::with_capacity(rounds);
    let mut search = Search { distances: &distances, target: ranks + rank, bound: 2 * ranks, unused, path_starts };
    search.extend(0, rounds);
    let block = |index: usize| if index == rounds { new_block as isize } else { index as isize - rounds as isize };
    search.path_starts.into_iter().map(block).collect()
}

/// The blocks that the rank at distance `rank` from the root sends in the rounds of a phase: its partner's receives.
pub fn sends(rank: usize, ranks: usize) -> Vec<isize> {
    let distances = distances(ranks);
    let rounds = 0..distances.len() - 1;
    rounds.map(|round| receives((rank + distances[round]) % ranks, ranks)[round]).collect()
}

/// The first of the blocks 0, 1, .. that reaches the rank, along the greedy sum of distances. For the root, this is the
/// number of rounds.
pub fn base_block(rank: usize, distances: &[usize]) -> usize {
    let mut left = rank;
    for (round, distance) in distances.iter().enumerate().rev() {
        if left == *distance {
            return round;
        }
        left -= if left > *distance { *distance } else { 0 };
    }
    distances.len() - 1
}

/// A depth-first search for paths of decreasing distances from the root to the rank's partner in each round. The first
/// distance of the path for a round determines the block.
struct Search<'d> {
    distances: &'d [usize],
    /// The rank, plus one turn round the graph.
    target: usize,
    /// The end of the last path found; the next path ends before it.
    bound: usize,
    unused: Vec<bool>,
    path_starts: Vec<usize>,
}

impl Search<'_> {
    fn extend(&mut self, place: usize, longest: usize) {
        for index in (0..=longest).rev() {
            let next = place + self.distances[index];
            if !self.unused[index] || !self.reaches_partner(next, 0) || next >= self.bound {
                continue;
            }
            if self.reaches_partner(next, 1) {
                self.extend(next, index);
            }
            if !self.reaches_partner(place, 1) {
                return;
            }
            if next < self.bound {
                self.bound = next;
                self.path_starts.push(index);
                self.unused[index] = false;
            }
        }
    }

    /// Whether `place` is at most as farther as the partner of the current round, or of a round that is `later` rounds on.
    fn reaches_partner(&self, place: usize, later: usize) -> bool {
        let round = self.path_starts.len();
        round + 1 < self.distances.len() && place + self.distances[round + later] <= self.target
    }
}

//! Groups that double, and parts of a vector that halve.

use std::ops::Range;

use hocket_core::{Rank, Span, Tag};

/// The first rank of the group of `size` ranks that contains `rank`. In recursive doubling, each step joins two groups.
///
/// ```text
/// size 2    [0 1] [2 3] [4 5] [6 7]
/// size 4    [0 1   2 3] [4 5   6 7]
/// ```
pub fn group_start(rank: usize, size: usize) -> usize {
    rank - rank % size
}

/// The chunks that `rank` still works on after `steps` steps of vector halving over a power of two of `ranks`. In step
/// k, partners differ in bit k; the rank whose bit is 0 keeps the lower half. Drawn for rank 5 (binary 101) of 8.
///
/// ```text
/// steps 0    [0 1 2 3 4 5 6 7]
/// steps 1             [4 5 6 7]    bit 0 is 1: upper half
/// steps 2             [4 5]        bit 1 is 0: lower half
/// steps 3               [5]        bit 2 is 1: upper half
/// ```
pub fn halved(rank: usize, steps: u32, ranks: usize) -> Range<usize> {
    let first = (0..steps).map(|k| (rank >> k & 1) * (ranks >> (k + 1))).sum();
    first..first + (ranks >> steps)
}

/// The parts that a rank and its partner keep in one step of halving. Together, they are the part that both had before.
pub struct Halves {
    /// The partner.
    pub peer: usize,
    /// The half of this rank.
    pub own: Span,
    /// The half of its partner.
    pub its: Span,
}

/// A reduce_scatter in `steps` steps, each of which halves the part that a rank works on; then an allgather by the same
/// exchanges backwards.
///
/// ```text
/// step 0    [0 1 2 3] ─▶ peer    peer ─▶ + [4 5 6 7]          and back    [0 1 2 3] ◀─ peer
/// step 1              [6 7] ─▶ peer    peer ─▶ + [4 5]        ▲                [6 7] ◀─ peer
/// ```
pub async fn halve_and_double(r: &Rank<'_>, steps: u32, halves: impl Fn(u32) -> Halves, tag: Tag) {
    halve(r, steps, &halves, tag).await;
    for step in (0..steps).rev() {
        let Halves { peer, own, its } = halves(step);
        r.sendrecv_with((peer, own), (peer, its), tag).await;
    }
}

/// The reduce_scatter alone.
pub async fn halve(r: &Rank<'_>, steps: u32, halves: impl Fn(u32) -> Halves, tag: Tag) {
    let scratch = r.scratch(if steps > 0 { halves(0).own.len } else { 0 });
    for step in 0..steps {
        let Halves { peer, own, its } = halves(step);
        let arrived = scratch.part(0, own.len);
        r.sendrecv_with((peer, its), (peer, arrived), tag).await;
        r.reduce(peer, arrived, own).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_of_a_halving_split_their_chunks() {
        for steps in 0..6 {
            let ranks = 1 << steps;
            for (rank, step) in (0..ranks).flat_map(|rank| (0..steps).map(move |step| (rank, step))) {
                let partner = rank ^ (1 << step);
                let (mut both, whole) =
                    ([halved(rank, step + 1, ranks), halved(partner, step + 1, ranks)], halved(rank, step, ranks));
                both.sort_by_key(|half| half.start);
                assert_eq!((both[0].start, both[0].end, both[1].end), (whole.start, both[1].start, whole.end));
            }
        }
    }
}

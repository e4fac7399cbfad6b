//! Exchanges on a circulant graph: in each round, every rank has the same distance to its partners on both sides.
//!
//! ```text
//! P = 11    distances  1  2  3  6  11     each half of the next one, rounded up: 11 itself is no round
//!           rank 0 has blocks, as it gathers    0 | 1 | 2 | 3 4 5 | 6 7 8 9 10
//! ```
//!
//! Source: J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234 (2024).

use hocket_core::{Rank, Span};

use crate::pattern::Rotation;

/// The distances of the rounds, from 1 on, and P at the end: ceil(log2 P) rounds.
pub fn distances(ranks: usize) -> Vec<usize> {
    let mut distances = vec![ranks];
    while distances[0] > 1 {
        distances.insert(0, distances[0].div_ceil(2));
    }
    distances
}

/// Sums up the first block of `rotated`, which holds all blocks in the order that begins with this rank's own.
pub async fn reduce_scatter(r: &Rank<'_>, blocks: &Rotation<impl Fn(usize) -> usize>, rotated: Span) {
    let (rank, size) = (r.rank(), r.size());
    let scratch = r.scratch(blocks.len(size / 2));
    for round in distances(size).windows(2).rev() {
        let (near, far) = (round[0], round[1]);
        let (to, from) = ((rank + near) % size, (rank + size - near) % size);
        let kept = blocks.part(rotated, 0..far - near);
        let arrived = scratch.part(0, kept.len);
        r.sendrecv(to, blocks.part(rotated, near..far), from, arrived).await;
        r.reduce(from, arrived, kept).await;
    }
}

/// Fills `rotated`, the blocks in the order that begins with this rank's own, of which the first is there.
pub async fn allgather(r: &Rank<'_>, blocks: &Rotation<impl Fn(usize) -> usize>, rotated: Span) {
    let (rank, size) = (r.rank(), r.size());
    for round in distances(size).windows(2) {
        let (near, far) = (round[0], round[1]);
        let (to, from) = ((rank + size - near) % size, (rank + near) % size);
        r.sendrecv(to, blocks.part(rotated, 0..far - near), from, blocks.part(rotated, near..far)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::distances;

    #[test]
    fn there_are_as_few_rounds_as_can_be_and_none_more_than_doubles() {
        for ranks in 1..2000_usize {
            let distances = distances(ranks);
            assert_eq!(distances.len() - 1, ranks.next_power_of_two().ilog2() as usize);
            assert_eq!((distances[0], *distances.last().unwrap()), (1, ranks));
            assert!(distances.windows(2).all(|round| round[0] < round[1] && round[1] <= 2 * round[0]));
        }
    }
}

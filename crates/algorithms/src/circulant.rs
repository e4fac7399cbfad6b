//! Circulant graphs: in each round every rank sends to the rank a skip to its right, or to its left, and each skip is half of the
//! one before, rounded up. For any number of ranks that takes as few rounds as possible, ceil(log2 P), of P-1 blocks in all.
//!
//! ```text
//! P = 7    blocks 0 .. 6, counted from the rank's own    skips 4, 2, 1
//! reduce_scatter    4 5 6 ─▶ to the rank 4 to the right, where they are 0 1 2
//!                   2 3   ─▶ to the rank 2 to the right, where they are 0 1
//!                   1     ─▶ to the rank 1 to the right, where it is 0
//! allgather         the same backwards: 0 to the left as 1, then 0 1 as 2 3, then 0 1 2 as 4 5 6
//! ```
//!
//! Source: J. L. Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv 2410.14234.

use std::ops::Range;

use hocket_core::{Rank, Span};

use crate::pattern::Rotation;

/// For each skip, from the largest on, the blocks that are sent: from the skip to the one before.
pub fn sent(ranks: usize) -> Vec<Range<usize>> {
    let halve = |skip: &usize| (*skip > 1).then(|| skip.div_ceil(2));
    let skips: Vec<_> = std::iter::successors(Some(ranks), halve).collect();
    skips.windows(2).map(|skips| skips[1]..skips[0]).collect()
}

/// Combines all ranks' blocks, which lie in the order that begins at the own one: that one is complete.
pub async fn reduce_scatter(r: &Rank<'_>, rotation: &Rotation<'_>, rotated: Span) {
    let (rank, size) = (r.rank(), r.size());
    let arrived = r.scratch(rotation.len(size / 2));
    for blocks in sent(size) {
        let (to, from) = ((rank + blocks.start) % size, (rank + size - blocks.start) % size);
        let kept = rotation.part(rotated, 0..blocks.len());
        let arrived = arrived.part(0, kept.len);
        r.sendrecv(to, rotation.part(rotated, blocks), from, arrived).await;
        r.reduce(from, arrived, kept).await;
    }
}

/// Collects all ranks' blocks in the order that begins at the own one, which is there.
pub async fn allgather(r: &Rank<'_>, rotation: &Rotation<'_>, rotated: Span) {
    let (rank, size) = (r.rank(), r.size());
    for blocks in sent(size).into_iter().rev() {
        let (to, from) = ((rank + size - blocks.start) % size, (rank + blocks.start) % size);
        let known = rotation.part(rotated, 0..blocks.len());
        r.sendrecv(to, known, from, rotation.part(rotated, blocks)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_but_the_own_is_sent_once_in_as_few_rounds_as_possible() {
        for ranks in 1..1000_usize {
            let sent = sent(ranks);
            assert_eq!(sent.len() as u32, ranks.next_power_of_two().ilog2());
            assert_eq!(sent.iter().rev().flat_map(Clone::clone).collect::<Vec<_>>(), (1..ranks).collect::<Vec<_>>());
            assert!(sent.iter().all(|blocks| blocks.len() <= blocks.start));
        }
    }
}

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

/// After an exchange between two groups of `size` ranks, of which the upper one is cut off at P: the ranks of the lower
/// group that had no partner receive what the others of the group have received, along a binomial tree. `rank_at` gives
/// the rank at a place; `own` is the place of this rank.
///
/// ```text
/// P = 5, size 4    0 ◀────────▶ 4    1 2 3 had no partner
///                  0 ──▶ 2           then 0 ──▶ 1   2 ──▶ 3
/// ```
pub async fn pass_on(r: &Rank<'_>, own: usize, size: usize, rank_at: impl Fn(usize) -> usize, data: Span) {
    let partners = partners_above(group_start(own, size), size, r.size());
    if partners == 0 {
        return;
    }
    for half in (0..size.ilog2()).rev().map(|bit| 1 << bit) {
        let (tree, peer) = (group_start(own, 2 * half), own ^ half);
        let has_data = |place: usize| place - tree < partners;
        if has_data(own.min(peer)) && !has_data(own.max(peer)) {
            if own < peer {
                r.send(rank_at(peer), data).await;
            } else {
                r.recv(rank_at(peer), data).await;
            }
        }
    }
}

/// Number of ranks to which others of their group pass on data in [`pass_on`].
pub fn without_partner(size: usize, ranks: usize) -> usize {
    let partners = (0..ranks).step_by(size).map(|start| partners_above(start, size, ranks));
    partners.filter(|partners| *partners > 0).map(|partners| size - partners).sum()
}

/// How many ranks of the group from `start` on have a partner, if it is a lower group and the upper one is cut off;
/// otherwise 0.
fn partners_above(start: usize, size: usize, ranks: usize) -> usize {
    let partners = ranks.saturating_sub(start + size);
    if start.is_multiple_of(2 * size) && partners < size { partners } else { 0 }
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
pub fn half_range(rank: usize, steps: u32, ranks: usize) -> Range<usize> {
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

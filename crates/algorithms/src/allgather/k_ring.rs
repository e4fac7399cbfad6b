//! k-ring: the blocks of one group at a time go round a ring inside every group, then move on to the next group.
//!
//! Source: M. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "Generalized collective
//! algorithms for the exascale era", IEEE CLUSTER 2023. The paper does not cover a smaller last group. Here, the
//! receiving group cuts the blocks into as many parts as it has ranks; a rank of a smaller sending group sends several
//! of these parts, one after another.
//! Needs: nothing.
//! Counts: g = ceil(P/k) phases of k-1 rounds inside the groups, and a round from group to group between two phases.
//! When all groups have k ranks, these are P-1 rounds of one block, as in a ring. Messages leave a group in only g-1 of
//! these rounds.
//!
//! ```text
//! P = 6, group 3    phase 0    0 ─▶ 1 ─▶ 2 ─▶ 0              3 ─▶ 4 ─▶ 5 ─▶ 3       2 rounds: own group's blocks
//!                   between    0 ──b0──▶ 3   1 ──b1──▶ 4   2 ──b2──▶ 5   3 ──b3──▶ 0   4 ──b4──▶ 1   5 ──b5──▶ 2
//!                   phase 1    0 ─▶ 1 ─▶ 2 ─▶ 0              3 ─▶ 4 ─▶ 5 ─▶ 3       2 rounds: other group's blocks
//! ```

use std::ops::Range;

use hocket_core::{Call, Rank, Span};

use crate::about::{About, has_equal_blocks};
use crate::shapes::groups::{GROUP, Groups};

pub const ABOUT: About = About::new("rounds*alpha + blocks*n*beta", "groups*inside + (groups-1)*P")
    .exact_when(|c| has_equal_blocks(c) && Groups::of(c).are_equal())
    .with_parameters(&[GROUP])
    .completing(counts);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, result, groups) = (r.rank(), c.result(r), Groups::of(c));
    let own = rank / groups.size;
    let [previous, members, next] = [groups.count - 1, 0, 1].map(|on| groups.members(own + on));
    let (position, count) = (rank - members.start, members.len());
    let neighbour = |on: usize| members.start + (position + on) % count;
    r.copy(c.input(r), c.block(result, rank)).await;
    for phase in 0..groups.count {
        let origin = groups.members(own + groups.count - phase);
        let part = |position: usize| part(c, result, &origin, position % count, count);
        if phase > 0 {
            let onward = groups.members(own + 1 + groups.count - phase);
            let pass_on = async {
                for place in (position..next.len()).step_by(count) {
                    r.send(next.start + place, self::part(c, result, &onward, place, next.len())).await;
                }
            };
            r.join(pass_on, r.recv(previous.start + position % previous.len(), part(position))).await;
        }
        for step in 0..count - 1 {
            let (outgoing, arriving) = (part(position + count - step), part(position + 2 * count - step - 1));
            r.sendrecv(neighbour(1), outgoing, neighbour(count - 1), arriving).await;
        }
    }
}

/// The part of the blocks of group `origin` that the rank at `position` in another group of `ranks` ranks receives.
fn part(c: &Call, result: Span, origin: &Range<usize>, position: usize, ranks: usize) -> Span {
    let bound = |position: usize| position * origin.len() / ranks;
    c.blocks(result, origin.start + bound(position), bound(position + 1) - bound(position))
}

/// The values in formulas: the number of `groups`; the most `rounds` and `blocks` of all phases, one after another; and
/// the messages `inside` all groups in one phase.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let groups = Groups::of(c);
    let between = (groups.count - 1) * groups.share();
    let values = [
        (GROUP.name, groups.size),
        ("groups", groups.count),
        ("rounds", groups.count * (groups.size - 1) + between),
        ("blocks", groups.count * (groups.size - 1).max((groups.last() - 1) * groups.share()) + between),
        ("inside", groups.pairs()),
    ];
    values.map(|(name, value)| (name, value as u64)).into()
}

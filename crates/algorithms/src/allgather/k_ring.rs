//! k-ring: in each phase the blocks of one group of k ranks go round the ring of another group, which then passes them on to the next.
//!
//! Source: T. Wilkins, H. Wang, P. Liu, B. Pham, Y. Guo, R. Thakur, P. Dinda, N. Hardavellas, "Generalized collective algorithms for
//! the exascale era", IEEE CLUSTER 2023. The last group may be smaller, which the paper leaves open: a group that takes blocks in cuts
//! them into as many parts as it has ranks, and a smaller group sends several of these parts from each rank, one after another.
//! Needs: nothing.
//! Counts: g = ceil(P/k) phases of k-1 rounds within the groups, and a round from group to group between two phases. When all
//! groups have k ranks, that is P-1 rounds of one block, as in a ring, but messages leave a group in g-1 of them only.
//!
//! ```text
//! P = 6, group 3    phase 0    0 ─▶ 1 ─▶ 2 ─▶ 0              3 ─▶ 4 ─▶ 5 ─▶ 3              2 rounds: blocks of the own group
//!                   between    0 ──b0──▶ 3   1 ──b1──▶ 4   2 ──b2──▶ 5   3 ──b3──▶ 0   4 ──b4──▶ 1   5 ──b5──▶ 2
//!                   phase 1    0 ─▶ 1 ─▶ 2 ─▶ 0              3 ─▶ 4 ─▶ 5 ─▶ 3              2 rounds: blocks of the other group
//! ```

use std::ops::Range;

use hocket_core::{Call, Parameter, Rank, Span, Unit};

use crate::About;
use crate::about::has_equal_blocks;

const GROUP: Parameter = Parameter {
    name: "group",
    unit: Unit::Count,
    default: 4,
    least: 1,
    tries: &[1, 3],
    meaning: "neighbours that form a ring, as the ranks of a node",
};

pub const ABOUT: About = About::new("rounds*alpha + blocks*n*beta", "groups*inside + (groups-1)*P")
    .exact_when(|c| has_equal_blocks(c) && Groups::of(c).are_equal())
    .with_parameters(&[GROUP])
    .completing(|c| Groups::of(c).counts());

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
            let passed_on = groups.members(own + 1 + groups.count - phase);
            let pass_on = async {
                for place in (position..next.len()).step_by(count) {
                    r.send(next.start + place, self::part(c, result, &passed_on, place, next.len())).await;
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

/// The part of a group's blocks that the rank at a position in another group, of so many ranks, takes in.
fn part(c: &Call, result: Span, origin: &Range<usize>, position: usize, ranks: usize) -> Span {
    let bound = |position: usize| position * origin.len() / ranks;
    c.blocks(result, origin.start + bound(position), bound(position + 1) - bound(position))
}

/// The ranks in groups of neighbours, of the same `size` but for the last one.
struct Groups {
    ranks: usize,
    size: usize,
    count: usize,
}

impl Groups {
    fn of(c: &Call) -> Self {
        let size = usize::try_from(c.parameter(GROUP.name)).unwrap_or(c.ranks).min(c.ranks);
        Self { ranks: c.ranks, size, count: c.ranks.div_ceil(size) }
    }

    /// The members of a group; groups are counted round the circle of all.
    fn members(&self, group: usize) -> Range<usize> {
        let start = group % self.count * self.size;
        start..(start + self.size).min(self.ranks)
    }

    fn are_equal(&self) -> bool {
        self.ranks.is_multiple_of(self.size)
    }

    /// How many `groups`; `rounds` and `blocks` that one phase after another takes at most; and the messages `inside` all groups in
    /// one phase.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        let (size, last) = (self.size, self.members(self.count - 1).len());
        let unequal = size.div_ceil(last);
        let between = (self.count - 1) * unequal;
        let values = [
            ("groups", self.count),
            ("rounds", self.count * (size - 1) + between),
            ("blocks", self.count * (size - 1).max((last - 1) * unequal) + between),
            ("inside", (self.count - 1) * size * (size - 1) + last * (last - 1)),
        ];
        values.map(|(name, value)| (name, value as u64)).into()
    }
}

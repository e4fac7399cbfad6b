//! Multi-lane: each group scatters reduced chunks; each lane reduces its chunk to the root's group; the root gathers.
//!
//! A lane is the ranks that have the same place in all groups. The parameters `reduce_scatter`, `network` and `gather`
//! choose the algorithms of the three phases.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER
//! 2020.
//! Needs: what the chosen algorithms need; a commutative operator if the ranks of a node are not consecutive.
//! Counts: the phases run one after another: their times add up, and so do their messages. There are as many lanes as
//! the smallest group has ranks.
//!
//! ```text
//! groups [0 1] [2 3], root 0    reduce_scatter    0 ◀─▶ 1         2 ◀─▶ 3         each rank reduces one half
//!                               network           0 ◀──────────── 2               lane 0
//!                                                       1 ◀──────────── 3         lane 1
//!                               gather            0 ◀── 1
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, chunk_call, needs_order_or_commutative, network_in_lanes,
    part_call,
};

const REDUCE_SCATTER: PartParameter =
    choice(Collective::ReduceScatter, "reduce_scatter", "pairwise", "the algorithm that reduces within a group");
const NETWORK: PartParameter = network_in_lanes(Collective::Reduce, "binomial", "chain");
const GATHER: PartParameter =
    choice(Collective::Gather, "gather", "binomial", "the algorithm that brings the result to the root");

pub const ABOUT: About = About::new("reduce_scatter + network + gather", "reduce_scatter + network + gather")
    .exact_when(|c| Levels::of(c).are_equal() && c.count(0).is_multiple_of(Levels::of(c).lanes()))
    .refusing(needs_order_or_commutative)
    .with_parameters(&[GROUP, REDUCE_SCATTER.parameter, NETWORK.parameter, GATHER.parameter, SEGMENTS, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let (root, place) = levels.place(c.root);
    let reduce = |count| Call { root, in_place: true, ..part_call(c, Collective::Reduce, levels.count(), count) };
    vec![
        REDUCE_SCATTER.within(c, &levels, |group| chunk_call(c, Collective::ReduceScatter, &levels, group)),
        NETWORK.in_lanes(c, &levels, reduce),
        GATHER.within_one_group(c, &Call { root: place, ..chunk_call(c, Collective::Gather, &levels, root) }),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let levels = Levels::of(c);
    let (group, place) = levels.place(r.rank());
    let own = r.scratch(REDUCE_SCATTER.call(c, group).count(place));
    REDUCE_SCATTER.run_within_groups(r, c, &levels, (c.input(r), own)).await;
    if place < levels.lanes() {
        NETWORK.run_in_lane(r, c, &levels, (own, own)).await;
    }
    if group == levels.place(c.root).0 {
        GATHER.run_within_own_group(r, c, &levels, (own, c.result(r))).await;
    }
}

//! Multi-lane: each group scatters reduced chunks; ranks with the same chunk allreduce it; each group allgathers.
//!
//! A lane is the ranks that have the same place in all groups. The parameters `reduce_scatter`, `network` and
//! `allgather` choose the algorithms of the three phases.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER
//! 2020.
//! Needs: what the chosen algorithms need; a commutative operator if the ranks of a node are not consecutive.
//! Counts: the three phases run one after another: their times add up, and so do their messages. There are as many
//! lanes as the smallest group has ranks. Each lane carries its share of the vector between groups, so a node with one
//! interface per lane uses all its interfaces at once.
//!
//! ```text
//! groups [0 1] [2 3]    reduce_scatter    0 ◀─▶ 1         2 ◀─▶ 3         each rank reduces one half of the vector
//!                       network           0 ◀─────────────▶ 2             lane 0: the first half
//!                                               1 ◀─────────────▶ 3       lane 1: the second half
//!                       allgather         0 ◀─▶ 1         2 ◀─▶ 3         each rank gets the other half
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, choice, chunk_call, needs_order_or_commutative, network_in_lanes, part_call,
    symmetry_between_groups,
};

const REDUCE_SCATTER: PartParameter =
    choice(Collective::ReduceScatter, "reduce_scatter", "pairwise", "the algorithm that reduces within a group");
const NETWORK: PartParameter = network_in_lanes(Collective::Allreduce, "recursive_doubling", "ring");
const ALLGATHER: PartParameter =
    choice(Collective::Allgather, "allgather", "ring", "the algorithm that collects the result in a group");

pub const ABOUT: About = About::new("reduce_scatter + network + allgather", "reduce_scatter + network + allgather")
    .exact_when(|c| Levels::of(c).are_equal() && c.count(0).is_multiple_of(Levels::of(c).lanes()))
    .refusing(needs_order_or_commutative)
    .with_parameters(&[GROUP, REDUCE_SCATTER.parameter, NETWORK.parameter, ALLGATHER.parameter, OUTER])
    .in_groups(pieces)
    .symmetric(|c| symmetry_between_groups(c, &pieces(c)));

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let allreduce = |count| Call { in_place: true, ..part_call(c, Collective::Allreduce, levels.count(), count) };
    vec![
        REDUCE_SCATTER.within(c, &levels, |group| chunk_call(c, Collective::ReduceScatter, &levels, group)),
        NETWORK.in_lanes(c, &levels, allreduce),
        ALLGATHER.within(c, &levels, |group| chunk_call(c, Collective::Allgather, &levels, group)),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, result) = (Levels::of(c), c.result(r));
    let (group, place) = levels.place(r.rank());
    let own = r.scratch(REDUCE_SCATTER.call(c, group).count(place));
    REDUCE_SCATTER.run_within_groups(r, c, &levels, (c.input(r), own)).await;
    if place < levels.lanes() {
        NETWORK.run_in_lane(r, c, &levels, (Span::EMPTY, own)).await;
    }
    ALLGATHER.run_within_groups(r, c, &levels, (own, result)).await;
}

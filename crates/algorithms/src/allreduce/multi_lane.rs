//! Multi-lane: each group reduces a chunk of the vector to each of its ranks, all of which combine theirs with those of the other groups.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER 2020. Any
//! reduce_scatter, allreduce and allgather of the catalogue can be its parts.
//! Needs: what its parts need; a commutative operator if the ranks of a node do not follow one another.
//! Counts: those of its parts, one after another. There are as many lanes as the smallest group has ranks; between groups each
//! carries its share of the vector, so that nodes with an interface for each lane send as many bytes at a time.
//!
//! ```text
//! groups [0 1] [2 3]    reduce_scatter    0 ◀─▶ 1         2 ◀─▶ 3         a half of the vector each
//!                       network           0 ◀─────────────▶ 2             lane 0: the first half
//!                                               1 ◀─────────────▶ 3       lane 1: the second half
//!                       allgather         0 ◀─▶ 1         2 ◀─▶ 3
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::groups::GROUP;
use crate::levels::{
    Choice, Levels, OUTER, Part, chunked, choice, group, most_ports, needs_order_or_commutative, number_of, part_call,
};

const REDUCE_SCATTER: Choice =
    choice(Collective::ReduceScatter, "reduce_scatter", "pairwise", &[], "the algorithm that reduces within a group");
const NETWORK: Choice = choice(
    Collective::Allreduce,
    "network",
    "recursive_doubling",
    &[number_of(Collective::Allreduce, "ring")],
    "the algorithm between the groups, in each lane",
);
const ALLGATHER: Choice =
    choice(Collective::Allgather, "allgather", "ring", &[], "the algorithm that brings the result together in a group");

pub const ABOUT: About = About::new("reduce_scatter + network + allgather", "reduce_scatter + network + allgather")
    .exact_when(|c| Levels::of(c).are_equal() && c.count(0).is_multiple_of(Levels::of(c).lanes()))
    .refusing(needs_order_or_commutative)
    .on_ports(|c| most_ports(&parts(c)))
    .with_parameters(&[GROUP, REDUCE_SCATTER.parameter, NETWORK.parameter, ALLGATHER.parameter, OUTER])
    .completing(group)
    .made_of(parts);

fn parts(c: &Call) -> Vec<Part> {
    let levels = Levels::of(c);
    let lanes = levels.lanes();
    let within = |collective| move |ranks| chunked(c, collective, ranks, lanes);
    vec![
        REDUCE_SCATTER.within(c, &levels, within(Collective::ReduceScatter)),
        NETWORK.in_lanes(c, &levels, |count| part_call(c, Collective::Allreduce, levels.count(), count)),
        ALLGATHER.within(c, &levels, within(Collective::Allgather)),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, input, result) = (Levels::of(c), c.input(r), c.result(r));
    let (lanes, (group, place)) = (levels.lanes(), levels.place(r.rank()));
    let within = |collective| chunked(c, collective, levels.size(group), lanes);
    let reduce_scatter = within(Collective::ReduceScatter);
    let own = r.scratch(reduce_scatter.count(place));
    REDUCE_SCATTER.run_within(r, c, &levels, (input, own), reduce_scatter).await;
    if place < lanes {
        let allreduce = part_call(c, Collective::Allreduce, levels.count(), own.len);
        NETWORK.run_between(r, c, &levels, place, (Span::EMPTY, own), Call { in_place: true, ..allreduce }).await;
    }
    ALLGATHER.run_within(r, c, &levels, (own, result), within(Collective::Allgather)).await;
}

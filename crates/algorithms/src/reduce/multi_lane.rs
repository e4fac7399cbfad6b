//! Multi-lane: each group reduces a chunk of the vector to each of its ranks, whose lanes reduce to the root's group.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER 2020. Any
//! reduce_scatter, reduce and gather of the catalogue can be its parts.
//! Needs: what its parts need; a commutative operator if the ranks of a node do not follow one another.
//! Counts: those of its parts, one after another. There are as many lanes as the smallest group has ranks.
//!
//! ```text
//! groups [0 1] [2 3], root 0    reduce_scatter    0 ◀─▶ 1         2 ◀─▶ 3         a half of the vector each
//!                               network           0 ◀──────────── 2               lane 0
//!                                                       1 ◀──────────── 3         lane 1
//!                               gather            0 ◀── 1
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::About;
use crate::groups::GROUP;
use crate::levels::{
    Choice, Levels, OUTER, Part, SEGMENTS, choice, chunked, group, most_ports, needs_order_or_commutative, number_of,
    part_call,
};

const REDUCE_SCATTER: Choice =
    choice(Collective::ReduceScatter, "reduce_scatter", "pairwise", &[], "the algorithm that reduces within a group");
const NETWORK: Choice = choice(
    Collective::Reduce,
    "network",
    "binomial",
    &[number_of(Collective::Reduce, "chain")],
    "the algorithm between the groups, in each lane",
);
const GATHER: Choice =
    choice(Collective::Gather, "gather", "binomial", &[], "the algorithm that brings the result to the root");

pub const ABOUT: About = About::new("reduce_scatter + network + gather", "reduce_scatter + network + gather")
    .exact_when(|c| Levels::of(c).are_equal() && c.count(0).is_multiple_of(Levels::of(c).lanes()))
    .refusing(needs_order_or_commutative)
    .on_ports(|c| most_ports(&parts(c)))
    .with_parameters(&[GROUP, REDUCE_SCATTER.parameter, NETWORK.parameter, GATHER.parameter, SEGMENTS, OUTER])
    .completing(group)
    .made_of(parts);

fn parts(c: &Call) -> Vec<Part> {
    let levels = Levels::of(c);
    vec![
        REDUCE_SCATTER.within(c, &levels, |ranks| chunked(c, Collective::ReduceScatter, ranks, levels.lanes())),
        NETWORK.in_lanes(c, &levels, |count| between(c, &levels, count)),
        GATHER.within_one(c, gather(c, &levels)),
    ]
}

fn between(c: &Call, levels: &Levels, count: usize) -> Call {
    let (root, _) = levels.place(c.root);
    Call { root, in_place: true, ..part_call(c, Collective::Reduce, levels.count(), count) }
}

fn gather(c: &Call, levels: &Levels) -> Call {
    let (group, root) = levels.place(c.root);
    Call { root, ..chunked(c, Collective::Gather, levels.size(group), levels.lanes()) }
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let levels = Levels::of(c);
    let (lanes, (group, place)) = (levels.lanes(), levels.place(r.rank()));
    let reduce_scatter = chunked(c, Collective::ReduceScatter, levels.size(group), lanes);
    let own = r.scratch(reduce_scatter.count(place));
    REDUCE_SCATTER.run_within(r, c, &levels, (c.input(r), own), reduce_scatter).await;
    if place < lanes {
        NETWORK.run_between(r, c, &levels, place, (own, own), between(c, &levels, own.len)).await;
    }
    if group == levels.place(c.root).0 {
        GATHER.run_within(r, c, &levels, (own, c.result(r)), gather(c, &levels)).await;
    }
}

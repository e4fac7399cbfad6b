//! Multi-lane: the root's group cuts the message into a chunk for each of its ranks, all of which send theirs to the other groups.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER 2020. Any
//! scatter, broadcast and allgather of the catalogue can be its parts.
//! Needs: nothing but what its parts need.
//! Counts: those of its parts, one after another. There are as many lanes as the smallest group has ranks.
//!
//! ```text
//! groups [0 1] [2 3], root 0    scatter      0 ─▶ 1
//!                               network      0 ─────────▶ 2   1 ─────────▶ 3      a half of the message each
//!                               allgather    0 ◀─▶ 1          2 ◀─▶ 3
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::groups::GROUP;
use crate::levels::{Choice, Levels, OUTER, Part, SEGMENTS, choice, chunked, group, most_ports, number_of, part_call};

const SCATTER: Choice =
    choice(Collective::Scatter, "scatter", "binomial", &[], "the algorithm that cuts the message within the root's group");
const NETWORK: Choice = choice(
    Collective::Broadcast,
    "network",
    "binomial",
    &[number_of(Collective::Broadcast, "scatter_ring_allgather")],
    "the algorithm between the groups, in each lane",
);
const ALLGATHER: Choice =
    choice(Collective::Allgather, "allgather", "ring", &[], "the algorithm that brings the message together in a group");

pub const ABOUT: About = About::new("scatter + network + allgather", "scatter + network + allgather")
    .exact_when(|c| Levels::of(c).are_equal() && c.count(0).is_multiple_of(Levels::of(c).lanes()))
    .on_ports(|c| most_ports(&parts(c)))
    .with_parameters(&[GROUP, SCATTER.parameter, NETWORK.parameter, ALLGATHER.parameter, SEGMENTS, OUTER])
    .completing(group)
    .made_of(parts);

fn parts(c: &Call) -> Vec<Part> {
    let levels = Levels::of(c);
    vec![
        SCATTER.within_one(c, scatter(c, &levels)),
        NETWORK.in_lanes(c, &levels, |count| between(c, &levels, count)),
        ALLGATHER.within(c, &levels, |ranks| chunked(c, Collective::Allgather, ranks, levels.lanes())),
    ]
}

fn scatter(c: &Call, levels: &Levels) -> Call {
    let (group, root) = levels.place(c.root);
    Call { root, in_place: true, ..chunked(c, Collective::Scatter, levels.size(group), levels.lanes()) }
}

fn between(c: &Call, levels: &Levels, count: usize) -> Call {
    let (root, _) = levels.place(c.root);
    Call { root, ..part_call(c, Collective::Broadcast, levels.count(), count) }
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, result) = (Levels::of(c), c.result(r));
    let (group, place) = levels.place(r.rank());
    let allgather = chunked(c, Collective::Allgather, levels.size(group), levels.lanes());
    let own = allgather.block(result, place);
    if group == levels.place(c.root).0 {
        SCATTER.run_within(r, c, &levels, (result, own), scatter(c, &levels)).await;
    }
    if place < levels.lanes() {
        NETWORK.run_between(r, c, &levels, place, (Span::EMPTY, own), between(c, &levels, own.len)).await;
    }
    ALLGATHER.run_within(r, c, &levels, (Span::EMPTY, result), Call { in_place: true, ..allgather }).await;
}

//! Multi-lane: the root's group scatters the message; each of its ranks broadcasts its chunk to the other groups.
//!
//! A lane is the ranks that have the same place in all groups. In the end, each group allgathers the chunks. The
//! parameters `scatter`, `network` and `allgather` choose the algorithms of the three phases.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER
//! 2020.
//! Needs: nothing but what the chosen algorithms need.
//! Counts: the phases run one after another: their times add up, and so do their messages. There are as many lanes as
//! the smallest group has ranks.
//!
//! ```text
//! groups [0 1] [2 3], root 0    scatter      0 ─▶ 1
//!                               network      0 ─────────▶ 2   1 ─────────▶ 3      one half of the message each
//!                               allgather    0 ◀─▶ 1          2 ◀─▶ 3
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, chunk_call, network_in_lanes, part_call,
};

const SCATTER: PartParameter =
    choice(Collective::Scatter, "scatter", "binomial", "the algorithm that scatters the message in the root's group");
const NETWORK: PartParameter = network_in_lanes(Collective::Broadcast, "binomial", "scatter_ring_allgather");
const ALLGATHER: PartParameter =
    choice(Collective::Allgather, "allgather", "ring", "the algorithm that collects the message in a group");

pub const ABOUT: About = About::new("scatter + network + allgather", "scatter + network + allgather")
    .exact_when(|c| Levels::of(c).are_equal() && c.count(0).is_multiple_of(Levels::of(c).lanes()))
    .with_parameters(&[GROUP, SCATTER.parameter, NETWORK.parameter, ALLGATHER.parameter, SEGMENTS, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let (root, place) = levels.place(c.root);
    let scatter = Call { root: place, in_place: true, ..chunk_call(c, Collective::Scatter, &levels, root) };
    let broadcast = |count| Call { root, ..part_call(c, Collective::Broadcast, levels.count(), count) };
    let allgather = |group| Call { in_place: true, ..chunk_call(c, Collective::Allgather, &levels, group) };
    vec![
        SCATTER.within_one_group(c, &scatter),
        NETWORK.in_lanes(c, &levels, broadcast),
        ALLGATHER.within(c, &levels, allgather),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, result) = (Levels::of(c), c.result(r));
    let (group, place) = levels.place(r.rank());
    let own = ALLGATHER.call(c, group).block(result, place);
    if group == levels.place(c.root).0 {
        SCATTER.run_within_own_group(r, c, &levels, (result, own)).await;
    }
    if place < levels.lanes() {
        NETWORK.run_in_lane(r, c, &levels, (Span::EMPTY, own)).await;
    }
    ALLGATHER.run_within_groups(r, c, &levels, (Span::EMPTY, result)).await;
}

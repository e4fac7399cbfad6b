//! Multi-lane: the ranks of a group first give each other what goes to their places in all groups; then those in one place exchange it.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER 2020. Any
//! two alltoalls of the catalogue can be its parts.
//! Needs: groups of the same number of ranks, and what its parts need.
//! Counts: those of its parts, one after the other. A rank sends as many bytes between groups as without groups, in as many
//! times fewer messages as a group has ranks.
//!
//! ```text
//! groups [0 1] [2 3], from rank 0 to rank 3    local      0 ──for 1 and 3──▶ 1
//!                                              network    1 ──from 0 and 1──▶ 3
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, choice, group, most_ports, needs_equal_groups, number_of, part_call,
};

const LOCAL: PartParameter =
    choice(Collective::Alltoall, "local", "pairwise_exchange", &[], "the algorithm within a group");
const NETWORK: PartParameter = choice(
    Collective::Alltoall,
    "network",
    "pairwise_exchange",
    &[number_of(Collective::Alltoall, "bruck")],
    "the algorithm between the groups, in each lane",
);

pub const ABOUT: About = About::new("local + network", "local + network")
    .refusing(needs_equal_groups)
    .on_ports(|c| most_ports(c, &pieces(c)))
    .with_parameters(&[GROUP, LOCAL.parameter, NETWORK.parameter, OUTER])
    .completing(group)
    .made_of(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let (groups, lanes) = (levels.count(), levels.lanes());
    let alltoall = |ranks, blocks| part_call(c, Collective::Alltoall, ranks, blocks * c.count(0));
    vec![
        LOCAL.within(c, &levels, |_| alltoall(lanes, groups)),
        NETWORK.in_lanes(c, &levels, |_| alltoall(groups, lanes)),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let levels = Levels::of(c);
    let (groups, lanes) = (levels.count(), levels.lanes());
    let [outgoing, arrived] = [(); 2].map(|()| r.scratch(c.total()));
    let lane_of = |all: Span, place: usize, group: usize| c.block(all, place * groups + group);
    let group_of = |all: Span, group: usize, place: usize| c.block(all, group * lanes + place);
    let pairs = || (0..groups).flat_map(|group| (0..lanes).map(move |place| (group, place)));
    for (group, place) in pairs() {
        r.copy(c.block(c.input(r), levels.rank(group, place)), lane_of(outgoing, place, group)).await;
    }
    LOCAL.run_within(r, c, &levels, (outgoing, arrived)).await;
    for (group, place) in pairs() {
        r.copy(lane_of(arrived, place, group), group_of(outgoing, group, place)).await;
    }
    NETWORK.run_in_lane(r, c, &levels, (outgoing, arrived)).await;
    for (group, place) in pairs() {
        r.copy(group_of(arrived, group, place), c.block(c.result(r), levels.rank(group, place))).await;
    }
}

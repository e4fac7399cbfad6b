//! Multi-lane: blocks first go to the own group's member in the destination's place, then on to the destination.
//!
//! A lane is the ranks that have the same place in all groups. An alltoall within each group (`local`) brings every
//! block into the lane of its destination. An alltoall within each lane (`network`) brings it to the destination.
//!
//! Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE CLUSTER
//! 2020.
//! Needs: groups of the same number of ranks, and what the chosen algorithms need.
//! Counts: the two phases run one after the other: their times add up, and so do their messages. With g ranks in a
//! group, a rank sends the same bytes between groups as without groups, in g times fewer messages.
//!
//! ```text
//! groups [0 1] [2 3], from rank 0 to rank 3    local      0 ──blocks for 1 and 3──▶ 1
//!                                              network    1 ──blocks from 0 and 1──▶ 3
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, choice, needs_equal_groups, network_in_lanes, part_call,
    symmetry_between_groups,
};

const LOCAL: PartParameter = choice(Collective::Alltoall, "local", "pairwise_exchange", "the algorithm within a group");
const NETWORK: PartParameter = network_in_lanes(Collective::Alltoall, "pairwise_exchange", "bruck");

pub const ABOUT: About = About::new("local + network", "local + network")
    .refusing(needs_equal_groups)
    .with_parameters(&[GROUP, LOCAL.parameter, NETWORK.parameter, OUTER])
    .in_groups(pieces)
    .symmetric(|c| symmetry_between_groups(c, &pieces(c)));

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
    LOCAL.run_within_groups(r, c, &levels, (outgoing, arrived)).await;
    for (group, place) in pairs() {
        r.copy(lane_of(arrived, place, group), group_of(outgoing, group, place)).await;
    }
    NETWORK.run_in_lane(r, c, &levels, (outgoing, arrived)).await;
    for (group, place) in pairs() {
        r.copy(group_of(arrived, group, place), c.block(c.result(r), levels.rank(group, place))).await;
    }
}

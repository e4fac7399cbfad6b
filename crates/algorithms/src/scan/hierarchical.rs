//! Hierarchical: prefix sums within each group; the last ranks get the sums of earlier groups; their groups add them.
//!
//! The parameters `scan`, `network` and `broadcast` choose the algorithms of the three phases.
//!
//! Source: MPICH, `scan_intra_smp.c`.
//! Needs: consecutive ranks on each node, and what the chosen algorithms need; operands are combined in rank order.
//! Counts: the phases and one combination run one after another: their times add up, and so do their messages. Only the
//! last rank of each group sends to other groups.
//!
//! ```text
//! groups [0 1 2] [3 4 5]    scan         0 ─▶ 1 ─▶ 2    3 ─▶ 4 ─▶ 5     2 has 0 .. 2, 5 has 3 .. 5
//!                           network      2 ────────────────────▶ 5     5 gets the sum of the group before: 0 .. 2
//!                           broadcast                   3 ◀─ 4 ◀─ 5     all ranks of the group add it to their sums
//! ```

use hocket_core::{Call, Collective, Rank, Side, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, needs_order_of_groups, network, part_call,
};

const SCAN: PartParameter =
    choice(Collective::Scan, "scan", "hillis_steele", "the algorithm for the prefix sums within a group");
/// The part between the groups' last ranks, which get the sums of earlier groups.
pub const NETWORK: PartParameter = network(Collective::Exscan, "hillis_steele", "chain");
/// The part that broadcasts such a sum from the last rank of a group.
pub const BROADCAST: PartParameter = choice(
    Collective::Broadcast,
    "broadcast",
    "binomial",
    "the algorithm that broadcasts the sum of earlier groups in a group",
);

pub const ABOUT: About = About::new("scan + network + broadcast + n*gamma", "scan + network + broadcast")
    .exact_when(|c| Levels::of(c).are_equal() && Levels::of(c).count() > 1)
    .refusing(needs_order_of_groups)
    .with_parameters(&[GROUP, SCAN.parameter, NETWORK.parameter, BROADCAST.parameter, SEGMENTS, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let scan = |group| Call { in_place: c.in_place, ..part_call(c, Collective::Scan, levels.size(group), c.count(0)) };
    vec![SCAN.within(c, &levels, scan), between(c, &levels), from_last(c, &levels)]
}

/// The part between the groups.
pub fn between(c: &Call, levels: &Levels) -> Piece {
    NETWORK.between(c, &part_call(c, Collective::Exscan, levels.count(), c.count(0)))
}

/// The part that broadcasts the sum of earlier groups, from the last rank of each group but the first.
pub fn from_last(c: &Call, levels: &Levels) -> Piece {
    let broadcast = |group| {
        let ranks = if group == 0 { 1 } else { levels.size(group) };
        Call { root: ranks - 1, ..part_call(c, Collective::Broadcast, ranks, c.count(0)) }
    };
    BROADCAST.within(c, levels, broadcast)
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, result) = (Levels::of(c), c.result(r));
    let (group, place) = levels.place(r.rank());
    SCAN.run_within_groups(r, c, &levels, (c.input(r), result)).await;
    let before = r.scratch(result.len);
    if place + 1 == levels.size(group) {
        NETWORK.run_between_last(r, c, &levels, (result, before)).await;
    }
    if group > 0 {
        BROADCAST.run_within_groups(r, c, &levels, (Span::EMPTY, before)).await;
        r.combine(before, result, Side::Left).await;
    }
}

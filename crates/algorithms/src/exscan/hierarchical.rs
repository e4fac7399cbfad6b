//! Hierarchical: sums within each group; the last ranks get the sums of earlier groups, and their groups add them.
//!
//! The parameters `exscan`, `network` and `broadcast` choose the algorithms of the three phases.
//!
//! Source: as scan hierarchical.
//! Needs: consecutive ranks on each node, and what the chosen algorithms need; operands are combined in rank order.
//! Counts: the phases and two combinations run one after another: their times add up, and so do their messages. Only
//! the last rank of each group sends to other groups.
//!
//! ```text
//! groups [0 1 2] [3 4 5]    exscan       0 ─▶ 1 ─▶ 2    3 ─▶ 4 ─▶ 5     2 gets 0 .. 1 and adds its own; 5 gets 3 .. 4
//!                           network      2 ────────────────────▶ 5     5 gets the sum of the group before: 0 .. 2
//!                           broadcast                   3 ◀─ 4 ◀─ 5     all ranks of the group add it to their sums
//! ```

use hocket_core::{Call, Collective, Rank, Side, Span};

use crate::About;
use crate::scan::hierarchical::{BROADCAST, NETWORK, between, from_last};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, needs_order_of_groups, part_call};

const EXSCAN: PartParameter =
    choice(Collective::Exscan, "exscan", "hillis_steele", "the algorithm for the prefix sums within a group");

pub const ABOUT: About = About::new("exscan + network + broadcast + 2*n*gamma", "exscan + network + broadcast")
    .exact_when(|c| Levels::of(c).are_equal() && Levels::of(c).count() > 1 && Levels::of(c).size(0) > 1)
    .refusing(needs_order_of_groups)
    .with_parameters(&[GROUP, EXSCAN.parameter, NETWORK.parameter, BROADCAST.parameter, SEGMENTS, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let exscan = |group| part_call(c, Collective::Exscan, levels.size(group), c.count(0));
    vec![EXSCAN.within(c, &levels, exscan), between(c, &levels), from_last(c, &levels)]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, input) = (Levels::of(c), c.input(r));
    let (group, place) = levels.place(r.rank());
    let [within, before] = [(); 2].map(|()| r.scratch(input.len));
    EXSCAN.run_within_groups(r, c, &levels, (input, within)).await;
    if place + 1 == levels.size(group) {
        let through = r.scratch(input.len);
        r.copy(input, through).await;
        if place > 0 && group + 1 < levels.count() {
            r.combine(within, through, Side::Left).await;
        }
        NETWORK.run_between_last(r, c, &levels, (through, before)).await;
    }
    if group > 0 {
        BROADCAST.run_within_groups(r, c, &levels, (Span::EMPTY, before)).await;
        if place > 0 {
            r.combine(within, before, Side::Right).await;
        }
        r.copy(before, c.result(r)).await;
    } else if place > 0 {
        r.copy(within, c.result(r)).await;
    }
}

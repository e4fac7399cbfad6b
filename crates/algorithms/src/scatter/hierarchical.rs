//! Hierarchical: the root sends the blocks of each group to one of its ranks, which scatters them in the group.
//!
//! The parameters `network` and `local` choose the two scatters. In each group, the rank in the root's place scatters.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: consecutive ranks on each node, and what the chosen algorithms need.
//! Counts: the two phases run one after the other: their times add up, and so do their messages. Between groups, the
//! blocks of a group travel as one block.
//!
//! ```text
//! groups [0 1 2] [3 4 5], root 1    network    1 ─b3 b4 b5─▶ 4
//!                                   local      0 ◀─ 1 ─▶ 2   3 ◀─ 4 ─▶ 5
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::about::{About, has_equal_blocks};
use crate::gather::hierarchical::in_two_levels;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, OUTER, PartParameter, Piece, choice, needs_order, network};

const NETWORK: PartParameter = network(Collective::Scatter, "binomial", "linear");
const LOCAL: PartParameter = choice(Collective::Scatter, "local", "binomial", "the algorithm within a group");

pub const ABOUT: About = About::new("network + local", "network + local")
    .exact_when(|c| has_equal_blocks(c) && Levels::of(c).are_equal())
    .refusing(needs_order)
    .with_parameters(&[GROUP, NETWORK.parameter, LOCAL.parameter, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let [local, network] = in_two_levels(c, &LOCAL, &NETWORK);
    vec![network, local]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, input) = (Levels::of(c), c.input(r));
    let (group, place) = levels.place(r.rank());
    let within = LOCAL.call(c, group);
    let blocks = match place == within.root {
        true if r.rank() == c.root => levels.blocks(c, input, group),
        hands_out => r.scratch(if hands_out { within.total() } else { 0 }),
    };
    if place == within.root {
        NETWORK.run_between_groups(r, c, &levels, levels.place(c.root).1, (input, blocks)).await;
    }
    LOCAL.run_within_groups(r, c, &levels, (blocks, c.result(r))).await;
}

//! Hierarchical: one rank of each group gathers the blocks of the group, and the root gathers from these ranks.
//!
//! The parameters `local` and `network` choose the two gathers. In each group, the rank in the root's place gathers.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: consecutive ranks on each node, and what the chosen algorithms need.
//! Counts: the two phases run one after the other: their times add up, and so do their messages. Between groups, the
//! blocks of a group travel as one block.
//!
//! ```text
//! groups [0 1 2] [3 4 5], root 1    local      0 ─▶ 1 ◀─ 2   3 ─▶ 4 ◀─ 5
//!                                   network    1 ◀─b3 b4 b5─ 4
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::about::{About, has_equal_blocks};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, OUTER, PartParameter, Piece, choice, needs_order, network, of_blocks, of_groups};

const LOCAL: PartParameter = choice(Collective::Gather, "local", "binomial", "the algorithm within a group");
const NETWORK: PartParameter = network(Collective::Gather, "binomial", "linear");

pub const ABOUT: About = About::new("local + network", "local + network")
    .exact_when(|c| has_equal_blocks(c) && Levels::of(c).are_equal())
    .refusing(needs_order)
    .with_parameters(&[GROUP, LOCAL.parameter, NETWORK.parameter, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    in_two_levels(c, &LOCAL, &NETWORK).into()
}

/// The parts of a gather or scatter within groups and between them. In each group, the rank in the root's place takes
/// part in both.
pub fn in_two_levels(c: &Call, local: &PartParameter, network: &PartParameter) -> [Piece; 2] {
    let levels = Levels::of(c);
    let (root, place) = levels.place(c.root);
    let within = |group| Call {
        root: place % levels.size(group),
        in_place: c.in_place && group == root,
        ..of_blocks(c, c.collective, &levels, group)
    };
    let between = Call { root, in_place: true, ..of_groups(c, c.collective, &levels) };
    [local.within(c, &levels, within), network.between(c, &between)]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, result) = (Levels::of(c), c.result(r));
    let (group, place) = levels.place(r.rank());
    let within = LOCAL.call(c, group);
    let blocks = match place == within.root {
        true if r.rank() == c.root => levels.blocks(c, result, group),
        takes_in => r.scratch(if takes_in { within.total() } else { 0 }),
    };
    LOCAL.run_within_groups(r, c, &levels, (c.input(r), blocks)).await;
    if place == within.root {
        NETWORK.run_between_groups(r, c, &levels, levels.place(c.root).1, (blocks, result)).await;
    }
}

//! Hierarchical: each group reduces to one of its ranks, and these ranks reduce to the root.
//!
//! The parameters `local` and `network` choose the two reduces. In each group, the rank in the root's place gets the
//! group's sum.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: what the chosen algorithms need; a commutative operator if the ranks of a node are not consecutive.
//! Counts: the two phases run one after the other: their times add up, and so do their messages. One vector leaves each
//! group.
//!
//! ```text
//! groups [0 1 2] [3 4 5], root 1    local      0 ─▶ 1 ◀─ 2   3 ─▶ 4 ◀─ 5
//!                                   network    1 ◀────────── 4
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, needs_order_or_commutative, network, part_call,
};

const LOCAL: PartParameter = choice(Collective::Reduce, "local", "binomial", "the algorithm within a group");
const NETWORK: PartParameter = network(Collective::Reduce, "binomial", "chain");

pub const ABOUT: About = About::new("local + network", "local + network")
    .exact_when(|c| Levels::of(c).are_equal())
    .refusing(needs_order_or_commutative)
    .with_parameters(&[GROUP, LOCAL.parameter, NETWORK.parameter, SEGMENTS, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let (root, place) = levels.place(c.root);
    let part = |root, in_place, ranks| Call { root, in_place, ..part_call(c, Collective::Reduce, ranks, c.count(0)) };
    let within = |group| part(place % levels.size(group), c.in_place && group == root, levels.size(group));
    vec![LOCAL.within(c, &levels, within), NETWORK.between(c, &part(root, true, levels.count()))]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, input) = (Levels::of(c), c.input(r));
    let (group, place) = levels.place(r.rank());
    let takes_in = place == LOCAL.call(c, group).root;
    let total = if takes_in && r.rank() != c.root { r.scratch(input.len) } else { c.result(r) };
    LOCAL.run_within_groups(r, c, &levels, (input, total)).await;
    if takes_in {
        NETWORK.run_between_groups(r, c, &levels, levels.place(c.root).1, (total, total)).await;
    }
}

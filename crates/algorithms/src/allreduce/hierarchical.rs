//! Hierarchical: each group reduces to its first rank; these ranks allreduce; each broadcasts the result to its group.
//!
//! A group is the ranks of a node, or `group` consecutive ranks. The parameters `reduce`, `network` and `broadcast`
//! choose the algorithms of the three phases.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: what the chosen algorithms need; a commutative operator if the ranks of a node are not consecutive.
//! Counts: the three phases run one after another: their times add up, and so do their messages. Only the first rank of
//! each group sends to other groups.
//!
//! ```text
//! groups [0 1 2] [3 4 5]    reduce       1 ─▶ 0 ◀─ 2    4 ─▶ 3 ◀─ 5      0 has the sum 0..2, 3 has the sum 3..5
//!                           network      0 ◀──────────▶ 3                both have the sum of all ranks
//!                           broadcast    1 ◀─ 0 ─▶ 2    4 ◀─ 3 ─▶ 5      every rank has the result
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, needs_order_or_commutative, network, part_call,
    symmetry_between_groups,
};

const REDUCE: PartParameter =
    choice(Collective::Reduce, "reduce", "binomial", "the algorithm that reduces within a group");
const NETWORK: PartParameter = network(Collective::Allreduce, "recursive_doubling", "ring");
const BROADCAST: PartParameter =
    choice(Collective::Broadcast, "broadcast", "binomial", "the algorithm that broadcasts the result in a group");

pub const ABOUT: About = About::new("reduce + network + broadcast", "reduce + network + broadcast")
    .exact_when(|c| Levels::of(c).are_equal())
    .refusing(needs_order_or_commutative)
    .with_parameters(&[GROUP, REDUCE.parameter, NETWORK.parameter, BROADCAST.parameter, SEGMENTS, OUTER])
    .in_groups(pieces)
    .symmetric(|c| symmetry_between_groups(c, &pieces(c)));

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let part = |collective, ranks| part_call(c, collective, ranks, c.count(0));
    let reduce = |group| Call { in_place: c.in_place, ..part(Collective::Reduce, levels.size(group)) };
    vec![
        REDUCE.within(c, &levels, reduce),
        NETWORK.between(c, &Call { in_place: true, ..part(Collective::Allreduce, levels.count()) }),
        BROADCAST.within(c, &levels, |group| part(Collective::Broadcast, levels.size(group))),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, result) = (Levels::of(c), c.result(r));
    REDUCE.run_within_groups(r, c, &levels, (c.input(r), result)).await;
    if levels.place(r.rank()).1 == 0 {
        NETWORK.run_between_groups(r, c, &levels, 0, (Span::EMPTY, result)).await;
    }
    BROADCAST.run_within_groups(r, c, &levels, (Span::EMPTY, result)).await;
}

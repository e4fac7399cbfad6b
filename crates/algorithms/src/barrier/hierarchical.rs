//! Hierarchical: a barrier in each group, then one among the first ranks of all groups, then one more in each group.
//!
//! The parameters `local` and `network` choose the two barriers.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: nothing but what the chosen algorithms need.
//! Counts: the phases run one after another, `local` twice: their times add up, and so do their messages. One rank of
//! each group takes part between groups.
//!
//! ```text
//! groups [0 1] [2 3]    local      0 ◀─▶ 1   2 ◀─▶ 3
//!                       network    0 ◀───────▶ 2
//!                       local      0 ◀─▶ 1   2 ◀─▶ 3
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, OUTER, PartParameter, Piece, choice, network, part_call, symmetry_between_groups};

const LOCAL: PartParameter = choice(Collective::Barrier, "local", "dissemination", "the algorithm within a group");
const NETWORK: PartParameter = network(Collective::Barrier, "dissemination", "recursive_doubling");

pub const ABOUT: About = About::new("2*local + network", "2*local + network")
    .exact_when(|c| Levels::of(c).are_equal())
    .with_parameters(&[GROUP, LOCAL.parameter, NETWORK.parameter, OUTER])
    .in_groups(pieces)
    .symmetric(|c| symmetry_between_groups(c, &pieces(c)));

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let part = |ranks| part_call(c, Collective::Barrier, ranks, 0);
    vec![LOCAL.within(c, &levels, |group| part(levels.size(group))), NETWORK.between(c, &part(levels.count()))]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, nothing) = (Levels::of(c), (Span::EMPTY, Span::EMPTY));
    LOCAL.run_within_groups(r, c, &levels, nothing).await;
    if levels.place(r.rank()).1 == 0 {
        NETWORK.run_between_groups(r, c, &levels, 0, nothing).await;
    }
    LOCAL.run_within_groups(r, c, &levels, nothing).await;
}

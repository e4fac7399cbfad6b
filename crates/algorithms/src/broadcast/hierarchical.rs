//! Hierarchical: one rank of each group receives the message from the root, and broadcasts it to its group.
//!
//! The parameters `network` and `local` choose the two broadcasts. In each group, the rank in the root's place receives
//! the message.
//!
//! Source: N. T. Karonis, B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan, "Exploiting hierarchy in
//! parallel computer networks to optimize collective operation performance", IPDPS 2000.
//! Needs: nothing but what the chosen algorithms need.
//! Counts: the two phases run one after the other: their times add up, and so do their messages. Each group receives
//! the message once.
//!
//! ```text
//! groups [0 1 2] [3 4 5], root 1    network    1 ──────────▶ 4
//!                                   local      0 ◀─ 1 ─▶ 2   3 ◀─ 4 ─▶ 5
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, OUTER, PartParameter, Piece, SEGMENTS, choice, network, part_call};

const NETWORK: PartParameter = network(Collective::Broadcast, "binomial", "scatter_ring_allgather");
const LOCAL: PartParameter = choice(Collective::Broadcast, "local", "binomial", "the algorithm within a group");

pub const ABOUT: About = About::new("network + local", "network + local")
    .exact_when(|c| Levels::of(c).are_equal())
    .with_parameters(&[GROUP, NETWORK.parameter, LOCAL.parameter, SEGMENTS, OUTER])
    .in_groups(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let levels = Levels::of(c);
    let (root, place) = levels.place(c.root);
    let part = |root, ranks| Call { root, ..part_call(c, Collective::Broadcast, ranks, c.count(0)) };
    let within = |group| part(place % levels.size(group), levels.size(group));
    vec![NETWORK.between(c, &part(root, levels.count())), LOCAL.within(c, &levels, within)]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, spans) = (Levels::of(c), (Span::EMPTY, c.result(r)));
    let (group, place) = levels.place(r.rank());
    if place == LOCAL.call(c, group).root {
        NETWORK.run_between_groups(r, c, &levels, levels.place(c.root).1, spans).await;
    }
    LOCAL.run_within_groups(r, c, &levels, spans).await;
}

//! Hierarchical pipeline: one rank of each group receives each segment from the root, and broadcasts it to its group.
//!
//! Two segments are under way at a time: one between the groups, the one before within them. The first segment has an
//! algorithm of its own between the groups, as nothing runs beside it. In each group, the rank in the root's place
//! receives the message.
//!
//! Source: X. Luo, W. Wu, G. Bosilca, Y. Pei, Q. Cao, T. Patinyasakdikul, D. Zhong, J. Dongarra, "HAN: a hierarchical
//! autotuned collective communication framework", IEEE CLUSTER 2020; Open MPI, `coll_han_bcast.c`, `intra`.
//! Needs: nothing but what the chosen algorithms need.
//! Counts: `segments` segments go through two phases; the messages of all phases and segments add up. The formula is the
//! time without any overlap.
//!
//! ```text
//! step             0    1    2    3
//! network_first    s0                  from the root to one rank of each group
//! network               s1   s2        the same for later segments
//! local                 s0   s1   s2   within each group
//! ```

use hocket_core::{Call, Collective, Rank, Span};

use crate::about::{About, SEGMENT};
use crate::broadcast::tree::SHAPE;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{OUTER, PartParameter, Piece, choice, part_call, shape};
use crate::shapes::stages::{Stages, all_ports, has_no_overlap, values};

const FIRST: PartParameter = choice(
    Collective::Broadcast,
    "network_first",
    "binomial",
    "the algorithm between the groups for the first segment",
);
const NETWORK: PartParameter =
    choice(Collective::Broadcast, "network", "binomial", "the algorithm between the groups for later segments")
        .trying("scatter_ring_allgather");
const LOCAL: PartParameter = choice(Collective::Broadcast, "local", "binomial", "the algorithm within a group");

pub const ABOUT: About =
    About::new("network_first + (segments - 1)*network + segments*local", "network_first + network + local")
        .exact_when(has_no_overlap)
        .on_ports(|c| all_ports(c, &pieces(c)))
        .made_for("nodes")
        .with_parameters(&[
            GROUP,
            FIRST.parameter,
            shape("network_first_shape", SHAPE),
            NETWORK.parameter,
            LOCAL.parameter,
            shape("local_shape", SHAPE),
            SEGMENT,
            OUTER,
        ])
        .completing(values)
        .made_of(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let stages = Stages::of(c);
    let (root, place) = stages.levels.place(c.root);
    let part = |root, ranks, count| Call { root, ..part_call(c, Collective::Broadcast, ranks, count) };
    let network = |count| part(root, stages.levels.count(), count);
    let local = |group, count| part(place % stages.levels.size(group), stages.levels.size(group), count);
    vec![
        stages.between(&FIRST, 0..1, network),
        stages.between(&NETWORK, 1..stages.count(), network),
        stages.within(&LOCAL, local),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (stages, spans) = (Stages::of(c), (Span::EMPTY, c.result(r)));
    let (root_place, (group, place)) = (stages.levels.place(c.root).1, stages.levels.place(r.rank()));
    let passes_on = place == root_place % stages.levels.size(group);
    for step in 0..=stages.count() {
        let part = if step == 0 { (&FIRST, 0..1) } else { (&NETWORK, 1..stages.count()) };
        let segment = stages.at(step, 0).filter(|_| passes_on);
        let network = stages.run_between(r, part, segment, (root_place, 0), spans);
        r.join(network, stages.run_within(r, &LOCAL, stages.at(step, 1), spans)).await;
    }
}

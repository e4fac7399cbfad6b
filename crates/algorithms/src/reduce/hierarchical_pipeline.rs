//! Hierarchical pipeline: each group reduces to one of its ranks, and these ranks reduce to the root, segment by segment.
//!
//! Two segments are under way at a time: one within the groups, the one before between them. In each group, the rank in
//! the root's place gets the group's sum.
//!
//! Source: X. Luo, W. Wu, G. Bosilca, Y. Pei, Q. Cao, T. Patinyasakdikul, D. Zhong, J. Dongarra, "HAN: a hierarchical
//! autotuned collective communication framework", IEEE CLUSTER 2020; Open MPI, `coll_han_reduce.c`, `intra`.
//! Needs: what the chosen algorithms need; a commutative operator if the ranks of a node are not consecutive.
//! Counts: `segments` segments go through two phases; the messages of both phases and of all segments add up. The formula
//! is the time without any overlap.
//!
//! ```text
//! step       0    1    2    3
//! local      s0   s1   s2        within each group, to the rank in the root's place
//! network         s0   s1   s2   between these ranks, to the root
//! ```

use hocket_core::{Call, Collective, Parameter, Rank};

use crate::about::{About, SEGMENT};
use crate::reduce::tree::SHAPE;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{
    OUTER, PartParameter, Piece, choice, needs_order_or_commutative, network, part_call, shape,
};
use crate::shapes::stages::{Stages, all_ports, has_no_overlap, values};

const LOCAL: PartParameter = choice(Collective::Reduce, "local", "binomial", "the algorithm within a group");
const NETWORK: PartParameter = network(Collective::Reduce, "binomial", "chain");

pub const ABOUT: About = About::new("segments*(local + network)", "local + network")
    .exact_when(has_no_overlap)
    .refusing(needs_order_or_commutative)
    .on_ports(|c| all_ports(c, &pieces(c)))
    .made_for("nodes")
    .with_parameters(&[
        GROUP,
        LOCAL.parameter,
        shape("local_shape", SHAPE),
        NETWORK.parameter,
        Parameter { name: "network_segment", default: 8192, tries: &[], ..SEGMENT },
        SEGMENT,
        OUTER,
    ])
    .completing(values)
    .made_of(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let stages = Stages::of(c);
    let (root, place) = stages.levels.place(c.root);
    let part = |root, in_place, ranks, count| Call { root, in_place, ..part_call(c, Collective::Reduce, ranks, count) };
    let size = |group| stages.levels.size(group);
    let local = |group, count| part(place % size(group), c.in_place && group == root, size(group), count);
    let network = |count| part(root, true, stages.levels.count(), count);
    vec![stages.within(&LOCAL, local), stages.between(&NETWORK, 0..stages.count(), network)]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (stages, input) = (Stages::of(c), c.input(r));
    let (root_place, (group, place)) = (stages.levels.place(c.root).1, stages.levels.place(r.rank()));
    let takes_in = place == root_place % stages.levels.size(group);
    let total = if takes_in && r.rank() != c.root { r.scratch(input.len) } else { c.result(r) };
    for step in 0..=stages.count() {
        let segment = stages.at(step, 1).filter(|_| takes_in);
        let network = stages.run_between(r, (&NETWORK, 0..stages.count()), segment, (root_place, 0), (total, total));
        r.join(network, stages.run_within(r, &LOCAL, stages.at(step, 0), (input, total))).await;
    }
}

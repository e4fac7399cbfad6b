//! Hierarchical pipeline: each group reduces to its first rank, these allreduce, and each broadcasts, segment by segment.
//!
//! Between the groups, one algorithm reduces and another one broadcasts. Up to four segments are under way at a time, one
//! in each phase. A rank begins a step of the pipeline when its parts of the step before have ended.
//!
//! Source: X. Luo, W. Wu, G. Bosilca, Y. Pei, Q. Cao, T. Patinyasakdikul, D. Zhong, J. Dongarra, "HAN: a hierarchical
//! autotuned collective communication framework", IEEE CLUSTER 2020; Open MPI, `coll_han_allreduce.c`, `intra`.
//! Needs: what the chosen algorithms need; a commutative operator if the ranks of a node are not consecutive.
//! Counts: `segments` segments go through four phases; the messages of all phases and segments add up. The formula is the
//! time without any overlap.
//!
//! ```text
//! step                 0    1    2    3    4    5
//! reduce               s0   s1   s2                  within each group, to its first rank
//! network_reduce            s0   s1   s2             between the first ranks of the groups
//! network_broadcast              s0   s1   s2        back to them
//! broadcast                           s0   s1   s2   within each group, after the reduce of the same step
//! ```

use hocket_core::{Call, Collective, Parameter, Rank, Span};

use crate::about::{About, SEGMENT};
use crate::broadcast::tree::SHAPE as BROADCAST_SHAPE;
use crate::reduce::tree::SHAPE as REDUCE_SHAPE;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{OUTER, PartParameter, Piece, choice, needs_order_or_commutative, part_call, shape};
use crate::shapes::stages::{SECOND_TAG, Stages, all_ports, has_no_overlap, values};

const REDUCE: PartParameter =
    choice(Collective::Reduce, "reduce", "binomial", "the algorithm that reduces within a group");
const NETWORK_REDUCE: PartParameter =
    choice(Collective::Reduce, "network_reduce", "binomial", "the algorithm that reduces between the groups")
        .trying("chain");
const NETWORK_BROADCAST: PartParameter =
    choice(Collective::Broadcast, "network_broadcast", "binomial", "the algorithm that broadcasts between the groups");
const BROADCAST: PartParameter =
    choice(Collective::Broadcast, "broadcast", "binomial", "the algorithm that broadcasts the result in a group");

pub const ABOUT: About = About::new(
    "segments*(reduce + network_reduce + network_broadcast + broadcast)",
    "reduce + network_reduce + network_broadcast + broadcast",
)
.exact_when(has_no_overlap)
.refusing(needs_order_or_commutative)
.on_ports(|c| all_ports(c, &pieces(c)))
.made_for("nodes")
.with_parameters(&[
    GROUP,
    REDUCE.parameter,
    shape("reduce_shape", REDUCE_SHAPE),
    NETWORK_REDUCE.parameter,
    Parameter { name: "network_reduce_segment", default: 8192, tries: &[], ..SEGMENT },
    NETWORK_BROADCAST.parameter,
    BROADCAST.parameter,
    shape("broadcast_shape", BROADCAST_SHAPE),
    SEGMENT,
    OUTER,
])
.completing(values)
.made_of(pieces);

fn pieces(c: &Call) -> Vec<Piece> {
    let stages = Stages::of(c);
    let (groups, size) = (stages.levels.count(), |group| stages.levels.size(group));
    let (all, part) = (0..stages.count(), |collective, ranks, count| part_call(c, collective, ranks, count));
    let reduce = |group, count| Call { in_place: c.in_place, ..part(Collective::Reduce, size(group), count) };
    let network_reduce = |count| Call { in_place: true, ..part(Collective::Reduce, groups, count) };
    vec![
        stages.within(&REDUCE, reduce),
        stages.between(&NETWORK_REDUCE, all.clone(), network_reduce),
        stages.between(&NETWORK_BROADCAST, all, |count| part(Collective::Broadcast, groups, count)),
        stages.within(&BROADCAST, |group, count| part(Collective::Broadcast, size(group), count)),
    ]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (stages, input, result) = (Stages::of(c), c.input(r), c.result(r));
    let is_first = stages.levels.place(r.rank()).1 == 0;
    for step in 0..stages.count() + 3 {
        let segment = |stage| stages.at(step, stage);
        let between = async |part, stage, tag| {
            let (all, segment) = (0..stages.count(), segment(stage).filter(|_| is_first));
            stages.run_between(r, (part, all), segment, (0, tag), (result, result)).await;
        };
        let within = async {
            stages.run_within(r, &REDUCE, segment(0), (input, result)).await;
            stages.run_within(r, &BROADCAST, segment(3), (Span::EMPTY, result)).await;
        };
        r.join(r.join(between(&NETWORK_BROADCAST, 2, SECOND_TAG), between(&NETWORK_REDUCE, 1, 0)), within).await;
    }
}

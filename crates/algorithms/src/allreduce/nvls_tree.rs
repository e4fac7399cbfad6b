//! NVLS tree: the switch of each node reduces chunks; a double tree between nodes adds each; the switch spreads the sums.
//!
//! As multi_lane with other parts: reduce_scatter nvls and allgather nvls within a node, and allreduce double_tree in each
//! lane. A lane is the ranks that have the same place on all nodes. NCCL overlaps the three phases; here they follow each
//! other.
//!
//! Source: NCCL, `src/transport/nvls.cc` and `src/device/all_reduce.h`; its lanes: J. L. Traeff, S. Hunold, "Decomposing
//! MPI collectives for exploiting multi-lane communication", IEEE CLUSTER 2020.
//! Needs: what the chosen algorithms need; those of the defaults: a commutative operator.
//! Counts: the three phases run one after another: their times add up, and so do their messages. Each lane carries its share
//! of the vector between nodes. The formula for time is an upper bound.
//!
//! ```text
//! nodes [0 1] [2 3]     reduce_scatter    0, 1 ─▶ switch ─▶ 0, 1     2, 3 ─▶ switch ─▶ 2, 3     one half for each rank
//!                       network           0 ◀────────────────────────▶ 2                        lane 0: the first half
//!                                               1 ◀────────────────────────▶ 3                  lane 1: the second half
//!                       allgather         0, 1 ─▶ switch ─▶ 0, 1     2, 3 ─▶ switch ─▶ 2, 3     both halves
//! ```

use hocket_core::{Call, Collective, Parameter, Rank};

use crate::About;
use crate::shapes::groups::GROUP;
use crate::shapes::lanes::Lanes;
use crate::shapes::levels::{Levels, OUTER, SEGMENTS, choice, group, most_ports, needs_order_or_commutative};

const LANES: Lanes = Lanes {
    reduce_scatter: choice(
        Collective::ReduceScatter,
        "reduce_scatter",
        "nvls",
        &[],
        "the algorithm that reduces within a node",
    ),
    network: choice(
        Collective::Allreduce,
        "network",
        "double_tree",
        &[],
        "the algorithm between the nodes, in each lane",
    ),
    allgather: choice(
        Collective::Allgather,
        "allgather",
        "nvls",
        &[],
        "the algorithm that collects the result in a node",
    ),
};

const NODES_OF_TREES: Parameter = Parameter { default: 1, ..OUTER };

pub const ABOUT: About = About::new("reduce_scatter + network + allgather", "reduce_scatter + network + allgather")
    .made_for("switch")
    .exact_when(|c| Levels::of(c).are_equal() && c.count(0).is_multiple_of(Levels::of(c).lanes()))
    .refusing(needs_order_or_commutative)
    .on_ports(|c| most_ports(c, &LANES.pieces(c)))
    .with_parameters(&[
        GROUP,
        LANES.reduce_scatter.parameter,
        LANES.network.parameter,
        LANES.allgather.parameter,
        SEGMENTS,
        NODES_OF_TREES,
    ])
    .completing(group)
    .made_of(|c| LANES.pieces(c));

pub async fn program(r: &Rank<'_>, c: &Call) {
    LANES.run(r, c).await;
}

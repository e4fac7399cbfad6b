//! NVLS: the switch of a node adds up each block from all ranks on its way to the rank of the block.
//!
//! On a machine with `[level.multicast]`, the messages have the costs of a switch that combines: NVLink SHARP. Elsewhere
//! they cost what others do, and the ranks combine.
//!
//! Source: NCCL, `src/transport/nvls.cc` and `src/device/reduce_scatter.h`; B. Klenk, N. Jiang, G. Thorson, L. Dennison, "An
//! in-network architecture for accelerating shared-memory multiprocessor collectives", ISCA 2020.
//! Needs: all ranks on one node; a commutative operator: each rank begins with its own contribution.
//! Counts: P-1 messages for each segment of each block. The formula for time is an upper bound.
//!
//! ```text
//! block 0 of 3 ranks     0 ◀── + ◀── 1          blocks 1 and 2 likewise, at the same time
//!                              ▲
//!                              └──── 2
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative};
use crate::shapes::Segments;
use crate::shapes::pipeline::{self, Place};
use crate::shapes::switch::{block, centers, needs_one_node};

pub const ABOUT: About = About::new(
    "ceil((P-1)/k)*(1+ceil(longest/segment))*(alpha+min(longest,segment)*(beta+(P-1)*gamma))",
    "(P-1)*all_segments",
)
.refusing(|c| needs_one_node(c).or_else(|| needs_commutative(c)))
.combining("nvls")
.on_ports(|c| (c.ranks - 1).max(1))
.through_switch();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input) = (r.rank(), r.size(), c.input(r));
    let sums = r.scratch(c.count(rank));
    r.join_all(centers(rank, size).map(async |center| {
        let of_center = block(c, input, center);
        let own = if center == rank { sums } else { of_center };
        r.copy(of_center, own).await;
        let (place, segments) = (Place::in_star(center, rank, size, |rank| rank), Segments::new(c, own));
        pipeline::reduce(r, place, segments, segments).await;
    }))
    .await;
    r.copy(sums, c.result(r)).await;
}

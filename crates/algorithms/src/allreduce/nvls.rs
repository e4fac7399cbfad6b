//! NVLS: the switch of a node adds up a chunk from all ranks for one of them, and copies the sums to all.
//!
//! The vector has one chunk for each rank. A rank gets its chunk from all others, segment by segment, and sends the sums to
//! all others, while later segments arrive. On a machine with `[level.multicast]`, these messages have the costs of a
//! switch that combines and copies: NVLink SHARP. Elsewhere they cost what others do, and the ranks combine.
//!
//! Source: NCCL, `src/transport/nvls.cc` and `src/device/all_reduce.h`; B. Klenk, N. Jiang, G. Thorson, L. Dennison, "An
//! in-network architecture for accelerating shared-memory multiprocessor collectives", ISCA 2020.
//! Needs: all ranks on one node; a commutative operator: each rank begins with its own contribution.
//! Counts: 2 (P-1) messages for each segment of each chunk. The formula for time is an upper bound.
//!
//! ```text
//! chunk 0 of 3 ranks     0 ◀── + ◀── 1          0 ──▶ copies ──▶ 1      the switch adds, then copies;
//!                              ▲                         │              chunks 1 and 2 likewise, at the same time
//!                              └──── 2                   └─────▶ 2
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative};
use crate::shapes::pipeline::{self, Place};
use crate::shapes::switch::{block, centers, needs_one_node};

pub const ABOUT: About = About::new(
    "2*ceil(2*(P-1)/k)*(1+ceil(longest/segment))*(alpha+min(longest,segment)*(beta+(P-1)*gamma))",
    "2*(P-1)*all_segments",
)
.refusing(|c| needs_one_node(c).or_else(|| needs_commutative(c)))
.on_ports(|c| (2 * (c.ranks - 1)).max(1))
.through_switch();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    r.join_all(centers(rank, size).map(async |center| {
        let place = Place::in_star(center, rank, size, |rank| rank);
        pipeline::allreduce(r, c, place, |vector| block(c, vector, center)).await;
    }))
    .await;
}

//! NVLS: the switch of a node copies the block of each rank to all others.
//!
//! On a machine with `[level.multicast]`, the messages have the costs of a switch that copies: NVLink SHARP. Elsewhere they
//! cost what others do.
//!
//! Source: NCCL, `src/transport/nvls.cc` and `src/device/all_gather.h`; B. Klenk, N. Jiang, G. Thorson, L. Dennison, "An
//! in-network architecture for accelerating shared-memory multiprocessor collectives", ISCA 2020.
//! Needs: all ranks on one node.
//! Counts: P-1 messages for each segment of each block. The formula for time is an upper bound.
//!
//! ```text
//! block 0 of 3 ranks     0 ──▶ copies ──▶ 1     blocks 1 and 2 likewise, at the same time
//!                                 │
//!                                 └─────▶ 2
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::Segments;
use crate::shapes::pipeline::{self, Place};
use crate::shapes::switch::{block, centers, needs_one_node};

pub const ABOUT: About =
    About::new("ceil((P-1)/k)*(1+ceil(longest/segment))*(alpha+min(longest,segment)*beta)", "(P-1)*all_segments")
        .refusing(needs_one_node)
        .on_ports(|c| (c.ranks - 1).max(1))
        .through_switch();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    r.copy(c.input(r), block(c, result, rank)).await;
    r.join_all(centers(rank, size).map(async |center| {
        let segments = Segments::new(c, block(c, result, center));
        pipeline::broadcast(r, Place::in_star(center, rank, size, |rank| rank), segments).await;
    }))
    .await;
}

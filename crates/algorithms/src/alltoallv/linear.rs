//! Linear: every rank posts the receives of all its blocks, and sends its own blocks, first to its left neighbour.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_alltoallv.c`, `ompi_coll_base_alltoallv_intra_basic_linear`, where
//! each rank begins with rank 0; MPICH, `alltoallv_intra_scattered`, which begins as here, so that not all ranks send
//! to the same one. Both libraries start all sends together.
//! Needs: nothing.
//! Counts: a message for each block that is not empty. When blocks differ in size, several messages may arrive at a
//! rank at once.
//!
//! ```text
//! 0 ─▶ 3, 0 ─▶ 2, 0 ─▶ 1, while 1 ─▶ 0, 1 ─▶ 3, 1 ─▶ 2, while 2 ─▶ 1, 2 ─▶ 0, 2 ─▶ 3, ..
//! ```

use hocket_core::{Call, Counts, Rank};

use crate::About;
use crate::alltoall::linear::{SENDS, TOGETHER, send_all};
use crate::shapes::input_apart_from_result;

pub const ABOUT: About = About::new("(2*ceil(ports/k) - 1)*(P-1)*(alpha + n*beta)", "blocks")
    .exact_when(|c| c.parameter(SENDS.name) != TOGETHER && sends_equal_blocks(c))
    .with_parameters(&[SENDS])
    .on_ports(|c| if c.parameter(SENDS.name) != TOGETHER && sends_equal_blocks(c) { 1 } else { c.ranks - 1 })
    .completing(blocks);

/// Whether all blocks have the same length and are not empty.
pub fn sends_equal_blocks(c: &Call) -> bool {
    matches!(c.counts, Counts::Equal(count) if count > 0)
}

/// The number of non-empty blocks for other ranks.
pub fn blocks(c: &Call) -> Vec<(&'static str, u64)> {
    let blocks = match &c.counts {
        Counts::Pairs(pairs) => pairs.messages(),
        _ if sends_equal_blocks(c) => (c.ranks * (c.ranks - 1)) as u64,
        _ => 0,
    };
    vec![("blocks", blocks)]
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let input = input_apart_from_result(r, c).await;
    let (to, from) = (|peer| c.block_to(input, rank, peer), |peer| c.block_from(result, rank, peer));
    r.copy(to(rank), from(rank)).await;
    let arriving = (1..size).map(|distance| (rank + distance) % size).filter(|peer| !from(*peer).is_empty());
    let leaving = (1..size).map(|distance| (rank + size - distance) % size).filter(|peer| !to(*peer).is_empty());
    let receives = r.join_all(arriving.map(|peer| r.recv(peer, from(peer))));
    r.join(receives, send_all(r, c, leaving.map(|peer| r.send(peer, to(peer))))).await;
}

//! Linear: every rank is ready for all its blocks at once, and sends one after another, first to its right neighbour.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_alltoallv.c`, `ompi_coll_base_alltoallv_intra_basic_linear`, with one
//! send at a time; starting at the right neighbour keeps the ranks from all sending to the same one.
//! Needs: nothing.
//! Counts: a message for each block that is not empty, those of a rank one after another; where blocks differ, those of several ranks
//! may meet at one.
//!
//! ```text
//! 0 ─▶ 1, 0 ─▶ 2, 0 ─▶ 3, while 1 ─▶ 2, 1 ─▶ 3, 1 ─▶ 0, while 2 ─▶ 3, 2 ─▶ 0, 2 ─▶ 1, ..
//! ```

use hocket_core::{Call, Counts, Rank};

use crate::About;
use crate::pattern::input_apart_from_result;

pub const ABOUT: About = About::new("(2*ceil(ports/k) - 1)*(P-1)*(alpha + n*beta)", "blocks")
    .exact_when(sends_equal_blocks)
    .on_ports(|c| if sends_equal_blocks(c) { 1 } else { c.ranks - 1 })
    .completing(blocks);

/// Whether every rank has equally long blocks for all, which are not empty.
pub fn sends_equal_blocks(c: &Call) -> bool {
    matches!(c.counts, Counts::Equal(count) if count > 0)
}

/// The number of blocks for others that are not empty.
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
    let others = || (1..size).map(|distance| (rank + distance) % size);
    let arriving = others().filter(|peer| !from(*peer).is_empty());
    let receives = r.join_all(arriving.map(|peer| r.recv(peer, from(peer))));
    let sends = async {
        for peer in others().filter(|peer| !to(*peer).is_empty()) {
            r.send(peer, to(peer)).await;
        }
    };
    r.join(receives, sends).await;
}

//! Linear: every rank is ready for all its blocks at once, and sends one after another, first to its right neighbour.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_alltoall.c`, `ompi_coll_base_alltoall_intra_basic_linear`, with one
//! send at a time; starting at the right neighbour keeps the ranks from all sending to the same one.
//! Needs: nothing.
//! Counts: P-1 messages of one block from each rank, one after another.
//!
//! ```text
//! 0 ─▶ 1, 0 ─▶ 2, 0 ─▶ 3, while 1 ─▶ 2, 1 ─▶ 3, 1 ─▶ 0, while 2 ─▶ 3, 2 ─▶ 0, 2 ─▶ 1, ..
//! ```

use hocket_core::{Call, Rank};

use crate::{About, Steps};
use crate::pattern::input_apart_from_result;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P*(P-1)").paced(Steps {
    count: |c| c.ranks - 1,
    destination: |c, step, rank| (rank + step + 1) % c.ranks,
    elements: |c, _| c.count(0),
});

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let input = input_apart_from_result(r, c).await;
    r.copy(c.block(input, rank), c.block(result, rank)).await;
    let others = || (1..size).map(|distance| (rank + distance) % size);
    let receives = r.join_all(others().map(|peer| r.recv(peer, c.block(result, peer))));
    let sends = async {
        for (step, peer) in others().enumerate() {
            r.send_with(peer, c.block(input, peer), Steps::options(c, step)).await;
        }
    };
    r.join(receives, sends).await;
}

//! Pairwise exchange: in step i every rank sends to the rank i to its right, and receives from the rank i to its left.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_alltoallv.c`, `ompi_coll_base_alltoallv_intra_pairwise`, without the
//! messages for empty blocks.
//! Needs: nothing.
//! Counts: P-1 steps, with a message for each block that is not empty.
//!
//! ```text
//! step 1    0 ─▶ 1 ─▶ 2 ─▶ 3 ─▶ 0
//! step 2    0 ─▶ 2 ─▶ 0   1 ─▶ 3 ─▶ 1
//! step 3    0 ─▶ 3 ─▶ 2 ─▶ 1 ─▶ 0
//! ```

use hocket_core::{Call, Rank};

use super::linear::{blocks, sends_equal_blocks};
use crate::About;
use crate::shapes::input_apart_from_result;

pub const ABOUT: About =
    About::new("(P-1)*(alpha + n*beta)", "blocks").exact_when(sends_equal_blocks).completing(blocks);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let input = input_apart_from_result(r, c).await;
    let (to, from) = (|peer| c.block_to(input, rank, peer), |peer| c.block_from(result, rank, peer));
    r.copy(to(rank), from(rank)).await;
    for distance in 1..size {
        let (right, left) = ((rank + distance) % size, (rank + size - distance) % size);
        let (data, into) = (to(right), from(left));
        let send = (!data.is_empty()).then(|| r.send(right, data));
        r.join_optional(send, (!into.is_empty()).then(|| r.recv(left, into))).await;
    }
}

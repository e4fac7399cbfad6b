//! Linear: the root receives every other rank's block, one after another in rank order.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_gatherv.c`; MPICH, `gatherv_allcomm_linear.c`.
//! Needs: nothing; only the root knows the sizes of all blocks.
//! Counts: P-1 messages of one block. The root receives all of them.
//!
//! ```text
//! 1 ──b1──▶ 0, 2 ──b2──▶ 0, 3 ──b3──▶ 0
//! ```

use hocket_core::{Call, Rank};

use crate::{About, gather};

pub const ABOUT: About = gather::linear::ABOUT;

pub async fn program(r: &Rank<'_>, c: &Call) {
    gather::linear::program(r, c).await;
}

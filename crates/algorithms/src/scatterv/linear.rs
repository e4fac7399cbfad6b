//! Linear: the root sends every other rank its block, one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_scatterv.c`; MPICH, `scatterv_allcomm_linear.c`.
//! Needs: nothing; only the root knows the sizes of all blocks.
//! Counts: P-1 messages of one block. The root sends all of them.
//!
//! ```text
//! 0 ──b1──▶ 1, 0 ──b2──▶ 2, 0 ──b3──▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::{About, scatter};

pub const ABOUT: About = scatter::linear::ABOUT;

pub async fn program(r: &Rank<'_>, c: &Call) {
    scatter::linear::program(r, c).await;
}

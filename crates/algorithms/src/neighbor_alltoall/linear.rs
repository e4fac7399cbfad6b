//! Linear: every rank sends a block to each of its neighbours and receives a block from each, all at once.
//!
//! Source: MPICH, `src/mpi/coll/ineighbor_alltoall/ineighbor_alltoall_sched_linear.c`; Open MPI,
//! `ompi/mca/coll/basic/coll_basic_neighbor_alltoall.c`.
//! Needs: nothing.
//! Counts: a message for each edge to another rank whose block is not empty. On a torus, all ranks send in the same
//! order, so no rank receives two messages at a time. On other graphs, a message may wait for messages of other ranks;
//! the formula counts this as `waits` and is an upper bound.
//!
//! ```text
//!         ▲                each rank of a grid
//!         │
//!  ◀── b0 b2 b3 ──▶
//!            │
//!            ▼
//! ```

use hocket_core::{Call, Rank};

use crate::shapes::neighborhood::exchange;
use crate::{About, neighbor_allgather};

pub const ABOUT: About = neighbor_allgather::linear::ABOUT;

pub async fn program(r: &Rank<'_>, c: &Call) {
    exchange(r, c).await;
}

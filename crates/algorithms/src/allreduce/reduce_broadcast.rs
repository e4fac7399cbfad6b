//! Reduce and broadcast: a binomial tree reduces all vectors to rank 0, which broadcasts the result down the same tree.
//!
//! Source: Open MPI, `ompi_coll_base_allreduce_intra_nonoverlapping`.
//! Needs: nothing; operands are combined in rank order.
//! Counts: 2 ceil(log2 P) rounds of n bytes; 2 (P-1) messages.
//!
//! ```text
//! reduce       1 ─▶ 0   3 ─▶ 2        broadcast    0 ─────▶ 2
//!              2 ─────▶ 0                          0 ─▶ 1   2 ─▶ 3
//! ```

use hocket_core::{Call, Collective, Rank};

use crate::About;
use crate::broadcast;
use crate::reduce::binomial::reduce_to;

pub const ABOUT: About = About::new("ceil(log2(P))*(2*alpha + 2*n*beta + n*gamma)", "2*(P-1)")
    .exact_when(|_| true)
    .combining("reduce_broadcast");

pub async fn program(r: &Rank<'_>, c: &Call) {
    r.copy(c.input(r), c.result(r)).await;
    reduce_to(r, 0, c.result(r)).await;
    broadcast::binomial::program(r, &c.in_collective(Collective::Broadcast, 0)).await;
}

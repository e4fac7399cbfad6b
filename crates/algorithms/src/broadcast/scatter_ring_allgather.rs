//! Scatter and ring allgather: a binomial tree scatters the message; then the chunks go once round the ring.
//!
//! Source: M. Barnett, S. Gupta, D. G. Payne, L. Shuler, R. van de Geijn, J. Watts, "Interprocessor collective
//! communication library (InterCom)", SHPCC 1994; MPICH, `bcast_intra_scatter_ring_allgather.c`.
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds that halve what is sent on, then P-1 rounds of n/P bytes.
//!
//! ```text
//! scatter      0 ──c2 c3──▶ 2
//!              0 ─c1─▶ 1    2 ─c3─▶ 3
//! allgather    0 ──▶ 1 ──▶ 2 ──▶ 3 ──▶ 0    P-1 times
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::allreduce::ring::allgather;
use crate::broadcast::scatter_doubling_allgather::scatter_chunks;
use crate::shapes::Ring;

pub const ABOUT: About = About::new("(ceil(log2(P)) + P-1)*alpha + 2*(P-1)/P*n*beta", "(P-1) + P*(P-1)");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    let ring = Ring { position: scatter_chunks(r, c).await.relative(), ..Ring::of_ranks(r) };
    allgather(r, &ring, |i| result.chunk(i, ring.size)).await;
}

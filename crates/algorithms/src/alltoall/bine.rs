//! Bine butterfly: in each step every rank exchanges half of its blocks with a partner at distance 1, 1, 3, 5, 11, ..
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! '25, arXiv 2508.17311. As in recursive_doubling, ranks store blocks of others and forward them.
//! Needs: a power of two of ranks.
//! Counts: log2 P exchanges of P/2 blocks. The longest distance is about P/3; in recursive doubling it is P/2.
//!
//! ```text
//! P = 8, two blocks of rank 1
//! to rank 6, by step 2 alone    1 ──3 to the left──▶ 6
//! to rank 4, by all steps       1 ──1 to the left──▶ 0 ──1 to the left──▶ 7 ──3 to the left──▶ 4
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_power_of_two};
use crate::allreduce::swing::swing;
use crate::alltoall::recursive_doubling::store_and_forward;

pub const ABOUT: About = About::new("log2(P)*(alpha + P/2*n*beta)", "P*log2(P)").refusing(needs_power_of_two);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let steps = 0..size.ilog2();
    let moved = |at: usize, way: usize, step: u32| if way >> step & 1 == 1 { swing(at, step, size) } else { at };
    let to = |way| steps.clone().fold(rank, |at, step| moved(at, way, step));
    let from = |way| steps.clone().rev().fold(rank, |at, step| moved(at, way, step));
    store_and_forward(r, c, |step| swing(rank, step as u32, size), to, from).await;
}

//! Edge-disjoint trees: 2 D trees of a torus reduce to rank 0, which broadcasts each segment as soon as it is reduced.
//!
//! The trees of broadcast edge_disjoint_trees carry the results down, and their reverses carry the sums up. If no axis
//! has two ranks, a link carries one of 2 D parts up and another one down. These are as many bytes as the single part
//! of D that the link carries in trinaryx3_overlapped.
//!
//! Source: A. Faraj, S. Kumar, B. Smith, A. Mamidala, J. Gunnels, "MPI collective communications on the Blue Gene/P
//! supercomputer: algorithms and optimizations", HOTI 2009; the trees are those of IBM's PAMI for Blue Gene/Q,
//! `algorithms/schedule/TorusRect.h`.
//! Needs: a commutative operator. Its parameters need X * Y * Z * W * V * U = P; by default the torus is nearly a cube.
//! Counts: as reduce edge_disjoint_trees, plus H rounds of one segment for trees of height H. A tree sends 2 S (P-1)
//! messages for the S segments of its part.
//!
//! ```text
//! the tree +x on a ring of 3    2 ─s0▶ 1
//! (up by -x, down by +x)        2 ─s1▶ 1 ─s0▶ 0
//!                               2 ─s2▶ 1 ─s1▶ 0 ─s0▶ 1
//!                                      1 ─s2▶ 0 ─s1▶ 1 ─s0▶ 2
//! the tree -x                   1 ─s0▶ 2
//!                               1 ─s1▶ 2 ─s0▶ 0
//!                               1 ─s2▶ 2 ─s1▶ 0 ─s0▶ 2
//!                                      2 ─s2▶ 0 ─s1▶ 2 ─s0▶ 1
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::torus::needs_torus_and_commutative;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*(height*(2*alpha + largest*(2*beta + gamma)) \
     + (segments - 1)*max(alpha + largest*beta, children*largest*gamma))",
    "2*(P-1)*all_segments",
)
.along_both_ways()
.on_ports(|c| 2 * Trees::both_ways(c).count())
.refusing(needs_torus_and_commutative);

pub async fn program(r: &Rank<'_>, c: &Call) {
    Trees::both_ways(c).allreduce(r, c).await;
}

//! Trinaryx3, overlapped: rank 0 broadcasts each segment as soon as it is reduced, while later segments are on the way.
//!
//! Source: as trinaryx3, whose reduce and broadcast cross the links of the torus in opposite directions.
//! Needs: a commutative operator. Its parameters need X * Y * Z = P; by default the torus is nearly a cube.
//! Counts: as reduce trinaryx3, plus H rounds of one segment, for trees of height H = X+Y+Z-2. 6 S (P-1) messages for S
//! segments of a third of the vector.
//!
//! ```text
//! chain of 3 ranks    2 ─s0▶ 1
//!                     2 ─s1▶ 1 ─s0▶ 0
//!                     2 ─s2▶ 1 ─s1▶ 0 ─s0▶ 1
//!                            1 ─s2▶ 0 ─s1▶ 1 ─s0▶ 2
//!                                   0 ─s2▶ 1 ─s1▶ 2
//!                                          1 ─s2▶ 2
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::allreduce::edge_disjoint_trees;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = edge_disjoint_trees::ABOUT.along_one_way().on_ports(|c| 2 * Trees::one_way(c).count());

pub async fn program(r: &Rank<'_>, c: &Call) {
    Trees::one_way(c).allreduce(r, c).await;
}

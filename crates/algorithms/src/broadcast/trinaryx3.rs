//! Trinaryx3: three trees of a torus, which share no link, each carry a third of the message, in segments.
//!
//! Source: "MPI Allreduceの「京」上での実装と評価" (see the trinaryx3 page of the docs), its broadcast. There is one tree for each
//! axis of more than one rank. With fewer such axes, there are fewer trees and as many parts of the message.
//! Needs: nothing of the call. Its parameters need X * Y * Z = P; by default the torus is nearly a cube.
//! Counts: H-1+S rounds of one segment, for S segments of a third of the message and trees of height H = X+Y+Z-2. 3 S
//! (P-1) messages.
//!
//! ```text
//! tree of axes x, y on 3 x 3:        tree of axes y, x:          third tree: axes z, x, y
//! 6      7      8 ─▶ 6               6 ───▶ 7 ───▶ 8
//!        ▲      ▲                    ▲
//! 3      4      5 ─▶ 3               3 ───▶ 4 ───▶ 5             a link that leads out of the drawing
//!        ▲      ▲                    ▲                           comes back in on the other side
//! 0 ───▶ 1 ───▶ 2                    0      1      2
//!                                           ▲      ▲ from 7, 8
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::broadcast::edge_disjoint_trees;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = edge_disjoint_trees::ABOUT.along_one_way();

pub async fn program(r: &Rank<'_>, c: &Call) {
    Trees::one_way(c).broadcast(r, c, c.root, c.result(r)).await;
}

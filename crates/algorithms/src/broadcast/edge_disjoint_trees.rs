//! Edge-disjoint trees: 2 D trees of a torus, which share no link, each carry a part of the message, in segments.
//!
//! A tree leads from the root along one axis in one direction, from there along the next axis, and so on. This leaves
//! out some ranks beside the root. The tree reaches them last, by the links that close the rings. D axes have more than
//! one rank. There is one tree for each direction of each of them, and no directed link is in two trees. On an axis of
//! two ranks, both directions are the same link. Then only the D trees in the positive directions are used; these are
//! the trees of broadcast trinaryx3.
//!
//! Source: A. Faraj, S. Kumar, B. Smith, A. Mamidala, J. Gunnels, "MPI collective communications on the Blue Gene/P
//! supercomputer: algorithms and optimizations", HOTI 2009; the trees are those of IBM's PAMI for Blue Gene/Q,
//! `algorithms/schedule/TorusRect.h`.
//! Needs: nothing of the call. Its parameters need X * Y * Z * W * V * U = P; by default the torus is nearly a cube.
//! Counts: H-1+S rounds of one segment, for S segments of a part and trees of height H = 1 + (X-1) + (Y-1) + (Z-1) +
//! .., or P-1 on a single axis. Each tree sends S (P-1) messages.
//!
//! ```text
//! +x, +y on 3 x 3            -x, -y                     +y, +x                     -y, -x
//! 6      7      8 ─▶ 6       3      5      4 ─▶ 3       2      5      8 ─▶ 2       1      7      4 ─▶ 1
//!        ▲      ▲                   ▲      ▲                   ▲      ▲                   ▲      ▲
//! 3      4      5 ─▶ 3       6      8      7 ─▶ 6       1      4      7 ─▶ 1       2      8      5 ─▶ 2
//!        ▲      ▲                   ▲      ▲                   ▲      ▲                   ▲      ▲
//! 0 ───▶ 1 ───▶ 2            0 ───▶ 2 ───▶ 1            0 ───▶ 3 ───▶ 6            0 ───▶ 6 ───▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::torus::needs_torus;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About =
    About::new("(2*ceil(ports/k) - 1)*(height - 1 + segments)*(alpha + largest*beta)", "(P-1)*all_segments")
        .along_both_ways()
        .refusing(needs_torus);

pub async fn program(r: &Rank<'_>, c: &Call) {
    Trees::both_ways(c).broadcast(r, c, c.root, c.result(r)).await;
}

//! Edge-disjoint trees: 2 D trees of a torus, which share no link, each reduce a part of the vector, in segments.
//!
//! The trees are the trees of broadcast edge_disjoint_trees, reversed. A rank combines its children in a fixed order,
//! by increasing height, and waits for the next one in this order. So the same input gives the same bits.
//!
//! Source: A. Faraj, S. Kumar, B. Smith, A. Mamidala, J. Gunnels, "MPI collective communications on the Blue Gene/P
//! supercomputer: algorithms and optimizations", HOTI 2009; the trees are those of IBM's PAMI for Blue Gene/Q,
//! `algorithms/schedule/TorusRect.h`.
//! Needs: a commutative operator. Its parameters need X * Y * Z * W * V * U = P; by default the torus is nearly a cube.
//! Counts: S segments of a part go one after another up trees of height H = 1 + (X-1) + (Y-1) + (Z-1) + .., or P-1 on a
//! single axis. A rank receives a segment while it combines the segment before, from at most D children. Each tree
//! sends S (P-1) messages.
//!
//! ```text
//! +x, +y on 3 x 3            -x, -y                     +y, +x                     -y, -x
//! 6      7      8 ◀─ 6       3      5      4 ◀─ 3       2      5      8 ◀─ 2       1      7      4 ◀─ 1
//!        │      │                   │      │                   │      │                   │      │
//! 3      4      5 ◀─ 3       6      8      7 ◀─ 6       1      4      7 ◀─ 1       2      8      5 ◀─ 2
//!        ▼      ▼                   ▼      ▼                   ▼      ▼                   ▼      ▼
//! 0 ◀─── 1 ◀─── 2            0 ◀─── 2 ◀─── 1            0 ◀─── 3 ◀─── 6            0 ◀─── 6 ◀─── 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::torus::needs_torus_and_commutative;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*(height*(alpha + largest*(beta + gamma)) \
     + (segments - 1)*max(alpha + largest*beta, children*largest*gamma))",
    "(P-1)*all_segments",
)
.along_both_ways()
.refusing(needs_torus_and_commutative);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let sums = if r.rank() == c.root { c.result(r) } else { r.scratch(c.input(r).len) };
    Trees::both_ways(c).reduce(r, c, c.root, sums).await;
}

//! Trinaryx3: three trees of a torus, which share no link, each reduce a third of the vector, in segments.
//!
//! The trees are the trees of broadcast trinaryx3, reversed. A rank combines its children in a fixed order, by
//! increasing height, and waits for the next one in this order. So the same input gives the same bits.
//!
//! Source: "MPI Allreduceの「京」上での実装と評価" (see the trinaryx3 page of the docs), its reduce.
//! Needs: a commutative operator. Its parameters need X * Y * Z = P; by default the torus is nearly a cube.
//! Counts: S segments of a third of the vector go one after another up trees of height H = X+Y+Z-2. A rank receives a
//! segment while it combines the segment before, from at most three children. 3 S (P-1) messages.
//!
//! ```text
//! tree of axes x, y on 3 x 3, root 0; + combines in the order of the numbers
//! 6      7      8 ◀─ 6          8 + 6
//!        │      │               5 + 3 + 8
//! 3      4      5 ◀─ 3          2 + 5
//!        ▼      ▼               1 + 4 + 2
//! 0 ◀─── 1 ◀─── 2               0 + 1
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::reduce::edge_disjoint_trees;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = edge_disjoint_trees::ABOUT.along_one_way();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let sums = if r.rank() == c.root { c.result(r) } else { r.scratch(c.input(r).len) };
    Trees::one_way(c).reduce(r, c, c.root, sums).await;
}

//! Trinaryx3: three trees of a torus that share no link reduce to rank 0, then broadcast the result.
//!
//! Source: "MPI Allreduceの「京」上での実装と評価" (see the trinaryx3 page of the docs). Rank 0 combines the result for all ranks,
//! in a fixed order. So all ranks get the same bits, in every run.
//! Needs: a commutative operator. Its parameters need X * Y * Z = P; by default the torus is nearly a cube.
//! Counts: as reduce trinaryx3, then broadcast trinaryx3. 6 S (P-1) messages for S segments of a third of the vector.
//!
//! ```text
//! tree of axes x, y on 3 x 3:   reduce                      broadcast
//!                               6      7      8 ◀─ 6        6      7      8 ─▶ 6
//!                                      │      │                    ▲      ▲
//!                               3      4      5 ◀─ 3        3      4      5 ─▶ 3
//!                                      ▼      ▼                    ▲      ▲
//!                               0 ◀─── 1 ◀─── 2             0 ───▶ 1 ───▶ 2
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::torus::needs_torus_and_commutative;
use crate::shapes::torus_trees::Trees;

pub const ABOUT: About = About::new(
    "(2*ceil(ports/k) - 1)*(height*(alpha + largest*(beta + gamma)) \
     + (segments - 1)*max(alpha + largest*beta, children*largest*gamma) \
     + (height - 1 + segments)*(alpha + largest*beta))",
    "2*(P-1)*all_segments",
)
.along_one_way()
.refusing(needs_torus_and_commutative);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    Trees::one_way(c).reduce(r, c, 0, result).await;
    Trees::one_way(c).broadcast(r, c, 0, result).await;
}

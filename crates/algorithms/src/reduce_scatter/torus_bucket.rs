//! Torus bucket: a ring reduce_scatter along each axis in turn, in two parts of every block for each axis.
//!
//! Source: N. Jain, Y. Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS
//! 2010; P. Sack, W. Gropp, "Collective algorithms for multiported torus networks", ACM TOPC 1 (2015). It is the first
//! half of allreduce torus_bucket. The parts of all blocks that travel together are packed in the order of the axes
//! they travel along. So what a rank sends is always contiguous.
//! Needs: a commutative operator. Its parameters need X * Y * Z * W * V * U = P; by default the torus is nearly a cube.
//! Counts: X-1 + Y-1 + Z-1 + .. rounds. Of each part, a rank sends (P-1)/P.
//!
//! ```text
//! 3 x 2, part 0: +x, +y          part 2: +y, +x
//! packed    03 14 25             packed    012 345
//! along x   03 or 14 or 25       along y   012 or 345
//! along y   0 or 3, ..           along x   0 or 1 or 2, ..
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::torus::{moves_evenly, needs_torus_and_commutative, ports};
use crate::shapes::torus_buckets::Packed;

pub const ABOUT: About =
    About::new("turns*(hops*alpha + (P-1)/P*largest*beta) + (P-1)/P*largest*gamma", "parts*P*hops")
        .on_all_ports()
        .refusing(needs_torus_and_commutative)
        .symmetric(|c| moves_evenly(c, 1));

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, ports) = (r.rank(), ports(c));
    let parts = Packed::all(r, c, &ports);
    for part in &parts {
        for block in 0..r.size() {
            r.copy(part.of_block(c.block(c.input(r), block)), part.of_rank(block)).await;
        }
    }
    r.join_all(parts.iter().map(|part| part.reduce_scatter(r))).await;
    for part in &parts {
        r.copy(part.of_rank(rank), part.of_block(c.result(r))).await;
    }
}

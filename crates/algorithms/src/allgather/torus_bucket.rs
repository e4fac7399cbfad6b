//! Torus bucket: a ring allgather along each axis in turn, in two parts of every block for each axis.
//!
//! Source: N. Jain, Y. Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS
//! 2010; P. Sack, W. Gropp, "Collective algorithms for multiported torus networks", ACM TOPC 1 (2015). It is the second
//! half of allreduce torus_bucket. As in reduce_scatter torus_bucket, the parts of all blocks that travel together are
//! packed.
//! Needs: nothing of the call. Its parameters need X * Y * Z * W * V * U = P; by default the torus is nearly a cube.
//! Counts: X-1 + Y-1 + Z-1 + .. rounds. Each rank sends P-1 blocks.
//!
//! ```text
//! 3 x 2, part 0: +y, +x          part 2: +x, +y
//! packed    03 14 25             packed    012 345
//! along y   03 or 14 or 25       along x   012 or 345
//! along x   03 14 25             along y   012 345
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::torus::{moves_evenly, needs_torus, ports};
use crate::shapes::torus_buckets::Packed;

pub const ABOUT: About = About::new("turns*(hops*alpha + (P-1)/P*largest*beta)", "parts*P*hops")
    .on_all_ports()
    .refusing(needs_torus)
    .symmetric(|c| moves_evenly(c, 1));

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, ports) = (r.rank(), ports(c));
    let parts = Packed::all(r, c, &ports);
    for part in &parts {
        r.copy(part.of_block(c.input(r)), part.of_rank(rank)).await;
    }
    r.join_all(parts.iter().map(|part| part.allgather(r))).await;
    for part in &parts {
        for block in 0..r.size() {
            r.copy(part.of_rank(block), part.of_block(c.block(c.result(r), block))).await;
        }
    }
}

//! Torus bucket: a ring allreduce along each axis in turn; for each axis, two parts begin with it, in both directions.
//!
//! The ring of the first axis reduces and scatters a part. The ring of the next axis reduces and scatters what is left,
//! and so on. Then the rings gather the part, in the reverse order of axes. The parts run independently, so all links
//! are busy: 2 D links of a node, for D axes of more than one rank.
//!
//! Source: N. Jain, Y. Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS
//! 2010; P. Sack, W. Gropp, "Collective algorithms for multiported torus networks", ACM TOPC 1 (2015), with as many
//! parts.
//! Needs: a commutative operator. Its parameters need X * Y * Z * W * V * U = P; by default the torus is nearly a cube.
//! Counts: 2 (X-1 + Y-1 + Z-1 + ..) rounds. Of each part, a rank sends 2 (P-1)/P.
//!
//! ```text
//! part 0    reduce_scatter along +x, +y, +z    allgather along +z, +y, +x
//! part 1                         -x, -y, -z                    -z, -y, -x
//! part 2                         +y, +z, +x                    +x, +z, +y
//! part 3                         -y, -z, -x                    -x, -z, -y
//! part 4                         +z, +x, +y                    +y, +x, +z
//! part 5                         -z, -x, -y                    -y, -x, -z
//! ```

use hocket_core::{Call, Rank, Tag};

use crate::About;
use crate::shapes::torus::{moves_evenly, needs_torus_and_commutative, ports};
use crate::shapes::torus_buckets::{allgather, reduce_scatter};

pub const ABOUT: About =
    About::new("turns*(2*hops*alpha + 2*(P-1)/P*largest*beta) + (P-1)/P*largest*gamma", "2*parts*P*hops")
        .on_all_ports()
        .refusing(needs_torus_and_commutative)
        .symmetric(|c| moves_evenly(c, 1));

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (result, ports) = (c.result(r), ports(c));
    r.copy(c.input(r), result).await;
    let parts = ports.iter().enumerate().map(async |(number, port)| {
        let part = result.chunk(number, ports.len());
        let chunks = |first: usize, count: usize| part.chunks(first, count, r.size());
        reduce_scatter(r, port, &chunks, number as Tag).await;
        allgather(r, port, &chunks, number as Tag).await;
    });
    r.join_all(parts).await;
}

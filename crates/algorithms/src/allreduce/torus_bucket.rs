//! Torus bucket: a ring allreduce along each axis in turn, in two parts for each axis, which begin with it in either direction.
//!
//! Source: N. Jain, Y. Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS 2010;
//! P. Sack, W. Gropp, "Collective algorithms for multiported torus networks", ACM TOPC 1 (2015), with as many parts.
//! A part is reduced and scattered along its first axis, what is left along the next, and so on; then it is gathered back in
//! the reverse order. The parts do not wait for each other, and all links are busy: 2 D of a node for D axes of more than one rank.
//! Needs: a commutative operator; of its parameters, X * Y * Z * W * V * U = P (without them the torus is nearly a cube).
//! Counts: 2 (X-1 + Y-1 + Z-1 + ..) rounds; each rank sends 2 (P-1)/P of each part.
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
use crate::shapes::torus::{AXES, needs_torus_and_commutative, ports, ports_and_ranks_divide_count, sizes_and_ports};
use crate::shapes::torus_buckets::{allgather, reduce_scatter};

pub const ABOUT: About =
    About::new("turns*(2*hops*alpha + 2*(P-1)/P*largest*beta) + (P-1)/P*largest*gamma", "2*parts*P*hops")
        .exact_when(ports_and_ranks_divide_count)
        .on_ports(|c| ports(c).len())
        .refusing(needs_torus_and_commutative)
        .made_for("torus")
        .with_parameters(&AXES)
        .completing(sizes_and_ports);

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

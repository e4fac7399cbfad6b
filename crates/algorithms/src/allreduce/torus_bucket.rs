//! Torus bucket: a ring allreduce along each axis in turn, in six parts that begin with different axes and directions.
//!
//! Source: N. Jain, Y. Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS 2010.
//! A part is reduced and scattered along its first axis, what is left along the next, and so on; then it is gathered back in
//! the reverse order. Two parts for each axis of more than one rank; they do not wait for each other.
//! Needs: a commutative operator; of its parameters, X * Y * Z = P (without them the torus is nearly a cube).
//! Counts: 2 (X+Y+Z-3) rounds; each rank sends 2 (P-1)/P of each part.
//!
//! ```text
//! part 0    reduce_scatter along +x, +y, +z    allgather along +z, +y, +x
//! part 1                         -x, -y, -z                    -z, -y, -x
//! part 2                         +y, +z, +x                    +x, +z, +y
//! part 3                         -y, -z, -x                    -x, -z, -y
//! part 4                         +z, +x, +y                    +y, +x, +z
//! part 5                         -z, -x, -y                    -y, -x, -z
//! ```

use hocket_core::{Call, Rank, Span, Tag};

use crate::About;
use crate::allreduce::ring::{allgather, reduce_scatter};
use crate::pattern::Ring;
use crate::torus::{
    Port, X, Y, Z, needs_torus_and_commutative, ports, ports_and_ranks_divide_count, sizes_and_ports,
};

pub const ABOUT: About =
    About::new("ceil(ports/k)*(2*(X+Y+Z-3)*alpha + 2*(P-1)/P*largest*beta) + (P-1)/P*largest*gamma", "2*parts*P*(X+Y+Z-3)")
        .exact_when(ports_and_ranks_divide_count)
        .on_ports(|c| ports(c).len())
        .refusing(needs_torus_and_commutative)
        .made_for("torus")
        .with_parameters(&[X, Y, Z])
        .completing(sizes_and_ports);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (result, ports) = (c.result(r), ports(c));
    r.copy(c.input(r), result).await;
    let parts = ports.iter().enumerate().map(async |(number, port)| {
        let part = result.chunk(number, ports.len());
        all_axes(r, port, part, number as Tag).await;
    });
    r.join_all(parts).await;
}

async fn all_axes(r: &Rank<'_>, port: &Port, part: Span, tag: Tag) {
    let mut rounds = Vec::new();
    let mut left = part;
    for axis in &port.order {
        let ring = ring(port, r.rank(), *axis, tag);
        reduce_scatter(r, &ring, left).await;
        let own = left.chunk(ring.position, ring.size);
        rounds.push((ring, left));
        left = own;
    }
    for (ring, vector) in rounds.into_iter().rev() {
        allgather(r, &ring, vector).await;
    }
}

fn ring(port: &Port, rank: usize, axis: usize, tag: Tag) -> Ring {
    let (position, size) = (port.coordinate(rank, axis), port.torus.sizes[axis]);
    let neighbour = |position: usize| port.moved(rank, axis, position % size);
    Ring { position, size, previous: neighbour(position + size - 1), next: neighbour(position + 1), tag }
}

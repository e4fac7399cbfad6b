//! Swing on a torus: reduce_scatter and allgather in 2 D parts; each part swings along one axis after the other.
//!
//! D axes have more than one rank. Two parts begin with each of them, in opposite directions. A part goes from axis to
//! axis in turn; it skips an axis on which it has met all ranks.
//!
//! Source: D. De Sensi, T. Bonato, D. Saam, T. Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce",
//! NSDI 2024, the bandwidth-optimal version on tori with as many ports as directions.
//! Needs: a commutative operator, and a power of two of ranks along each axis. Its parameters need X * Y * Z * W * V *
//! U = P; by default the torus is nearly a cube.
//! Counts: log2 P exchanges of m/2, m/4, .. m/P bytes for each part of m bytes, and the same backwards.
//!
//! ```text
//! 8 x 2     step 0    step 1    step 2        step 3      distances along an axis: 1, 1 back, 3, 5 back, 11, ..
//! part 0    x by 1    y by 1    x by 1 back   x by 3
//! part 1    the same in the opposite directions
//! part 2    y by 1    x by 1    x by 1 back   x by 3
//! part 3    the same in the opposite directions
//! ```

use std::array::from_fn;

use hocket_core::{Call, Rank, Span, Tag};

use crate::About;
use crate::allreduce::swing::{label, swing};
use crate::shapes::torus::{MOST_AXES, Port, Torus, moves_evenly, needs_torus_and_commutative, ports};
use crate::shapes::{Halves, half_range, halve_and_double};

pub const ABOUT: About =
    About::new("turns*(2*log2(P)*alpha + 2*(P-1)/P*largest*beta) + (P-1)/P*largest*gamma", "2*parts*P*log2(P)")
        .on_all_ports()
        .refusing(refuses)
        .symmetric(|c| moves_evenly(c, 2));

fn refuses(c: &Call) -> Option<&'static str> {
    needs_torus_and_commutative(c).or_else(|| {
        let is_power_of_two = Torus::of(c).sizes.iter().all(|size| size.is_power_of_two());
        (!is_power_of_two).then_some(
            "needs a power of two of ranks along each axis: every step pairs one half of an axis with the other",
        )
    })
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (result, ports) = (c.result(r), ports(c));
    r.copy(c.input(r), result).await;
    let parts = ports.iter().enumerate().map(async |(number, port)| {
        let part = result.chunk(number, ports.len());
        swing_part(r, port, part, number as Tag).await;
    });
    r.join_all(parts).await;
}

async fn swing_part(r: &Rank<'_>, port: &Port, part: Span, tag: Tag) {
    let (rank, size, steps) = (r.rank(), r.size(), steps(port));
    let half_of = |who: usize, step: u32| {
        let range = half_range(torus_label(port, &steps, who), step + 1, size);
        part.chunks(range.start, range.len(), size)
    };
    let halves = |step: u32| {
        let (axis, swings) = steps[step as usize];
        let partner = swing(port.coordinate(rank, axis), swings, port.torus.sizes[axis]);
        let peer = port.moved(rank, axis, partner);
        Halves { peer, own: half_of(rank, step), its: half_of(peer, step) }
    };
    halve_and_double(r, size.ilog2(), halves, tag).await;
}

/// The axis of each step, and the number of earlier steps along this axis.
fn steps(port: &Port) -> Vec<(usize, u32)> {
    let swings = |axis: usize| port.torus.sizes[axis].ilog2();
    let most = port.order.iter().map(|axis| swings(*axis)).max().unwrap_or(0);
    let all = (0..most).flat_map(|before| port.order.iter().map(move |axis| (*axis, before)));
    all.filter(|(axis, before)| *before < swings(*axis)).collect()
}

/// A label whose bit s differs between partners of step s. The bit comes from a rank's label along the step's axis.
fn torus_label(port: &Port, steps: &[(usize, u32)], rank: usize) -> usize {
    let labels: [usize; MOST_AXES] = from_fn(|axis| label(port.coordinate(rank, axis), port.torus.sizes[axis]));
    steps.iter().enumerate().map(|(step, (axis, before))| (labels[*axis] >> before & 1) << step).sum()
}

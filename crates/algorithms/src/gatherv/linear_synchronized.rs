//! Linear, synchronized: the root asks a rank for its block when it is ready for it, `window` ranks at a time.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_gather.c`, `ompi_coll_base_gather_intra_linear_sync`, with a window.
//! Needs: nothing; only the root knows the sizes of all blocks.
//! Counts: P-1 empty messages and P-1 messages of one block. No block arrives before the root has posted its receive.
//!
//! ```text
//! window = 2    0 ─▶ 1, 1 ──b1──▶ 0, 0 ─▶ 3, 3 ──b3──▶ 0
//!               0 ─▶ 2, 2 ──b2──▶ 0
//! ```

use hocket_core::{Call, Counts, Domain, Parameter, Rank, Span, Unit};

use crate::About;

/// How many ranks the root serves at a time.
pub const WINDOW: Parameter = Parameter {
    name: "window",
    unit: Unit::Count,
    default: 4,
    least: 1,
    tries: &[1],
    domain: Domain::Ranks,
    meaning: "ranks that the root serves at a time",
};

pub const ABOUT: About = About::new("(2*ceil(ports/k) - 1)*ceil((P-1)/window)*(2*alpha + n*beta)", "2*(P-1)")
    .exact_when(|c| matches!(c.counts, Counts::Equal(_)))
    .on_ports(at_a_time)
    .with_parameters(&[WINDOW]);

/// The most messages that the root receives or sends at a time.
pub fn at_a_time(c: &Call) -> usize {
    (c.parameter(WINDOW.name) as usize).min(c.ranks - 1).max(1)
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, input, result) = (r.rank(), c.input(r), c.result(r));
    if rank != c.root {
        r.recv(c.root, Span::EMPTY).await;
        r.send(c.root, input).await;
        return;
    }
    r.copy(input, c.block(result, rank)).await;
    for_others(r, c, async |peer| {
        r.send(peer, Span::EMPTY).await;
        r.recv(peer, c.block(result, peer)).await;
    })
    .await;
}

/// Serves all ranks but the root, as many at a time as the window has lanes.
pub async fn for_others(r: &Rank<'_>, c: &Call, serve: impl AsyncFn(usize)) {
    let window = at_a_time(c);
    let lane = async |lane| {
        for place in (lane..c.ranks - 1).step_by(window) {
            serve((c.root + 1 + place) % c.ranks).await;
        }
    };
    r.join_all((0..window).map(lane)).await;
}

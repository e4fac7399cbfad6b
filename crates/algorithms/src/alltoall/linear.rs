//! Linear: every rank is ready for all its blocks at once, and sends one after another, first to its right neighbour.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_alltoall.c`, `ompi_coll_base_alltoall_intra_basic_linear`, with one
//! send at a time; starting at the right neighbour keeps the ranks from all sending to the same one. With a window, a rank is ready for
//! the next blocks when those before are done, as in `ompi_coll_base_alltoall_intra_linear_sync`.
//! Needs: nothing.
//! Counts: P-1 messages of one block from each rank, one after another.
//!
//! ```text
//! 0 ─▶ 1, 0 ─▶ 2, 0 ─▶ 3, while 1 ─▶ 2, 1 ─▶ 3, 1 ─▶ 0, while 2 ─▶ 3, 2 ─▶ 0, 2 ─▶ 1, ..
//! ```

use hocket_core::{Call, Parameter, Rank, Unit};

use crate::pattern::input_apart_from_result;
use crate::{About, Steps};

const WINDOW: Parameter = Parameter {
    name: "window",
    unit: Unit::Count,
    default: 0,
    least: 0,
    tries: &[1, 3],
    meaning: "blocks that a rank sends, and is ready for, before it goes on to the next; 0: all",
};

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P*(P-1)").with_parameters(&[WINDOW]).paced(Steps {
    count: |c| c.ranks - 1,
    destination: |c, step, rank| (rank + step + 1) % c.ranks,
    elements: |c, _| c.count(0),
});

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let input = input_apart_from_result(r, c).await;
    r.copy(c.block(input, rank), c.block(result, rank)).await;
    let distances: Vec<_> = (1..size).collect();
    for window in distances.chunks(window_of(c)) {
        let receive = |distance: &usize| {
            let from = (rank + size - distance) % size;
            r.recv(from, c.block(result, from))
        };
        let sends = async {
            for distance in window {
                let to = (rank + distance) % size;
                r.send_with(to, c.block(input, to), Steps::options(c, distance - 1)).await;
            }
        };
        r.join(r.join_all(window.iter().rev().map(receive)), sends).await;
    }
}

/// The blocks of a window: never none.
fn window_of(c: &Call) -> usize {
    match c.parameter(WINDOW.name) {
        0 => c.ranks,
        given => usize::try_from(given).unwrap_or(c.ranks),
    }
}

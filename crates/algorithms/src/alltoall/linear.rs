//! Linear: every rank posts the receives of all its blocks, and sends its own blocks, first to its left neighbour.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_alltoall.c`, `ompi_coll_base_alltoall_intra_basic_linear`. Each rank
//! begins with another destination, so that not all ranks send to the same one. With `window`, a rank finishes some
//! blocks before it goes on to the next blocks, as in MPICH's `alltoall_intra_scattered`. Both libraries start all
//! sends of a window together.
//! Needs: nothing.
//! Counts: each rank sends P-1 messages of one block, in `windows` of `width` blocks and a `rest`: one at a time, or those
//! of a window together, as many at a time as it has ports.
//!
//! ```text
//! 0 ─▶ 3, 0 ─▶ 2, 0 ─▶ 1, while 1 ─▶ 0, 1 ─▶ 3, 1 ─▶ 2, while 2 ─▶ 1, 2 ─▶ 0, 2 ─▶ 3, ..
//! ```

use hocket_core::{Call, Domain, Parameter, Rank, Unit};

use crate::about::{ranks_divide_count, rotates};
use crate::shapes::input_apart_from_result;
use crate::{About, Steps};

const WINDOW: Parameter = Parameter {
    name: "window",
    unit: Unit::Count,
    default: 0,
    least: 0,
    tries: &[1, 3],
    domain: Domain::Ranks,
    meaning: "blocks that a rank sends and receives before it goes on to the next ones; 0: all blocks",
};

/// How a rank sends one message to each of several others.
pub const SENDS: Parameter = Parameter {
    name: "sends",
    unit: Unit::Choice(&["one_by_one", "together"]),
    default: 0,
    least: 0,
    tries: &[TOGETHER],
    domain: Domain::Word,
    meaning: "sends of a window: one_by_one, each after the one before; together, all at once, as libraries do",
};
pub const TOGETHER: u64 = 1;

pub const ABOUT: About = About::new("(windows*ceil(width/k) + ceil(rest/k))*(alpha + n*beta)", "P*(P-1)")
    .exact_when(|c| c.parameter(SENDS.name) != TOGETHER && ranks_divide_count(c))
    .on_ports(|c| if c.parameter(SENDS.name) == TOGETHER { window_of(c) } else { 1 })
    .with_parameters(&[WINDOW, SENDS])
    .completing(counts)
    .paced(Steps {
        count: |c| c.ranks - 1,
        destination: |c, step, rank| (rank + c.ranks - step - 1) % c.ranks,
        elements: |c, _| c.count(0),
    })
    .symmetric(rotates);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let input = input_apart_from_result(r, c).await;
    r.copy(c.block(input, rank), c.block(result, rank)).await;
    let distances: Vec<_> = (1..size).collect();
    for window in distances.chunks(window_of(c)) {
        let receive = |distance: &usize| {
            let from = (rank + distance) % size;
            r.recv(from, c.block(result, from))
        };
        let send = |distance: &usize| {
            let to = (rank + size - distance) % size;
            r.send_with(to, c.block(input, to), Steps::options(c, distance - 1))
        };
        r.join(r.join_all(window.iter().map(receive)), send_all(r, c, window.iter().map(send))).await;
    }
}

/// Runs the sends, one by one or together, as the call says.
pub async fn send_all<S: Future<Output = ()>>(r: &Rank<'_>, c: &Call, sends: impl Iterator<Item = S>) {
    if c.parameter(SENDS.name) == TOGETHER {
        r.join_all(sends).await;
    } else {
        for send in sends {
            send.await;
        }
    }
}

/// The number of blocks in a window, at least one.
fn window_of(c: &Call) -> usize {
    let all = (c.ranks - 1).max(1);
    match c.parameter(WINDOW.name) {
        0 => all,
        blocks => usize::try_from(blocks).map_or(all, |blocks| blocks.min(all)),
    }
}

/// The values in formulas: `windows` of this `width`, and the `rest`.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let (others, width) = (c.ranks - 1, window_of(c));
    vec![("windows", (others / width) as u64), ("width", width as u64), ("rest", (others % width) as u64)]
}

//! Linear with a window: the root sends blocks to `window` other ranks at a time.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_scatter.c`, `ompi_coll_base_scatter_intra_linear_nb`, with a window.
//! Needs: nothing; only the root knows the sizes of all blocks.
//! Counts: P-1 messages of one block. The root sends all of them, `window` at a time.
//!
//! ```text
//! window = 2    0 ──b1──▶ 1, 0 ──b3──▶ 3
//!               0 ──b2──▶ 2
//! ```

use hocket_core::{Call, Counts, Rank};

use crate::About;
use crate::gatherv::linear_synchronized::{WINDOW, at_a_time, for_others};

pub const ABOUT: About = About::new("(2*ceil(ports/k) - 1)*ceil((P-1)/window)*(alpha + n*beta)", "P-1")
    .exact_when(|c| matches!(c.counts, Counts::Equal(_)))
    .on_ports(at_a_time)
    .with_parameters(&[WINDOW]);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, result) = (c.input(r), c.result(r));
    if r.rank() != c.root {
        r.recv(c.root, result).await;
        return;
    }
    for_others(r, c, async |peer| r.send(peer, c.block(input, peer)).await).await;
    r.copy(c.block(input, c.root), result).await;
}

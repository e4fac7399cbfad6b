//! Linear: the root sends every other rank its block, one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_scatter.c`, `ompi_coll_base_scatter_intra_basic_linear`.
//! Needs: nothing.
//! Counts: P-1 messages of one block. The root sends all of them.
//!
//! ```text
//! 0 ──b1──▶ 1, 0 ──b2──▶ 2, 0 ──b3──▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::Star;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P-1");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (star, input, result) = (Star::new(r.rank(), c.root, r.size()), c.input(r), c.result(r));
    let mut rounds = Rounds::new(r, 1, star.others(), |step| star.peer(step));
    for step in star.steps() {
        rounds.enter(step).await;
        if r.rank() == c.root {
            r.send(star.other(step), c.block(input, star.other(step))).await;
        } else {
            r.recv(c.root, result).await;
        }
    }
    if r.rank() == c.root {
        r.copy(c.block(input, c.root), result).await;
    }
    rounds.end().await;
}

//! Linear: the root sends the message to every other rank, one after another.
//!
//! Source: Open MPI, `ompi/mca/coll/base/coll_base_bcast.c`, `ompi_coll_base_bcast_intra_basic_linear`.
//! Needs: nothing.
//! Counts: P-1 messages of n bytes, one after another.
//!
//! ```text
//! 0 ─▶ 1, 0 ─▶ 2, 0 ─▶ 3
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::Star;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("(P-1)*(alpha + n*beta)", "P-1").exact_when(|_| true);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (star, result) = (Star::new(r.rank(), c.root, r.size()), c.result(r));
    let mut rounds = Rounds::new(r, 1, star.others(), |step| star.peer(step));
    for step in star.steps() {
        rounds.enter(step).await;
        if r.rank() == c.root {
            r.send(star.other(step), result).await;
        } else {
            r.recv(c.root, result).await;
        }
    }
    rounds.end().await;
}

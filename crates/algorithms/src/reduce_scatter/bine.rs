//! Bine butterfly: in each step a rank gives half of its blocks to a partner at distance .., 11, 5, 3, 1, 1.
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! '25, arXiv 2508.17311.
//! Needs: a power of two of ranks, and a commutative operator: the combined ranges of ranks wrap around rank 0.
//! Counts: log2 P exchanges of n/2, n/4, .. n/P bytes, each of consecutive blocks on the circle of ranks. The first
//! partner is about P/3 away; in recursive halving it is P/2 away.
//!
//! ```text
//! rank 0 of 8 works on    6 7 0 1 2 3 4 5    gives 2 3 4 5 to rank 3
//!                         6 7 0 1            gives 6 7 to rank 7
//!                             0 1            gives 1 to rank 1
//!                             0              which is reduced
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative, needs_power_of_two};
use crate::shapes::bine::{Butterfly, Exchange};
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("log2(P)*alpha + (P-1)/P*(n*beta + n*gamma)", "P*log2(P)")
    .refusing(|c| needs_power_of_two(c).or_else(|| needs_commutative(c)))
    .combining("bine");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let butterfly = Butterfly::new(r.rank(), r.size());
    let (blocks, rotated, scratch) = (butterfly.blocks(c), r.scratch(c.total()), r.scratch(c.total()));
    blocks.rotate(r, c.input(r), rotated).await;
    let steps = butterfly.steps();
    let mut rounds = Rounds::new(r, 1, steps as usize, |round| Some(butterfly.exchange(steps - 1 - round as u32).peer));
    for step in (0..steps).rev() {
        rounds.enter((steps - 1 - step) as usize).await;
        let Exchange { peer, own, its } = butterfly.exchange(step);
        let own_blocks = blocks.part(rotated, own);
        let arrived = scratch.part(0, own_blocks.len);
        r.sendrecv(peer, blocks.part(rotated, its), peer, arrived).await;
        r.reduce(peer, arrived, own_blocks).await;
    }
    rounds.end().await;
    r.copy(blocks.part(rotated, butterfly.place()..butterfly.place() + 1), c.result(r)).await;
}

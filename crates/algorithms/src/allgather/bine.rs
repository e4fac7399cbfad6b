//! Bine butterfly: each step exchanges all blocks held so far with a partner at distance 1, 1, 3, 5, 11, ..
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! '25, arXiv 2508.17311. After every step, the blocks of a rank are consecutive on the circle of ranks.
//! Needs: a power of two of ranks.
//! Counts: log2 P exchanges of 1, 2, 4, .. P/2 blocks. The last exchange carries half of the blocks over a distance of
//! about P/3; in recursive doubling, that distance is P/2.
//!
//! ```text
//! rank    0   1   2   3   4   5   6   7
//! step 0  └───┘   └───┘   └───┘   └───┘     even ranks to the right by 1
//! step 1  ┘   └───┘   └───┘   └───┘   └     even ranks to the left by 1
//! step 2  └───────────┘                     even ranks to the right by 3: also 2-5, 4-7, 6-1
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_power_of_two};
use crate::shapes::bine::{Butterfly, Exchange};
use crate::shapes::rounds::Rounds;

pub const ABOUT: About = About::new("log2(P)*alpha + (P-1)*n*beta", "P*log2(P)").refusing(needs_power_of_two);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let butterfly = Butterfly::new(r.rank(), r.size());
    let (blocks, rotated) = (butterfly.blocks(c), r.scratch(c.total()));
    r.copy(c.input(r), blocks.part(rotated, butterfly.place()..butterfly.place() + 1)).await;
    let steps = butterfly.steps();
    let mut rounds = Rounds::new(r, 1, steps as usize, |step| Some(butterfly.exchange(step as u32).peer));
    for step in 0..steps {
        rounds.enter(step as usize).await;
        let Exchange { peer, own, its } = butterfly.exchange(step);
        r.sendrecv(peer, blocks.part(rotated, own), peer, blocks.part(rotated, its)).await;
    }
    rounds.end().await;
    blocks.restore(r, rotated, c.result(r)).await;
}

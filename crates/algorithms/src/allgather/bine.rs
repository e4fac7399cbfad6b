//! Bine butterfly: partners at distances 1, 1, 3, 5, 11, ..; the blocks of a rank lie in one piece of the circle after every step.
//!
//! Source: D. De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC '25, arXiv
//! 2508.17311.
//! Needs: a power of two of ranks.
//! Counts: log2 P exchanges of 1, 2, 4, .. P/2 blocks; the last one, of half of the blocks, with a rank P/3 away, where recursive doubling
//! has P/2.
//!
//! ```text
//! rank    0   1   2   3   4   5   6   7
//! step 0  └───┘   └───┘   └───┘   └───┘     even ranks to the right by 1
//! step 1  ┘   └───┘   └───┘   └───┘   └     to the left by 1
//! step 2  └───────────┘                     to the right by 3, and so for 2-5, 4-7, 6-1
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::about::needs_power_of_two;
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
    for (ordered, rotated) in blocks.pieces(c.result(r), rotated) {
        r.copy(rotated, ordered).await;
    }
}

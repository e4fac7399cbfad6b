//! Recursive doubling: in step k every rank exchanges half of its blocks with the rank whose number differs in bit k.
//!
//! A rank sends the blocks whose destinations differ from its own number in that bit. Some of them come from other
//! ranks.
//!
//! Source: S. L. Johnsson, C.-T. Ho, "Optimum broadcasting and personalized communication in hypercubes", IEEE Trans.
//! Computers 38 (1989): all-to-all personalised communication, standard exchange with store and forward.
//! Needs: a power of two of ranks.
//! Counts: log2 P exchanges of P/2 blocks.
//!
//! ```text
//! P = 8: the block from rank 1 to rank 6 has to change 1 XOR 6 = 111 (binary)
//! 1 ──bit 0──▶ 0 ──bit 1──▶ 2 ──bit 2──▶ 6
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, flips, needs_power_of_two};
use crate::shapes::packed_blocks;
use crate::shapes::rounds::Rounds;

pub const ABOUT: About =
    About::new("log2(P)*(alpha + P/2*n*beta)", "P*log2(P)").refusing(needs_power_of_two).symmetric(flips);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let rank = r.rank();
    store_and_forward(r, c, |step| rank ^ (1 << step), |way| rank ^ way, |way| rank ^ way).await;
}

/// The way of a block is a number with one bit per step. The block moves in the steps whose bits are 1. A block with
/// this way goes from this rank to rank `to(way)`; another one comes from rank `from(way)`.
pub async fn store_and_forward(
    r: &Rank<'_>,
    c: &Call,
    peer: impl Fn(usize) -> usize,
    to: impl Fn(usize) -> usize,
    from: impl Fn(usize) -> usize,
) {
    let (size, input, result) = (r.size(), c.input(r), c.result(r));
    let [travelling, outgoing, arrived] = [(); 3].map(|()| r.scratch(c.total()));
    for way in 0..size {
        r.copy(c.block(input, to(way)), c.block(travelling, way)).await;
    }
    let steps = size.ilog2() as usize;
    let mut rounds = Rounds::new(r, 1, steps, |step| Some(peer(step)));
    for step in 0..steps {
        rounds.enter(step).await;
        let (bit, peer) = (1 << step, peer(step));
        let moving: Vec<_> = (0..size).filter(|way| way & bit != 0).collect();
        for (ordered, packed) in packed_blocks(c, &moving, travelling, outgoing) {
            r.copy(ordered, packed).await;
        }
        r.sendrecv(peer, c.blocks(outgoing, 0, size / 2), peer, c.blocks(arrived, 0, size / 2)).await;
        for (ordered, packed) in packed_blocks(c, &moving, travelling, arrived) {
            r.copy(packed, ordered).await;
        }
    }
    rounds.end().await;
    for way in 0..size {
        r.copy(c.block(travelling, way), c.block(result, from(way))).await;
    }
}

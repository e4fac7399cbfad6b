//! Bruck: in round k all blocks whose way to go has bit k set travel 2^k ranks to the right, in one message.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
//! in multiport message-passing systems", IEEE TPDS 8 (1997).
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds of P/2 blocks; of at most P/2 when P is not a power of two.
//!
//! ```text
//! the block from rank 1 to rank 6 of 8 has 5 = 101 (binary) to go:    1 ──bit 0──▶ 2 ──bit 2──▶ 6
//! ```

use hocket_core::{Call, Rank};

use crate::About;

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + P/2*n*beta)", "P*ceil(log2(P))")
    .exact_when(|c| c.ranks.is_power_of_two());

pub async fn program(r: &impl Rank, c: &Call) {
    let (rank, size, input, result) = (r.rank(), r.size(), c.input(r), c.result(r));
    let travelling = r.scratch(c.total());
    let (outgoing, arrived) = (r.scratch(c.total()), r.scratch(c.total()));
    for way in 0..size {
        r.copy(c.block(input, (rank + way) % size), c.block(travelling, way)).await;
    }
    let mut distance = 1;
    while distance < size {
        let moving: Vec<_> = (0..size).filter(|way| way & distance != 0).collect();
        for (i, way) in moving.iter().enumerate() {
            r.copy(c.block(travelling, *way), c.block(outgoing, i)).await;
        }
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        let packed = |span| c.blocks(span, 0, moving.len());
        r.sendrecv(to, packed(outgoing), from, packed(arrived)).await;
        for (i, way) in moving.iter().enumerate() {
            r.copy(c.block(arrived, i), c.block(travelling, *way)).await;
        }
        distance *= 2;
    }
    for way in 0..size {
        r.copy(c.block(travelling, way), c.block(result, (rank + size - way) % size)).await;
    }
}

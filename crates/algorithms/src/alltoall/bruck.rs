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

use crate::{About, Steps};

pub const ABOUT: About = About::new("ceil(log2(P))*(alpha + P/2*n*beta)", "P*ceil(log2(P))")
    .exact_when(|c| c.ranks.is_power_of_two())
    .paced(Steps {
        count: |c| c.ranks.next_power_of_two().ilog2() as usize,
        destination: |c, step, rank| (rank + (1 << step)) % c.ranks,
        elements: |c, step| moving(c, 1 << step).count() * c.count(0),
    });

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, input, result) = (r.rank(), r.size(), c.input(r), c.result(r));
    let travelling = r.scratch(c.total());
    let (outgoing, arrived) = (r.scratch(c.total()), r.scratch(c.total()));
    for way in 0..size {
        r.copy(c.block(input, (rank + way) % size), c.block(travelling, way)).await;
    }
    let mut step = 0;
    while 1 << step < size {
        let distance = 1 << step;
        let moving: Vec<_> = moving(c, distance).collect();
        for (i, way) in moving.iter().enumerate() {
            r.copy(c.block(travelling, *way), c.block(outgoing, i)).await;
        }
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        let packed = |span| c.blocks(span, 0, moving.len());
        let send = r.send_with(to, packed(outgoing), Steps::options(c, step));
        r.join(send, r.recv(from, packed(arrived))).await;
        for (i, way) in moving.iter().enumerate() {
            r.copy(c.block(arrived, i), c.block(travelling, *way)).await;
        }
        step += 1;
    }
    for way in 0..size {
        r.copy(c.block(travelling, way), c.block(result, (rank + size - way) % size)).await;
    }
}

/// Ways to go that have a bit set.
fn moving(c: &Call, bit: usize) -> impl Iterator<Item = usize> {
    (0..c.ranks).filter(move |way| way & bit != 0)
}

//! Sparbit: blocks travel over distances that halve from step to step, so most data goes to the nearest ranks.
//!
//! Source: W. Loch, G. Koslovski, "Sparbit: a new logarithmic-cost and data locality-aware MPI Allgather algorithm",
//! arXiv:2109.08751; Open MPI, `ompi/mca/coll/base/coll_base_allgather.c`. Open MPI sends the blocks of a step one by
//! one; here, they are one message.
//! Needs: nothing.
//! Counts: ceil(log2 P) steps, which carry P-1 blocks together. Before the step of distance d, a rank has the blocks of
//! the ranks 0, 2 d, 4 d, .. places to its left. The step brings the blocks of the ranks d, 3 d, 5 d, .. places to its
//! left.
//!
//! ```text
//! rank 5 of 6 has    5                receives from    1: block 1
//!                    5 1                               3: block 3
//!                    5 3 1                             4: blocks 4 2 0
//! ```

use hocket_core::{Call, Rank, Span};

use crate::about::{About, rotates_evenly};

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P*ceil(log2(P))").symmetric(rotates_evenly);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let (outgoing, arriving) = (r.scratch(c.total()), r.scratch(c.total()));
    r.copy(c.input(r), c.block(result, rank)).await;
    let steps = size.next_power_of_two().ilog2();
    for distance in (0..steps).rev().map(|step| 1 << step) {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        let blocks_of = |rank: usize| (distance..size).step_by(2 * distance).map(move |way| (rank + size - way) % size);
        let (sent, received) = (BlockRow::new(c, blocks_of(to), outgoing), BlockRow::new(c, blocks_of(rank), arriving));
        for (block, place) in &sent.places {
            r.copy(c.block(result, *block), *place).await;
        }
        r.sendrecv(to, sent.whole, from, received.whole).await;
        for (block, place) in &received.places {
            r.copy(*place, c.block(result, *block)).await;
        }
    }
}

/// Blocks that are packed one after another.
struct BlockRow {
    places: Vec<(usize, Span)>,
    whole: Span,
}

impl BlockRow {
    fn new(c: &Call, blocks: impl Iterator<Item = usize>, room: Span) -> Self {
        let mut end = 0;
        let place = |block| {
            let start = end;
            end += c.count(block);
            (block, room.part(start, c.count(block)))
        };
        Self { places: blocks.map(place).collect(), whole: room.part(0, end) }
    }
}

//! Bruck: each rank keeps the blocks in the order that begins with its own, and doubles their number in each round.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
//! in multiport message-passing systems", IEEE TPDS 8 (1997).
//! Needs: nothing.
//! Counts: ceil(log2 P) rounds of 1, 2, 4, .. blocks, the last one of as many as are missing.
//!
//! ```text
//! rank 1 of 5 has    1              receives from    2: block 2
//!                    1 2                             3: blocks 3 4
//!                    1 2 3 4                         0: block 0
//!                    1 2 3 4 0      and puts them in order
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::pattern::rotated_blocks;

pub const ABOUT: About = About::new("ceil(log2(P))*alpha + (P-1)*n*beta", "P*ceil(log2(P))");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let rotation = rotated_blocks(c, rank);
    let rotated = r.scratch(c.total());
    r.copy(c.input(r), rotation.part(rotated, 0..1)).await;
    let mut here = 1;
    while here < size {
        let more = here.min(size - here);
        let (to, from) = ((rank + size - here) % size, (rank + here) % size);
        r.sendrecv(to, rotation.part(rotated, 0..more), from, rotation.part(rotated, here..here + more)).await;
        here += more;
    }
    for (ordered, rotated) in rotation.pieces(c.result(r), rotated) {
        r.copy(rotated, ordered).await;
    }
}

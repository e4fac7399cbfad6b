//! Bruck: in each round a rank receives the blocks that follow the ones it has, until it has k times as many.
//!
//! Each rank stores the blocks in the order that begins with its own block, and puts them in rank order at the end. k
//! is the parameter `radix`.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
//! in multiport message-passing systems", IEEE TPDS 8 (1997), section 4, for k-1 ports.
//! Needs: nothing.
//! Counts: ceil(logk P) rounds. In a round, a rank sends up to k-1 messages at a time, of 1, k, k^2, .. blocks; the
//! last messages are shorter when fewer blocks are missing.
//!
//! ```text
//! rank 1 of 5 has    1              receives from    2: block 2
//!                    1 2                             3: blocks 3 4
//!                    1 2 3 4                         0: block 0
//!                    1 2 3 4 0      and puts them in order
//!
//! with radix 3       1              receives from    2: block 2      3: block 3
//!                    1 2 3                           4: blocks 4 0
//! ```

use hocket_core::{Call, Parameter, Rank};

use crate::about::{About, rotates_evenly};
use crate::shapes::radix::{counts_by_digits, distances, most_others, powers, radix};
use crate::shapes::rotated_blocks;

const RADIX: Parameter =
    radix(2, "a round multiplies a rank's blocks by the radix: it receives from radix - 1 others at a time");

pub const ABOUT: About = About::new("(2*ceil(ports/k)-1)*(rounds*alpha + blocks*n*beta)", "P*others")
    .on_ports(most_others)
    .with_parameters(&[RADIX])
    .completing(counts_by_digits)
    .symmetric(rotates_evenly)
    .but_for_copies();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let rotation = rotated_blocks(c, rank);
    let rotated = r.scratch(c.total());
    r.copy(c.input(r), rotation.part(rotated, 0..1)).await;
    for power in powers(c) {
        let exchange = |distance: usize| {
            let more = power.min(size - distance);
            let (to, from) = ((rank + size - distance) % size, (rank + distance) % size);
            let arriving = rotation.part(rotated, distance..distance + more);
            r.sendrecv(to, rotation.part(rotated, 0..more), from, arriving)
        };
        // With radix 2, a rank has one exchange at a time and needs no branches.
        if most_others(c) == 1 {
            exchange(power).await;
        } else {
            r.join_all(distances(c, power).map(exchange)).await;
        }
    }
    rotation.restore(r, rotated, c.result(r)).await;
}

//! Parallel aggregated trees: each rank's block goes down a binomial tree of its own, the farthest children first, all trees at once.
//!
//! Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252 (2025).
//! Needs: nothing.
//! Counts: ceil(log2 P) steps at distances .., 4, 2, 1; few blocks go far, and most to the neighbour. A message has up to `aggregate`
//! blocks, which is what a rank has to have room for besides the result.
//!
//! ```text
//! P = 6, aggregate = 2    step 1    to rank + 4: the own block
//!                         step 2    to rank + 2: the own block
//!                         step 3    to rank + 1: the own block and that of rank - 2, then that of rank - 4
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::pat::{AGGREGATE, blocks, messages, packed, room, steps};

pub const ABOUT: About =
    About::new("each*alpha + (P-1)*n*beta", "P*each").with_parameters(&[AGGREGATE]).completing(messages);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    r.copy(c.input(r), c.block(result, rank)).await;
    let (to_send, to_receive) = (room(r, c), room(r, c));
    for step in steps(c) {
        let (to, from) = ((rank + step.distance) % size, (rank + size - step.distance) % size);
        for children in &step.messages {
            let parents: Vec<_> = children.iter().map(|place| place - step.distance).collect();
            let (sent, arrived) = (packed(r, c, &parents, to_send), packed(r, c, children, to_receive));
            for (block, room) in blocks(r, c, &parents, sent) {
                r.copy(c.block(result, block), room).await;
            }
            r.sendrecv(to, sent, from, arrived).await;
            for (block, room) in blocks(r, c, children, arrived) {
                r.copy(room, c.block(result, block)).await;
            }
        }
    }
}

//! Parallel aggregated trees: each rank's block is summed up along a binomial tree of its own, the nearest children first, all trees at once.
//!
//! Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252 (2025).
//! Needs: a commutative operator, since the ranks of a tree wrap around rank 0.
//! Counts: ceil(log2 P) steps at distances 1, 2, 4, ..; most blocks go to the neighbour, and few go far. A message has up to `aggregate`
//! blocks, which is what a rank has to have room for besides the vector.
//!
//! ```text
//! P = 6, aggregate = 2    step 1    to rank - 1: what is meant for rank - 1 and rank - 3, then for rank - 5
//!                         step 2    to rank - 2: what is meant for rank - 2
//!                         step 3    to rank - 4: what is meant for rank - 4
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::about::needs_commutative;
use crate::shapes::pat::{AGGREGATE, blocks, messages, packed, room, steps};

pub const ABOUT: About = About::new("each*alpha + (P-1)/P*(n*beta + n*gamma)", "P*each")
    .refusing(needs_commutative)
    .with_parameters(&[AGGREGATE])
    .completing(messages);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size) = (r.rank(), r.size());
    let total = r.scratch(c.total());
    r.copy(c.input(r), total).await;
    let (to_send, to_receive) = (room(r, c), room(r, c));
    for step in steps(c).rev() {
        let (to, from) = ((rank + size - step.distance) % size, (rank + step.distance) % size);
        for children in &step.messages {
            let parents: Vec<_> = children.iter().map(|place| place - step.distance).collect();
            let (sent, arrived) = (packed(r, c, children, to_send), packed(r, c, &parents, to_receive));
            for (block, room) in blocks(r, c, children, sent) {
                r.copy(c.block(total, block), room).await;
            }
            r.sendrecv(to, sent, from, arrived).await;
            for (block, room) in blocks(r, c, &parents, arrived) {
                r.reduce(from, room, c.block(total, block)).await;
            }
        }
    }
    r.copy(c.block(total, rank), c.result(r)).await;
}

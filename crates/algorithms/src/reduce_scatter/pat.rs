//! Parallel aggregated trees: each block is summed along its own binomial tree; all trees run at once, share messages.
//!
//! The program is allgather pat, run backwards. The tree of block b is the tree of block 0, with b added to every rank.
//! In each step, all trees send over the same distance, shortest first. So a rank has one partner per step, and sends
//! it its partial sums of all blocks of the step, up to `aggregate` blocks in a message.
//!
//! Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252
//! (2025).
//! Needs: a commutative operator: the ranks of a tree wrap around rank 0.
//! Counts: ceil(log2 P) steps of distances 1, 2, 4, .. Each rank sends P-1 blocks: about half of them go to the left
//! neighbour, and few go far. Besides the vector, a rank needs buffers for one message to send and one to receive:
//! `aggregate` blocks each.
//!
//! ```text
//! P = 6    the tree of block 0                  what rank 0 sends, aggregate = 2
//! step 1   0 ◀─ 1     2 ◀─ 3    4 ◀─ 5          to 5: blocks 5 and 3 in one message, then block 1
//! step 2   0 ◀─────── 2                         to 4: block 4
//! step 3   0 ◀───────────────── 4               to 2: block 2
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, needs_commutative, rotates_evenly};
use crate::shapes::pat::{AGGREGATE, blocks, messages, packed, room, steps};

pub const ABOUT: About = About::new("each*alpha + (P-1)/P*(n*beta + n*gamma)", "P*each")
    .refusing(needs_commutative)
    .with_parameters(&[AGGREGATE])
    .completing(messages)
    .combining("pat")
    .symmetric(rotates_evenly);

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

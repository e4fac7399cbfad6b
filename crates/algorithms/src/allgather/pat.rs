//! Parallel aggregated trees: each block goes down its own binomial tree; all trees run at once and share messages.
//!
//! The tree of block b is the tree of block 0, with b added to every rank. In each step, all trees send over the same
//! distance, longest first. So a rank has one partner per step, and sends it all blocks of the step, up to `aggregate`
//! blocks in a message.
//!
//! Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252
//! (2025).
//! Needs: nothing.
//! Counts: ceil(log2 P) steps of distances .., 4, 2, 1. Each rank sends P-1 blocks: few of them go far, and about half
//! go to the right neighbour. Besides the result, a rank needs buffers for one message to send and one to receive:
//! `aggregate` blocks each.
//!
//! ```text
//! P = 6    the tree of block 0                  what rank 0 sends, aggregate = 2
//! step 1   0 ─────────────────▶ 4               to 4: block 0
//! step 2   0 ───────▶ 2                         to 2: block 0
//! step 3   0 ─▶ 1     2 ─▶ 3    4 ─▶ 5          to 1: blocks 0 and 4 in one message, then block 2
//! ```

use hocket_core::{Call, Rank};

use crate::about::{About, rotates_evenly};
use crate::shapes::pat::{AGGREGATE, blocks, messages, packed, room, steps};

pub const ABOUT: About = About::new("each*alpha + (P-1)*n*beta", "P*each")
    .with_parameters(&[AGGREGATE])
    .completing(messages)
    .symmetric(rotates_evenly);

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

//! Multi-ring: rings side by side, each with its part of every block, which leave a group of ranks by different ranks.
//!
//! On a ring, only one rank of a node sends to the next node, so a single ring uses one card of a node; k rings use k
//! cards. NCCL calls a ring a channel.
//!
//! Source: NCCL, `src/device/reduce_scatter.h` and `src/graph/connect.cc`.
//! Needs: a commutative operator: each block is combined in the order of its ring.
//! Counts: P-1 rounds. In each round and on each ring, a rank sends one chunk of about n/P/channels. If chunks would be
//! longer than `chunk`, there are several loops of so many rounds.
//!
//! ```text
//! 2 groups of 2, 2 channels     channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
//!                               channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
//! ```

use hocket_core::{Call, Rank};

use super::ring::add_on_ring;
use crate::about::{About, needs_commutative};
use crate::shapes::Ring;
use crate::shapes::channels::{ChannelOrder, Shares, channels, layout, longest};

pub const ABOUT: About =
    About::new("(P-1)*(ceil(channels/k)*(loops*alpha + chunks*beta) + chunks*gamma)", "P*(P-1)*all_loops")
        .refusing(needs_commutative)
        .completing(|c| [layout(c, channels(c).len()), Shares::counts(c)].concat())
        .in_channels();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, result, shares) = (c.input(r), c.result(r), Shares::of(c));
    let sums = if c.in_place { r.scratch(result.len) } else { result }; // in place, other channels still send from there
    r.join_all(channels(c).map(async |channel| {
        let order = ChannelOrder::new(c, channel, channels(c).len());
        let ring = Ring::of_channel(c, r.rank(), channel);
        let most = shares.of_block(longest(c), channel, 0).len;
        let scratch = [r.scratch(most), r.scratch(most)];
        for number in 0..shares.loops {
            let block = |position| c.block(input, Ring::rank_at(&order, position));
            let chunk = |position| shares.of_block(block(position), channel, number);
            let sum = add_on_ring(r, &ring, scratch, chunk).await;
            r.copy(sum, shares.of_block(sums, channel, number)).await;
        }
    }))
    .await;
    if c.in_place {
        r.copy(sums, result).await;
    }
}

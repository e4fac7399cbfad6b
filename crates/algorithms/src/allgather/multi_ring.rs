//! Multi-ring: rings side by side, each with its part of every block, which leave a group of ranks by different ranks.
//!
//! On a ring, only one rank of a node sends to the next node, so a single ring uses one card of a node; k rings use k
//! cards. NCCL calls a ring a channel.
//!
//! Source: NCCL, `src/device/all_gather.h` and `src/graph/connect.cc`.
//! Needs: nothing.
//! Counts: P-1 rounds. In each round and on each ring, a rank sends one chunk of about n/channels. If chunks would be
//! longer than `chunk`, there are several loops of so many rounds.
//!
//! ```text
//! 2 groups of 2, 2 channels     channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
//!                               channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::allreduce::ring::allgather;
use crate::shapes::Ring;
use crate::shapes::channels::{ChannelOrder, Shares, channels, layout};

pub const ABOUT: About = About::new("(P-1)*ceil(channels/k)*(loops*alpha + chunks*beta)", "P*(P-1)*all_loops")
    .completing(|c| [layout(c, channels(c).len()), Shares::counts(c)].concat())
    .in_channels();

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (result, shares) = (c.result(r), Shares::of(c));
    r.copy(c.input(r), c.block(result, r.rank())).await;
    r.join_all(channels(c).map(async |channel| {
        let (ring, order) = (Ring::of_channel(c, r.rank(), channel), ChannelOrder::new(c, channel, channels(c).len()));
        let block = |position| c.block(result, Ring::rank_at(&order, position));
        for number in 0..shares.loops {
            allgather(r, &ring, |position| shares.of_block(block(position), channel, number)).await;
        }
    }))
    .await;
}

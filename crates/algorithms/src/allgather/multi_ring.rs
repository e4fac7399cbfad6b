//! Multi-ring: rings side by side, each with its part of every block, which leave a group of ranks by different ranks.
//!
//! On a ring, only one rank of a node sends to the next node, so a single ring uses one card of a node; k rings use k
//! cards. NCCL calls a ring a channel.
//!
//! Source: NCCL, `src/device/all_gather.h` and `src/graph/connect.cc`.
//! Needs: nothing.
//! Counts: P-1 rounds. In each round and on each ring, a rank sends its part of one block, about n/channels.
//!
//! ```text
//! 2 groups of 2, 2 channels     channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
//!                               channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
//! ```

use hocket_core::{Call, Rank};

use crate::About;
use crate::shapes::Ring;
use crate::shapes::channels::{CHANNELS, channels, counts_of_blocks};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, group};

pub const ABOUT: About = About::new("(P-1)*ceil(channels/k)*(alpha + part*beta)", "channels*P*(P-1)")
    .exact_when(|_| false)
    .on_ports(|c| channels(c).len())
    .with_parameters(&[CHANNELS, GROUP])
    .completing(|c| [group(c), counts_of_blocks(c)].concat());

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (result, levels, count) = (c.result(r), Levels::of(c), channels(c).len());
    r.copy(c.input(r), c.block(result, r.rank())).await;
    r.join_all(channels(c).map(async |channel| {
        let Ring { previous, next, tag, .. } = Ring::of_channel(c, r.rank(), channel);
        let part = |owner| c.block(result, owner).chunk(channel, count);
        let mut owner = r.rank();
        for _ in 1..c.ranks {
            let former = Ring::predecessor(c, &levels, owner, channel);
            r.sendrecv_with((next, part(owner)), (previous, part(former)), tag).await;
            owner = former;
        }
    }))
    .await;
}

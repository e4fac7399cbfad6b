//! Multi-ring: rings side by side, each with its part of every block, which leave a group of ranks by different ranks.
//!
//! On a ring, only one rank of a node sends to the next node, so a single ring uses one card of a node; k rings use k
//! cards. NCCL calls a ring a channel.
//!
//! Source: NCCL, `src/device/reduce_scatter.h` and `src/graph/connect.cc`.
//! Needs: a commutative operator: each block is combined in the order of a ring, starting behind its own rank.
//! Counts: P-1 rounds. In each round and on each ring, a rank sends its part of one block, about n/P/channels.
//!
//! ```text
//! 2 groups of 2, 2 channels     channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
//!                               channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
//! ```

use hocket_core::{Call, Rank, Side};

use crate::About;
use crate::about::needs_commutative;
use crate::shapes::Ring;
use crate::shapes::channels::{CHANNELS, channels, counts_of_blocks};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, group};

pub const ABOUT: About =
    About::new("(P-1)*(ceil(channels/k)*(alpha + part*beta) + part*gamma)", "channels*P*(P-1)")
        .exact_when(|_| false)
        .on_ports(|c| channels(c).len())
        .refusing(needs_commutative)
        .with_parameters(&[CHANNELS, GROUP])
        .completing(|c| [group(c), counts_of_blocks(c)].concat());

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (input, levels, count) = (c.input(r), Levels::of(c), channels(c).len());
    let largest = (0..c.ranks).map(|i| c.count(i)).max().unwrap_or(0).div_ceil(count);
    let sums = r.join_all(channels(c).map(async |channel| {
        let Ring { previous, next, tag, .. } = Ring::of_channel(c, r.rank(), channel);
        let part = |owner| c.block(input, owner).chunk(channel, count);
        let scratch = [r.scratch(largest), r.scratch(largest)];
        let mut owner = previous;
        let mut outgoing = part(owner);
        for step in 1..c.ranks {
            owner = Ring::predecessor(c, &levels, owner, channel);
            let arrived = scratch[step % 2].part(0, part(owner).len);
            r.sendrecv_with((next, outgoing), (previous, arrived), tag).await;
            r.combine(part(owner), arrived, Side::Right).await;
            outgoing = arrived;
        }
        outgoing
    }));
    for (channel, sum) in sums.await.into_iter().enumerate() {
        r.copy(sum, c.result(r).chunk(channel, count)).await;
    }
}

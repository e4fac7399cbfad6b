//! Multi-ring: rings side by side, each with its part of the vector, which leave a group of ranks by different ranks.
//!
//! On a ring, only one rank of a node sends to the next node, so a single ring uses one card of a node; k rings use k
//! cards. Every ring is a reduce_scatter and an allgather, as in allreduce ring. NCCL calls a ring a channel.
//!
//! Source: NCCL, `src/device/all_reduce.h` and `src/graph/connect.cc`; a single ring: P. Patarasuk, X. Yuan, "Bandwidth
//! optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).
//! Needs: a commutative operator: each chunk is combined in the order of its ring.
//! Counts: 2 (P-1) rounds. In each round and on each ring, a rank sends one chunk of about n/P/channels. If chunks would
//! be longer than `chunk`, there are several loops of so many rounds.
//!
//! ```text
//! 2 groups of 2, 2 channels     channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
//!                               channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
//! ```

use hocket_core::{Buffer, Call, Rank, Span};

use super::ring::{allgather, reduce_scatter};
use crate::about::{About, needs_commutative};
use crate::shapes::channels::{CHUNK, channels, layout};
use crate::shapes::{Ring, Segments};

pub const ABOUT: About =
    About::new("(P-1)*(2*ceil(channels/k)*(loops*alpha + chunks*beta) + chunks*gamma)", "2*P*(P-1)*all_loops")
        .refusing(needs_commutative)
        .completing(|c| [layout(c, channels(c).len()), counts(c)].concat())
        .in_channels();

/// Names for the formulas: `loops` and `chunks` of the longest channel, `all_loops` of all channels. `chunks` are the bytes
/// that a rank sends in a round, in all loops together.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let parts_of = |channel| parts(c, Span::new(Buffer::Result, c.count(0)), channel);
    let longest = parts_of(0);
    let chunk = |part| (longest.get(part).chunk(0, c.ranks).len * c.element_bytes) as u64;
    vec![
        ("loops", longest.count() as u64),
        ("chunks", (0..longest.count()).map(chunk).sum()),
        ("all_loops", channels(c).map(|channel| parts_of(channel).count() as u64).sum()),
    ]
}

/// The parts of a channel that go round one after the other.
fn parts(c: &Call, vector: Span, channel: usize) -> Segments {
    let elements = (c.parameter(CHUNK.name) as usize / c.element_bytes).saturating_mul(c.ranks);
    Segments::of(vector.chunk(channel, channels(c).len()), elements)
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    r.copy(c.input(r), result).await;
    r.join_all(channels(c).map(async |channel| {
        let ring = Ring::of_channel(c, r.rank(), channel);
        let parts = parts(c, result, channel);
        for part in 0..parts.count() {
            let chunk = |i| parts.get(part).chunk(i, ring.size);
            reduce_scatter(r, &ring, chunk).await;
            allgather(r, &ring, chunk).await;
        }
    }))
    .await;
}

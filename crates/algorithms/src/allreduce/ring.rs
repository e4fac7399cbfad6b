//! Ring: reduce_scatter once round the ring, then allgather once round the ring.
//!
//! With several channels, each goes round a ring of its own with its part of the vector.
//!
//! Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69
//! (2009). Channels and loops: NCCL, `src/device/all_reduce.h`.
//! Needs: a commutative operator: each chunk is combined in the order of the ring, starting behind its own rank.
//! Counts: 2 (P-1) rounds. In each round, a rank sends one chunk of about n/P. If n/P is longer than `chunk`, there are
//! several loops of so many rounds. With one channel and one loop, the time is
//! 2 (P-1) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma.
//!
//! ```text
//! round 1, chunk c starts at rank c+1:   0 ──c3──▶ 1 ──c0──▶ 2 ──c1──▶ 3 ──c2──▶ 0
//! after P-1 rounds rank r has reduced chunk r; then the chunks go round once more
//! ```

use hocket_core::{Buffer, Call, Parameter, Rank, Span};

use crate::About;
use crate::about::{SEGMENT, needs_commutative, ranks_divide_count, rotates_evenly};
use crate::broadcast::tree::WHOLE_BYTES;
use crate::shapes::channels::{CHANNELS, channels};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::group;
use crate::shapes::{Ring, Segments};

const CHUNK: Parameter = Parameter {
    name: "chunk",
    default: WHOLE_BYTES,
    meaning: "bytes of the longest chunk: longer vectors go round in several loops, one after the other",
    ..SEGMENT
};

pub const ABOUT: About = About::new(
    "(P-1)*(2*ceil(channels/k)*(loops*alpha + chunks*beta) + chunks*gamma)",
    "2*P*(P-1)*all_loops",
)
.exact_when(|c| is_plain(c) && ranks_divide_count(c))
.on_ports(|c| c.parameter(CHANNELS.name) as usize)
.refusing(needs_commutative)
.with_parameters(&[CHANNELS, CHUNK, GROUP])
.completing(|c| [group(c), counts(c)].concat())
.symmetric(|c| rotates_evenly(c).filter(|_| is_plain(c)));

/// Whether the call has one channel and one loop.
fn is_plain(c: &Call) -> bool {
    channels(c).len() == 1 && loops(c, 0) == 1
}

/// Names for the formulas: `loops` and `chunks` of the longest channel, `all_loops` of all channels. `chunks` are the bytes
/// that a rank sends in a round, in all loops together.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let longest = parts(c, Span::new(Buffer::Result, c.count(0)), 0);
    let chunk = |part| (longest.get(part).chunk(0, c.ranks).len * c.element_bytes) as u64;
    vec![
        ("loops", loops(c, 0)),
        ("chunks", (0..longest.count()).map(chunk).sum()),
        ("all_loops", channels(c).map(|channel| loops(c, channel)).sum()),
    ]
}

/// Number of times that the part of a channel goes round.
fn loops(c: &Call, channel: usize) -> u64 {
    parts(c, Span::new(Buffer::Result, c.count(0)), channel).count() as u64
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
            allreduce(r, &ring, parts.get(part)).await;
        }
    }))
    .await;
}

/// Reduces a vector in one chunk per rank.
pub async fn allreduce(r: &Rank<'_>, ring: &Ring, vector: Span) {
    let chunk = |i| vector.chunk(i, ring.size);
    reduce_scatter(r, ring, chunk).await;
    allgather(r, ring, chunk).await;
}

/// Reduces the chunk whose number is the rank's position.
pub async fn reduce_scatter(r: &Rank<'_>, ring: &Ring, chunk: impl Fn(usize) -> Span) {
    let Ring { position, size, previous, next, tag } = *ring;
    let chunk = |i: usize| chunk(i % size);
    let scratch = r.scratch((0..size).map(|i| chunk(i).len).max().unwrap_or(0));
    for step in 1..size {
        let (outgoing, incoming) = (chunk(position + size - step), chunk(position + 2 * size - step - 1));
        let arrived = scratch.part(0, incoming.len);
        r.sendrecv_with((next, outgoing), (previous, arrived), tag).await;
        r.reduce(previous, arrived, incoming).await;
    }
}

/// Gives every rank all chunks. Each rank has the chunk whose number is its position.
pub async fn allgather(r: &Rank<'_>, ring: &Ring, chunk: impl Fn(usize) -> Span) {
    let Ring { position, size, previous, next, tag } = *ring;
    let chunk = |i: usize| chunk(i % size);
    for step in 0..size - 1 {
        let (outgoing, incoming) = (chunk(position + size - step), chunk(position + 2 * size - step - 1));
        r.sendrecv_with((next, outgoing), (previous, incoming), tag).await;
    }
}

//! Double tree: binary trees between groups, a chain within each group; sums go up and results go down, in segments.
//!
//! Each channel reduces and broadcasts its part of the vector along one tree over all ranks. Even channels use one
//! binary tree over the groups, odd channels its mirror image, in which the leaves of the first one are interior nodes.
//! The first rank of a group's chain has the parent and one child in other groups, the second rank the other child.
//! Chains of different channels begin at different ranks.
//!
//! Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
//! Parallel Computing 35 (2009); NCCL, `src/graph/trees.cc` and `src/graph/connect.cc`.
//! Needs: a commutative operator: a rank combines its group's part before the sums of other groups.
//! Counts: 2 (P-1) messages for each segment of each channel. The formula for time is an upper bound.
//!
//! ```text
//! 3 groups of 2, channel 0     sums                        results
//!                              0 ◀─ 1 ◀─ 4 ◀─ 5            0 ─▶ 1 ─▶ 4 ─▶ 5
//!                                        ▲                           │
//!                                        └── 2 ◀─ 3                  └──▶ 2 ─▶ 3
//! ```

use hocket_core::{Buffer, Call, Parameter, Rank, Span, Tag};

use crate::About;
use crate::about::{SEGMENT, needs_commutative};
use crate::automatic::segments;
use crate::shapes::channels::{CHANNELS, channels, layout, turn};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::Levels;
use crate::shapes::pipeline::{self, Place, TAGS};
use crate::shapes::{Segments, TreeNode, tree_node};

const TREES: Parameter = Parameter {
    meaning: "trees side by side, each with its part of the vector; they leave a group of ranks by different ranks. \
              0: one for each rank of a group, at most 8; 2 for one group, or if nodes are unknown",
    ..CHANNELS
};

/// The most messages that a rank sends at a time in a channel: a sum to its parent, results to three children.
const NEIGHBOURS: usize = 4;

pub const ABOUT: About = About::new(
    "ceil((P-1)/P)*ceil(ports/k)*2*(height + ceil(ceil(n/channels)/segment))\
     *(alpha + min(ceil(n/channels), segment)*(beta + gamma))",
    "2*(P-1)*all_segments",
)
.exact_when(|_| false)
.refusing(needs_commutative)
.made_for("cards")
.on_ports(|c| NEIGHBOURS * channels(c).len())
.with_parameters(&[TREES, SEGMENT, GROUP])
.with_automatic(&[segments::BY_FORMULA])
.completing(|c| [layout(c), counts(c)].concat());

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (levels, count) = (Levels::of(c), channels(c).len());
    r.join_all(channels(c).map(async |channel| {
        let place = place(c, &levels, r.rank(), channel);
        pipeline::allreduce(r, c, &place, |vector| vector.chunk(channel, count)).await;
    }))
    .await;
}

/// The place of a rank in the tree of a channel.
fn place(c: &Call, levels: &Levels, rank: usize, channel: usize) -> Place {
    let (own, place) = levels.place(rank);
    let size = levels.size(own);
    let within = (place + size - turn(c, channel, size)) % size;
    let at = |group: usize, within: usize| {
        let size = levels.size(group);
        levels.rank(group, within.min(size - 1) + turn(c, channel, size))
    };
    let TreeNode { parent, children } = tree_node(channel % 2, levels.count(), own);
    let parent = match within {
        0 => parent.map(|(group, side)| at(group, side)),
        _ => Some(at(own, within - 1)),
    };
    let in_chain = (within + 1 < size).then(|| at(own, within + 1));
    let of_other_groups = children.into_iter().enumerate().filter(|(side, _)| within == (*side).min(size - 1));
    let below = of_other_groups.filter_map(|(_, group)| group.map(|group| at(group, 0)));
    let children = in_chain.into_iter().chain(below).collect();
    Place { parent, children, tag: channel as Tag * TAGS, ..Place::default() }
}

/// Names for the formulas: `height`, an upper bound on the edges between a rank and its root; `all_segments`, the segments
/// of all channels together.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let levels = Levels::of(c);
    let height = (levels.count().ilog2() as usize + 1) * 2 + levels.largest();
    let whole = Span::new(Buffer::Result, c.count(0));
    let count = |channel| Segments::new(c, whole.chunk(channel, channels(c).len())).count() as u64;
    vec![("height", height as u64), ("all_segments", channels(c).map(count).sum())]
}

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

use std::ops::Range;

use hocket_core::{Buffer, Call, Domain, Parameter, Rank, Span, Tag};

use crate::about::{About, SEGMENT, needs_commutative};
use crate::automatic::segments;
use crate::shapes::channels::{CHANNELS, ChannelOrder, channels_with, layout};
use crate::shapes::groups::GROUP;
use crate::shapes::levels::Levels;
use crate::shapes::pipeline::{self, Place, TAGS};
use crate::shapes::{Segments, TreeNode, tree_node};

const TREES: Parameter = Parameter {
    meaning: "trees side by side, each with its part of the vector; they leave a group of ranks by different ranks. \
              0: two for each rank of a group, at most 16, so that both trees leave by each card; 2 for one group, or if \
              nodes are unknown",
    domain: Domain::Among(&[1, 2, 4, 8, 16]),
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
.on_ports(|c| NEIGHBOURS * trees(c).len())
.with_parameters(&[TREES, SEGMENT, GROUP])
.with_automatic(&[segments::BY_FORMULA])
.completing(|c| [layout(c, trees(c).len()), counts(c)].concat());

/// The numbers of the trees.
fn trees(c: &Call) -> Range<usize> {
    channels_with(c, 2)
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let count = trees(c).len();
    r.join_all(trees(c).map(async |channel| {
        pipeline::allreduce(r, c, place(c, channel, r.rank()), |vector| vector.chunk(channel, count)).await;
    }))
    .await;
}

fn place(c: &Call, channel: usize, rank: usize) -> Place {
    let chain = ChannelOrder::new(c, channel, trees(c).len());
    let (group, position) = chain.position(rank);
    let last = |group| chain.levels.size(group) - 1;
    // The first two ranks of a chain have a child in another group each; a rank that is alone has both.
    let parent_of_child = |group, side: usize| chain.rank(group, side.min(last(group)));

    let TreeNode { parent, children } = tree_node(channel % 2, chain.levels.count(), group);
    let parent = match position {
        0 => parent.map(|(parent, side)| parent_of_child(parent, side)),
        _ => Some(chain.rank(group, position - 1)),
    };
    let in_group = (position < last(group)).then(|| chain.rank(group, position + 1));
    let own_sides = (0..2).filter(|side| parent_of_child(group, *side) == rank);
    let in_other_groups = own_sides.filter_map(|side| Some(chain.rank(children[side]?, 0)));
    let children = in_group.into_iter().chain(in_other_groups).collect();
    Place { parent, children, tag: channel as Tag * TAGS, ..Place::default() }
}

/// Names for the formulas: `height`, an upper bound on the edges between a rank and its root; `all_segments`, the segments
/// of all channels together.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let levels = Levels::of(c);
    let height = (levels.count().ilog2() as usize + 1) * 2 + levels.largest();
    let whole = Span::new(Buffer::Result, c.count(0));
    let count = |channel| Segments::new(c, whole.chunk(channel, trees(c).len())).count() as u64;
    vec![("height", height as u64), ("all_segments", trees(c).map(count).sum())]
}

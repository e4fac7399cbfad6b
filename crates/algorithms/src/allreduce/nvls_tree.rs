//! NVLS tree: the switch of a node adds up a chunk for one of its ranks, trees between nodes add these, and back.
//!
//! The vector has a chunk for each place on a node. The ranks in that place are the nodes of two mirrored binary trees, each
//! for one half of the chunk, and all other ranks of a node are leaves below its rank, through the switch. Segments go up to
//! the root, and their sums down, while later ones follow. On a machine with `[level.multicast]`, messages within a node
//! have the costs of a switch that combines and copies: NVLink SHARP. Elsewhere they cost what others do.
//!
//! Source: NCCL, `src/graph/connect.cc`, `src/transport/nvls.cc` and `src/device/all_reduce.h`.
//! Needs: a commutative operator: each rank begins with its own contribution.
//! Counts: 2 (P-1) messages for each segment of each half of a chunk. The formula for time is an upper bound.
//!
//! ```text
//! nodes [0 1] [2 3]     chunk 0, half 0     1 ─▶ switch ─▶ 0 ──────▶ 2 ◀─ switch ◀─ 3       and the sums back
//!                       chunk 0, half 1     1 ─▶ switch ─▶ 0 ◀────── 2 ◀─ switch ◀─ 3
//!                       chunk 1, half 0     0 ─▶ switch ─▶ 1 ──────▶ 3 ◀─ switch ◀─ 2
//! ```

use hocket_core::{Buffer, Call, Mode, Rank, Span, Tag};

use crate::About;
use crate::about::needs_commutative;
use crate::automatic::segments;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, group};
use crate::shapes::pipeline::{self, Place, TAGS};
use crate::shapes::switch::{SEGMENT, centers};
use crate::shapes::{Segments, TreeNode, tree_node};

/// The mirrored trees of a chunk.
const TREES: usize = 2;

pub const ABOUT: About = About::new(
    "ceil((P-1)/P)*ceil(peers/k)*2*(height + ceil(longest/segment))*(alpha + min(longest, segment)*(beta + peers*gamma))",
    "2*(P-1)*all_segments",
)
.made_for("switch")
.exact_when(|_| false)
.refusing(needs_commutative)
.on_ports(|c| peers(&Levels::of(c)))
.with_parameters(&[SEGMENT, GROUP])
.with_automatic(&[segments::BY_FORMULA])
.completing(|c| [group(c), counts(c)].concat());

pub async fn program(r: &Rank<'_>, c: &Call) {
    let levels = Levels::of(c);
    let (own, place) = levels.place(r.rank());
    let chunks = centers(place % levels.lanes(), levels.lanes());
    r.join_all(chunks.flat_map(|chunk| (0..TREES).map(move |tree| (chunk, tree))).map(async |(chunk, tree)| {
        let place = in_tree(&levels, own, place, chunk, tree);
        pipeline::allreduce(r, c, &place, |vector| half(&levels, vector, chunk, tree)).await;
    }))
    .await;
}

/// The part of the vector of one tree of a chunk.
fn half(levels: &Levels, vector: Span, chunk: usize, tree: usize) -> Span {
    vector.chunk(chunk, levels.lanes()).chunk(tree, TREES)
}

/// The place of a rank in a tree of a chunk.
fn in_tree(levels: &Levels, own: usize, place: usize, chunk: usize, tree: usize) -> Place {
    let (size, tag) = (levels.size(own), tree as Tag * TAGS);
    if place != chunk {
        let center = levels.rank(own, chunk);
        return Place { parent: Some(center), mode: Mode::Switched, tag, ..Place::default() };
    }
    let TreeNode { parent, children } = tree_node(tree, levels.count(), own);
    Place {
        parent: parent.map(|(group, _)| levels.rank(group, chunk)),
        children: children.into_iter().flatten().map(|group| levels.rank(group, chunk)).collect(),
        by_switch: (1..size).map(|distance| levels.rank(own, chunk + distance)).collect(),
        tag,
        mode: Mode::default(),
    }
}

/// The most messages that a rank sends at a time: in the trees of all chunks up and down on its node, and between nodes to
/// a parent and two children.
fn peers(levels: &Levels) -> usize {
    TREES * (2 * (levels.largest() - 1) + 3)
}

/// Names for the formulas: `peers`; `height`, an upper bound on the edges between a rank and its root; `longest`, the bytes
/// of the longest half; `all_segments` of all halves.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let (levels, whole) = (Levels::of(c), Span::new(Buffer::Result, c.count(0)));
    let height = (levels.count().ilog2() as usize + 1) * 2 + 1;
    let longest = half(&levels, whole, 0, 0).len * c.element_bytes;
    let halves = (0..levels.lanes()).flat_map(|chunk| (0..TREES).map(move |tree| (chunk, tree)));
    let segments: usize = halves.map(|(chunk, tree)| Segments::new(c, half(&levels, whole, chunk, tree)).count()).sum();
    vec![
        ("peers", peers(&levels) as u64),
        ("height", height as u64),
        ("longest", longest as u64),
        ("all_segments", segments as u64),
    ]
}

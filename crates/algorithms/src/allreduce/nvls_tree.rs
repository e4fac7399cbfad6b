//! NVLS tree: the switch of a node adds up a chunk for one of its ranks, trees between nodes add these, and back.
//!
//! A lane is the set of ranks that have the same place on all nodes. Each lane sums up its chunk of the vector, one
//! half in each of two mirrored binary trees over its ranks. The other ranks of a node are leaves below the node's rank
//! of the lane, through the switch. Segments go up to the root, and their sums down, while later ones follow. On a
//! machine with `[level.multicast]`, messages within a node have the costs of a switch that combines and copies: NVLink
//! SHARP. Elsewhere they cost what others do.
//!
//! Source: NCCL, `src/graph/connect.cc`, `src/transport/nvls.cc` and `src/device/all_reduce.h`.
//! Needs: a commutative operator: each rank begins with its own contribution.
//! Counts: 2 (P-1) messages for each segment of each tree. The formula for time is an upper bound.
//!
//! ```text
//! nodes [0 1] [2 3]     lane 0, tree 0     1 ─▶ switch ─▶ 0 ──────▶ 2 ◀─ switch ◀─ 3       and the sums back
//!                       lane 0, tree 1     1 ─▶ switch ─▶ 0 ◀────── 2 ◀─ switch ◀─ 3
//!                       lane 1, tree 0     0 ─▶ switch ─▶ 1 ──────▶ 3 ◀─ switch ◀─ 2
//! ```

use hocket_core::{Buffer, Call, Rank, Span, Tag};

use crate::about::{About, needs_commutative};
use crate::automatic::segments;
use crate::shapes::groups::GROUP;
use crate::shapes::levels::{Levels, group};
use crate::shapes::pipeline::{self, Place, TAGS};
use crate::shapes::switch::{SEGMENT, centers, longest_and_segments};
use crate::shapes::{TreeNode, tree_node};

/// The number of mirrored trees of a lane.
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
    let (_, own_lane) = levels.place(r.rank());
    r.join_all(trees(&levels, own_lane).map(async |tree| {
        pipeline::allreduce(r, c, place(&levels, r.rank(), tree), |vector| part(&levels, vector, tree)).await;
    }))
    .await;
}

/// A tree of a lane: the lane, and 0 or 1.
type Tree = (usize, usize);

/// The trees of all lanes, first those of `first_lane`.
fn trees(levels: &Levels, first_lane: usize) -> impl Iterator<Item = Tree> {
    let lanes = levels.lanes();
    centers(first_lane % lanes, lanes).flat_map(|lane| (0..TREES).map(move |number| (lane, number)))
}

/// The part of the vector that a tree sums up.
fn part(levels: &Levels, vector: Span, (lane, number): Tree) -> Span {
    vector.chunk(lane, levels.lanes()).chunk(number, TREES)
}

/// The place of a rank in a tree: in the star round its node's rank of the lane, which is in the tree between nodes.
fn place(levels: &Levels, rank: usize, (lane, number): Tree) -> Place {
    let (node, own_lane) = levels.place(rank);
    let star = Place::in_star(lane, own_lane, levels.size(node), |place| levels.rank(node, place));
    let star = Place { tag: number as Tag * TAGS, ..star };
    if own_lane != lane {
        return star;
    }
    let TreeNode { parent, children } = tree_node(number, levels.count(), node);
    let of_lane = |node| levels.rank(node, lane);
    Place {
        parent: parent.map(|(node, _)| of_lane(node)),
        children: children.into_iter().flatten().map(of_lane).collect(),
        ..star
    }
}

/// The most messages that a rank sends at a time: in the trees of all lanes up and down on its node, and between nodes
/// to a parent and two children.
fn peers(levels: &Levels) -> usize {
    TREES * (2 * (levels.largest() - 1) + 3)
}

/// Names for the formulas: `peers`; `height`, an upper bound on the edges between a rank and its root; the values of
/// [`longest_and_segments`] for the parts of all trees.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let (levels, vector) = (Levels::of(c), Span::new(Buffer::Result, c.count(0)));
    let height = (levels.count().ilog2() as usize + 1) * 2 + 1;
    let parts = trees(&levels, 0).map(|tree| part(&levels, vector, tree));
    [vec![("peers", peers(&levels) as u64), ("height", height as u64)], longest_and_segments(c, parts)].concat()
}

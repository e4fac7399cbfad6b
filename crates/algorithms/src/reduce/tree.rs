//! Tree of Open MPI: segments go up a tree; a rank posts the receives of a segment from all its children at once.
//!
//! Source: Open MPI, `coll_base_reduce.c`: `ompi_coll_base_reduce_generic`, with the trees of `coll_base_topo.c`:
//! `in_order_bmtree`, and `tree` of two children. In contrast, `binary_tree` of the catalogue is another tree, and its
//! `binomial` has no segments.
//! Needs: for the binomial shape, root 0 or a commutative operator; for the binary shape, a commutative operator.
//! Counts: S segments go up the tree, one behind the other. S (P-1) messages.
//!
//! ```text
//! P = 8    binomial       0          binary     0
//!                    ┌──┬─┴─┐                 ┌─┴─┐
//!                    1  2   4                 1   2
//!                       │  ┌┴┐               ┌┴┐ ┌┴┐
//!                       3  5 6               3 5 4 6
//!                            │               │
//!                            7               7
//! ```

use hocket_core::{Call, Domain, Parameter, Rank, Unit};

use crate::about::{About, SEGMENT, needs_commutative, needs_root_0_or_commutative};
use crate::automatic::segments;
use crate::broadcast::tree::{WHOLE_BYTES, binary_children, binary_parent};
use crate::shapes::pipeline::{self, Place};
use crate::shapes::{KnomialTree, Segments};

pub const SHAPE: Parameter = Parameter {
    name: "shape",
    unit: Unit::Choice(&["binomial", "binary"]),
    default: 0,
    least: 0,
    tries: &[BINARY],
    domain: Domain::Word,
    meaning: "the tree: binomial, which combines in the order of ranks; binary, filled level by level",
};
const BINARY: u64 = 1;

pub const ABOUT: About = About::new(
    "(steps + (max(1, ceil(n/segment)) - 1)*children)*(alpha + min(n, segment)*(beta + gamma))",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.refusing(|c| if c.parameter(SHAPE.name) == BINARY { needs_commutative(c) } else { needs_root_0_or_commutative(c) })
.on_ports(most_children)
.with_parameters(&[SHAPE, Parameter { default: WHOLE_BYTES, ..SEGMENT }])
.with_automatic(&[segments::BY_FORMULA])
.completing(counts)
.combining("tree");

pub async fn program(r: &Rank<'_>, c: &Call) {
    let rank_at = |relative: usize| (relative + c.root) % r.size();
    let relative = (r.rank() + r.size() - c.root) % r.size();
    let parent = (relative > 0).then(|| rank_at(parent(c, relative)));
    let children: Vec<_> = children(c, relative).into_iter().map(rank_at).collect();
    let own = c.input(r);
    let sums = match (parent, children.is_empty()) {
        (None, _) => c.result(r),
        (_, false) => r.scratch(own.len),
        (_, true) => own,
    };
    if parent.is_none() && children.is_empty() {
        r.copy(own, sums).await;
    }
    let place = Place { parent, children, ..Place::default() };
    pipeline::reduce(r, place, Segments::new(c, own), Segments::new(c, sums)).await;
}

/// The parent of a rank other than the root. Both are counted from the root.
fn parent(c: &Call, relative: usize) -> usize {
    match c.parameter(SHAPE.name) {
        BINARY => binary_parent(relative),
        _ => KnomialTree::new(relative, 0, c.ranks, 2).parent().unwrap_or(0),
    }
}

/// The children of a rank, in the order in which it combines their sums. All are counted from the root.
fn children(c: &Call, relative: usize) -> Vec<usize> {
    match c.parameter(SHAPE.name) {
        BINARY => binary_children(c, relative),
        _ => {
            let tree = KnomialTree::new(relative, 0, c.ranks, 2);
            (0..tree.height()).flat_map(|level| tree.children_at(level).collect::<Vec<_>>()).collect()
        }
    }
}

/// The values in the formula. `steps`: the messages one after another until the root has the first segment, if a rank
/// receives from one child after the other. `children`: the most children of a rank.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let mut steps = vec![0; c.ranks];
    for relative in (0..c.ranks).rev() {
        let below = children(c, relative).into_iter().map(|child| steps[child]);
        steps[relative] = below.fold(0, |latest: u64, ready: u64| latest.max(ready) + 1);
    }
    vec![("steps", steps[0]), ("children", most_children(c) as u64)]
}

/// The most children of a rank: the root has the most.
fn most_children(c: &Call) -> usize {
    children(c, 0).len()
}

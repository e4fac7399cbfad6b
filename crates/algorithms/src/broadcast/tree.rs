//! Tree of Open MPI: segments go down a tree; a rank sends each segment to all its children at once.
//!
//! Source: Open MPI, `coll_base_bcast.c`: `ompi_coll_base_bcast_intra_generic`, with the trees of `coll_base_topo.c`:
//! `bmtree`, `kmtree`, and `tree` of two children. In contrast, `binomial` and `binary_tree` of the catalogue send to
//! one child after the other.
//! Needs: nothing.
//! Counts: S segments go down the tree, one behind the other. S (P-1) messages.
//!
//! ```text
//! P = 8    binomial       0          k_nomial      0          binary     0
//!                    ┌──┬─┴─┐        radix 3  ┌──┬─┴┬──┐             ┌─┴─┐
//!                    1  2   4                 3  6  1  2             1   2
//!                   ┌┴┐ │                    ┌┴┐ │                  ┌┴┐ ┌┴┐
//!                   3 5 6                    4 5 7                  3 5 4 6
//!                   │                                               │
//!                   7                                               7
//! ```

use hocket_core::{Call, Domain, Parameter, Rank, Unit};

use crate::about::{About, SEGMENT};
use crate::automatic::segments;
use crate::shapes::radix::{radix, radix_of};
use crate::shapes::{KnomialTree, Segments};

pub const SHAPE: Parameter = Parameter {
    name: "shape",
    unit: Unit::Choice(&["binomial", "k_nomial", "binary"]),
    default: 0,
    least: 0,
    tries: &[K_NOMIAL, BINARY],
    domain: Domain::Word,
    meaning: "the tree: binomial, nearest child first; k_nomial, farthest child first; binary, filled level by level",
};

/// The segment size that leaves a message in one piece.
pub const WHOLE_BYTES: u64 = 1 << 40;
const K_NOMIAL: u64 = 1;
const BINARY: u64 = 2;
const RADIX: Parameter = radix(4, "for shape k_nomial: a rank has up to radix - 1 children at each level");

pub const ABOUT: About = About::new(
    "(steps + (max(1, ceil(n/segment)) - 1)*children)*(alpha + min(n, segment)*beta)",
    "(P-1)*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.on_ports(most_children)
.with_parameters(&[SHAPE, RADIX, Parameter { default: WHOLE_BYTES, ..SEGMENT }])
.with_automatic(&[segments::BY_FORMULA])
.completing(counts);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let rank_at = |relative: usize| (relative + c.root) % r.size();
    let relative = (r.rank() + r.size() - c.root) % r.size();
    let parent = (relative > 0).then(|| rank_at(parent(c, relative)));
    let children: Vec<_> = children(c, relative).into_iter().map(rank_at).collect();
    let segments = Segments::new(c, c.result(r));
    for i in 0..=segments.count() {
        let receive = parent.filter(|_| i < segments.count()).map(|parent| r.recv(parent, segments.get(i)));
        let hand_down = (i > 0).then(|| r.join_all(children.iter().map(|child| r.send(*child, segments.get(i - 1)))));
        r.join_optional(receive, hand_down).await;
    }
}

/// The parent of a rank other than the root. Both are counted from the root.
fn parent(c: &Call, relative: usize) -> usize {
    match c.parameter(SHAPE.name) {
        K_NOMIAL => KnomialTree::new(relative, 0, c.ranks, radix_of(c)).parent().unwrap_or(0),
        BINARY => binary_parent(relative),
        _ => relative - (1 << relative.ilog2()),
    }
}

/// The children of a rank, in the order in which it sends to them. All are counted from the root.
fn children(c: &Call, relative: usize) -> Vec<usize> {
    match c.parameter(SHAPE.name) {
        K_NOMIAL => {
            let tree = KnomialTree::new(relative, 0, c.ranks, radix_of(c));
            (0..tree.height()).rev().flat_map(|level| tree.children_at(level).collect::<Vec<_>>()).collect()
        }
        BINARY => binary_children(c, relative),
        _ => {
            let first = if relative == 0 { 0 } else { relative.ilog2() + 1 };
            (first..usize::BITS).map(|bit| relative + (1 << bit)).take_while(|child| *child < c.ranks).collect()
        }
    }
}

/// The parent of a rank in a binary tree that is filled level by level: first the first children of the level above,
/// then its second children. Both ranks are counted from the root.
pub fn binary_parent(relative: usize) -> usize {
    let level = 1 << (relative + 1).ilog2();
    if level <= 2 { 0 } else { level / 2 - 1 + (relative + 1 - level) % (level / 2) }
}

/// The children of a rank in this tree.
pub fn binary_children(c: &Call, relative: usize) -> Vec<usize> {
    let level = 1 << (relative + 1).ilog2();
    [1, 2].map(|on| relative + on * level).into_iter().filter(|child| *child < c.ranks).collect()
}

/// The most children of a rank: the root has the most.
fn most_children(c: &Call) -> usize {
    children(c, 0).len()
}

/// The values in the formula. `steps`: the messages one after another until the last rank has the first segment, if a
/// rank sends to one child after the other. `children`: the most children of a rank.
fn counts(c: &Call) -> Vec<(&'static str, u64)> {
    let mut steps = vec![0; c.ranks];
    for relative in 0..c.ranks {
        for (position, child) in children(c, relative).into_iter().enumerate() {
            steps[child] = steps[relative] + position as u64 + 1;
        }
    }
    vec![("steps", steps.into_iter().max().unwrap_or(0)), ("children", most_children(c) as u64)]
}

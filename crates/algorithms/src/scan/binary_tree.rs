//! Binary tree: sums of subtrees go up, sums of all ranks before a subtree come down, in segments that follow each other both ways.
//!
//! Source: P. Sanders, J. L. Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006: the doubly pipelined binary tree.
//! Needs: nothing; operands are combined in rank order.
//! Counts: a rank turns to its right child, to its parent and to its left child, over and over: 3 steps for each of S segments, and about
//! 4 log2 P until the first has gone up and down. Nothing goes up at the right edge of the tree or down at the left one. The time is a bound.
//!
//! ```text
//! P = 7     3        up    0 ─▶ 1 in step 0, 2 ─▶ 1 and 4 ─▶ 5 in step 1, 1 ─▶ 3 in step 2
//!         ┌─┴─┐      down  3 ─▶ 5 in step 3, 5 ─▶ 4 and 1 ─▶ 2 in step 4, 5 ─▶ 6 in step 5
//!         1   5
//!        ┌┴┐ ┌┴┐     the next segment follows in the steps 3 to 8
//!        0 2 4 6
//! ```

use hocket_core::{Call, Rank, Side, Span};

use crate::About;
use crate::about::SEGMENT;
use crate::pattern::Segments;

pub const ABOUT: About = About::new(
    "(2*floor(log2(P)) + floor(log2(P+1)) + floor(log2(2*(P+1)/3)) - 6 + 2*floor(1/P) + 3*max(1, ceil(n/segment)))*(alpha + min(n, segment)*(beta + gamma))",
    "(2*P - 1 - floor(log2(P)) - floor(log2(P+1)))*max(1, ceil(n/segment))",
)
.exact_when(|_| false)
.with_parameters(&[SEGMENT]);

/// An edge of the tree: the rank at its other end, and the steps in which the first segment goes up and down, if any does.
#[derive(Clone, Copy)]
struct Edge {
    peer: usize,
    up: Option<usize>,
    down: Option<usize>,
}

impl Edge {
    /// The segments that go up and down in `step`, of `segments`.
    fn crossing(self, step: usize, segments: usize) -> [Option<usize>; 2] {
        [self.up, self.down].map(|first| {
            let since = step.checked_sub(first?)?;
            (since.is_multiple_of(3) && since / 3 < segments).then_some(since / 3)
        })
    }
}

/// The ranks from `first` to before `end`: one goes `lefts` times to the left and `rights` times to the right, from the top, to its root.
#[derive(Clone, Copy)]
struct Subtree {
    first: usize,
    end: usize,
    lefts: usize,
    rights: usize,
}

impl Subtree {
    fn root(self) -> usize {
        usize::midpoint(self.first, self.end)
    }

    fn left(self) -> Option<Self> {
        (self.first < self.root()).then(|| Self { end: self.root(), lefts: self.lefts + 1, ..self })
    }

    fn right(self) -> Option<Self> {
        (self.root() + 1 < self.end).then(|| Self { first: self.root() + 1, rights: self.rights + 1, ..self })
    }

    /// Its edge to `peer`, in a tree of `ranks`.
    ///
    /// A rank gets the sum from its left child two steps before it hands it up, that from the right one a step before, and
    /// hands what comes down to its left child in the next step, to its right child in the one after that.
    fn edge(self, peer: usize, ranks: usize) -> Edge {
        let height = ranks.ilog2() as usize;
        Edge {
            peer,
            up: (self.end < ranks).then(|| 2 * (height - self.lefts) - self.rights),
            down: (self.first > 0).then(|| 2 * (height + self.rights) + self.lefts - 3),
        }
    }
}

pub async fn program(r: &Rank<'_>, c: &Call) {
    let result = c.result(r);
    r.copy(c.input(r), result).await;
    prefixes(r, c, result, None).await;
}

/// Adds the vectors of all ranks before this one to `through`; `before`, if it is wanted, gets the sum of these alone.
pub async fn prefixes(r: &Rank<'_>, c: &Call, through: Span, before: Option<Span>) {
    let (rank, size) = (r.rank(), r.size());
    let (mut subtree, mut parent) = (Subtree { first: 0, end: size, lefts: 0, rights: 0 }, None);
    while rank != subtree.root() {
        let below = if rank < subtree.root() { subtree.left() } else { subtree.right() };
        let below = below.expect("a rank is in a subtree");
        parent = Some(below.edge(subtree.root(), size));
        subtree = below;
    }
    let [left, right] = [subtree.left(), subtree.right()].map(|below| below.map(|below| below.edge(below.root(), size)));

    let scratch_if = |used| r.scratch(if used { through.len } else { 0 });
    let own = |used| before.filter(|_| used);
    let from_left = own(left.is_some()).unwrap_or_else(|| scratch_if(left.is_some()));
    let from_parent = own(left.is_none()).unwrap_or_else(|| scratch_if(parent.is_some()));
    let right_goes_up = right.is_some_and(|right| right.up.is_some());
    let from_right = scratch_if(right_goes_up);
    let sum = if right_goes_up { scratch_if(true) } else { through };

    let segments = Segments::new(c, through);
    let of = |span: Span, i: usize| span.part(segments.get(i).offset - through.offset, segments.get(i).len);
    let first_steps = [left, right, parent].into_iter().flatten().flat_map(|edge| [edge.up, edge.down]);
    let end = first_steps.flatten().max().map_or(0, |last| last + 3 * segments.count() - 2);
    for step in 0..end {
        let crossing = |edge: Option<Edge>| edge.map_or([None; 2], |edge| edge.crossing(step, segments.count()));

        let [up, down] = crossing(left);
        exchange(r, left, down.map(|i| of(from_parent, i)), up.map(|i| of(from_left, i))).await;
        if let Some(i) = up {
            r.combine(of(from_left, i), segments.get(i), Side::Left).await;
        }

        let [up, down] = crossing(right);
        exchange(r, right, down.map(|i| segments.get(i)), up.map(|i| of(from_right, i))).await;
        if let Some(i) = up {
            r.copy(segments.get(i), of(sum, i)).await;
            r.combine(of(from_right, i), of(sum, i), Side::Right).await;
        }

        let [up, down] = crossing(parent);
        exchange(r, parent, up.map(|i| of(sum, i)), down.map(|i| of(from_parent, i))).await;
        if let Some(i) = down {
            if before.is_none() || right.is_some() {
                r.combine(of(from_parent, i), segments.get(i), Side::Left).await;
            }
            if before.is_some() && left.is_some() {
                r.combine(of(from_parent, i), of(from_left, i), Side::Left).await;
            }
        }
    }
}

/// Sends and receives at once over `edge`, whatever there is.
async fn exchange(r: &Rank<'_>, edge: Option<Edge>, to_send: Option<Span>, to_receive: Option<Span>) {
    let Some(Edge { peer, .. }) = edge else { return };
    let send = async {
        if let Some(segment) = to_send {
            r.send(peer, segment).await;
        }
    };
    let receive = async {
        if let Some(segment) = to_receive {
            r.recv(peer, segment).await;
        }
    };
    r.join(send, receive).await;
}

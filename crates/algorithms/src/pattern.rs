//! Index arithmetic that several algorithms share.

use std::ops::{Deref, Range};

use hocket_core::{Call, Rank, Span, Tag};

use crate::about::SEGMENT;

/// A k-nomial tree over the ranks, rooted at `root`; drawn for radix k = 3, 9 ranks and root 0.
///
/// ```text
///            0                 relative rank v = (rank - root) mod P, in digits to the base k
///    ┌────┬──┴─┬──┐            height of v: how many of its last digits are 0 (all for the root); its reach is k^height
///    6    3    2  1            parent of v: v without its last digit that is not 0
///  ┌─┴┐ ┌─┴┐                   children of v at a level below its height: v + j k^level for j = 1 .. k-1
///  8  7 5  4                   the subtree of v is the range v .. v + reach, cut off at P
/// ```
pub struct KnomialTree {
    relative: usize,
    root: usize,
    ranks: usize,
    radix: usize,
    height: u32,
    reach: usize,
}

impl KnomialTree {
    /// The tree as `rank` sees it. All radices from P on make the same tree.
    pub fn new(rank: usize, root: usize, ranks: usize, radix: usize) -> Self {
        let relative = (rank + ranks - root) % ranks;
        let radix = radix.min(ranks.max(2));
        let (mut height, mut reach) = (0, 1);
        while reach < ranks && relative.is_multiple_of(reach * radix) {
            height += 1;
            reach *= radix;
        }
        Self { relative, root, ranks, radix, height, reach }
    }

    /// This rank, counted from the root.
    pub fn relative(&self) -> usize {
        self.relative
    }

    /// The rank at distance `relative` from the root.
    pub fn rank_at(&self, relative: usize) -> usize {
        (relative + self.root) % self.ranks
    }

    /// Number of levels at which this rank can have children.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The parent; none for the root.
    pub fn parent(&self) -> Option<usize> {
        (self.relative > 0).then(|| self.rank_at(self.relative - self.relative % (self.reach * self.radix)))
    }

    /// The children at a level below the height, the nearest first.
    pub fn children_at(&self, level: u32) -> impl DoubleEndedIterator<Item = usize> {
        let distance = self.radix.pow(level);
        let room = (self.ranks - 1 - self.relative) / distance;
        (1..self.radix.min(room + 1)).map(move |j| self.rank_at(self.relative + j * distance))
    }

    /// The children, with the largest subtrees last.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.height).flat_map(|level| self.children_at(level))
    }

    /// The subtree of `rank`, which is this rank or below it, as distances from this rank.
    pub fn subtree(&self, rank: usize) -> Range<usize> {
        let tree = Self::new(rank, self.root, self.ranks, self.radix);
        let end = (tree.relative + tree.reach).min(self.ranks);
        tree.relative - self.relative..end - self.relative
    }
}

/// A binomial tree over the ranks, rooted at `root`: the k-nomial tree of radix 2, in which a rank has to do with at most one
/// other at each level; drawn for 8 ranks and root 0.
///
/// ```text
///            0
///    ┌───────┼───┐             parent of v: v without its lowest set bit
///    4       2   1             children of v: v + 2^level for every 2^level below v's lowest set bit
///  ┌─┴─┐     3
///  6   5
///  7
/// ```
pub struct BinomialTree(KnomialTree);

impl BinomialTree {
    /// The tree as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        Self(KnomialTree::new(rank, root, ranks, 2))
    }

    /// Number of levels: 2^levels is the first power of two that is no less than P.
    pub fn levels(&self) -> u32 {
        self.ranks.next_power_of_two().ilog2()
    }

    /// The parent or the child at a distance of 2^level, if there is one.
    pub fn peer(&self, level: u32) -> Option<usize> {
        if level < self.height {
            self.children_at(level).next()
        } else {
            self.parent().filter(|_| level == self.height)
        }
    }

    /// The children and the parent, each with its level, the nearest first.
    pub fn peers(&self) -> impl DoubleEndedIterator<Item = (u32, usize)> {
        (0..=self.height).filter_map(|level| Some((level, self.peer(level)?)))
    }
}

impl Deref for BinomialTree {
    type Target = KnomialTree;

    fn deref(&self) -> &KnomialTree {
        &self.0
    }
}

/// A root that has to do with every other rank, one in each step, in the order of their numbers; as one of the ranks sees it.
pub struct Star {
    rank: usize,
    root: usize,
    ranks: usize,
}

impl Star {
    /// The star as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        Self { rank, root, ranks }
    }

    /// Number of ranks besides the root: one for each step.
    pub fn others(&self) -> usize {
        self.ranks - 1
    }

    /// The other rank of a step.
    pub fn other(&self, step: usize) -> usize {
        step + usize::from(step >= self.root)
    }

    /// The steps of this rank.
    pub fn steps(&self) -> Range<usize> {
        let own = self.rank - usize::from(self.rank > self.root);
        if self.rank == self.root { 0..self.others() } else { own..own + 1 }
    }

    /// With whom this rank has to do in a step.
    pub fn peer(&self, step: usize) -> Option<usize> {
        match self.other(step) {
            other if self.rank == self.root => Some(other),
            other => (self.rank == other).then_some(self.root),
        }
    }
}

/// Ranks folded onto Q <= P <= 2 Q virtual ranks, a power of two for algorithms that flip bits: of the first 2 (P - Q)
/// ranks each even one sits out, and its odd neighbour speaks for both; drawn for 6 ranks and Q = 4.
///
/// ```text
/// ranks         0 ─▶ 1   2 ─▶ 3   4   5
/// virtual            0        1   2   3
/// ```
pub struct Fold {
    active: usize,
    pairs: usize,
}

impl Fold {
    /// The fold of `ranks` ranks onto the largest power of two.
    pub fn new(ranks: usize) -> Self {
        Self::onto(1 << ranks.ilog2(), ranks)
    }

    /// The fold of `ranks` ranks onto `active` ones.
    pub fn onto(active: usize, ranks: usize) -> Self {
        Self { active, pairs: ranks - active }
    }

    /// Number of virtual ranks, Q.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Whether `rank` leaves its part to rank + 1.
    pub fn sits_out(&self, rank: usize) -> bool {
        rank < 2 * self.pairs && rank.is_multiple_of(2)
    }

    /// Whether `rank` also plays the part of rank - 1.
    pub fn speaks_for_two(&self, rank: usize) -> bool {
        rank < 2 * self.pairs && !rank.is_multiple_of(2)
    }

    /// The virtual rank that `rank` acts as, or whose part it leaves to its neighbour.
    pub fn virtual_rank(&self, rank: usize) -> usize {
        if rank < 2 * self.pairs { rank / 2 } else { rank - self.pairs }
    }

    /// The rank that acts as `virtual_rank`.
    pub fn rank_of(&self, virtual_rank: usize) -> usize {
        if virtual_rank < self.pairs { 2 * virtual_rank + 1 } else { virtual_rank + self.pairs }
    }

    /// Combines the vectors of the ranks that sit out into those of their neighbours. The virtual rank that this rank
    /// acts as; none if it sits out, and then `result` already holds the end result.
    pub async fn enter(&self, r: &Rank<'_>, result: Span, scratch: Span) -> Option<usize> {
        if r.rank() >= 2 * self.pairs {
            return Some(self.virtual_rank(r.rank()));
        }
        // In a box, so that the program of a rank that is not paired, as all of 2^K ranks, is no larger for it.
        Box::pin(self.enter_in_pairs(r, result, scratch)).await
    }

    async fn enter_in_pairs(&self, r: &Rank<'_>, result: Span, scratch: Span) -> Option<usize> {
        let rank = r.rank();
        if self.sits_out(rank) {
            r.send(rank + 1, result).await;
            r.recv(rank + 1, result).await;
            return None;
        }
        r.recv(rank - 1, scratch).await;
        r.reduce(rank - 1, scratch, result).await;
        Some(self.virtual_rank(rank))
    }

    /// Gives the end result to the neighbour that sits out, if there is one.
    pub async fn leave(&self, r: &Rank<'_>, result: Span) {
        if self.speaks_for_two(r.rank()) {
            r.send(r.rank() - 1, result).await;
        }
    }

    /// The first rank that `virtual_rank` stands for; all P ranks lie before that of virtual rank Q.
    pub fn first_rank(&self, virtual_rank: usize) -> usize {
        virtual_rank + virtual_rank.min(self.pairs)
    }
}

/// The first of the `size` ranks that `rank` is grouped with; in recursive doubling each step joins two groups.
///
/// ```text
/// size 2    [0 1] [2 3] [4 5] [6 7]
/// size 4    [0 1   2 3] [4 5   6 7]
/// ```
pub fn group_start(rank: usize, size: usize) -> usize {
    rank - rank % size
}

/// The chunks that `rank` still works on after `steps` steps of vector halving over a power of two of `ranks`: in step
/// k, partners differ in bit k, and the one whose bit is 0 keeps the lower half. Drawn for rank 5 (binary 101) of 8.
///
/// ```text
/// steps 0    [0 1 2 3 4 5 6 7]
/// steps 1             [4 5 6 7]    bit 0 is 1: upper half
/// steps 2             [4 5]        bit 1 is 0: lower half
/// steps 3               [5]        bit 2 is 1: upper half
/// ```
pub fn halved(rank: usize, steps: u32, ranks: usize) -> Range<usize> {
    let first = (0..steps).map(|k| (rank >> k & 1) * (ranks >> (k + 1))).sum();
    first..first + (ranks >> steps)
}

/// The blocks of a call, or the chunks of a vector, in the order that begins at block `first`; drawn for 5 blocks and
/// first = 2.
///
/// ```text
/// in order    [0 1|2 3 4]
/// rotated     [2 3 4|0 1]
/// ```
pub struct Rotation<Offset> {
    /// Where a block begins, in order; that of block `blocks` is the end.
    offset: Offset,
    blocks: usize,
    first: usize,
}

/// The blocks of `call` in the order that begins at block `first`.
pub fn rotated_blocks(call: &Call, first: usize) -> Rotation<impl Fn(usize) -> usize> {
    Rotation { offset: |block| call.offset(block), blocks: call.ranks, first }
}

/// The chunks of a vector, one for each of `ranks`, in the order that begins at chunk `first`.
pub fn rotated_chunks(vector: Span, ranks: usize, first: usize) -> Rotation<impl Fn(usize) -> usize> {
    Rotation { offset: move |chunk| vector.chunks(0, chunk, ranks).len, blocks: ranks, first }
}

impl<Offset: Fn(usize) -> usize> Rotation<Offset> {
    /// Elements of the first `blocks` blocks.
    pub fn len(&self, blocks: usize) -> usize {
        let end = self.first + blocks;
        let wrapped = if end > self.blocks { (self.offset)(self.blocks) } else { 0 };
        let end = if end > self.blocks { end - self.blocks } else { end };
        wrapped + (self.offset)(end) - (self.offset)(self.first)
    }

    /// These blocks of a span that holds blocks in rotated order.
    pub fn part(&self, rotated: Span, blocks: Range<usize>) -> Span {
        let start = self.len(blocks.start);
        rotated.part(start, self.len(blocks.end) - start)
    }

    /// The two pieces, each as it lies in `ordered`, a span of all blocks in order, and in `rotated`.
    pub fn pieces(&self, ordered: Span, rotated: Span) -> [(Span, Span); 2] {
        let (start, tail) = ((self.offset)(self.first), self.blocks - self.first);
        let end = (self.offset)(self.blocks);
        [
            (ordered.part(start, end - start), self.part(rotated, 0..tail)),
            (ordered.part(0, start), self.part(rotated, tail..self.blocks)),
        ]
    }
}

/// A vector cut into segments of as many bytes as the call's parameter says, a whole number of elements; the last one
/// may be shorter. There is always one.
pub struct Segments {
    whole: Span,
    each: usize,
}

impl Segments {
    /// The segments of `whole`.
    pub fn new(c: &Call, whole: Span) -> Self {
        Self { whole, each: c.parameter(SEGMENT.name) as usize / c.element_bytes }
    }

    /// Number of segments.
    pub fn count(&self) -> usize {
        self.whole.len.div_ceil(self.each).max(1)
    }

    /// Segment `index`.
    pub fn get(&self, index: usize) -> Span {
        let start = index * self.each;
        self.whole.part(start, self.each.min(self.whole.len - start))
    }
}

/// A binary tree in which a rank is followed by its left and then by its right subtree, counted from the root; drawn for 7 ranks.
///
/// ```text
///     0         the left subtree has half of the ranks below, one more if their number is odd
///   ┌─┴─┐
///   1   4
///  ┌┴┐ ┌┴┐
///  2 3 5 6
/// ```
pub struct PreOrderTree {
    /// The parent; none for the root.
    pub parent: Option<usize>,
    /// The child one rank on.
    pub left: Option<usize>,
    /// The child behind the left subtree.
    pub right: Option<usize>,
}

impl PreOrderTree {
    /// The tree as `rank` sees it.
    pub fn new(rank: usize, root: usize, ranks: usize) -> Self {
        let (relative, rank_at) = ((rank + ranks - root) % ranks, |relative| (relative + root) % ranks);
        let (mut top, mut len, mut parent) = (0, ranks, None);
        while top != relative {
            parent = Some(rank_at(top));
            let right = top + 1 + len / 2;
            (top, len) = if relative < right { (top + 1, len / 2) } else { (right, (len - 1) / 2) };
        }
        let left = (len > 1).then(|| rank_at(top + 1));
        let right = (len > 2).then(|| rank_at(top + 1 + len / 2));
        Self { parent, left, right }
    }
}

/// Two binary trees over the nodes 1 .. N = P - 1, both hung below node 0; drawn for 7 ranks.
///
/// ```text
/// tree 0:     0        tree 1:     0         tree 0: the lowest set bit of a node is its height, so even nodes are
///             4                    3         interior and odd nodes are leaves
///          ┌──┴──┐              ┌──┴──┐      tree 1: node i takes the place of node N + 1 - i, so odd nodes are
///          2     6              5     1      interior and even nodes are leaves
///        ┌─┴─┐ ┌─┘            ┌─┴─┐ ┌─┘      if N is odd, node N is a leaf of both, and the others are mirrored
///        1   3 5              6   4 2        without it
/// ```
///
/// Messages cross an edge in every second step. The edges are coloured by the parity of these steps such that a node's
/// two edges to its parents differ, and so do its two edges to its children: it never sends or receives two messages at
/// a time.
pub struct DoubleTree {
    nodes: usize,
}

/// An edge of one of the trees, as one of its ends sees it. Of messages numbered from 0, the even ones cross tree 0.
pub struct TreeEdge {
    /// The node at the other end.
    pub peer: usize,
    /// The step in which the edge is crossed for the first time.
    pub first_step: usize,
    tree: usize,
}

impl TreeEdge {
    /// The message that crosses the edge in `step`, if any of `messages` does.
    pub fn crossing(&self, step: usize, messages: usize) -> Option<usize> {
        let message = step.checked_sub(self.first_step)? + self.tree;
        (message % 2 == self.tree && message < messages).then_some(message)
    }
}

impl DoubleTree {
    /// The trees for `ranks` ranks.
    pub fn new(ranks: usize) -> Self {
        Self { nodes: ranks - 1 }
    }

    /// The edges from `node` to its parents: one in each tree, none for node 0.
    pub fn parents(&self, node: usize) -> Vec<TreeEdge> {
        let trees = if node == 0 { 0..0 } else { 0..2 };
        let edge = |tree| TreeEdge { peer: self.parent(tree, node), first_step: self.first_step(tree, node), tree };
        trees.map(edge).collect()
    }

    /// The edges from `node` to its children, which are all in one tree, except those of node 0: one in each.
    pub fn children(&self, node: usize) -> Vec<TreeEdge> {
        let edge = |tree, peer| TreeEdge { peer, first_step: self.first_step(tree, peer), tree };
        (0..2).flat_map(|tree| self.children_in(tree, node).map(move |child| edge(tree, child))).collect()
    }

    fn parent(&self, tree: usize, node: usize) -> usize {
        if tree == 0 { self.parent_in_order(node) } else { self.mirrored(self.parent_in_order(self.mirrored(node))) }
    }

    fn parent_in_order(&self, node: usize) -> usize {
        let height = 1 << node.trailing_zeros();
        if node & (2 * height) != 0 || node + height > self.nodes { node - height } else { node + height }
    }

    fn children_in(&self, tree: usize, node: usize) -> impl Iterator<Item = usize> {
        let place = if tree == 0 { node } else { self.mirrored(node) };
        let height = if place == 0 { usize::BITS } else { place.trailing_zeros() };
        let left = (place > 0 && height > 0).then(|| place - (1 << (height - 1)));
        let right = (0..height).rev().map(|h| place + (1 << h)).find(|right| *right <= self.nodes);
        [left, right].into_iter().flatten().map(move |child| if tree == 0 { child } else { self.mirrored(child) })
    }

    fn first_step(&self, tree: usize, node: usize) -> usize {
        let colour = self.colour(node) ^ tree;
        match self.parent(tree, node) {
            0 => colour,
            parent => {
                let next = self.first_step(tree, parent) + 1;
                next + (next + colour) % 2
            }
        }
    }

    /// Parity of the steps in which `node` receives from its parent in tree 0; in tree 1 it is the other one.
    ///
    /// Mirroring exchanges both the trees and the colours, so a leaf has the colour of its mirror image, which is
    /// interior.
    fn colour(&self, node: usize) -> usize {
        let parent = self.parent_in_order(node);
        if parent == 0 {
            0
        } else if node > self.mirrored_nodes() {
            let sibling = parent - (1 << parent.trailing_zeros()) / 2;
            1 - self.colour(sibling)
        } else if node.is_multiple_of(2) {
            (self.colour(parent) + self.nodes / 2 + usize::from(parent > node)) % 2
        } else {
            self.colour(self.mirrored(node))
        }
    }

    /// The node whose place in tree 0 `node` takes in tree 1.
    fn mirrored(&self, node: usize) -> usize {
        let last = self.mirrored_nodes();
        if node == 0 || node > last { node } else { last + 1 - node }
    }

    fn mirrored_nodes(&self) -> usize {
        self.nodes - self.nodes % 2
    }
}

/// A circle of ranks, as the one at `position` sees it.
///
/// ```text
/// ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐     position 1: previous 0, next 2, size 4
/// └────────────────────────┘
/// ```
pub struct Ring {
    /// Where this rank stands, from 0 on.
    pub position: usize,
    /// Number of ranks in the circle.
    pub size: usize,
    /// The rank at the position before.
    pub previous: usize,
    /// The rank at the position after.
    pub next: usize,
    /// All messages round this circle.
    pub tag: Tag,
}

/// The parts that a rank and its partner keep in one step of halving: together, the part of both before.
pub struct Halves {
    /// The partner.
    pub peer: usize,
    /// The half of this rank.
    pub own: Span,
    /// The half of its partner.
    pub its: Span,
}

/// A reduce_scatter of as many `steps`, each of which halves what a rank works on; then an allgather by the same exchanges
/// backwards.
///
/// ```text
/// step 0    [0 1 2 3] ─▶ peer    peer ─▶ + [4 5 6 7]          and back    [0 1 2 3] ◀─ peer
/// step 1              [6 7] ─▶ peer    peer ─▶ + [4 5]        ▲                [6 7] ◀─ peer
/// ```
pub async fn halve_and_double(r: &Rank<'_>, steps: u32, halves: impl Fn(u32) -> Halves, tag: Tag) {
    halve(r, steps, &halves, tag).await;
    for step in (0..steps).rev() {
        let Halves { peer, own, its } = halves(step);
        r.sendrecv_with((peer, own), (peer, its), tag).await;
    }
}

/// The reduce_scatter alone.
pub async fn halve(r: &Rank<'_>, steps: u32, halves: impl Fn(u32) -> Halves, tag: Tag) {
    let scratch = r.scratch(if steps > 0 { halves(0).own.len } else { 0 });
    for step in 0..steps {
        let Halves { peer, own, its } = halves(step);
        let arrived = scratch.part(0, own.len);
        r.sendrecv_with((peer, its), (peer, arrived), tag).await;
        r.reduce(peer, arrived, own).await;
    }
}

/// The contribution of this rank, where its result does not overwrite it: a copy, when the call is in place.
pub async fn input_apart_from_result(r: &Rank<'_>, c: &Call) -> Span {
    let input = c.input(r);
    if !input.overlaps(c.result(r)) {
        return input;
    }
    let copy = r.scratch(input.len);
    r.copy(input, copy).await;
    copy
}

#[cfg(test)]
mod tests {
    use hocket_core::{Buffer, Collective, Counts};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn children_have_their_parent_and_share_its_subtree(
            (ranks, root, rank) in (1_usize..300).prop_flat_map(|ranks| (Just(ranks), 0..ranks, 0..ranks)),
            radix in 2_usize..20,
        ) {
            let tree = KnomialTree::new(rank, root, ranks, radix);
            let mut next = 1;
            for child in tree.children() {
                prop_assert_eq!(KnomialTree::new(child, root, ranks, radix).parent(), Some(rank));
                prop_assert_eq!(tree.subtree(child).start, next);
                prop_assert_eq!((rank + next) % ranks, child);
                next = tree.subtree(child).end;
            }
            prop_assert_eq!(tree.subtree(rank), 0..next);
            prop_assert!(rank != root || next == ranks);
        }

        #[test]
        fn peers_in_a_binomial_tree_meet_at_the_same_level(
            (ranks, root, rank) in (1_usize..300).prop_flat_map(|ranks| (Just(ranks), 0..ranks, 0..ranks)),
        ) {
            let tree = BinomialTree::new(rank, root, ranks);
            for level in 0..tree.levels() {
                if let Some(peer) = tree.peer(level) {
                    let distance = tree.relative().abs_diff(BinomialTree::new(peer, root, ranks).relative());
                    prop_assert_eq!(distance, 1 << level);
                    prop_assert_eq!(BinomialTree::new(peer, root, ranks).peer(level), Some(rank));
                }
            }
            let met: Vec<_> = tree.children().chain(tree.parent()).collect();
            prop_assert_eq!(tree.peers().map(|(_, peer)| peer).collect::<Vec<_>>(), met);
        }
    }

    #[test]
    fn folded_ranks_are_each_spoken_for_once() {
        for ranks in 1..70 {
            let fold = Fold::new(ranks);
            assert_eq!((fold.first_rank(0), fold.first_rank(fold.active())), (0, ranks));
            for virtual_rank in 0..fold.active() {
                let rank = fold.rank_of(virtual_rank);
                let group = fold.first_rank(virtual_rank)..fold.first_rank(virtual_rank + 1);
                assert_eq!(rank, group.end - 1);
                assert_eq!(fold.speaks_for_two(rank), group.len() == 2);
                for member in group {
                    assert_eq!(fold.virtual_rank(member), virtual_rank);
                    assert_eq!(fold.sits_out(member), member != rank);
                }
            }
        }
    }

    #[test]
    fn partners_of_a_halving_split_their_chunks() {
        for steps in 0..6 {
            let ranks = 1 << steps;
            for (rank, step) in (0..ranks).flat_map(|rank| (0..steps).map(move |step| (rank, step))) {
                let partner = rank ^ (1 << step);
                let (mut both, whole) =
                    ([halved(rank, step + 1, ranks), halved(partner, step + 1, ranks)], halved(rank, step, ranks));
                both.sort_by_key(|half| half.start);
                assert_eq!((both[0].start, both[0].end, both[1].end), (whole.start, both[1].start, whole.end));
            }
        }
    }

    #[test]
    fn rotated_blocks_are_all_blocks_once() {
        let counts = Counts::each(&[3, 0, 1, 4, 2]);
        let call = Call { counts, ..Call::new(Collective::Allgather, 5, 0) };
        let (ordered, rotated) = (Span::new(Buffer::Result, call.total()), Span::new(Buffer::Scratch, call.total()));
        for first in 0..5 {
            let rotation = rotated_blocks(&call, first);
            assert_eq!(rotation.len(5), call.total());
            for i in 0..5 {
                assert_eq!(rotation.part(rotated, i..i + 1).len, call.count((first + i) % 5));
            }
            for (from, to) in rotation.pieces(ordered, rotated) {
                assert_eq!(from.len, to.len);
            }
        }
    }

    #[test]
    fn segments_cover_the_vector_in_order() {
        for (len, segment) in (0..20).flat_map(|len| (1..5).map(move |elements| (len, 8 * elements))) {
            let call = Call {
                element_bytes: 8,
                parameters: vec![(SEGMENT.name, segment)],
                ..Call::new(Collective::Broadcast, 2, len)
            };
            let segments = Segments::new(&call, Span::new(Buffer::Result, len));
            let covered: Vec<_> = (0..segments.count()).flat_map(|i| segments.get(i).range()).collect();
            assert_eq!(covered, (0..len).collect::<Vec<_>>());
            assert!((0..segments.count()).all(|i| segments.get(i).len * 8 <= segment as usize));
        }
    }

    #[test]
    fn double_trees_reach_every_node_and_are_interior_at_most_once() {
        for ranks in 2..300 {
            let trees = DoubleTree::new(ranks);
            for node in 1..ranks {
                for edge in trees.parents(node) {
                    let of_parent =
                        trees.children(edge.peer).into_iter().filter(|e| e.tree == edge.tree && e.peer == node);
                    assert_eq!(of_parent.map(|e| e.first_step).collect::<Vec<_>>(), [edge.first_step]);
                }
                let children = trees.children(node);
                assert!(children.iter().all(|edge| edge.tree == children[0].tree), "{node} of {ranks}");
            }
            let edges: usize = (0..ranks).map(|node| trees.children(node).len()).sum();
            assert_eq!(edges, 2 * (ranks - 1));
        }
    }

    #[test]
    fn double_trees_never_make_a_node_send_or_receive_twice_in_a_step_or_send_what_it_lacks() {
        for ranks in 2..300 {
            let trees = DoubleTree::new(ranks);
            for node in 0..ranks {
                let (parents, children) = (trees.parents(node), trees.children(node));
                for edges in [&parents, &children] {
                    assert!(edges.len() <= 2, "{node} of {ranks}");
                    assert!(edges.len() < 2 || edges[0].first_step % 2 != edges[1].first_step % 2, "{node} of {ranks}");
                }
                for edge in children.iter().filter(|_| node > 0) {
                    assert!(edge.first_step > parents[edge.tree].first_step, "{node} of {ranks}");
                }
            }
        }
    }
}

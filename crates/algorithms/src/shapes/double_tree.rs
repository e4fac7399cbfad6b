//! Two binary trees; a rank is an interior node in at most one of them.

use crate::shapes::mirrored_trees::{in_order, parent_in_order};

/// Two binary trees over the nodes 1 .. N = P - 1. Node 0 is the parent of both top nodes. Drawn for 7 ranks.
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
/// Messages cross an edge in every second step. The parity of these steps is the colour of the edge. A node's two edges
/// to its parents have different colours, and so have its two edges to its children. So a node never sends or receives
/// two messages at a time.
pub struct DoubleTree {
    nodes: usize,
}

/// An edge of one of the trees, as one of its ends sees it. Messages with even numbers cross tree 0.
pub struct TreeEdge {
    /// The node at the other end.
    pub peer: usize,
    /// The step in which the first message crosses the edge.
    pub first_step: usize,
    /// The tree: 0 or 1.
    pub tree: usize,
}

impl TreeEdge {
    /// The message that crosses the edge in `step`, if any of the `messages` does.
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

    /// The edges from `node` to its children. All are in one tree, except for node 0, which has one child in each tree.
    pub fn children(&self, node: usize) -> Vec<TreeEdge> {
        let edge = |tree, peer| TreeEdge { peer, first_step: self.first_step(tree, peer), tree };
        (0..2).flat_map(|tree| self.children_in(tree, node).map(move |child| edge(tree, child))).collect()
    }

    fn parent(&self, tree: usize, node: usize) -> usize {
        self.counterpart(tree, self.parent_in_order(self.counterpart(tree, node)))
    }

    fn parent_in_order(&self, node: usize) -> usize {
        parent_in_order(self.nodes + 1, node).0
    }

    fn children_in(&self, tree: usize, node: usize) -> impl Iterator<Item = usize> {
        let children = in_order(self.nodes + 1, self.counterpart(tree, node)).children;
        children.into_iter().flatten().map(move |child| self.counterpart(tree, child))
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

    /// The parity of the steps in which `node` receives from its parent in tree 0. In tree 1 it is the other parity.
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
            self.colour(self.mirror(node))
        }
    }

    /// The place in tree 0 of a node of a tree, or the node of the tree at a place.
    fn counterpart(&self, tree: usize, node: usize) -> usize {
        if tree == 0 { node } else { self.mirror(node) }
    }

    /// The node whose place in tree 0 `node` takes in tree 1.
    fn mirror(&self, node: usize) -> usize {
        let last = self.mirrored_nodes();
        if node == 0 || node > last { node } else { last + 1 - node }
    }

    fn mirrored_nodes(&self) -> usize {
        self.nodes - self.nodes % 2
    }
}

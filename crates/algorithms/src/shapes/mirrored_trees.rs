//! Two binary trees over the same nodes; a node is an interior node in at most one of them, except at the roots.

/// A node's place in one of the trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeNode {
    /// The parent, and which of the parent's two children this node is. None at the root.
    pub parent: Option<(usize, usize)>,
    /// The two children.
    pub children: [Option<usize>; 2],
}

/// The place of a node among `nodes` nodes in tree 0 or 1. Drawn for 6 nodes.
///
/// ```text
/// tree 0:   0                tree 1:   5              tree 0: the lowest set bit of a node is its height, so odd nodes
///           └──┐                    ┌──┘              are leaves; node 0 is the root, with one child
///              4                    1                 tree 1, nodes even: node i takes the place of node N - 1 - i
///           ┌──┴──┐              ┌──┴──┐              tree 1, nodes odd: node i takes the place of node i - 1
///           2     5              0     3
///         ┌─┴─┐                      ┌─┴─┐
///         1   3                      2   4
/// ```
///
/// Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
/// Parallel Computing 35 (2009); NCCL, `src/graph/trees.cc`.
pub fn tree_node(tree: usize, nodes: usize, node: usize) -> TreeNode {
    if tree == 0 {
        return in_order(nodes, node);
    }
    let mirror = |node: usize| nodes - 1 - node;
    let (place_of, node_at): (&dyn Fn(usize) -> usize, &dyn Fn(usize) -> usize) = if nodes.is_multiple_of(2) {
        (&mirror, &mirror)
    } else {
        (&|node| (node + nodes - 1) % nodes, &|node| (node + 1) % nodes)
    };
    let TreeNode { parent, children } = in_order(nodes, place_of(node));
    TreeNode {
        parent: parent.map(|(parent, side)| (node_at(parent), side)),
        children: children.map(|child| child.map(node_at)),
    }
}

/// The place of a node in tree 0.
pub(super) fn in_order(nodes: usize, node: usize) -> TreeNode {
    if node == 0 {
        let top = (nodes > 1).then(|| 1 << (nodes - 1).ilog2());
        return TreeNode { parent: None, children: [None, top] };
    }
    let height = 1 << node.trailing_zeros();
    let left = (height > 1).then(|| node - height / 2);
    let right = (0..height.ilog2()).rev().map(|bit| node + (1 << bit)).find(|right| *right < nodes);
    TreeNode { parent: Some(parent_in_order(nodes, node)), children: [left, right] }
}

/// The parent in tree 0 of a node other than node 0, and which of its children the node is.
pub(super) fn parent_in_order(nodes: usize, node: usize) -> (usize, usize) {
    let height = 1 << node.trailing_zeros();
    let above = (node ^ height) | (height << 1);
    let parent = if above < nodes { above } else { node ^ height };
    (parent, usize::from(parent < node))
}

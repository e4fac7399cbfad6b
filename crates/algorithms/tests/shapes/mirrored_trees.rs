use hocket_algorithms::shapes::*;

#[test]
fn parents_and_children_agree_and_all_nodes_hang_below_the_root() {
    for (tree, nodes) in (1..70).flat_map(|nodes| [(0, nodes), (1, nodes)]) {
        let place = |node| tree_node(tree, nodes, node);
        for node in 0..nodes {
            for (side, child) in place(node).children.into_iter().enumerate() {
                assert!(child.is_none_or(|child| place(child).parent == Some((node, side))), "{nodes} {node}");
            }
            if let Some((parent, side)) = place(node).parent {
                assert_eq!(place(parent).children[side], Some(node), "{nodes} nodes, tree {tree}, node {node}");
            }
            let depth = std::iter::successors(Some(node), |node| place(*node).parent.map(|(parent, _)| parent));
            assert!(depth.take(nodes + 1).count() <= nodes.ilog2() as usize + 2, "{nodes} nodes, node {node}");
        }
        assert_eq!((0..nodes).filter(|node| place(*node).parent.is_none()).count(), 1);
    }
}

#[test]
fn a_node_is_an_interior_node_once() {
    for nodes in 2..70 {
        let inner = |tree, node| tree_node(tree, nodes, node).children.iter().flatten().count() > 0;
        let twice = (0..nodes).filter(|node| inner(0, *node) && inner(1, *node)).count();
        assert!(twice <= nodes % 2, "{nodes} nodes: {twice}");
    }
}

#[test]
fn six_nodes_as_drawn() {
    let children = |tree| (0..6).map(|node| tree_node(tree, 6, node).children).collect::<Vec<_>>();
    let none = [None, None];
    assert_eq!(children(0), [[None, Some(4)], none, [Some(1), Some(3)], none, [Some(2), Some(5)], none]);
    assert_eq!(children(1), [none, [Some(3), Some(0)], none, [Some(4), Some(2)], none, [None, Some(1)]]);
}

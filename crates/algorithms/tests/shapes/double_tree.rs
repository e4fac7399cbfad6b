use hocket_algorithms::shapes::*;

#[test]
fn double_trees_reach_every_node_and_are_interior_at_most_once() {
    for ranks in 2..300 {
        let trees = DoubleTree::new(ranks);
        for node in 1..ranks {
            for edge in trees.parents(node) {
                let of_parent = trees.children(edge.peer).into_iter().filter(|e| e.tree == edge.tree && e.peer == node);
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

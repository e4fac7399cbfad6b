use hocket_algorithms::shapes::*;
use proptest::prelude::*;

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
        let peers: Vec<_> = tree.children().chain(tree.parent()).collect();
        prop_assert_eq!(tree.peers().map(|(_, peer)| peer).collect::<Vec<_>>(), peers);
    }
}

use hocket_algorithms::shapes::*;

#[test]
fn folded_ranks_are_each_spoken_for_once() {
    for (ranks, group) in (1..70_usize).flat_map(|ranks| (2..9_usize).map(move |group| (ranks, group))) {
        let active = group.pow(ranks.ilog(group));
        let fold = Fold::in_groups(group, active, ranks);
        assert_eq!((fold.first_rank(0), fold.first_rank(active)), (0, ranks));
        for virtual_rank in 0..active {
            let rank = fold.rank_of(virtual_rank);
            let members = fold.first_rank(virtual_rank)..fold.first_rank(virtual_rank + 1);
            assert_eq!(rank, members.end - 1);
            assert!(group != 2 || fold.speaks_for_two(rank) == (members.len() == 2));
            for member in members {
                assert_eq!(fold.virtual_rank(member), virtual_rank);
                assert_eq!(fold.sits_out(member), member != rank);
            }
        }
    }
}

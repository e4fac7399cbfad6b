use hocket_algorithms::shapes::redundancy::*;

#[test]
fn every_rank_is_in_one_group_of_two_to_four() {
    for ranks in 2..200 {
        let groups = RedundantGroups::new(ranks);
        for group in 0..groups.groups {
            let members = groups.members(group);
            assert!((2..=4).contains(&members.len()), "{ranks} ranks: {members:?}");
            assert!(members.clone().all(|rank| groups.of(rank) == group), "{ranks} ranks: {members:?}");
        }
        assert_eq!(groups.first(groups.groups), ranks);
    }
}

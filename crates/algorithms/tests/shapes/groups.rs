use hocket_algorithms::shapes::groups::*;
use hocket_core::{Call, Collective};
use proptest::prelude::*;

proptest! {
    #[test]
    fn every_rank_is_in_one_group(ranks in 1_usize..200, group in 0_u64..250) {
        let parameters = vec![(GROUP.name, group)];
        let groups = Groups::of(&Call { parameters, ..Call::new(Collective::Allgather, ranks, 1) });
        let members: Vec<_> = (0..groups.count).flat_map(|group| groups.members(group)).collect();
        prop_assert_eq!(members, (0..ranks).collect::<Vec<_>>());
        prop_assert!((0..ranks).all(|rank| groups.members(rank / groups.size).contains(&rank)));
        let pairs: usize = (0..groups.count).map(|group| groups.members(group).len()).map(|n| n * (n - 1)).sum();
        prop_assert_eq!(groups.pairs(), pairs);
    }
}

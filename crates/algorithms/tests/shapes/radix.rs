use hocket_algorithms::shapes::radix::*;
use hocket_core::{Call, Collective};
use proptest::prelude::*;

fn call(ranks: usize, radix: u64) -> Call {
    Call { parameters: vec![("radix", radix)], ..Call::new(Collective::Allreduce, ranks, 1) }
}

proptest! {
    #[test]
    fn each_step_multiplies_the_ranks_that_are_together(ranks in 1_usize..500, radix in 2_u64..20) {
        let Multiplying { fold, steps } = Multiplying::of(&call(ranks, radix));
        prop_assert!(fold.active() <= ranks && ranks <= 2 * fold.active());
        for rank in 0..fold.active() {
            let mut members = vec![rank];
            for groups in &steps {
                let others = members.iter().flat_map(|member| groups.others(*member).map(|(_, other)| other));
                let new_members: Vec<_> = others.chain(members.iter().copied()).collect();
                members = (rank - rank % (groups.distance * groups.size)..).take(new_members.len()).collect();
                prop_assert_eq!(hocket_algorithms::shapes::rounds::distinct(new_members), members.clone());
            }
            prop_assert_eq!(members.len(), fold.active());
        }
    }

    #[test]
    fn members_of_a_group_stand_where_the_others_see_them(ranks in 1_usize..200, radix in 2_u64..20) {
        let Multiplying { fold, steps } = Multiplying::of(&call(ranks, radix));
        for (rank, groups) in (0..fold.active()).flat_map(|rank| steps.iter().map(move |groups| (rank, groups))) {
            for (position, other) in groups.others(rank) {
                prop_assert_eq!(groups.position(other), position);
                prop_assert!(groups.others(other).any(|place| place == (groups.position(rank), rank)));
            }
        }
    }
}

#[test]
fn every_radix_from_the_number_of_ranks_on_is_one_step() {
    for radix in [7, 8, 1 << 40, u64::MAX] {
        assert_eq!(powers(&call(7, radix)).collect::<Vec<_>>(), [1]);
        assert_eq!((most_others(&call(7, radix)), Multiplying::of(&call(7, radix)).most_others()), (6, 6));
    }
    assert_eq!(powers(&call(28, 3)).collect::<Vec<_>>(), [1, 3, 9, 27]);
    assert_eq!(powers(&call(27, 3)).collect::<Vec<_>>(), [1, 3, 9]);
}

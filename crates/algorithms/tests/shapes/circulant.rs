use hocket_algorithms::shapes::circulant::*;

#[test]
fn there_are_as_few_rounds_as_can_be_and_none_more_than_doubles() {
    for ranks in 1..2000_usize {
        let distances = distances(ranks);
        assert_eq!(distances.len() - 1, ranks.next_power_of_two().ilog2() as usize);
        assert_eq!((distances[0], *distances.last().unwrap()), (1, ranks));
        assert!(distances.windows(2).all(|round| round[0] < round[1] && round[1] <= 2 * round[0]));
    }
}

#[test]
fn ranks_receive_every_block_once_and_send_what_they_have() {
    for ranks in 2..700 {
        let rounds = distances(ranks).len() - 1;
        assert_eq!(sends(0, ranks), (0..rounds as isize).collect::<Vec<_>>());
        for rank in 1..ranks {
            let new = base_block(rank, &distances(ranks)) as isize;
            let of_phase_before = new - rounds as isize;
            let received = receives(rank, ranks);
            let mut sorted = received.clone();
            sorted.sort_unstable();
            let all = (-(rounds as isize)..0).filter(|block| *block != of_phase_before).chain([new]);
            assert_eq!(sorted, all.collect::<Vec<_>>(), "{rank} of {ranks}");
            for (round, sent) in sends(rank, ranks).iter().enumerate() {
                let is_there = *sent == of_phase_before || received[..round].contains(sent);
                assert!(is_there, "round {round} of {rank} of {ranks}");
            }
        }
    }
}

use hocket_algorithms::shapes::*;

#[test]
fn partners_of_a_halving_split_their_chunks() {
    for steps in 0..6 {
        let ranks = 1 << steps;
        for (rank, step) in (0..ranks).flat_map(|rank| (0..steps).map(move |step| (rank, step))) {
            let partner = rank ^ (1 << step);
            let (mut halves, whole) = (
                [half_range(rank, step + 1, ranks), half_range(partner, step + 1, ranks)],
                half_range(rank, step, ranks),
            );
            halves.sort_by_key(|half| half.start);
            assert_eq!((halves[0].start, halves[0].end, halves[1].end), (whole.start, halves[1].start, whole.end));
        }
    }
}

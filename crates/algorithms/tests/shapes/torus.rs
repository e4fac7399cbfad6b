use hocket_algorithms::shapes::torus::*;

#[test]
fn ranks_without_sizes_form_nearly_a_cube() {
    let cubes = [
        (1, [1, 1, 1]),
        (6, [3, 2, 1]),
        (7, [7, 1, 1]),
        (8, [2, 2, 2]),
        (12, [3, 2, 2]),
        (36, [4, 3, 3]),
        (64, [4, 4, 4]),
        (9216, [24, 24, 16]),
    ];
    for (ranks, sizes) in cubes {
        assert_eq!(Torus::near_cube(ranks), Torus::new(&sizes));
    }
    for ranks in 1..300 {
        let [x, y, z, ..] = Torus::near_cube(ranks).sizes;
        assert!(x * y * z == ranks && x >= y && y >= z, "{ranks}");
    }
}

#[test]
fn coordinates_are_those_of_the_rank() {
    for [x, y, z] in [[1, 1, 1], [4, 1, 2], [3, 4, 2], [2, 3, 4]] {
        let torus = Torus::new(&[x, y, z]);
        for rank in 0..x * y * z {
            let at = torus.coordinates(rank);
            assert_eq!((torus.rank(at), at[0] + x * (at[1] + y * at[2])), (rank, rank));
        }
    }
    let torus = Torus::new(&[3, 1, 2, 2, 1, 5]);
    assert_eq!(torus.coordinates(1 + 3 * (2 * (1 + 2 * 4))), [1, 0, 0, 1, 0, 4]);
    assert!((0..60).all(|rank| torus.rank(torus.coordinates(rank)) == rank));
}

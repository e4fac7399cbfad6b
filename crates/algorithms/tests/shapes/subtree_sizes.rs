use hocket_algorithms::shapes::subtree_sizes::*;

#[test]
fn digits_make_the_number_again_and_only_the_last_one_is_short() {
    for number in [0, 1, BASE - 1, BASE, BASE + 1, BASE * BASE - 1, BASE * BASE, 1 << 40, usize::MAX] {
        let lengths: Vec<_> = digits(number).collect();
        let (last, others) = lengths.split_last().expect("a digit");
        assert!(*last < BASE && others.iter().all(|length| (BASE..2 * BASE).contains(length)), "{number}: {lengths:?}");
        let sum = lengths.iter().rfold(0, |number, length| number * BASE + length % BASE);
        assert_eq!(sum, number);
    }
}

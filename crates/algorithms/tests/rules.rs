//! Rules: which rule decides a call, and which lines are refused.

use std::sync::Arc;

use hocket_algorithms::automatic::Surroundings;
use hocket_algorithms::rules::{MOST_LEFT, OF_LIBRARIES, Rules};
use hocket_core::{Call, Collective, Counts, Pairs};

fn chosen(rules: &Rules, collective: Collective, bytes: usize, ranks: usize) -> String {
    match rules.decide(&Call::new(collective, ranks, bytes), false) {
        Ok((entry, call)) => format!("{} {:?}", entry.name, call.parameters),
        Err(reason) => reason.to_string(),
    }
}

#[test]
fn the_first_rule_decides_that_fits_and_is_not_refused() {
    let text = "# long ones\nallreduce[size=64KiB.., ranks=8..]: ring\n\nallreduce : recursive_doubling # all others\n\
                broadcast[ size = ..1MiB ]: chain, segment=4KiB\nalltoall:native\n\
                allgather: recursive_doubling\nallgather[ranks=..6]: ring";
    let rules = Rules::parse(text, "rules").expect("good rules");
    assert_eq!(chosen(&rules, Collective::Allreduce, 65536, 8), "ring []");
    assert_eq!(chosen(&rules, Collective::Allreduce, 65535, 8), "recursive_doubling []");
    assert_eq!(chosen(&rules, Collective::Allreduce, 65536, 7), "recursive_doubling []");
    assert_eq!(chosen(&rules, Collective::Broadcast, (1 << 20) - 1, 2), "chain [(\"segment\", 4096)]");
    assert_eq!(chosen(&rules, Collective::Broadcast, 1 << 20, 2), "no rule for it");
    assert_eq!(chosen(&rules, Collective::Alltoall, 0, 1), "a rule says native");
    assert_eq!(chosen(&rules, Collective::Barrier, 0, 1), "no rule for it");
    assert_eq!(chosen(&rules, Collective::Allgather, 8, 5), "ring []");
    let refusal = chosen(&rules, Collective::Allgather, 8, 7);
    assert!(refusal.starts_with("allgather recursive_doubling needs a power of two of ranks"), "{refusal}");
}

#[test]
fn the_total_is_that_of_all_blocks_and_ranks_may_be_a_power_of_two() {
    let text = "allgather[total=..1KiB, ranks=power_of_two, ranks=4..]: recursive_doubling\nallgather: ring";
    let rules = Rules::parse(text, "rules").expect("good rules");
    let cases = [(255, 4, true), (256, 4, false), (8, 5, false), (8, 2, false), (127, 8, true)];
    for (bytes, ranks, doubles) in cases {
        let expected = if doubles { "recursive_doubling []" } else { "ring []" };
        assert_eq!(chosen(&rules, Collective::Allgather, bytes, ranks), expected, "{bytes} bytes, {ranks} ranks");
    }
}

#[test]
fn short_calls_may_be_left_whatever_else_they_are() {
    let cases = [
        ("", MOST_LEFT),
        ("allgather: native", MOST_LEFT),
        ("allgather: ring", 0),
        ("allgather[size=..64]: native\nallgather: ring", 64),
        ("allgather[size=64..1KiB]: ring", 64),
        ("allgather[total=64..]: ring", 16),
        ("allgather[total=63..]: ring", 16),
        ("allgather[size=8..64]: native\nallgather[size=..16]: native\nallgather: ring", 64),
        ("allgather[size=8..64]: native\nallgather: ring", 0),
        ("allgather[ranks=5..]: ring\nallgather[size=2MiB..]: ring", 2 << 20),
        ("allgather[ranks=power_of_two]: ring", 0),
        ("iallgather: ring\nalltoall: pairwise_exchange", MOST_LEFT),
    ];
    for (text, expected) in cases {
        let rules = Rules::parse(text, "rules").expect("good rules");
        let found = rules.bytes_left_to_mpi(Collective::Allgather, 4, false);
        assert_eq!(found, expected, "{text}");
        for bytes in [0, 1, 7, 8, 15, 16, 63, 64, 1023, 1024].into_iter().filter(|&bytes| (bytes as u64) < found) {
            let is_left = rules.decide(&Call::new(Collective::Allgather, 4, bytes), false).is_err();
            assert!(is_left, "{text}: {bytes}");
        }
    }
    let rules = Rules::parse("allgather: ring", "rules").expect("good rules");
    assert_eq!(rules.bytes_left_to_mpi(Collective::Barrier, 4, false), MOST_LEFT);
    let rules = Rules::parse("reduce_scatter[size=65..]: ring", "rules").expect("good rules");
    assert_eq!(rules.bytes_left_to_mpi(Collective::ReduceScatter, 4, false), 17);
}

#[test]
fn rules_decide_where_a_rank_knows_its_own_counts_only() {
    let rules = Rules::parse("gatherv[ranks=2..]: linear\nalltoallv: linear", "rules").expect("good rules");
    let own = Call { counts: Counts::Own(3), ..Call::new(Collective::Gatherv, 4, 1) };
    let pairs = Counts::Pairs(Arc::new(Pairs::one_rank(1, &[1, 2, 3, 4], &[4, 3, 2, 1])));
    let row = Call { counts: pairs, ..Call::new(Collective::Alltoallv, 4, 1) };
    for call in [own, row] {
        assert_eq!(rules.decide(&call, false).map(|(entry, _)| entry.name), Ok("linear"));
    }
}

/// Checks the first and the last size of each algorithm: of `tuned`'s allreduce on 4 to 7 ranks, and of MPICH's
/// broadcast on 8 ranks.
#[test]
fn the_rules_of_libraries_choose_as_their_sources_say() {
    let rules = |name| {
        let (_, text) = OF_LIBRARIES.iter().find(|(known, _)| *known == name).expect("a known name");
        Rules::parse(text, name).expect("good rules")
    };
    let (mpich, openmpi) = (rules("mpich-5.0"), rules("openmpi-5.0"));
    for (bytes, expected) in [
        (15, "ring_or_recursive_doubling"),
        (16, "recursive_doubling"),
        (8191, "recursive_doubling"),
        (8192, "rabenseifner"),
    ] {
        assert!(chosen(&openmpi, Collective::Allreduce, bytes, 7).starts_with(&format!("{expected} [")));
    }
    for (bytes, ranks, expected) in [
        (1 << 20, 7, "binomial"),
        (12288, 8, "binomial"),
        (12289, 8, "scatter_doubling_allgather"),
        (524288, 8, "scatter_doubling_allgather"),
        (524289, 8, "scatter_ring_allgather"),
        (12289, 9, "scatter_ring_allgather"),
    ] {
        assert!(chosen(&mpich, Collective::Broadcast, bytes, ranks).starts_with(&format!("{expected} [")));
    }
}

#[test]
fn one_value_is_that_value() {
    let rules = Rules::parse("allreduce[ranks=8]: ring\nallreduce[size=64KiB]: swing", "rules").expect("good rules");
    assert_eq!(chosen(&rules, Collective::Allreduce, 8, 8), "ring []");
    assert_eq!(chosen(&rules, Collective::Allreduce, 8, 9), "no rule for it");
    assert_eq!(chosen(&rules, Collective::Allreduce, 65536, 4), "swing []");
    assert_eq!(chosen(&rules, Collective::Allreduce, 65537, 4), "no rule for it");
}

#[test]
fn automatic_values_follow_from_the_size_and_the_ranks_of_a_call() {
    let rules = Rules::parse("reduce: trinaryx3, segment=auto, X=4\nreduce: chain", "rules").expect("good rules");
    let segment = |bytes, ranks| match rules.decide(&Call::new(Collective::Reduce, ranks, bytes), false) {
        Ok((entry, call)) if entry.name == "trinaryx3" => Some(call.parameter("segment")),
        _ => None,
    };
    // On a ring of 4, the trees have height 3: sqrt(N L / (H (1/BWc + 1/BWo))), with 1 us and 10 GB/s.
    let best = |bytes: f64| (bytes * 1e-6 / (3.0 * 2.0 / 10e9)).sqrt().round() as u64;
    assert_eq!([segment(1 << 16, 4), segment(1 << 20, 4)], [65536.0, 1048576.0].map(|bytes| Some(best(bytes))));
    assert_eq!([segment(1 << 16, 5), segment(0, 4)], [None, Some(65536)]);
}

#[test]
fn collectives_go_by_the_names_of_mpi_too() {
    let text = "bcast: chain, segment=8B\nireduce_scatter_block: ring";
    let rules = Rules::parse(text, "rules").expect("good rules");
    assert_eq!(chosen(&rules, Collective::Broadcast, 8, 8), "chain [(\"segment\", 8)]");
    assert!(rules.mention(Some(Collective::ReduceScatter), true));
}

#[test]
fn calls_that_return_early_have_rules_of_their_own() {
    let rules = Rules::parse("iallreduce: ring\nallreduce: swing\nibroadcast: native", "rules").expect("good rules");
    let call = Call::new(Collective::Allreduce, 4, 8);
    let name = |is_nonblocking| rules.decide(&call, is_nonblocking).expect("a rule").0.name;
    assert_eq!((name(false), name(true)), ("swing", "ring"));
    assert!(rules.mention(None, true) && rules.mention(Some(Collective::Allreduce), false));
    assert!(!rules.mention(Some(Collective::Broadcast), true));
}

#[test]
fn a_bad_rule_is_named_with_its_line() {
    let bad = [
        ("allreduce", "got \"allreduce\", expected COLLECTIVE[size=FROM..TO, ranks=FROM..TO]: ALGORITHM, NAME=VALUE"),
        ("bcasts: chain", "unknown collective \"bcasts\", expected one of allgather, allreduce"),
        ("allreduce: rings", "unknown allreduce algorithm \"rings\", did you mean ring?"),
        (
            "alltoallv[size=1..]: linear",
            "alltoallv: got the condition size, expected ranks only, as a rank knows only its own blocks",
        ),
        (
            "allreduce[total=1..]: ring",
            "allreduce: got the condition total, expected size, which counts all blocks here",
        ),
        ("allreduce[size=1..1]: ring", "range \"1..1\" is empty, expected FROM < TO"),
        ("allreduce[size=x]: ring", "got \"x\", expected one value, or FROM..TO such as 64KiB.. or 2..17"),
        ("allreduce[bytes=7..]: ring", "unknown condition \"bytes\", expected size, total, ranks or elements"),
        ("allreduce[size=7..: ring", "got \"allreduce[size=7..\", expected COLLECTIVE"),
        ("broadcast: chain, segment=x", "broadcast chain: segment: got \"x\""),
        (
            "alltoall: pairwise_exchange, pairing=1",
            "alltoall pairwise_exchange: pairing: parameter pairing: got \"1\", expected one of xor_or_shift, xor, shift",
        ),
        ("broadcast: chain, segment", "got \"segment\", expected NAME=VALUE"),
        ("broadcast: chain, size=8", "broadcast chain: unknown parameter \"size\""),
        (
            "allreduce: redundant_butterfly, T=auto",
            "T=auto: an MPI program has no machine file to compute it from, expected a number",
        ),
        (
            "allgather: bruck, radix=auto",
            "allgather/bruck: parameter radix: got auto, but radix has no automatic value",
        ),
        ("broadcast: chain, size=auto", "broadcast chain: unknown parameter \"size\", expected segment"),
        ("alltoall: native, x=1", "native: got \"x=1\", expected no parameters"),
    ];
    for (line, expected) in bad {
        let error = Rules::parse(&format!("# one\n{line}"), "my.rules").expect_err(line).to_string();
        assert!(error.starts_with(&format!("my.rules:2: {expected}")), "{line}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_rules_or_one_line_that_names_the_file(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "allreduce", "iallreduce", "broadcast", "ring", "chain", "native", ":", "[", "]", ",", "=", "size", "ranks",
                "segment", "..", "64KiB", "1", "-1", "18446744073709551616", "#", "\n", " ", "\u{e9}", "i",
            ]),
            0..24,
        ),
    ) {
        let text = parts.concat();
        if let Err(error) = Rules::parse(&text, "some.rules") {
            let error = error.to_string();
            proptest::prop_assert!(error.starts_with("some.rules:") && error.lines().count() == 1, "{}", error);
        }
    }
}

#[test]
fn a_fixed_order_holds_for_all_sizes_and_both_forms() {
    let text = "order = fixed\nallreduce[size=..16KiB]: recursive_doubling\nallreduce: rabenseifner\n\
                reduce[ranks=power_of_two]: chain, segment=4KiB\nreduce[ranks=2..]: linear\nalltoall[size=1KiB..]: linear";
    let rules = Rules::parse(text, "rules").expect("rules with one order for each number of ranks");
    assert!(rules.order_is_fixed());
    for (bytes, name) in [(8, "recursive_doubling"), (1 << 20, "rabenseifner")] {
        let call = Call::new(Collective::Allreduce, 6, bytes);
        for is_nonblocking in [false, true] {
            let (entry, _) = rules.decide(&call, is_nonblocking).expect("decided");
            assert_eq!((entry.name, entry.about.order), (name, Some("recursive_doubling")));
        }
        assert!(rules.mention(Some(Collective::Allreduce), true) && !rules.mention(Some(Collective::Alltoall), true));
    }
    // A form with rules of its own keeps them.
    let rules = Rules::parse("order=fixed\nallreduce: bine\niallreduce: bine", "rules").expect("one order");
    assert_eq!(rules.iter().count(), 2);
}

#[test]
fn what_would_break_a_fixed_order_is_named_with_its_line() {
    for (text, expected) in [
        ("order = any", "rules:1: got \"order = any\", expected order = fixed"),
        (
            "order = fixed\nallreduce: ring",
            "rules:2: allreduce: the order of ring depends on the element or the size, expected one of bine, dual_root",
        ),
        ("Order: fixed", "rules:1: got \"Order: fixed\", expected order = fixed"),
        (
            "order = fixed\nallreduce: bine\nallreduce[size=..16KiB]: recursive_doubling\nallreduce: linear",
            "rules:4: allreduce: on 2 ranks, linear combines in another order than recursive_doubling in line 3",
        ),
        ("order = fixed\nreduce: native", "rules:2: reduce: native leaves the order to MPI, expected an algorithm"),
        (
            "order = fixed\nallreduce[size=8..]: recursive_multiplying, radix=3\nallreduce: recursive_multiplying",
            "rules:3: allreduce: on 2 ranks, recursive_multiplying combines in another order than recursive_multiplying",
        ),
        (
            "order = fixed\nallreduce[size=..4KiB]: linear\nallreduce: rabenseifner",
            "rules:3: allreduce: on 2 ranks, rabenseifner combines in another order than linear in line 2",
        ),
        (
            "order = fixed\nallreduce[ranks=..8]: linear\nallreduce[size=..4KiB]: bine\n",
            "rules:3: allreduce: other sizes are left to MPI; expected a rule for all sizes on 8 ranks behind this one",
        ),
        (
            "order = fixed\nreduce_scatter: bine",
            "rules:2: reduce_scatter: reduce_scatter bine needs a power of two of ranks: partners are found by flipping \
             bits of the rank (P = 3); expected a rule for all sizes on 3 ranks behind this one",
        ),
        (
            "order = fixed\nallreduce: linear\niallreduce: bine",
            "rules:3: allreduce: on 2 ranks, bine combines in another order than linear in line 2",
        ),
    ] {
        let refused = Rules::parse(text, "rules").expect_err(text).to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
    for text in [
        "order = fixed\nreduce_scatter[ranks=power_of_two]: bine",
        "order = fixed\nallreduce[ranks=..8]: linear\nallreduce[ranks=8..]: bine",
        "order = fixed\nallreduce[size=..4KiB]: recursive_multiplying, radix=3\nallreduce: sra_knomial, radix=3",
        "order = fixed\nallreduce[size=..16KiB]: rabenseifner\nallreduce[size=16KiB..]: recursive_doubling",
        "order = fixed\nallreduce: recursive_multiplying, radix=4\niallreduce: recursive_multiplying",
        "order = fixed\nallreduce[ranks=1]: native\nallreduce: bine",
        "order = fixed\nallreduce[size=..8KiB]: rabenseifner\nallreduce[size=..4KiB]: linear\nallreduce: rabenseifner",
        "order = fixed\nreduce_scatter: recursive_doubling",
        "order = fixed\nalltoall[size=8]: native",
        "order = fixed",
    ] {
        assert!(Rules::parse(text, "rules").is_ok(), "{text}");
    }
}

#[test]
fn under_a_fixed_order_only_segments_may_be_automatic() {
    let quiet = Surroundings { noise: Ok(None), ..Surroundings::of_unknown_machine() };
    let text = "order = fixed\nallreduce[ranks=power_of_two]: redundant_butterfly, T=auto";
    assert!(Rules::parse_on(text.split_once('\n').unwrap().1, "rules", &quiet).is_ok());
    let refused = Rules::parse_on(text, "rules", &quiet).unwrap_err().to_string();
    assert!(refused.starts_with("rules:2: allreduce: T=auto may depend on the size, expected a value"), "{refused}");
    assert!(Rules::parse_on("order = fixed\nreduce: tree, segment=8KiB\nireduce: tree", "rules", &quiet).is_ok());
}

#[test]
fn rules_together_have_one_order() {
    let parse = |text| Rules::parse(text, "rules").expect(text);
    for (first, second) in
        [("order = fixed\nallreduce: linear", "iallreduce: ring"), ("allreduce: ring", "order = fixed")]
    {
        let refused = parse(first).with_fallback(parse(second)).expect_err(second).to_string();
        assert!(refused.starts_with("all rules together:"), "{refused}");
    }
    assert!(parse("order = fixed\nallreduce: linear").with_fallback(parse("alltoall: linear")).is_ok());
}

#[test]
fn few_elements_are_fewer_than_ranks_or_than_a_power_of_two_of_them() {
    let text = "allreduce[elements=..power_of_two]: recursive_doubling\nallreduce[elements=ranks..]: ring\n\
                allreduce: rabenseifner";
    let rules = Rules::parse(text, "rules").expect("good rules");
    for (elements, expected) in [(3, "recursive_doubling"), (4, "rabenseifner"), (5, "rabenseifner"), (6, "ring")] {
        let call = Call { element_bytes: 8, ..Call::new(Collective::Allreduce, 6, elements) };
        assert_eq!(rules.decide(&call, false).map(|(entry, _)| entry.name), Ok(expected), "{elements} elements");
    }
    for condition in ["elements=8", "elements=ranks..9", "elements=..", "elements=4..ranks", "elements=..size"] {
        let error = Rules::parse(&format!("allreduce[{condition}]: ring"), "rules").map(drop).unwrap_err().to_string();
        let expected = "expected ..ranks, ..power_of_two, ranks.. or power_of_two..";
        assert!(error.starts_with("rules:1: elements: got") && error.ends_with(expected), "{error}");
    }
}

/// Calls are only left without a look if no number of elements gives an algorithm.
#[test]
fn a_size_may_have_few_elements() {
    for (text, expected) in [
        ("allreduce[elements=..ranks]: ring", 0),
        ("allreduce[elements=..ranks]: native\nallreduce: ring", 0),
        ("allreduce[size=..64]: native\nallreduce[elements=..ranks]: ring", 64),
        ("allreduce[elements=..ranks]: native\nallreduce[size=64..]: ring", 64),
    ] {
        let rules = Rules::parse(text, "rules").expect("good rules");
        assert_eq!(rules.bytes_left_to_mpi(Collective::Allreduce, 8, false), expected, "{text}");
    }
    let text = "order = fixed\nallreduce[elements=..ranks]: recursive_doubling\nallreduce: ";
    assert!(Rules::parse(&format!("{text}recursive_doubling"), "rules").is_ok());
    let error = Rules::parse(&format!("{text}reduce_broadcast"), "rules").map(drop).unwrap_err().to_string();
    assert!(error.contains("combines in another order"), "{error}");
}

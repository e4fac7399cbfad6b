//! A museum of planted and historical bugs. Each is caught, with a counterexample that a person can read.

use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{AnyProgram, Buffer, Call, Collective, Error, Mode, Options, Program, Rank, Side, Source, Span};
use hocket_verify::{Counterexample, Exploration, Kind, Limits, Verdict};

/// Defines a program by its body.
macro_rules! exhibit {
    ($name:ident, |$r:ident, $c:ident| $body:block) => {
        struct $name;
        impl Program for $name {
            async fn run(&self, $r: &Rank<'_>, $c: &Call) $body
        }
    };
}

fn verify(program: &dyn AnyProgram, call: &Call, limits: Limits) -> Verdict {
    hocket_verify::verify(program, None, call, limits, &|| false).expect("enough memory")
}

fn find(program: &impl Program, call: &Call) -> Counterexample {
    verify(program, call, Limits::default()).counterexample.expect("the bug is found")
}

fn allreduce(ranks: usize, count: usize) -> Call {
    Call::new(Collective::Allreduce, ranks, count)
}

// A ring reduce_scatter and allgather whose last reduce_scatter step is missing.
exhibit!(DroppedContribution, |r, c| {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let chunk = |i: usize| result.chunk(i % size, size);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let scratch = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    for step in 1..size - 1 {
        let incoming = chunk(rank + 2 * size - step - 1);
        r.sendrecv(right, chunk(rank + size - step), left, scratch.part(0, incoming.len)).await;
        r.reduce(left, scratch.part(0, incoming.len), incoming).await;
    }
    for step in 0..size - 1 {
        r.sendrecv(right, chunk(rank + 1 + size - step), left, chunk(rank + size - step)).await;
    }
});

#[test]
fn a_dropped_contribution() {
    let found = find(&DroppedContribution, &allreduce(4, 4));
    assert_eq!(found.kind, Kind::WrongResult);
    assert!(found.details[0].starts_with("missing: element"), "{found}");
}

// Recursive doubling that adds its own vector once more at the end.
exhibit!(DoubledContribution, |r, c| {
    let result = c.result(r);
    let scratch = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    for step in 0..r.size().ilog2() {
        let peer = r.rank() ^ (1 << step);
        r.sendrecv(peer, result, peer, scratch).await;
        r.reduce(peer, scratch, result).await;
    }
    if r.rank() == 2 {
        r.combine(c.input(r), result, Side::Left).await;
    }
});

#[test]
fn a_doubled_contribution() {
    let found = find(&DoubledContribution, &allreduce(4, 1));
    assert_eq!(found.kind, Kind::WrongResult);
    assert_eq!(found.ranks, [2]);
    assert_eq!(found.details[0], "doubled: element 0 of rank 2");
    assert_eq!(
        found.to_string(),
        "wrong result (eager sends): rank 2, result[0..1]\n  \
         expected element 0 of ranks 0 to 3, each once\n  \
         got      ((0+1)+(2+3))+2\n  \
         doubled: element 0 of rank 2\n  \
         last written in step 8: combine input[0..1] into result[0..1]"
    );
}

// Every rank gathers all vectors and sums them up starting with its own: Open MPI 12258 tells of such an order in an
// allreduce, and floating-point results that differ between ranks.
exhibit!(RankDependentOrder, |r, c| {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let scratch = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    for distance in 1..size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        r.sendrecv(to, c.input(r), from, scratch).await;
        r.combine(scratch, result, Side::Right).await;
    }
});

#[test]
fn a_rank_dependent_summation_order() {
    assert!(verify(&RankDependentOrder, &allreduce(2, 1), Limits::default()).is_ok());
    let found = find(&RankDependentOrder, &allreduce(3, 1));
    assert_eq!(found.kind, Kind::RanksDiffer);
    assert_eq!((found.expected.as_str(), found.got.as_str()), ("(0+2)+1 as on rank 0", "(0+1)+2"));
    let ordered = Call { commutative: false, ..allreduce(2, 1) };
    assert_eq!(find(&RankDependentOrder, &ordered).kind, Kind::OperandOrder);
}

// Both partners send before they receive.
exhibit!(HeadToHead, |r, c| {
    let peer = r.rank() ^ 1;
    let scratch = r.scratch(c.result(r).len);
    r.copy(c.input(r), c.result(r)).await;
    r.send(peer, c.result(r)).await;
    r.recv(peer, scratch).await;
    r.reduce(peer, scratch, c.result(r)).await;
});

#[test]
fn a_head_to_head_rendezvous_deadlock() {
    let found = find(&HeadToHead, &allreduce(2, 1));
    assert_eq!((found.kind, found.is_rendezvous), (Kind::Deadlock, true));
    assert_eq!(
        found.details,
        ["rank 0 waits in step 2: send result[0..1] to rank 1", "rank 1 waits in step 2: send result[0..1] to rank 0"]
    );
}

// Folds the extra ranks into the first ones, but forgets that rank order interleaves them: rank i hosts rank i + 2^K.
exhibit!(WrongFold, |r, c| {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let active = 1 << size.ilog2();
    let scratch = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    if rank >= active {
        r.send(rank - active, result).await;
        r.recv(rank - active, result).await;
        return;
    }
    if rank + active < size {
        r.recv(rank + active, scratch).await;
        r.reduce(rank + active, scratch, result).await;
    }
    for step in 0..active.ilog2() {
        let peer = rank ^ (1 << step);
        r.sendrecv(peer, result, peer, scratch).await;
        r.reduce(peer, scratch, result).await;
    }
    if rank + active < size {
        r.send(rank + active, result).await;
    }
});

#[test]
fn a_wrong_fold() {
    for ranks in [3, 6, 7] {
        assert!(verify(&WrongFold, &allreduce(ranks, 1), Limits::default()).is_ok(), "right when operands commute");
        let found = find(&WrongFold, &Call { commutative: false, ..allreduce(ranks, 1) });
        assert_eq!(found.kind, Kind::OperandOrder, "{ranks} ranks");
    }
}

// The root sends two halves with one tag; the others receive them the wrong way round.
exhibit!(SwappedMessages, |r, c| {
    let result = c.result(r);
    let (low, high) = (result.chunk(0, 2), result.chunk(1, 2));
    if r.rank() == c.root {
        for peer in (0..r.size()).filter(|peer| *peer != c.root) {
            r.send(peer, low).await;
            r.send(peer, high).await;
        }
    } else {
        r.recv(c.root, high).await;
        r.recv(c.root, low).await;
    }
});

#[test]
fn two_messages_of_one_pair_in_the_wrong_order() {
    let even = find(&SwappedMessages, &Call::new(Collective::Broadcast, 2, 2));
    assert_eq!(even.kind, Kind::WrongResult);
    assert_eq!(even.details[0], "missing: element 0 of rank 0");
    assert_eq!(find(&SwappedMessages, &Call::new(Collective::Broadcast, 2, 3)).kind, Kind::Truncation);
}

// A branch looks whether another one has sent. A rendezvous send is then still under way.
exhibit!(BranchThatLooks, |r, c| {
    let (data, scratch) = (c.result(r), r.scratch(1));
    if r.rank() == 0 {
        let has_sent = Cell::new(false);
        let send = async {
            r.send(1, data).await;
            has_sent.set(true);
        };
        let look = async {
            r.recv(1, scratch).await;
            if !has_sent.get() {
                r.copy(scratch, data).await;
            }
        };
        r.join(send, look).await;
    } else {
        r.send(0, scratch).await;
        r.recv(0, data).await;
    }
});

#[test]
fn a_step_that_only_rendezvous_sends_lead_to() {
    let found = find(&BranchThatLooks, &Call::new(Collective::Broadcast, 2, 1));
    assert_eq!((found.kind, found.is_rendezvous), (Kind::BufferRace, true));
}

// With different tags the same program is right under eager sends, but overtakes, and hangs under rendezvous.
exhibit!(OvertakingMessages, |r, c| {
    let result = c.result(r);
    let (low, high) = (result.chunk(0, 2), result.chunk(1, 2));
    let tagged = |tag| Options { tag, ..Options::default() };
    if r.rank() == 0 {
        r.send_with(1, low, tagged(1)).await;
        r.send_with(1, high, tagged(2)).await;
    } else {
        r.recv_with(Source::Rank(0), high, 2).await;
        r.recv_with(Source::Rank(0), low, 1).await;
    }
});

#[test]
fn overtaking_messages() {
    let verdict = verify(&OvertakingMessages, &Call::new(Collective::Broadcast, 2, 2), Limits::default());
    assert_eq!(verdict.overtaking, 1);
    assert_eq!(verdict.counterexample.map(|found| (found.kind, found.is_rendezvous)), Some((Kind::Deadlock, true)));
}

// The same messages received in the order in which they were sent: the second one waits, and is overtaken by none.
exhibit!(TaggedInOrder, |r, c| {
    let result = c.result(r);
    for tag in [1, 2] {
        let half = result.chunk(tag as usize - 1, 2);
        if r.rank() == c.root {
            r.send_with(0, half, Options { tag, ..Options::default() }).await;
        } else {
            r.recv_with(Source::Rank(1), half, tag).await;
        }
    }
});

#[test]
fn messages_in_order_do_not_overtake() {
    let call = Call { root: 1, ..Call::new(Collective::Broadcast, 2, 2) };
    let verdict = verify(&TaggedInOrder, &call, Limits::default());
    assert!(verdict.is_ok(), "{verdict:?}");
    assert_eq!(verdict.overtaking, 0);
}

// The next message is copied into the scratch that the previous send still reads.
exhibit!(ReusedScratch, |r, c| {
    let (input, result) = (c.input(r), c.result(r));
    let scratch = r.scratch(1);
    if r.rank() == 0 {
        r.copy(input.part(0, 1), result).await;
        r.copy(input.part(1, 1), scratch).await;
        r.join(r.send(1, scratch), r.copy(input.part(2, 1), scratch)).await;
        r.send(2, scratch).await;
    } else {
        r.recv(0, result).await;
    }
});

#[test]
fn scratch_reused_before_its_send_completed() {
    let found = find(&ReusedScratch, &Call::new(Collective::Scatter, 3, 1));
    assert_eq!(found.kind, Kind::BufferRace);
    assert_eq!(found.details, ["step 3: send scratch[0..1] to rank 1", "step 4: copy input[2..3] to scratch[0..1]"]);
}

// A span is sent on while the receive into it is pending.
exhibit!(ReadBeforeReceived, |r, c| {
    let result = c.result(r);
    let next = (r.rank() + 1) % r.size();
    if r.rank() == 0 {
        r.send(next, result).await;
    } else if next == 0 {
        r.recv(r.rank() - 1, result).await;
    } else {
        r.join(r.recv(r.rank() - 1, result), r.send(next, result)).await;
    }
});

#[test]
fn a_span_read_while_a_receive_into_it_is_pending() {
    assert_eq!(find(&ReadBeforeReceived, &Call::new(Collective::Broadcast, 3, 1)).kind, Kind::BufferRace);
}

// Moves the vector by one element within a buffer.
exhibit!(ShiftInPlace, |r, c| {
    let (result, scratch) = (c.result(r), r.scratch(c.result(r).len + 1));
    r.copy(c.input(r), scratch.part(0, result.len)).await;
    r.copy(scratch.part(0, result.len), scratch.part(1, result.len)).await;
    r.copy(scratch.part(1, result.len), result).await;
});

// Doubles the vector by combining it with itself.
exhibit!(CombineWithItself, |r, c| {
    let result = c.result(r);
    r.copy(c.input(r), result).await;
    r.copy(result, result).await;
    r.combine(result, result, Side::Left).await;
});

#[test]
fn operands_that_overlap() {
    let shift = find(&ShiftInPlace, &allreduce(1, 3));
    assert_eq!(
        shift.to_string(),
        "overlapping operands (eager sends): rank 0, step 2\n  \
         expected a source and a target that share no element, as MPI_Reduce_local needs\n  \
         got      scratch[0..3] and scratch[1..4], which share scratch[1..3]\n  \
         step 2: copy scratch[0..3] to scratch[1..4]"
    );
    assert!(verify(&ShiftInPlace, &allreduce(1, 1), Limits::default()).is_ok(), "the spans do not overlap");
    let doubled = find(&CombineWithItself, &allreduce(1, 2));
    assert_eq!((doubled.kind, doubled.step), (Kind::Overlap, Some(2)), "a span may be copied onto itself");
}

// Sends the first elements of a buffer while its last elements are received, and one element is in both.
exhibit!(SlidingExchange, |r, c| {
    let (input, scratch) = (c.input(r), r.scratch(2 * c.input(r).len - 1));
    r.copy(input, scratch.part(0, input.len)).await;
    let peer = r.size() - 1 - r.rank();
    r.sendrecv(peer, scratch.part(0, input.len), peer, scratch.part(input.len - 1, input.len)).await;
});

#[test]
fn a_receive_that_overlaps_a_send_under_way() {
    let found = find(&SlidingExchange, &allreduce(2, 3));
    assert_eq!(found.kind, Kind::BufferRace);
    assert_eq!(found.details, ["step 2: send scratch[0..3] to rank 0", "step 3: recv scratch[2..5] from rank 0"]);
}

// Rank 0 sends more than the others receive.
exhibit!(Chatty, |r, c| {
    let result = c.result(r);
    if r.rank() == 0 {
        for tag in 0..2 {
            for peer in 1..r.size() {
                r.send_with(peer, result, Options { tag, ..Options::default() }).await;
            }
        }
    } else {
        r.recv(0, result).await;
    }
});

#[test]
fn all_messages_that_nobody_receives_are_listed() {
    let found = find(&Chatty, &Call::new(Collective::Broadcast, 3, 1));
    assert_eq!((found.kind, found.is_rendezvous), (Kind::LeftOverMessage, false));
    assert_eq!(
        found.details,
        [
            "never received: rank 0 sent it in step 3: send result[0..1] to rank 1 (tag 1)",
            "never received: rank 0 sent it in step 4: send result[0..1] to rank 2 (tag 1)"
        ]
    );
    let many = find(&Chatty, &Call::new(Collective::Broadcast, 12, 1));
    assert_eq!((many.details.len(), many.details[8].as_str()), (9, "and 3 more"));
}

// Works on one element after the other.
exhibit!(OneByOne, |r, c| {
    for element in 0..c.input(r).len {
        r.copy(c.input(r).part(element, 1), c.result(r).part(element, 1)).await;
    }
});

#[test]
fn a_run_ends_at_its_most_work() {
    let limits = Limits { most_work: 1 << 22, ..Limits::default() };
    let run = |count| hocket_verify::verify(&OneByOne, None, &allreduce(1, count), limits, &|| false);
    assert!(run(1 << 14).expect("little work").is_ok());
    assert_eq!(run(1 << 18).expect_err("much work"), Error::lateness());
}

// Recursive doubling without a fold, and without the precondition that says so.
exhibit!(PowersOfTwoOnly, |r, c| {
    let result = c.result(r);
    let scratch = r.scratch(result.len);
    r.copy(c.input(r), result).await;
    for step in 0..r.size().next_power_of_two().ilog2() {
        let peer = r.rank() ^ (1 << step);
        if peer < r.size() {
            r.sendrecv(peer, result, peer, scratch).await;
            r.reduce(peer, scratch, result).await;
        }
    }
});

#[test]
fn an_algorithm_right_for_powers_of_two_only() {
    for ranks in 1..=17_usize {
        let verdict = verify(&PowersOfTwoOnly, &allreduce(ranks, 1), Limits::default());
        assert_eq!(verdict.is_ok(), ranks.is_power_of_two(), "{ranks} ranks");
    }
}

// A relay passes two blocks on side by side, each as soon as it has it: which one goes first depends on timing.
exhibit!(RacingRelay, |r, c| {
    let (blocks, result) = (r.scratch(2), c.result(r));
    let relay = |from: usize, at: usize| {
        let block = blocks.part(at, 1);
        async move {
            r.recv(from, block).await;
            r.send(3, block).await;
        }
    };
    match r.rank() {
        0 => drop(r.join(relay(1, 0), relay(2, 1)).await),
        3 => {
            r.copy(c.input(r), c.block(result, 3)).await;
            r.recv(0, c.block(result, 1)).await;
            r.recv(0, c.block(result, 2)).await;
            r.recv(1, c.block(result, 0)).await;
        }
        rank => {
            r.send(0, c.input(r)).await;
            if rank == 1 {
                r.send(3, c.input(r)).await;
            }
        }
    }
});

#[test]
fn sends_whose_order_depends_on_timing() {
    let found = find(&RacingRelay, &Call { root: 3, ..Call::new(Collective::Gather, 4, 1) });
    assert_eq!(found.kind, Kind::AmbiguousOrder);
    assert!(found.details[0].ends_with("send scratch[0..1] to rank 3"), "{found}");
    assert!(found.details[1].ends_with("send scratch[1..2] to rank 3"), "{found}");
}

// The same race, of an empty message and another one: a receive may take either.
struct RacingSizes {
    lens: [usize; 2],
}

impl Program for RacingSizes {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let place = r.scratch(1);
        let relay = |from: usize| async move {
            r.recv(from, place.part(0, 0)).await;
            r.send(3, place.part(0, self.lens[from - 1])).await;
        };
        match r.rank() {
            0 => drop(r.join(relay(1), relay(2)).await),
            3 => {
                for len in self.lens {
                    r.recv(0, place.part(0, len)).await;
                }
            }
            _ => r.send(0, place.part(0, 0)).await,
        }
    }
}

#[test]
fn only_two_empty_messages_may_change_places() {
    let verdict = |collective, lens| verify(&RacingSizes { lens }, &Call::new(collective, 4, 0), Limits::default());
    assert!(verdict(Collective::Allreduce, [0, 0]).is_ok());
    for lens in [[0, 1], [1, 0]] {
        let found = verdict(Collective::Allreduce, lens).counterexample;
        assert_eq!(found.map(|found| found.kind), Some(Kind::AmbiguousOrder), "{lens:?}");
    }
    // In a barrier it matters who was heard of first.
    let found = verdict(Collective::Barrier, [0, 0]).counterexample;
    assert_eq!(found.map(|found| found.kind), Some(Kind::AmbiguousOrder));
}

// A message that nobody receives.
exhibit!(LeftOver, |r, c| {
    let _ = c;
    if r.rank() == 0 {
        r.send(1, r.scratch(1)).await;
    }
});

#[test]
fn a_left_over_message() {
    let found = find(&LeftOver, &Call::new(Collective::Barrier, 2, 0));
    assert_eq!((found.kind, found.is_rendezvous), (Kind::LeftOverMessage, false));
}

// The root sums up contributions in the order in which they come.
exhibit!(ArrivalOrder, |r, c| {
    if r.rank() != c.root {
        return r.send(c.root, c.input(r)).await;
    }
    let (result, scratch) = (c.result(r), r.scratch(c.result(r).len));
    r.copy(c.input(r), result).await;
    for _ in 1..r.size() {
        r.recv_any(scratch).await;
        r.combine(scratch, result, Side::Right).await;
    }
});

#[test]
fn a_summation_in_the_order_of_arrival() {
    assert!(verify(&ArrivalOrder, &Call::new(Collective::Reduce, 2, 1), Limits::default()).is_ok());
    let verdict = verify(&ArrivalOrder, &Call::new(Collective::Reduce, 4, 1), Limits::default());
    assert_eq!(verdict.exploration, Exploration::Exhaustive);
    assert_eq!(verdict.counterexample.map(|found| found.kind), Some(Kind::RunsDiffer));
}

// A gather by any-source receives is right in every order of messages: each contribution says whose it is.
exhibit!(GatherFromAny, |r, c| {
    if r.rank() != c.root {
        return r.send(c.root, c.input(r)).await;
    }
    let (result, scratch) = (c.result(r), r.scratch(c.count(0)));
    r.copy(c.input(r), c.block(result, r.rank())).await;
    for _ in 1..r.size() {
        let received = r.recv_any(scratch).await;
        r.copy(scratch, c.block(result, received.source as usize)).await;
    }
});

#[test]
fn all_orders_are_tried_when_few_and_a_sample_when_many() {
    let verdict = |ranks| verify(&GatherFromAny, &Call::new(Collective::Gather, ranks, 1), Limits::default());
    assert!(verdict(5).is_ok() && verdict(9).is_ok());
    assert_eq!((verdict(5).exploration, verdict(5).orders), (Exploration::Exhaustive, 2 * 24));
    assert_eq!(verdict(9).exploration, Exploration::Sampled);
    assert!((1000..=5000).contains(&verdict(9).orders), "{} orders", verdict(9).orders);
    assert_eq!(verdict(9), verdict(9), "a sample is seeded");
}

// The receive from any rank may take the message of rank 0, and then the receive from rank 0 waits for ever.
exhibit!(AnyBeforeNamed, |r, c| {
    let (a, b) = (r.scratch(1), r.scratch(1));
    match r.rank() {
        2 => drop(r.join(r.recv_any(a), r.recv(0, b)).await),
        _ => r.send(2, c.input(r).part(0, 0)).await,
    }
});

#[test]
fn a_receive_from_any_rank_takes_the_message_of_a_later_receive() {
    let verdict = verify(&AnyBeforeNamed, &allreduce(3, 0), Limits::default());
    assert_ne!(verdict.exploration, Exploration::Deterministic);
    assert_eq!(verdict.counterexample.map(|found| found.kind), Some(Kind::Deadlock));
}

// The first message is that of the receive from any rank, posted first: rank 0 is answered, and sends the second.
exhibit!(NamedBehindAny, |r, c| {
    let _ = c;
    let (a, b, empty) = (r.scratch(1), r.scratch(1), r.scratch(0));
    let answer = Options { tag: 1, ..Options::default() };
    if r.rank() == 0 {
        r.send(1, empty).await;
        r.recv_with(Source::Rank(1), empty, 1).await;
        return r.send(1, empty).await;
    }
    let served = async {
        r.recv_any(a).await;
        r.send_with(0, empty, answer).await;
    };
    r.join(served, r.recv(0, b)).await;
});

#[test]
fn a_receive_does_not_overtake_an_earlier_one_from_any_rank() {
    let verdict = verify(&NamedBehindAny, &Call::new(Collective::Barrier, 2, 0), Limits::default());
    assert!(verdict.is_ok(), "{verdict:?}");
}

// One message, and two receives that race for it: it belongs to the one that was posted first.
exhibit!(FirstOfOne, |r, c| {
    let result = c.result(r);
    if r.rank() == c.root {
        return r.send(1 - r.rank(), result).await;
    }
    let junk = r.scratch(result.len);
    drop(r.first(r.recv(c.root, result), r.recv(c.root, junk)).await);
});

#[test]
fn racing_receives_take_messages_in_the_order_in_which_they_were_posted() {
    let verdict = verify(&FirstOfOne, &Call::new(Collective::Broadcast, 2, 1), Limits::default());
    assert!(verdict.is_ok(), "{verdict:?}");
}

// The earlier of two copies wins; the other one is received all the same.
exhibit!(FirstOfTwo, |r, c| {
    let result = c.result(r);
    if r.rank() == 0 {
        r.send(1, result).await;
        r.send(2, result).await;
    } else {
        let other = 3 - r.rank();
        let (mine, copy) = (r.scratch(result.len), r.scratch(result.len));
        let (winner, rest) = r.first(r.recv(0, mine), r.recv(other, copy)).await;
        let won = if matches!(winner, hocket_core::Winner::A(_)) { mine } else { copy };
        r.copy(won, result).await;
        r.join(rest, r.send(other, result)).await;
    }
});

#[test]
fn first_is_tried_both_ways() {
    let verdict = verify(&FirstOfTwo, &Call::new(Collective::Broadcast, 3, 1), Limits::default());
    assert!(verdict.is_ok(), "{verdict:?}");
    assert_eq!(verdict.exploration, Exploration::Exhaustive);
}

// A barrier whose ranks only compute.
exhibit!(NobodyWaits, |r, c| {
    let _ = c;
    r.compute(1e-6).await;
});

// Dissemination, one round too few for other numbers of ranks than 2^K.
exhibit!(RoundTooFew, |r, c| {
    let _ = c;
    for round in 0..r.size().ilog2() {
        let (distance, size) = (1 << round, r.size());
        let (to, from) = ((r.rank() + distance) % size, (r.rank() + size - distance) % size);
        r.sendrecv(to, Span::EMPTY, from, Span::EMPTY).await;
    }
});

// All tell rank 0, which tells nobody that all have come.
exhibit!(Unanswered, |r, c| {
    let _ = c;
    if r.rank() > 0 {
        return r.send_with(0, Span::EMPTY, Options { mode: Mode::Posted, ..Options::default() }).await;
    }
    r.join_all((1..r.size()).map(|peer| r.recv(peer, Span::EMPTY))).await;
});

// A barrier that tells its caller to go on before it waits.
exhibit!(CompleteFirst, |r, c| {
    r.complete();
    Linear.run(r, c).await;
});

// A rank goes on with the first of the signals, and waits for the other one only when it has left.
exhibit!(FirstSignal, |r, c| {
    let _ = c;
    let others = [1, 2].map(|distance| (r.rank() + distance) % 3);
    r.join(r.send(others[0], Span::EMPTY), r.send(others[1], Span::EMPTY)).await;
    let (_, rest) = r.first(r.recv(others[0], Span::EMPTY), r.recv(others[1], Span::EMPTY)).await;
    r.complete();
    rest.await;
});

// All tell rank 0 in whatever order, and it tells all.
exhibit!(Linear, |r, c| {
    let _ = c;
    if r.rank() > 0 {
        r.send(0, Span::EMPTY).await;
        r.recv(0, Span::EMPTY).await;
        return;
    }
    for _ in 1..r.size() {
        r.recv_any(Span::EMPTY).await;
    }
    r.join_all((1..r.size()).map(|peer| r.send(peer, Span::EMPTY))).await;
});

fn barrier(program: &impl Program, ranks: usize) -> Option<Counterexample> {
    verify(program, &Call::new(Collective::Barrier, ranks, 0), Limits::default()).counterexample
}

#[test]
fn a_barrier_left_before_all_have_come() {
    let found = barrier(&NobodyWaits, 3).unwrap();
    assert_eq!((found.kind, found.ranks.as_slice()), (Kind::LeftTooEarly, [0, 1].as_slice()));
    assert_eq!(
        found.to_string(),
        "barrier left too early (eager sends): rank 0\n  \
         expected rank 0 to stay until it knows that rank 1 has come\n  \
         got      no message that rank 0 waited for comes from rank 1, directly or through others\n  \
         step 1: compute"
    );
    for ranks in 1..10_usize {
        assert_eq!(barrier(&RoundTooFew, ranks).is_none(), ranks.is_power_of_two(), "{ranks} ranks");
    }
    assert_eq!(barrier(&Unanswered, 3).map(|found| (found.kind, found.ranks)), Some((Kind::LeftTooEarly, vec![1, 0])));
    assert_eq!(barrier(&CompleteFirst, 2).map(|found| found.kind), Some(Kind::LeftTooEarly));
    assert_eq!(barrier(&FirstSignal, 3).map(|found| found.kind), Some(Kind::LeftTooEarly));
}

#[test]
fn a_barrier_in_which_all_wait_for_all() {
    for ranks in 1..6 {
        assert_eq!(barrier(&Linear, ranks), None);
    }
}

// A receive that the program never waits for: it may be too late for the caller, who reads the result.
exhibit!(NeverAwaited, |r, c| {
    if r.rank() == c.root {
        return r.send(1 - r.rank(), c.result(r)).await;
    }
    let receive = r.start(r.recv(c.root, c.result(r))).await;
    r.compute(1e-6).await;
    drop(receive);
});

#[test]
fn a_result_that_is_not_waited_for() {
    for root in [0, 1] {
        let verdict =
            verify(&NeverAwaited, &Call { root, ..Call::new(Collective::Broadcast, 2, 1) }, Limits::default());
        assert!(!verdict.is_ok(), "root {root}");
    }
}

// A broadcast to two, whose root waits only for the first of its sends.
struct FirstSent {
    buffer: Buffer,
    /// Whether the caller may go on while the second send is under way.
    completes: bool,
}

impl Program for FirstSent {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let result = c.result(r);
        if r.rank() != c.root {
            r.recv(c.root, result).await;
            return;
        }
        let data = if self.buffer == Buffer::Scratch { r.scratch(result.len) } else { result };
        r.copy(result, data).await;
        let (_, rest) = r.first(r.send(1, data), r.send(2, data)).await;
        if self.completes {
            r.complete();
            rest.await;
        }
    }
}

#[test]
fn a_send_under_way_at_the_return() {
    let call = |count| Call::new(Collective::Broadcast, 3, count);
    for buffer in [Buffer::Result, Buffer::Scratch] {
        let found = find(&FirstSent { buffer, completes: false }, &call(1));
        assert_eq!((found.kind, &found.ranks[..]), (Kind::BufferRace, &[0][..]), "{found}");
        assert!(verify(&FirstSent { buffer, completes: false }, &call(0), Limits::default()).is_ok());
    }
    let found = find(&FirstSent { buffer: Buffer::Scratch, completes: false }, &call(1));
    assert_eq!(
        found.to_string(),
        "buffer race (eager sends): rank 0, step 3\n  \
         expected step 3 to be finished before the program of its rank ends\n  \
         got      still in flight when the program's scratch is freed\n  \
         step 3: send scratch[0..1] to rank 2\n  \
         order: step 2 of rank 0 ends"
    );
    assert_eq!(find(&FirstSent { buffer: Buffer::Result, completes: true }, &call(1)).kind, Kind::BufferRace);
    assert!(verify(&FirstSent { buffer: Buffer::Scratch, completes: true }, &call(1), Limits::default()).is_ok());
}

/// A broadcast in which a counter says whether rank 0 is late: it counts the calls, or the ranks that have begun before.
struct Counter {
    calls: AtomicUsize,
    is_shared: bool,
}

impl Program for Counter {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        if r.rank() == 0 || self.is_shared {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
        if r.rank() != c.root {
            r.recv(c.root, c.result(r)).await;
            return;
        }
        let every = if self.is_shared { r.size() } else { 2 };
        if self.calls.load(Ordering::Relaxed).is_multiple_of(every) {
            r.compute(1.0).await;
        }
        r.join(r.send(1, c.result(r)), r.send(2, c.result(r))).await;
    }
}

#[test]
fn a_program_that_does_not_do_the_same_again() {
    let call = Call::new(Collective::Broadcast, 3, 1);
    let limits = Limits { runs_again: true, ..Limits::default() };
    for is_shared in [false, true] {
        let counter = || Counter { calls: AtomicUsize::new(0), is_shared };
        let found = verify(&counter(), &call, limits).counterexample.expect("the bug is found");
        assert_eq!((found.kind, found.ranks[0]), (Kind::NotRepeatable, 0), "{found}");
        assert_eq!(found.details.len(), 1, "{found}");
        assert!(verify(&counter(), &call, Limits::default()).is_ok());
    }
    assert!(verify(&Linear, &Call::new(Collective::Barrier, 5, 0), limits).is_ok());
    assert!(verify(&FirstOfTwo, &call, limits).is_ok());
}

#[test]
fn the_order_of_messages_is_told() {
    let found = find(&ArrivalOrder, &Call::new(Collective::Reduce, 3, 1));
    let order: Vec<_> = found.details.iter().filter(|line| line.starts_with("order: ")).collect();
    assert_eq!(order, ["order: step 2 of rank 0 takes a message of rank 2"]);
}

/// A program that ends by writing to a span of the input, in one of three ways.
struct Scribbler {
    verb: &'static str,
}

impl Program for Scribbler {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let (input, result, scratch) = (c.input(r), c.result(r), r.scratch(c.input(r).len));
        r.copy(input, result).await;
        match self.verb {
            "copy" => r.copy(result, input).await,
            "combine" => r.combine(result, input, Side::Left).await,
            _ => {
                r.copy(input, scratch).await;
                let _ = r.sendrecv(r.rank(), scratch, r.rank(), input).await;
            }
        }
    }
}

#[test]
fn a_write_to_the_input() {
    for (verb, step) in [("copy", 2), ("combine", 2), ("recv", 4)] {
        let found = find(&Scribbler { verb }, &allreduce(1, 3));
        assert_eq!((found.kind, found.ranks[0], found.step), (Kind::WriteToInput, 0, Some(step)), "{verb}");
        assert_eq!(found.span.as_deref(), Some("input[0..3]"));
        assert!(found.details[0].starts_with(&format!("step {step}: {verb} ")), "{found}");
        let nothing = verify(&Scribbler { verb }, &allreduce(1, 0), Limits::default());
        assert!(nothing.is_ok(), "{verb}: {nothing:?}");
    }
    let in_place = Call { in_place: true, ..allreduce(1, 3) };
    for verb in ["copy", "recv"] {
        let verdict = verify(&Scribbler { verb }, &in_place, Limits::default());
        assert!(verdict.is_ok(), "{verb}: {verdict:?}");
    }
}

/// A program in which ranks go on and on, in one of several ways.
struct Endless {
    verb: &'static str,
}

impl Program for Endless {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let peer = r.rank() ^ 1;
        loop {
            match self.verb {
                "compute" => r.compute(0.0).await,
                "copy" => r.copy(c.input(r), c.input(r)).await,
                "connect" => _ = r.connect(peer).await,
                "disconnect" => r.disconnect(peer).await,
                "first" => drop(r.first(r.compute(0.0), r.compute(0.0)).await),
                _ => _ = r.sendrecv(peer, Span::EMPTY, peer, Span::EMPTY).await,
            }
        }
    }
}

#[test]
fn a_program_without_end() {
    for verb in ["compute", "copy", "connect", "disconnect", "first", "send"] {
        let found = find(&Endless { verb }, &allreduce(2, 1));
        assert_eq!(found.kind, Kind::NeverEnds, "{verb}");
        assert!(found.expected.ends_with("to reach its end within 20040 steps"), "{found}");
    }
    let found = find(&Endless { verb: "compute" }, &allreduce(2, 1));
    assert_eq!(found.details, ["step 20039: compute", "step 20040: compute", "step 20041: compute"]);
}

// As many steps as there are elements, many more than the usual limit.
exhibit!(ElementByElement, |r, c| {
    let result = c.result(r);
    for index in 0..result.len {
        let element = result.part(index, 1);
        if r.rank() > 0 {
            r.recv(r.rank() - 1, element).await;
        }
        if r.rank() + 1 < r.size() {
            r.send(r.rank() + 1, element).await;
        }
    }
});

#[test]
fn a_long_program_that_ends() {
    let limits = Limits { most_steps: 10, ..Limits::default() };
    let verdict = verify(&ElementByElement, &Call::new(Collective::Broadcast, 3, 5000), limits);
    assert!(verdict.is_ok(), "{verdict:?}");
}

// Whichever operation a correct program loses, the verify world notices.
struct Lossy<'a> {
    program: &'a dyn AnyProgram,
    rank: usize,
    operation: usize,
}

#[path = "support/lossy.rs"]
mod lossy;

impl Program for Lossy<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let lossy = lossy::LossyRank::new(r, (r.rank() == self.rank).then_some(self.operation));
        self.program.steps(&Rank::through(&lossy), c).await;
    }
}

#[test]
fn a_lost_reduction_is_noticed_in_every_algorithm() {
    let survivors_of = |program: &dyn AnyProgram, call: &Call, survivors: &mut String| {
        for rank in 0..call.ranks {
            for operation in 0..lossy::operations(program, call, rank) {
                let lossy = Lossy { program, rank, operation };
                if verify(&lossy, call, Limits::default()).is_ok() {
                    write!(survivors, "rank {rank} operation {operation} of {call:?}; ").unwrap();
                }
            }
        }
    };
    // Libraries also combine what no rank asks for: blocks that another rank keeps, sums of groups that no later partner needs.
    let combines_more = |entry: &Entry, call: &Call| match (entry.name, entry.collective) {
        ("recursive_doubling", Collective::Exscan | Collective::ReduceScatter | Collective::Scan) => call.ranks > 2,
        _ => false,
    };
    for entry in CATALOGUE.iter().filter(|entry| entry.collective.reduces()) {
        let mut survivors = String::new();
        let calls = [2, 3, 5, 8].map(|ranks| entry.accept(&Call::new(entry.collective, ranks, ranks), &[]));
        assert!(calls[0].is_ok() && calls[3].is_ok(), "{entry} is refused at 2 or 8 ranks");
        for call in calls.iter().flatten().filter(|call| !combines_more(entry, call)) {
            survivors_of(entry.program(), call, &mut survivors);
        }
        assert!(survivors.is_empty(), "{entry}: unnoticed: {survivors}");
    }
}

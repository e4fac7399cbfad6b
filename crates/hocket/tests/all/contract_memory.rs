//! Every algorithm of the catalogue on real data, against the definition of its collective.

use crate::sweeps;
use hocket::{cases, run_with_circuits};
use hocket_algorithms::{CATALOGUE, Entry};
use hocket_core::{Call, Collective, Side};
use hocket_memory::{Circuits, Operator, operator};

use crate::turns;

/// The inputs of all ranks: different pseudo-random elements everywhere.
fn inputs(call: &Call) -> Vec<Vec<u8>> {
    let bytes = |rank: usize| call.input_len(rank) * call.element_bytes;
    let value = |rank: usize, i: usize| ((rank * 7919 + i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u8;
    (0..call.ranks).map(|rank| (0..bytes(rank)).map(|i| value(rank, i)).collect()).collect()
}

/// Left fold of the ranks' vectors in rank order.
fn fold(operator: &Operator, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut total = inputs[0].clone();
    for input in &inputs[1..] {
        operator.apply(input, &mut total, Side::Right);
    }
    total
}

fn expected(call: &Call, operator: &Operator, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let size = call.element_bytes;
    let block = |all: &[u8], i: usize| all[call.offset(i) * size..call.offset(i + 1) * size].to_vec();
    let ranks = || 0..call.ranks;
    let at_root = |value: Vec<u8>| ranks().map(|r| if r == call.root { value.clone() } else { Vec::new() }).collect();
    match call.collective {
        Collective::Barrier => vec![Vec::new(); call.ranks],
        Collective::Broadcast => vec![inputs[call.root].clone(); call.ranks],
        Collective::Allreduce => vec![fold(operator, inputs); call.ranks],
        Collective::Reduce => at_root(fold(operator, inputs)),
        Collective::ReduceScatter => {
            let total = fold(operator, inputs);
            ranks().map(|r| block(&total, r)).collect()
        }
        Collective::Exscan => ranks().map(|r| if r == 0 { Vec::new() } else { fold(operator, &inputs[..r]) }).collect(),
        Collective::Scan => ranks().map(|r| fold(operator, &inputs[..=r])).collect(),
        Collective::Allgather => vec![inputs.concat(); call.ranks],
        Collective::Gather | Collective::Gatherv => at_root(inputs.concat()),
        Collective::Scatter | Collective::Scatterv => ranks().map(|r| block(&inputs[call.root], r)).collect(),
        Collective::Alltoallv => {
            let sent = |from: usize, to| {
                let block = call.block_to(call.input_of(from), from, to);
                inputs[from][block.offset * size..(block.offset + block.len) * size].to_vec()
            };
            ranks().map(|to| ranks().flat_map(|from| sent(from, to)).collect()).collect()
        }
        Collective::NeighborAllgather | Collective::NeighborAlltoall => {
            let received = |rank: usize| {
                let edges = call.neighbors().of(rank);
                let mut result = vec![0; edges.result_len * size];
                for edge in &edges.from {
                    let sent = &call.neighbors().of_sender(rank, edge).elements;
                    let sent = &inputs[edge.rank][sent.start * size..sent.end * size];
                    result[edge.elements.start * size..edge.elements.end * size].copy_from_slice(sent);
                }
                result
            };
            ranks().map(received).collect()
        }
        Collective::Alltoall => ranks().map(|r| inputs.iter().flat_map(|i| block(i, r)).collect()).collect(),
    }
}

/// Runs an algorithm with each of the parameters that it takes; returns with how many.
fn check(
    entry: &Entry,
    call: &Call,
    parameters: &[Vec<(String, u64)>],
    operator: &Operator,
    circuits: impl Iterator<Item = Circuits> + Clone,
) -> usize {
    let call = Call { commutative: operator.commutative, element_bytes: operator.element_bytes, ..call.clone() };
    let accepted: Vec<_> = parameters.iter().filter_map(|given| entry.accept(&call, given).ok()).collect();
    if accepted.is_empty() {
        return 0;
    }
    let inputs = inputs(&call);
    let expected = expected(&call, operator, &inputs);
    for (call, circuits) in accepted.iter().flat_map(|call| circuits.clone().map(move |circuits| (call, circuits))) {
        let results = run_with_circuits(entry, call, Some(operator), &inputs, circuits);
        let results = results.unwrap_or_else(|e| panic!("{entry}: {e}, in {call:?}"));
        assert_eq!(results, expected, "{entry} in {call:?} with {circuits:?}");
    }
    accepted.len()
}

/// With fewer values of parameters than are verified.
#[test]
fn every_algorithm_gives_the_result_of_its_collective() {
    check_all(false);
}

#[test]
#[ignore = "long: make test-long"]
fn every_algorithm_gives_the_result_of_its_collective_at_every_root_with_elements_of_all_sizes() {
    check_all(true);
}

/// Checks all calls, or those of long sweeps. Where nothing is combined, these take operators in turns, which only tell the
/// size of elements.
fn check_all(is_complete: bool) {
    let operators = [operator("u64", "sum").unwrap(), operator("matrix2x2_u64", "prod").unwrap()];
    for entry in CATALOGUE {
        let (mut accepted, parameters) = (0, cases::parameters(entry));
        let turns = if is_complete || entry.collective.reduces() { 1 } else { 2 };
        let calls = cases::rank_counts().flat_map(|ranks| cases::calls_also_in_place(entry.collective, ranks));
        let calls = calls.filter(|call| is_complete || sweeps::is_for_long_sweeps(call));
        for (number, call) in calls.enumerate() {
            let has_all = is_complete || sweeps::has_all_values_in_long_sweeps(call.ranks);
            let parameters = if has_all { &parameters[..] } else { &parameters[..1] };
            let circuits = std::iter::once(Circuits::default());
            let check = |operator| check(entry, &call, parameters, operator, circuits.clone());
            accepted += turns::of(&operators, number, turns).map(check).sum::<usize>();
        }
        assert!(accepted > 0, "{entry} refused every call");
    }
}

/// Programs that open circuits ahead, for nodes of a few ports, and with some of the circuits refused, to both ends.
#[test]
#[ignore = "long: make test-long"]
fn results_are_right_whatever_circuits_programs_get() {
    let operator = operator("u64", "sum").unwrap();
    let opens: [fn(usize, usize) -> bool; 4] =
        [|_, _| true, |_, _| false, |rank, peer| (rank + peer).is_multiple_of(3), |rank, peer| rank.abs_diff(peer) > 1];
    for entry in CATALOGUE {
        for ranks in [1, 2, 3, 4, 5, 7, 8, 9, 16, 27] {
            for call in cases::calls(entry.collective, ranks).into_iter().filter(|call| call.count(0) > 0) {
                let circuits = (0..=8).flat_map(|ports| opens.map(|opens| Circuits { ports: Some(ports), opens }));
                check(entry, &call, &[Vec::new()], &operator, circuits);
            }
        }
    }
}

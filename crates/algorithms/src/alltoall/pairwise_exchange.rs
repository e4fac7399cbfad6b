//! Pairwise exchange: in each step every rank exchanges blocks with one other; in step i of 2^K ranks with rank XOR i.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
//! 19 (2005); MPICH, `alltoall_intra_pairwise.c`. For other numbers of ranks, a rank sends to the rank i to its right
//! and receives from the rank i to its left. `gap` leaves room between the packets of a message, step by step: see the
//! page on pacing.
//! Needs: nothing; with pairing = xor, a power of two of ranks.
//! Counts: P-1 steps of one block. With barrier = dissemination (1 in the formulas), ceil(log2 P) empty messages
//! separate two steps.
//!
//! ```text
//! P = 4    step 1    0 ◀─▶ 1   2 ◀─▶ 3        P = 3    step 1    0 ─▶ 1 ─▶ 2 ─▶ 0
//!          step 2    0 ◀─▶ 2   1 ◀─▶ 3                 step 2    0 ─▶ 2 ─▶ 1 ─▶ 0
//!          step 3    0 ◀─▶ 3   1 ◀─▶ 2
//! ```

use hocket_core::{Call, Domain, Parameter, Rank, Symmetry, Unit};

use crate::about::{flips, needs_power_of_two, rotates};
use crate::barrier::dissemination;
use crate::shapes::input_apart_from_result;
use crate::shapes::rounds::Rounds;
use crate::{About, Steps};

/// The partners of a step.
pub const PAIRING: Parameter = Parameter {
    name: "pairing",
    unit: Unit::Choice(&["xor_or_shift", "xor", "shift"]),
    default: 0,
    least: 0,
    tries: &[XOR, SHIFT],
    domain: Domain::Word,
    meaning: "step i: xor, with rank XOR i; shift, to rank + i; xor_or_shift, xor for 2^K ranks, else shift",
};

/// What separates two steps.
pub const BARRIER: Parameter = Parameter {
    name: "barrier",
    unit: Unit::Choice(&["none", "dissemination"]),
    default: 0,
    least: 0,
    tries: &[DISSEMINATION],
    domain: Domain::Word,
    meaning: "between two steps: none, or a dissemination barrier, so that steps do not overlap",
};

const XOR: u64 = 1;
const SHIFT: u64 = 2;
const DISSEMINATION: u64 = 1;

pub const ABOUT: About =
    About::new("(P-1)*(alpha + n*beta) + barrier*(P-2)*ceil(log2(P))*alpha", "P*(P-1) + barrier*(P-2)*P*ceil(log2(P))")
        .with_parameters(&[PAIRING, BARRIER])
        .refusing(refuses)
        .paced(Steps {
            count: |c| c.ranks - 1,
            destination: |c, step, rank| partners(c, step, rank).0,
            elements: |c, _| c.count(0),
        })
        .symmetric(symmetry);

pub async fn program(r: &Rank<'_>, c: &Call) {
    let (rank, size, result) = (r.rank(), r.size(), c.result(r));
    let input = input_apart_from_result(r, c).await;
    r.copy(c.block(input, rank), c.block(result, rank)).await;
    let peers = |step| <[usize; 2]>::from(partners(c, step, rank));
    let mut rounds = Rounds::new(r, if is_in_pairs(c) { 1 } else { 2 }, size - 1, peers);
    for step in 0..size - 1 {
        rounds.enter(step).await;
        if step > 0 && c.parameter(BARRIER.name) == DISSEMINATION {
            dissemination::program(r, c).await;
        }
        let (to, from) = partners(c, step, rank);
        let send = r.send_with(to, c.block(input, to), Steps::options(c, step));
        r.join(send, r.recv(from, c.block(result, from))).await;
    }
    rounds.end().await;
}

/// The rank to which a rank sends in a step, and the rank from which it receives. Steps are counted from 0.
fn partners(c: &Call, step: usize, rank: usize) -> (usize, usize) {
    let (size, distance) = (c.ranks, step + 1);
    if is_in_pairs(c) {
        (rank ^ distance, rank ^ distance)
    } else {
        ((rank + distance) % size, (rank + size - distance) % size)
    }
}

fn is_in_pairs(c: &Call) -> bool {
    match c.parameter(PAIRING.name) {
        XOR => true,
        SHIFT => false,
        _ => c.ranks.is_power_of_two(),
    }
}

fn symmetry(c: &Call) -> Option<Symmetry> {
    let has_barrier = c.parameter(BARRIER.name) == DISSEMINATION;
    if is_in_pairs(c) { flips(c).filter(|_| !has_barrier) } else { rotates(c) }
}

fn refuses(c: &Call) -> Option<&'static str> {
    if c.parameter(PAIRING.name) == XOR { needs_power_of_two(c) } else { None }
}

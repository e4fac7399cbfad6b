//! The order in which operands are combined: which ranks' contributions to an element meet first, second and so on.

use std::collections::BTreeSet;

use hocket_core::{AnyProgram, Call, Result, run};

use crate::choices::{Choices, Limits};
use crate::expression::Arena;
use crate::world::Symbolic;

/// One order of combination, as a number: equal orders have equal numbers. Floating-point sums that are combined in the
/// same order are equal to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order(u64);

impl Order {
    /// The contribution of a rank alone.
    pub(crate) fn of_rank(rank: u32) -> Self {
        Self(1).then(Self(rank.into()))
    }

    /// What was combined in this order, combined with what was combined in the other: the finalizer of MurmurHash3
    /// (A. Appleby, 2011), twice.
    pub(crate) fn then(self, other: Self) -> Self {
        let scrambled = |bits: u64| {
            let mixed = [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53]
                .into_iter()
                .fold(bits, |bits: u64, factor: u64| (bits ^ bits >> 33).wrapping_mul(factor));
            mixed ^ mixed >> 33
        };
        Self(scrambled(scrambled(self.0).wrapping_add(other.0)))
    }
}

/// For each rank, the orders in which the elements of its result are combined; none where it has no result. Where the
/// order of messages matters, the orders of one run.
///
/// # Errors
/// Too little memory, or `is_interrupted` returns true.
pub fn orders(
    program: &dyn AnyProgram,
    call: &Call,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Vec<BTreeSet<Order>>> {
    let (mut arena, mut choices) = (Arena::new(call.commutative), Choices::new(Limits::default()));
    let world = run(program, call, Symbolic::new(call, false, &mut arena, &mut choices, is_interrupted));
    world.check_ran()?;
    let orders = world.arena.orders();
    let of_rank = |rank| world.result(rank).into_iter().filter_map(|value| orders[value.index()]).collect();
    Ok((0..call.ranks).map(of_rank).collect())
}

//! The order in which operands are combined: which ranks' contributions to an element meet first, second and so on.

use std::collections::BTreeSet;

use hocket_core::{AnyProgram, Call, Result, run};

use crate::choices::{Choices, Limits};
use crate::expression::{Arena, Order};
use crate::world::Symbolic;

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
    let (mut arena, mut choices) = (Arena::new(call), Choices::new(Limits::default()));
    let world = run(program, call, Symbolic::new(call, false, &mut arena, &mut choices, is_interrupted));
    world.check_ran()?;
    let orders = world.arena.orders();
    let of_rank = |rank| world.result(rank).into_iter().filter_map(|value| orders[value.index()]).collect();
    Ok((0..call.ranks).map(of_rank).collect())
}

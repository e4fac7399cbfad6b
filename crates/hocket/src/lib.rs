//! Algorithms by name in every world: what commands, bindings and tests call.

pub mod cases;
mod effort;
pub mod pacing;
mod price;
mod surroundings;
mod verification;

pub use effort::{effort_s, recording_effort_s};
pub use price::{Predicted, messages, predict};
pub use surroundings::surroundings;
pub use verification::{Report, verify, verify_calls, verify_schedule};

use hocket_algorithms::{Entry, demand};
use hocket_core::{AnyProgram, Call, Result};
use hocket_memory::{Circuits, Operator};
use hocket_simulate::{Bound, Options, Outcome, Platform};

/// Runs an algorithm on real data, see [`hocket_memory::run`].
///
/// # Errors
/// As there.
pub fn run(entry: &Entry, call: &Call, operator: Option<&Operator>, inputs: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    run_with_circuits(entry, call, operator, inputs, Circuits::default())
}

/// As [`run`], for programs that are to open circuits ahead, see [`hocket_memory::run_with_circuits`].
///
/// # Errors
/// As there.
pub fn run_with_circuits(
    entry: &Entry,
    call: &Call,
    operator: Option<&Operator>,
    inputs: &[Vec<u8>],
    circuits: Circuits,
) -> Result<Vec<Vec<u8>>> {
    hocket_memory::run_with_circuits(entry.program(), call, operator, inputs, circuits)
}

/// Runs an algorithm in virtual time, see [`hocket_simulate::simulate`].
///
/// # Errors
/// As there.
pub fn simulate(entry: &Entry, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    let run = |program: &dyn AnyProgram| hocket_simulate::simulate(program, call, platform, options);
    hocket_simulate::as_call(entry.program(), platform, run)
}

/// The lower bound of a call on a platform, see [`hocket_simulate::bound`].
///
/// # Errors
/// As there.
pub fn bound(call: &Call, platform: &Platform) -> Result<Bound> {
    hocket_simulate::bound(call, demand(call.collective), platform)
}

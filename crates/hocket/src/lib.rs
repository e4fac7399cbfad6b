//! Algorithms by name in every world: what commands, bindings and tests call.

pub mod cases;
pub mod multicast;
pub mod pacing;
mod price;
pub mod replay;
pub mod request;
mod surroundings;
mod verification;

pub use price::{Predicted, messages, predict};
pub use surroundings::surroundings;
pub use verification::{Report, verify, verify_calls};

use hocket_algorithms::{Entry, Visitor, demand, with_program};
use hocket_core::{Call, Program, Result};
use hocket_memory::{Circuits, Operator};
use hocket_simulate::{Bound, Options, Outcome, Platform};

struct InMemory<'a>(&'a Call, Option<&'a Operator>, &'a [Vec<u8>], Circuits);

impl Visitor for InMemory<'_> {
    type Output = Result<Vec<Vec<u8>>>;
    fn visit(self, program: &impl Program) -> Self::Output {
        hocket_memory::run_with_circuits(program, self.0, self.1, self.2, self.3)
    }
}

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
    with_program(entry, InMemory(call, operator, inputs, circuits))
}

struct Simulated<'a>(&'a Call, &'a Platform, Options<'a>);

impl Visitor for Simulated<'_> {
    type Output = Result<Outcome>;
    fn visit(self, program: &impl Program) -> Self::Output {
        hocket_simulate::simulate(program, self.0, self.1, self.2)
    }
}

/// Runs an algorithm in virtual time, see [`hocket_simulate::simulate`].
///
/// # Errors
/// As there.
pub fn simulate(entry: &Entry, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    with_program(entry, Simulated(call, platform, options))
}

/// The lower bound of a call on a platform, see [`hocket_simulate::bound`].
///
/// # Errors
/// As there.
pub fn bound(call: &Call, platform: &Platform) -> Result<Bound> {
    hocket_simulate::bound(call, demand(call.collective), platform)
}

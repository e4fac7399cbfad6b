//! Algorithms by name in every world: the interface for commands, bindings and tests.

mod arrivals;
mod benchmark;
mod best;
mod cadence;
pub mod cases;
mod effort;
pub mod pacing;
mod placing;
mod price;
pub mod question;
pub mod request;
mod simulation;
mod surroundings;
mod symmetry;
mod together;
mod verification;

pub use arrivals::{Arrivals, Lateness, Who};
pub use benchmark::{Way, barrier_of};
pub use best::Settings;
pub use cadence::{Cadence, Computation};
pub use effort::{effort_s, program_effort_s, recording_effort_s, verification_effort_s};
pub use placing::{Demand, Place};
pub use price::{Predicted, messages, predict};
pub use simulation::{Repeated, Scene, Simulated, Subject, simulate, simulate_trials};
pub use surroundings::surroundings;
pub use symmetry::check_symmetry;
pub use together::{IsolatedCall, Part, Together, simulate_together};
pub use verification::{Report, verify, verify_calls, verify_schedule, verify_schedule_as};

use hocket_algorithms::{Entry, demand};
use hocket_core::{Call, Result};
use hocket_memory::{Circuits, Operator};
use hocket_simulate::{Bound, Platform};

/// Runs an algorithm on real data, see [`hocket_memory::run`].
pub fn run(entry: &Entry, call: &Call, operator: Option<&Operator>, inputs: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    run_with_circuits(entry, call, operator, inputs, Circuits::default())
}

/// As [`run`], with circuits opened ahead, see [`hocket_memory::run_with_circuits`].
pub fn run_with_circuits(
    entry: &Entry,
    call: &Call,
    operator: Option<&Operator>,
    inputs: &[Vec<u8>],
    circuits: Circuits,
) -> Result<Vec<Vec<u8>>> {
    hocket_memory::run_with_circuits(entry.program(), call, operator, inputs, circuits)
}

/// The lower bound of a call on a platform, see [`hocket_simulate::bound`].
pub fn bound(call: &Call, platform: &Platform) -> Result<Bound> {
    hocket_simulate::bound(call, demand(call.collective), platform)
}

//! One simulation without noise, by the engine that applies.

use hocket_core::{AnyProgram, Call, Result};
use hocket_machine::{Node, Noise};

use crate::clock::{Quiet, Trial};
use crate::dataflow::{self, Failure, Order};
use crate::events;
use crate::in_time::Outcome;
use crate::network::{self, Network};
use crate::options::{Engine, Options};
use crate::platform::Platform;

/// Runs `program` on `platform` in virtual time, without noise.
///
/// # Errors
/// A deadlock, an interruption, a requested engine that does not apply, or times that overflow.
pub fn simulate(program: &dyn AnyProgram, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    let outcome = platform.network.visit(Single { program, call, node: &platform.node, options })?;
    platform.check_times(outcome.rank_times_s.iter().copied())?;
    Ok(outcome)
}

struct Single<'a> {
    program: &'a dyn AnyProgram,
    call: &'a Call,
    node: &'a Node,
    options: Options<'a>,
}

impl network::Visitor for Single<'_> {
    type Output = Result<Outcome>;

    fn visit<N: Network + Sync>(self, network: &N) -> Result<Outcome> {
        let Self { program, call, node, options } = self;
        let noise = Noise::default();
        let trial = Trial { noise: &noise, seed: 0, trial: 0, ranks: call.ranks };
        let watching = |order| dataflow::run(program, call, network, Quiet, node, order, options);
        let dataflow = || {
            let (_, outcome) = match watching(Order::OfRanks) {
                Err(Failure::Unordered(_)) => watching(Order::OfPairs)?,
                other => other?,
            };
            Ok(outcome)
        };
        let events = || events::run(program, call, network, &trial, node, options);
        either(options.engine, dataflow, events)
    }
}

/// The result of the requested engine; [`Engine::Auto`] takes dataflow where it applies, else events.
pub fn either<T>(
    engine: Engine,
    dataflow: impl FnOnce() -> std::result::Result<T, Failure>,
    events: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match engine {
        Engine::Events => events(),
        Engine::Dataflow => dataflow().map_err(Failure::into_error),
        Engine::Auto => match dataflow() {
            Err(Failure::Inapplicable(_)) => events(),
            other => other.map_err(Failure::into_error),
        },
    }
}

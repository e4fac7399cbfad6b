//! One simulation without noise, by the engine that applies.

use hocket_core::{AnyProgram, Call, Error, Result, Symmetry};
use hocket_machine::{Node, Noise, Placement, Work};

use crate::clock::{Quiet, Trial};
use crate::dataflow::{self, How, Order};
use crate::events::{self, Run};
use crate::in_time::Outcome;
use crate::network::{self, Network};
use crate::options::{Engine, Failure, Options};
use crate::platform::Platform;

/// Runs `program` on `platform` in virtual time, without noise.
///
/// # Errors
/// A deadlock, an interruption, a requested engine that does not apply, times that overflow, or the end at the deadline.
pub fn simulate(program: &dyn AnyProgram, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    platform.check_ranks(call.ranks)?;
    let takes_symmetry = options.engine.takes_symmetry() && !options.trace && !options.passages;
    let symmetry = if takes_symmetry { symmetry(program, call, platform) } else { None };
    let outcome = platform.network.visit(Single { program, call, symmetry, node: &platform.node, options })?;
    platform.check_times(outcome.rank_times_s.iter().copied())?;
    if outcome.time_s() > options.until_s { Err(Error::lateness()) } else { Ok(outcome) }
}

/// The symmetry that a program and a machine have in common: only its representatives are simulated.
pub fn symmetry(program: &dyn AnyProgram, call: &Call, platform: &Platform) -> Option<Symmetry> {
    // A copy may also be the first touch of new memory.
    let with_copies = platform.node.copy != Work::default() || platform.node.scratch.is_some();
    let of_program = platform.noise.is_quiet().then(|| program.symmetry(call, with_copies)).flatten()?;
    let symmetry = match (platform.network.shared_network(), &platform.placement) {
        (Some(shared_network), _) => of_program.and(shared_network.symmetry()?)?,
        (None, placement) => {
            let on_node = placement.as_ref().map_or(Some(1), Placement::ranks_per_node)?;
            of_program.on_nodes(on_node.saturating_mul(platform.network.nodes_per_group()))?
        }
    };
    (symmetry.representatives() < call.ranks && symmetry.divides(call.ranks)).then_some(symmetry)
}

/// Refuses a call if there is no place on the platform or no memory for the `ranks` that run, by events or in dataflow.
///
/// # Errors
/// More ranks than the network or the memory holds.
pub fn check_size(
    program: &dyn AnyProgram,
    call: &Call,
    platform: &Platform,
    ranks: usize,
    by_events: bool,
) -> Result<()> {
    platform.network.visit(Size { program, call, ranks, by_events })
}

struct Size<'a> {
    program: &'a dyn AnyProgram,
    call: &'a Call,
    ranks: usize,
    by_events: bool,
}

impl network::Visitor for Size<'_> {
    type Output = Result<()>;

    fn visit<N: Network>(self, network: &N) -> Result<()> {
        let Self { program, call, ranks, by_events } = self;
        if by_events {
            events::check_size(program, call, network)
        } else {
            dataflow::check_size::<N, Quiet>(program, call, network, ranks)
        }
    }
}

struct Single<'a> {
    program: &'a dyn AnyProgram,
    call: &'a Call,
    symmetry: Option<Symmetry>,
    node: &'a Node,
    options: Options<'a>,
}

impl network::Visitor for Single<'_> {
    type Output = Result<Outcome>;

    fn visit<N: Network>(self, network: &N) -> Result<Outcome> {
        let Self { program, call, node, options, .. } = self;
        let noise = Noise::default();
        let trial = Trial { noise: &noise, seed: 0, trial: 0, ranks: call.ranks };
        let run = Run { program, call, network, trial: &trial, node, options };
        let by_symmetry = |symmetry| match N::MESSAGES_MEET {
            true => events::run_representatives(&run, symmetry),
            false => self.by_dataflow(network, Some(symmetry)),
        };
        match self.symmetry.filter(|_| network.resources().is_none()).map(by_symmetry) {
            Some(Err(Failure::Inapplicable(_) | Failure::Unordered(_))) if options.engine == Engine::Auto => (),
            Some(outcome) => return outcome.map_err(|failure| failure.into_error("symmetry")),
            None => (),
        }
        either(options.engine, || self.by_dataflow(network, None), || events::run(&run))
    }
}

impl Single<'_> {
    fn by_dataflow<N: Network>(
        &self,
        network: &N,
        symmetry: Option<Symmetry>,
    ) -> std::result::Result<Outcome, Failure> {
        let Self { program, call, node, options, .. } = *self;
        let run = |order| dataflow::run(program, call, network, Quiet, node, How { order, symmetry }, options);
        let outcome = match run(Order::OfRanks) {
            Err(Failure::Unordered(_)) => run(Order::OfPairs),
            other => other,
        };
        outcome.map(|(_, outcome)| outcome)
    }
}

/// The result of the requested engine for all ranks; [`Engine::Auto`] takes dataflow where it applies, else events.
pub fn either<T>(
    engine: Engine,
    dataflow: impl FnOnce() -> std::result::Result<T, Failure>,
    events: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match engine {
        Engine::Symmetry => Err(Error::new(NO_SYMMETRY)),
        Engine::Events => events(),
        Engine::Dataflow => dataflow().map_err(|failure| failure.into_error("dataflow")),
        Engine::Auto => match dataflow() {
            Err(Failure::Inapplicable(_)) => events(),
            other => other.map_err(|failure| failure.into_error("dataflow")),
        },
    }
}

const NO_SYMMETRY: &str = "the symmetry engine does not apply: it is for programs whose ranks are known to do all the same, \
                           begun together, without noise and records, on networks without links or on tori of links \
                           with one rank per node";

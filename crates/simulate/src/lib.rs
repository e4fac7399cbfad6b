//! The simulate world: a message is a size and a time stamp. How long does a program take on this machine?
//!
//! Two engines keep virtual time. *Dataflow* lets every rank run ahead on its own clock, messages carrying their arrival
//! times. *Events* runs all ranks in the order of time. Where both apply they agree to the last bit.

mod bound;
mod called;
mod clock;
mod dataflow;
mod events;
mod in_time;
mod network;
mod peers;
mod plan;
mod ports;
mod tape;
mod timetable;
mod trace;
mod trials;

pub use bound::{Bound, bound};
pub use called::as_call;
pub use in_time::Outcome;
pub use network::{
    Ask, CircuitCounts, Fabric, Flight, Hockney, Line, LinkUse, Milestone, Network, NetworkModel, Passage, Passages,
    Shared, Switching, Traffic,
};
pub use plan::Ends;
pub use trace::{Kind, Record};
pub use trials::{Many, Trials, simulate_trials};

use clock::{Quiet, Trial};
use dataflow::{Failure, Order};
use hocket_core::{AnyProgram, Call, Error, Nodes, Result};
use hocket_machine::{Machine, Node, Noise, Section};
use serde::Deserialize;

/// A machine as the engines use it: its network model, its processors, and its noise.
pub struct Platform {
    /// The machine's name.
    pub name: String,
    /// The network model.
    pub network: NetworkModel,
    /// The ranks' processors.
    pub node: Node,
    /// The noise that delays operations.
    pub noise: Noise,
    /// Which ranks share a node, if the machine file says how many do.
    pub nodes: Nodes,
}

impl Platform {
    /// Reads the sections of a machine.
    ///
    /// # Errors
    /// A model that is not known, or a key that is missing, wrong or unknown.
    pub fn new(machine: &Machine) -> Result<Self> {
        let node = Node::read(&machine.node)?;
        let network = NetworkModel::read(machine)?;
        machine.network.finish()?;
        machine.node.finish()?;
        machine.host.iter().try_for_each(Section::finish)?;
        let noise = Noise::read(&machine.noise)?;
        let has_nodes = machine.network.contains("ranks_per_node");
        let nodes = if has_nodes { Nodes::Equal(machine.network.count("ranks_per_node")?) } else { Nodes::Unknown };
        Ok(Self { name: machine.name.clone(), network, node, noise, nodes })
    }
}

/// How virtual time is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Dataflow where it applies, else events.
    #[default]
    Auto,
    /// Every rank runs ahead on its own clock.
    Dataflow,
    /// All ranks in the order of time.
    Events,
}

/// The options of a simulation, besides the program.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How to keep time.
    pub engine: Engine,
    /// Whether to record what each rank did.
    pub trace: bool,
    /// Whether to record what links carry when, where messages meet.
    pub passages: bool,
    /// Whether the program is known to send the same messages whichever branch wins a `first`, as the whole catalogue
    /// is (a contract test says so); for other programs that is checked, which takes three times as long.
    pub winners_are_alike: bool,
    /// Asked from time to time; the simulation gives up when the answer is true.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Told from time to time the number of trials that are done.
    pub on_trials: &'a dyn Fn(u64),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            engine: Engine::Auto,
            trace: false,
            passages: false,
            winners_are_alike: false,
            is_interrupted: &|| false,
            on_trials: &|_| (),
        }
    }
}

/// Runs `program` on `platform` in virtual time, without noise.
///
/// # Errors
/// A deadlock, an interruption, an engine that was asked for and does not apply, or times that add up to infinity.
pub fn simulate(program: &dyn AnyProgram, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    let outcome = platform.network.visit(Single { program, call, node: &platform.node, options })?;
    check_times(outcome.rank_times_s.iter().copied(), platform)?;
    Ok(outcome)
}

/// Checks that the times and their mean are finite.
fn check_times(times_s: impl Iterator<Item = f64>, platform: &Platform) -> Result<()> {
    if times_s.sum::<f64>().is_finite() {
        return Ok(());
    }
    Err(Error::new(format!("a time beyond what a number holds on machine {}, expected shorter ones", platform.name)))
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

/// The result of the engine that was asked for; for [`Engine::Auto`], of dataflow where it applies, else of events.
fn either<T>(
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

/// The bytes of so many elements, of which there are fewer than 2^63: signed numbers are converted in one instruction.
#[inline]
fn bytes(len: usize, element_bytes: usize) -> f64 {
    (len * element_bytes).cast_signed() as f64
}

fn interrupted() -> Error {
    Error::new("interrupted")
}

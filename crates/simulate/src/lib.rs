//! The simulate world: a message is a size and a time stamp. How long does a program take on this machine?
//!
//! Two engines keep virtual time. *Dataflow* lets every rank run ahead on its own clock, messages carrying their arrival
//! times. *Events* runs all ranks in the order of time. Where both apply they agree to the last bit.

mod dataflow;
mod events;
mod network;
mod rank;
mod trace;

pub use network::{Network, NetworkModel};
pub use trace::{Kind, Record};

use dataflow::Failure;
use hocket_core::{Call, Error, Program, Result};
use hocket_machine::Machine;

/// A machine as the engines use it: its network model and what a rank computes with.
pub struct Platform {
    /// The machine's name.
    pub name: String,
    /// The network model.
    pub network: NetworkModel,
    /// The ranks' processors.
    pub node: Node,
}

/// What a rank computes with: seconds per byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// gamma: combining one byte with another.
    pub reduce_s_per_byte: f64,
    /// Copying one byte.
    pub copy_s_per_byte: f64,
}

impl Platform {
    /// Reads the sections of a machine.
    ///
    /// # Errors
    /// A model that is not known, or a key that is missing, wrong or unknown.
    pub fn new(machine: &Machine) -> Result<Self> {
        let seconds_per_byte = |rate: Option<f64>| rate.map_or(0.0, |rate| 1.0 / rate);
        let node = Node {
            reduce_s_per_byte: seconds_per_byte(machine.node.optional_bytes_per_s("reduce_bandwidth")?),
            copy_s_per_byte: seconds_per_byte(machine.node.optional_bytes_per_s("copy_bandwidth")?),
        };
        machine.node.finish()?;
        let network = NetworkModel::read(&machine.network)?;
        machine.network.finish()?;
        Ok(Self { name: machine.name.clone(), network, node })
    }
}

/// How virtual time is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Dataflow where it applies, else events.
    Auto,
    /// Every rank runs ahead on its own clock.
    Dataflow,
    /// All ranks in the order of time.
    Events,
}

/// What a simulation found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The engine that ran: "dataflow" or "events".
    pub engine: &'static str,
    /// When each rank's program ended, in seconds from the common start.
    pub rank_times_s: Vec<f64>,
    /// Messages sent by all ranks.
    pub messages: u64,
    /// Bytes of these messages.
    pub message_bytes: u64,
    /// What each rank did when, in order of rank and time; empty unless asked for.
    pub trace: Vec<Record>,
}

impl Outcome {
    /// When the last rank ended, in seconds.
    pub fn time_s(&self) -> f64 {
        self.rank_times_s.iter().copied().fold(0.0, f64::max)
    }
}

/// What to simulate, besides the program.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How to keep time.
    pub engine: Engine,
    /// Whether to record what each rank did.
    pub trace: bool,
    /// Asked now and then; the simulation gives up when it says so.
    pub is_interrupted: &'a dyn Fn() -> bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { engine: Engine::Auto, trace: false, is_interrupted: &|| false }
    }
}

/// Runs `program` on `platform` in virtual time.
///
/// # Errors
/// A deadlock, an interruption, or an engine that was asked for and does not apply.
pub fn simulate(program: &impl Program, call: &Call, platform: &Platform, options: Options<'_>) -> Result<Outcome> {
    platform.network.visit(Run { program, call, node: platform.node, options })
}

struct Run<'a, P> {
    program: &'a P,
    call: &'a Call,
    node: Node,
    options: Options<'a>,
}

impl<P: Program> network::Visitor for Run<'_, P> {
    type Output = Result<Outcome>;

    fn visit<N: Network>(self, network: &N) -> Result<Outcome> {
        let Self { program, call, node, options } = self;
        match options.engine {
            Engine::Events => events::run(program, call, network, node, options),
            Engine::Dataflow => dataflow::run(program, call, network, node, options).map_err(Failure::into_error),
            Engine::Auto => match dataflow::run(program, call, network, node, options) {
                Err(Failure::Inapplicable(_)) => events::run(program, call, network, node, options),
                other => other.map_err(Failure::into_error),
            },
        }
    }
}

fn interrupted() -> Error {
    Error::new("interrupted")
}

//! Automatic values: Hocket computes the value `auto` of a parameter from the call and the machine.
//!
//! An algorithm declares them beside its parameters, as [`Automatic`]. [`Surroundings`] describes the machine. It comes
//! from the machine file in virtual time, and from assumptions in the rules of an MPI program.

pub mod exchanges;
pub mod segments;

use std::sync::Arc;

use hocket_core::{Call, Error, Result};

/// The text that asks for the automatic value of a parameter.
pub const AUTO: &str = "auto";

/// The automatic value of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct Automatic {
    /// The parameter's name.
    pub parameter: &'static str,
    /// Reads from the formula and the machine what the value depends on, and returns a function from calls to values.
    /// Refuses a machine without this property.
    pub read: fn(Formula, &Surroundings) -> Result<Decide>,
}

/// The cost formula of an algorithm, and the ports that it can use.
#[derive(Clone, Copy)]
pub struct Formula {
    /// As `About::cost`.
    pub cost: &'static str,
    /// As `About::ports`.
    pub ports: Option<fn(&Call) -> usize>,
}

/// Computes the automatic value for a call. The call has values of all parameters; for this one, the default.
pub type Decide = Arc<dyn Fn(&Call) -> u64 + Send + Sync>;

/// The properties of a machine that automatic values depend on. An error says why the machine does not have one.
pub struct Surroundings {
    /// What messages of this many bytes cost, as formulas count it.
    pub costs: Arc<dyn Fn(u64) -> Costs + Send + Sync>,
    /// How long messages take.
    pub messages: Result<Messages>,
    /// How often and for how long noise delays messages; none if it never does.
    pub noise: Result<Option<Noise>>,
    /// How often and for how long noise delays processors, as far as that is known; none if it never does.
    pub processor_noise: Option<Noise>,
    /// Links and processors; none if the machine has no links.
    pub links: Option<Links>,
}

/// The parameters of the Hockney model that come nearest to a machine, for messages of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// alpha: how long a message without bytes takes, in seconds.
    pub alpha_s: f64,
    /// beta, in seconds per byte.
    pub beta_s_per_byte: f64,
    /// gamma: how long a processor combines, in seconds per byte.
    pub gamma_s_per_byte: f64,
    /// The number of messages that a node sends at a time, and receives at a time; none if unlimited.
    pub ports: Option<usize>,
}

/// Messages on an idle network.
#[derive(Clone)]
pub struct Messages {
    /// How long a message of this many bytes takes, in seconds.
    pub transfer_s: Arc<dyn Fn(u64) -> f64 + Send + Sync>,
    /// How long it occupies its sender, in seconds.
    pub overhead_s: f64,
}

/// Noise whose events come at random times, or periodically from a random start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Mean time from the start of one event to the start of the next one, in seconds.
    pub interval_s: f64,
    /// Length of an event, in seconds.
    pub duration_s: f64,
}

/// Links and processors of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// How long a processor is busy with each message, in seconds.
    pub latency_s: f64,
    /// Bandwidth of a link.
    pub link_bytes_per_s: f64,
    /// How fast a processor combines large operands; infinite if combining takes no time.
    pub reduce_bytes_per_s: f64,
}

impl Surroundings {
    /// The assumptions about the machine of an MPI program: 1 us of software per message, and links and processors of
    /// 10 GB/s, as in the preset `cluster`. Its noise is unknown.
    pub fn of_unknown_machine() -> Self {
        let unknown = || Error::new("an MPI program has no machine file to compute it from, expected a number");
        let costs = Costs { alpha_s: 1e-6, beta_s_per_byte: 1e-10, gamma_s_per_byte: 1e-10, ports: None };
        Self {
            costs: Arc::new(move |_| costs),
            messages: Err(unknown()),
            noise: Err(unknown()),
            processor_noise: None,
            links: Some(Links { latency_s: 1e-6, link_bytes_per_s: 10e9, reduce_bytes_per_s: 10e9 }),
        }
    }
}

/// The refusal of `auto` for a parameter without automatic value.
pub fn has_none(algorithm: &str, parameter: &str) -> Error {
    Error::new(format!(
        "{algorithm}: parameter {parameter}: got {AUTO}, but {parameter} has no automatic value, expected a number"
    ))
}

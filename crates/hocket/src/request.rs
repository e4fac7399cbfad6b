//! Requests and results as data: what the bindings exchange with Python as JSON.

use std::collections::BTreeMap;

use hocket_algorithms::{Entry, find};
use hocket_core::{Call, Collective, Error, Result};
use hocket_machine::Machine;
use hocket_simulate::{Engine, Kind, Outcome, Platform, Record};
use serde::{Deserialize, Serialize};

/// A call of an algorithm by name.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// Name of the collective.
    pub collective: String,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Number of ranks.
    pub ranks: usize,
    /// Message of the MPI call, in bytes.
    pub size_bytes: u64,
    /// The root, where the collective has one.
    #[serde(default)]
    pub root: usize,
    /// Size of an element; messages are cut between elements.
    #[serde(default = "one")]
    pub element_bytes: usize,
    /// Whether input and result share memory.
    #[serde(default)]
    pub in_place: bool,
    /// Whether operands may be swapped.
    #[serde(default = "yes")]
    pub commutative: bool,
    /// Values of the algorithm's parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, u64>,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

/// More ranks than any machine has, and more bytes than a call can count: refused before memory is asked for.
const MOST_RANKS: usize = 1 << 26;

impl CallRequest {
    /// The collective.
    ///
    /// # Errors
    /// No such collective.
    pub fn collective(&self) -> Result<Collective> {
        collective(&self.collective)
    }

    /// The call, whatever the algorithm.
    ///
    /// # Errors
    /// A call that makes no sense, or a size that is not a whole number of elements.
    pub fn call(&self) -> Result<Call> {
        let Self { ranks, size_bytes, element_bytes, .. } = *self;
        if ranks == 0 || ranks > MOST_RANKS {
            return Err(Error::new(format!("ranks: got {ranks}, expected 1 to {MOST_RANKS}")));
        }
        if element_bytes == 0 || size_bytes % element_bytes as u64 != 0 {
            let text = format!("size: got {size_bytes} B, expected a whole number of elements of {element_bytes} B");
            return Err(Error::new(text));
        }
        let elements = usize::try_from(size_bytes / element_bytes as u64).unwrap_or(usize::MAX);
        if elements.checked_mul(ranks).and_then(|all| all.checked_mul(element_bytes)).is_none_or(|all| all > 1 << 62) {
            return Err(Error::new(format!(
                "size: got {size_bytes} B on {ranks} ranks, expected less than 2^62 B in all"
            )));
        }
        let collective = self.collective()?;
        if self.root != 0 && !collective.has_root() {
            return Err(Error::new(format!("root: got {}, but {collective} has no root", self.root)));
        }
        let call = Call {
            root: self.root,
            element_bytes,
            in_place: self.in_place,
            commutative: self.commutative,
            ..Call::new(collective, ranks, elements)
        };
        call.check()?;
        Ok(call)
    }

    /// The algorithm of the catalogue, and the call as it accepts it.
    ///
    /// # Errors
    /// An unknown algorithm, or a call that it refuses.
    pub fn resolve(&self) -> Result<(&'static Entry, Call)> {
        let entry = find(self.collective()?, &self.algorithm)?;
        let given: Vec<_> = self.parameters.iter().map(|(name, value)| (name.clone(), *value)).collect();
        Ok((entry, entry.accept(&self.call()?, &given)?))
    }
}

/// The collective of this name.
///
/// # Errors
/// No such collective.
pub fn collective(name: &str) -> Result<Collective> {
    Collective::ALL.into_iter().find(|c| c.name() == name).ok_or_else(|| {
        let names: Vec<_> = Collective::ALL.iter().map(|c| c.name()).collect();
        Error::new(format!("unknown collective {name:?}, expected one of {}", names.join(", ")))
    })
}

/// The text of a machine file and the name it goes by in messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineRequest {
    /// The file's text.
    pub text: String,
    /// The file's name.
    pub file: String,
}

impl MachineRequest {
    /// The machine.
    ///
    /// # Errors
    /// As [`Machine::parse`] and [`Platform::new`].
    pub fn platform(&self) -> Result<Platform> {
        Platform::new(&Machine::parse(&self.text, &self.file)?)
    }
}

/// How to simulate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulateRequest<C> {
    /// What to simulate.
    #[serde(alias = "schedule")]
    pub call: C,
    /// On which machine.
    pub machine: MachineRequest,
    /// "auto", "dataflow" or "events".
    #[serde(default)]
    pub engine: EngineName,
    /// Whether to report what each rank did.
    #[serde(default)]
    pub trace: bool,
}

/// Name of an engine.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum EngineName {
    #[default]
    Auto,
    Dataflow,
    Events,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Auto => Self::Auto,
            EngineName::Dataflow => Self::Dataflow,
            EngineName::Events => Self::Events,
        }
    }
}

/// What a simulation found, and what the formula says.
#[derive(Clone, Debug, Serialize)]
pub struct SimulateResult {
    /// Number of ranks.
    pub ranks: usize,
    /// The machine's name.
    pub machine: String,
    /// The engine that ran.
    pub engine: &'static str,
    /// When the last rank ended, in seconds.
    pub time_s: f64,
    /// Over the ranks, when each ended.
    pub rank_time_s: Spread,
    /// Messages of all ranks.
    pub messages: u64,
    /// Bytes of these messages.
    pub message_bytes: u64,
    /// Time by the algorithm's formula, where it has one for this machine.
    pub formula_s: Option<f64>,
    /// Whether the formula is exact for this call.
    pub formula_is_exact: bool,
    /// What each rank did when.
    pub trace: Vec<TraceRow>,
}

/// Smallest, mean and largest of some times, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Spread {
    pub min: f64,
    pub mean: f64,
    pub max: f64,
}

impl Spread {
    fn of(times_s: &[f64]) -> Self {
        Self {
            min: times_s.iter().copied().fold(f64::INFINITY, f64::min),
            mean: times_s.iter().sum::<f64>() / times_s.len() as f64,
            max: times_s.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// One operation of one rank, see [`Record`].
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct TraceRow {
    pub rank: usize,
    pub kind: &'static str,
    pub peer: usize,
    pub tag: u32,
    pub bytes: f64,
    pub start_s: f64,
    pub end_s: f64,
}

impl From<&Record> for TraceRow {
    fn from(record: &Record) -> Self {
        let Record { rank, kind, peer, tag, bytes, start_s, end_s } = *record;
        Self { rank, kind: Kind::name(kind), peer, tag, bytes, start_s, end_s }
    }
}

impl SimulateResult {
    /// The result of a simulation on `platform`.
    pub fn new(outcome: &Outcome, platform: &Platform, predicted: Option<crate::Predicted>) -> Self {
        Self {
            ranks: outcome.rank_times_s.len(),
            machine: platform.name.clone(),
            engine: outcome.engine,
            time_s: outcome.time_s(),
            rank_time_s: Spread::of(&outcome.rank_times_s),
            messages: outcome.messages,
            message_bytes: outcome.message_bytes,
            formula_s: predicted.map(|p| p.time_s),
            formula_is_exact: predicted.is_some_and(|p| p.is_exact),
            trace: outcome.trace.iter().map(TraceRow::from).collect(),
        }
    }
}

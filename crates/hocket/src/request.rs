//! Requests and results as data: what the bindings exchange with Python as JSON.

use std::collections::BTreeMap;

use hocket_algorithms::automatic::{Given, Surroundings, has_none};
use hocket_algorithms::{Entry, find};
use hocket_core::{Call, Collective, Error, Parameter, Result, budget};
use hocket_machine::{Machine, Topology};
use hocket_simulate::{CircuitCounts, Ends, Engine, Fabric, Kind, LinkUse, Many, Platform, Record, Trials};
use serde::{Deserialize, Serialize};

use crate::pacing::{Gap, Step};

/// A call of an algorithm by name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// Name of the collective.
    pub collective: String,
    /// Name of the algorithm; empty where none is needed.
    #[serde(default)]
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
    /// The gap between packets of algorithms that have steps, see [`Gap::parse`]; 0 when absent.
    #[serde(default)]
    pub gap: Option<String>,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

/// More ranks than any machine has: refused before memory is asked for.
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
        check_root(collective, self.root)?;
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

    /// The gap between packets.
    ///
    /// # Errors
    /// As [`Gap::parse`].
    pub fn gap(&self) -> Result<Gap> {
        self.gap.as_deref().map_or(Ok(Gap::default()), Gap::parse)
    }

    /// The algorithm of the catalogue, and the call as it accepts it.
    ///
    /// # Errors
    /// An unknown algorithm, or a call that it refuses.
    pub fn resolve(&self) -> Result<(&'static Entry, Call)> {
        let entry = find(self.collective()?, &self.algorithm)?;
        Ok((entry, entry.accept(&self.call()?, &self.given())?))
    }

    /// The automatic values of the parameters of these names.
    ///
    /// # Errors
    /// A parameter that has none, a machine that does not say what it depends on, or a call that the algorithm refuses.
    pub fn automatic(&self, names: &[String], on: &Surroundings) -> Result<Vec<(&'static str, u64)>> {
        let Ok(entry) = find(self.collective()?, &self.algorithm) else {
            return Err(has_none(&format!("{}/{}", self.collective, self.algorithm), &names.join(", ")));
        };
        let given = Given::new(entry, self.given(), names.iter().map(String::as_str), on)?;
        given.automatic(entry, &self.call()?)
    }

    fn given(&self) -> Vec<(String, u64)> {
        self.parameters.iter().map(|(name, value)| (name.clone(), *value)).collect()
    }
}

/// Checks that a root is only given where the collective has one.
///
/// # Errors
/// It has none.
pub fn check_root(collective: Collective, root: usize) -> Result<()> {
    if root != 0 && !collective.has_root() {
        return Err(Error::new(format!("root: got {root}, but {collective} has no root")));
    }
    Ok(())
}

/// The collective of this name, see [`Collective::named`].
///
/// # Errors
/// No such collective.
pub fn collective(name: &str) -> Result<Collective> {
    Collective::named(name).ok_or_else(|| {
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
    /// The machine file, section by section.
    ///
    /// # Errors
    /// As [`Machine::parse`].
    pub fn machine(&self) -> Result<Machine> {
        Machine::parse(&self.text, &self.file)
    }

    /// The machine.
    ///
    /// # Errors
    /// As [`Machine::parse`] and [`Platform::new`].
    pub fn platform(&self) -> Result<Platform> {
        Platform::new(&self.machine()?)
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
    /// Whether to report what each link carried.
    #[serde(default)]
    pub links: bool,
    /// Which trials.
    #[serde(default)]
    pub trials: TrialsRequest,
}

/// Which trials to run, see [`hocket_simulate::Trials`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)]
pub struct TrialsRequest {
    pub seed: u64,
    pub first: u64,
    pub count: u64,
    pub until_interval: Option<f64>,
    pub threads: usize,
}

impl Default for TrialsRequest {
    fn default() -> Self {
        Self { seed: 0, first: 0, count: 1, until_interval: None, threads: 1 }
    }
}

/// Memory of one trial, at least: its times, here, on their way to Python, and there.
const TRIAL_BYTES: f64 = 250.0;

/// More trials than anybody waits for.
const MOST_TRIALS: u64 = 1 << 30;

impl TrialsRequest {
    /// The trials.
    ///
    /// # Errors
    /// No trials, too many, more than there is memory for, or an interval that is not a positive share.
    pub fn trials(&self) -> Result<Trials> {
        let Self { seed, first, count, until_interval, threads } = *self;
        if count == 0 || count > MOST_TRIALS || first > MOST_TRIALS {
            return Err(Error::new(format!("trials: got {count}, expected 1 to {MOST_TRIALS}")));
        }
        if let Some(share) = until_interval.filter(|share| !(*share > 0.0 && *share < 1.0)) {
            return Err(Error::new(format!("interval: got {share}, expected a share between 0 and 1")));
        }
        if until_interval.is_none() {
            budget::check(format_args!("{count} trials"), count as f64 * TRIAL_BYTES)?;
        }
        Ok(Trials { seed, first, count, until_interval, threads: threads.max(1) })
    }
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
    /// Whether it has no noise.
    pub is_quiet: bool,
    /// The engine that ran.
    pub engine: &'static str,
    /// For each trial, when the first rank ended, in seconds.
    pub first_s: Vec<f64>,
    /// For each trial, when the ranks ended on average, in seconds.
    pub mean_s: Vec<f64>,
    /// For each trial, when the last rank ended, in seconds.
    pub last_s: Vec<f64>,
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
    /// What the links carried in the first trial, where messages meet.
    pub links: Option<LinksResult>,
    /// What happened to circuits in the first trial, where there are any.
    pub circuits: Option<CircuitsResult>,
    /// The steps of an algorithm that has steps, where messages meet.
    pub steps: Vec<Step>,
    /// The parameters of an algorithm of the catalogue: given, default, or chosen by itself.
    pub parameters: BTreeMap<&'static str, Shown>,
}

/// The value of a parameter as it is shown: a number, or the word of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Shown {
    Number(u64),
    Word(&'static str),
}

/// The value of a parameter as it is shown.
pub fn shown(parameter: &Parameter, value: u64) -> Shown {
    parameter.words().get(value as usize).map_or(Shown::Number(value), |word| Shown::Word(word))
}

/// What happened to circuits, see [`CircuitCounts`].
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct CircuitsResult {
    pub set_ups: u64,
    pub refused: u64,
    pub cut: u64,
}

impl From<CircuitCounts> for CircuitsResult {
    fn from(counts: CircuitCounts) -> Self {
        let CircuitCounts { set_ups, refused, cut } = counts;
        Self { set_ups, refused, cut }
    }
}

/// What the links of a network carried.
#[derive(Clone, Debug, Serialize)]
pub struct LinksResult {
    /// How many there are.
    pub links: usize,
    /// How many carried something.
    pub used: usize,
    /// For how many something had to wait.
    pub waited: usize,
    /// The most bytes that one carried.
    pub most_bytes: f64,
    /// The longest that one was busy, in seconds.
    pub most_busy_s: f64,
    /// How long messages waited for links, added up, in seconds.
    pub waiting_s: f64,
    /// Each link that was used, if asked for.
    pub rows: Vec<LinkRow>,
}

/// One link, see [`LinkUse`].
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct LinkRow {
    pub link: usize,
    pub name: String,
    pub bytes: f64,
    pub busy_s: f64,
    pub waiting_s: f64,
}

impl LinksResult {
    /// The result for the links of this topology, row by row if asked for.
    pub fn new(uses: &[LinkUse], topology: &impl Topology, has_rows: bool) -> Self {
        let is_used = |use_: &&LinkUse| use_.busy_s > 0.0 || use_.bytes > 0.0;
        let most = |of: fn(&LinkUse) -> f64| uses.iter().map(of).fold(0.0, f64::max);
        let row = |(link, LinkUse { bytes, busy_s, waiting_s }): (usize, &LinkUse)| LinkRow {
            link,
            name: topology.link_name(link),
            bytes: *bytes,
            busy_s: *busy_s,
            waiting_s: *waiting_s,
        };
        let used = uses.iter().enumerate().filter(|(_, use_)| is_used(use_));
        Self {
            links: uses.len(),
            used: used.clone().count(),
            waited: uses.iter().filter(|use_| use_.waiting_s > 0.0).count(),
            most_bytes: most(|use_| use_.bytes),
            most_busy_s: most(|use_| use_.busy_s),
            waiting_s: uses.iter().map(|use_| use_.waiting_s).sum(),
            rows: if has_rows { used.map(row).collect() } else { Vec::new() },
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
    /// The result of simulating `ranks` ranks on `platform`.
    pub fn new(
        ranks: usize,
        many: &Many,
        platform: &Platform,
        predicted: Option<crate::Predicted>,
        has_rows: bool,
    ) -> Self {
        let links = |fabric: &Fabric| LinksResult::new(&many.links, &fabric.topology, has_rows);
        let each = |time: fn(&Ends) -> f64| many.ends.iter().map(time).collect();
        Self {
            ranks,
            machine: platform.name.clone(),
            is_quiet: platform.noise.is_quiet(),
            engine: many.engine,
            first_s: each(|ends| ends.first_s),
            mean_s: each(|ends| ends.mean_s),
            last_s: each(|ends| ends.last_s),
            messages: many.messages,
            message_bytes: many.message_bytes,
            formula_s: predicted.map(|p| p.time_s),
            formula_is_exact: predicted.is_some_and(|p| p.is_exact),
            trace: many.trace.iter().map(TraceRow::from).collect(),
            links: platform.network.fabric().map(links),
            circuits: many.circuits.map(CircuitsResult::from),
            steps: Vec::new(),
            parameters: BTreeMap::new(),
        }
    }
}

//! Requests as Python makes them.

use hocket::cases::check_root;
use hocket::pacing::Gap;
use hocket_algorithms::automatic::{Surroundings, has_none};
use hocket_algorithms::given::Given;
use hocket_algorithms::{Entry, find};
use hocket_core::{Call, Collective, Error, Nodes, Parameter, Result, Stencil, budget, names};
use hocket_simulate::{Engine, Trials};
use indexmap::IndexMap;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A call of an algorithm by name. Results repeat it, without the fields that they have in another shape or do not depend on.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    /// The stencil of a neighbourhood, see [`Stencil::parse`].
    #[serde(default)]
    pub neighbors: Option<String>,
    /// Size of an element; messages are cut between elements.
    #[serde(default = "one")]
    pub element_bytes: usize,
    /// Whether input and result share memory.
    #[serde(default)]
    pub in_place: bool,
    /// Whether operands may be swapped.
    #[serde(default = "yes", skip_serializing)]
    pub commutative: bool,
    /// Values of the algorithm's parameters.
    #[serde(default, skip_serializing)]
    pub parameters: IndexMap<String, u64>,
    /// The gap between packets of algorithms that have steps, see [`Gap::parse`]; 0 when absent.
    #[serde(default, skip_serializing)]
    pub gap: Option<String>,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

/// More neighbours than a stencil gives a rank.
const MOST_NEIGHBORS: usize = 1 << 13;

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
        let collective = self.collective()?;
        let elements = usize::try_from(size_bytes / element_bytes as u64).unwrap_or(usize::MAX);
        let blocks = if collective.has_neighbors() { ranks.saturating_mul(MOST_NEIGHBORS) } else { ranks };
        if elements.checked_mul(blocks).and_then(|all| all.checked_mul(element_bytes)).is_none_or(|all| all > 1 << 62) {
            return Err(Error::new(format!(
                "size: got {size_bytes} B on {ranks} ranks, expected less than 2^62 B in all"
            )));
        }
        check_root(collective, self.root)?;
        let mut call = Call {
            root: self.root,
            element_bytes,
            in_place: self.in_place,
            commutative: self.commutative,
            ..Call::new(collective, ranks, elements)
        };
        if let Some(text) = &self.neighbors {
            if !collective.has_neighbors() {
                return Err(Error::new(format!(
                    "neighbors: got {text:?}, but {collective} is no neighbourhood collective"
                )));
            }
            call.counts = collective.counts_of(Stencil::parse(text, ranks)?, elements);
        }
        call.check()?;
        Ok(call)
    }

    /// The values of all parameters, the gap among them: those that an algorithm of the catalogue completed the call with, or
    /// those that were given.
    pub fn values(&self, entry: Option<&Entry>, call: &Call) -> IndexMap<String, Value> {
        let gap = self.gap.as_ref().map(|gap| ("gap".to_owned(), json!(gap)));
        match entry {
            Some(entry) => {
                let declared = entry.about.parameters.iter();
                declared.map(|p| (p.name.to_owned(), shown(p, call.parameter(p.name)))).chain(gap).collect()
            }
            None => self.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).chain(gap).collect(),
        }
    }

    /// The gap between packets.
    ///
    /// # Errors
    /// As [`Gap::parse`].
    pub fn gap(&self) -> Result<Gap> {
        self.gap.as_deref().map_or(Ok(Gap::default()), Gap::parse)
    }

    /// The algorithm of the catalogue, and the call as it accepts it from ranks on these nodes.
    ///
    /// # Errors
    /// An unknown algorithm, or a call that it refuses.
    pub fn resolve(&self, nodes: &Nodes) -> Result<(&'static Entry, Call)> {
        let entry = find(self.collective()?, &self.algorithm)?;
        let call = Call { nodes: nodes.clone(), ..self.call()? };
        Ok((entry, entry.accept(&call, &self.given())?))
    }

    /// The automatic values of the parameters of these names.
    ///
    /// # Errors
    /// A parameter that has none, a machine that does not say what it depends on, or a call that the algorithm refuses.
    pub fn automatic(&self, names: &[String], on: &Surroundings, nodes: &Nodes) -> Result<Vec<(&'static str, u64)>> {
        let Ok(entry) = find(self.collective()?, &self.algorithm) else {
            return Err(has_none(&format!("{}/{}", self.collective, self.algorithm), &names.join(", ")));
        };
        let given = Given::new(entry, self.given(), names.iter().map(String::as_str), on)?;
        given.automatic(entry, &Call { nodes: nodes.clone(), ..self.call()? })
    }

    fn given(&self) -> Vec<(String, u64)> {
        self.parameters.iter().map(|(name, value)| (name.clone(), *value)).collect()
    }
}

/// The collective of this name, see [`Collective::named`].
///
/// # Errors
/// No such collective.
pub fn collective(name: &str) -> Result<Collective> {
    Collective::named(name)
        .ok_or_else(|| Error::new(names::unknown("collective", name, Collective::ALL.iter().map(|c| c.name()))))
}

/// How to simulate, and whom to tell.
pub struct How {
    pub gap: Gap,
    pub engine: Engine,
    pub is_traced: bool,
    pub has_passages: bool,
    pub trials: Trials,
    /// Called now and then with how many trials are done.
    pub on_trials: Option<Py<PyAny>>,
}

/// What to simulate, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulateRequest {
    /// The call; of a schedule its name, in the place of an algorithm's.
    pub call: CallRequest,
    /// "auto", "dataflow" or "events".
    #[serde(default)]
    pub engine: Engine,
    /// Whether to report what each rank did.
    #[serde(default)]
    pub events: bool,
    /// Whether to report what each link carried.
    #[serde(default)]
    pub links: bool,
    /// Whether to report what links carried when.
    #[serde(default)]
    pub passages: bool,
    /// Which trials.
    #[serde(default)]
    pub trials: TrialsRequest,
}

impl SimulateRequest {
    /// How, telling `on_trials` now and then how many trials are done.
    ///
    /// # Errors
    /// As [`TrialsRequest::trials`] and [`CallRequest::gap`].
    pub fn how(&self, on_trials: Option<Py<PyAny>>) -> Result<How> {
        Ok(How {
            gap: self.call.gap()?,
            engine: self.engine,
            is_traced: self.events,
            has_passages: self.passages,
            trials: self.trials.trials()?,
            on_trials,
        })
    }
}

/// A call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The call.
    pub call: CallRequest,
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

/// What one trial takes at least: its times here, the last of them on its way to Python, and there.
const TRIAL_BYTES: f64 = 100.0;

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

/// The value of a parameter as it is shown: a number, or the word of a switch.
pub fn shown(parameter: &Parameter, value: u64) -> Value {
    parameter.words().get(value as usize).map_or(json!(value), |word| json!(word))
}

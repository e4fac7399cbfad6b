//! Requests from Python.

use hocket::critical_path::PathMachines;
use hocket::request::{CallValues, GAP};
use hocket::{Scene, Way};
use hocket_algorithms::Entry;
use hocket_core::{Call, Domain, Parameter, Result, Unit, budget, ensure};
use hocket_machine::Scaled;
use hocket_simulate::{Engine, Trials};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::machine::PythonMachine;
use crate::scene::PythonScene;
use crate::wire::{interned, raise};

/// A program of the user.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct OwnProgram {
    /// The generator function.
    pub program: Py<PyAny>,
    /// The name of each parameter, whether its value counts bytes, its default and its least value.
    pub parameters: Vec<OwnParameter>,
    /// The precondition: it takes a call as keywords, and returns a reason or None.
    pub refuses: Py<PyAny>,
}

/// A parameter that a program of the user declares.
pub type OwnParameter = (String, bool, u64, u64);

/// Parameters of a program of the user.
pub fn declared(parameters: &[OwnParameter]) -> Vec<Parameter> {
    let parameter = |(name, is_bytes, default, least): &OwnParameter| Parameter {
        name: interned(name),
        unit: if *is_bytes { Unit::Bytes } else { Unit::Count },
        default: *default,
        least: *least,
        tries: &[],
        domain: if *is_bytes { Domain::Size } else { Domain::Given },
        meaning: "",
    };
    parameters.iter().map(parameter).collect()
}

/// Values by name in the form of results, in this order.
pub struct ResultValues(Vec<(String, Value)>);

impl ResultValues {
    /// The values of a request, with the words of switches.
    pub fn new(values: &CallValues, entry: Option<&Entry>) -> Self {
        let parameter = |name: &str| entry?.about.parameter(name);
        let number = |(name, value): &(String, u64)| (name.clone(), value_json(parameter(name), *value));
        Self(values.numbers.iter().map(number).collect()).with_gap(values)
    }

    /// With the gap between packets, if there is one.
    pub fn with_gap(mut self, values: &CallValues) -> Self {
        self.0.extend(values.gap.as_ref().map(|gap| (GAP.to_owned(), json!(gap))));
        self
    }

    /// The values of all parameters of an algorithm in a call that it has accepted.
    pub fn of(entry: &Entry, call: &Call) -> Self {
        let declared = entry.about.parameters.iter();
        Self(declared.map(|p| (p.name.to_owned(), value_json(Some(p), call.parameter(p.name)))).collect())
    }
}

impl Serialize for ResultValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// How to simulate.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub struct How {
    /// "auto", "symmetry", "dataflow" or "events".
    #[pyo3(from_py_with = engine)]
    pub engine: Engine,
    /// The benchmark that measures the time.
    #[pyo3(from_py_with = way)]
    pub measured_as: Way,
    /// Who calls when, and over which links.
    #[pyo3(from_py_with = scene)]
    pub scene: PythonScene,
    /// Whether to report the operations of each rank.
    pub events: bool,
    /// Whether to report the use of each link.
    pub links: bool,
    /// Whether to report the passages of links.
    pub passages: bool,
    /// If the critical path is to be reported: the machine, and what makes its variants with half of a cost.
    #[pyo3(from_py_with = path_machines)]
    pub path: Option<PathMachines>,
    pub trials: TrialsRequest,
}

impl How {
    /// Who calls when, how often, over which links, and how the time is measured.
    pub fn scene(&self) -> Scene {
        let PythonScene { arrivals, cadence, faults, .. } = self.scene.clone();
        Scene { way: self.measured_as, arrivals, cadence, faults }
    }

    /// Whether the operations of the first trial are recorded.
    pub fn records_operations(&self) -> bool {
        self.events || self.path.is_some()
    }

    /// Whether anything of the first trial is reported.
    pub fn observes(&self) -> bool {
        self.records_operations() || self.links || self.passages
    }
}

/// The scene; for None, one call that all ranks begin together.
fn scene(object: &Bound<'_, PyAny>) -> PyResult<PythonScene> {
    Ok(object.extract::<Option<PyRef<'_, PythonScene>>>()?.map_or_else(PythonScene::default, |scene| scene.clone()))
}

fn path_machines(object: &Bound<'_, PyAny>) -> PyResult<Option<PathMachines>> {
    let request = object.extract::<Option<(PyRef<'_, PythonMachine>, [Scaled; 2])>>()?;
    request.map(|(machine, halves)| machine.path_machines(&halves)).transpose().map_err(raise)
}

/// The way of this name.
fn way(name: &Bound<'_, PyAny>) -> PyResult<Way> {
    let name = name.extract::<String>()?;
    Ok(Way::ALL.into_iter().find(|(each, _)| *each == name).expect("a way that Python has checked").1)
}

/// The engine of this name.
pub fn engine(name: &Bound<'_, PyAny>) -> PyResult<Engine> {
    Ok(serde_json::from_value(json!(name.extract::<String>()?)).expect("an engine that Python has checked"))
}

/// Which trials to run, see [`hocket_simulate::Trials`].
#[derive(Clone, Copy, Debug, Deserialize, FromPyObject)]
#[serde(deny_unknown_fields)]
#[pyo3(from_item_all)]
#[allow(missing_docs)]
pub struct TrialsRequest {
    pub seed: u64,
    pub first: u64,
    pub count: u64,
    pub until_interval: Option<f64>,
    pub threads: usize,
}

/// The least memory of one trial: its times here, on their way to Python, and there.
const TRIAL_BYTES: f64 = 100.0;

/// The largest number of trials.
const MOST_TRIALS: u64 = 1 << 30;

impl TrialsRequest {
    /// The trials.
    ///
    /// # Errors
    /// No trials, too many, more than there is memory for, or an interval that is not a positive share.
    pub fn trials(&self) -> Result<Trials> {
        let Self { seed, first, count, until_interval, threads } = *self;
        ensure((1..=MOST_TRIALS).contains(&count) && first <= MOST_TRIALS, || {
            format!("trials: got {count}, expected 1 to {MOST_TRIALS}")
        })?;
        match until_interval {
            Some(share) => ensure(share > 0.0 && share < 1.0, || {
                format!("interval: got {share}, expected a share between 0 and 1")
            })?,
            None => budget::check(format_args!("{count} trials"), count as f64 * TRIAL_BYTES)?,
        }
        Ok(Trials { seed, first, count, until_interval, threads: threads.max(1) })
    }
}

/// The value of a parameter in the form of results: the word of a switch; else, and without a parameter, the number.
pub fn value_json(parameter: Option<&Parameter>, value: u64) -> Value {
    let word = parameter.and_then(|parameter| parameter.words().get(value as usize));
    word.map_or(json!(value), |word| json!(word))
}

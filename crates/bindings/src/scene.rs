//! Scenes as Python objects that stay in the compiled module: their texts are read once.

use hocket::{Arrivals, Cadence};
use hocket_simulate::Fault;
use pyo3::prelude::*;
use serde::Serialize;

use crate::machine::PythonMachine;
use crate::wire::raise;

/// Who calls when, how often, and over which links.
#[pyclass(frozen, name = "Scene", module = "hocket._native")]
#[derive(Clone, Debug, Default)]
pub struct PythonScene {
    /// When the ranks begin the call.
    pub arrivals: Option<Arrivals>,
    /// When the ranks begin each of several calls.
    pub cadence: Option<Cadence>,
    /// The faults of links.
    pub faults: Vec<Fault>,
    /// The scene in the form of results.
    pub texts: SceneTexts,
}

/// A scene in the form of results.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SceneTexts {
    /// The arrivals, or how many times there are, one for each rank.
    arrivals: Option<String>,
    cadence: Option<String>,
    faults: Vec<String>,
}

#[pymethods]
impl PythonScene {
    /// The scene of arrivals (a text, or a time for each rank in seconds), a cadence and faults.
    #[new]
    #[pyo3(signature = (arrivals = None, cadence = None, faults = None))]
    fn new(arrivals: Option<TextOrTimes>, cadence: Option<String>, faults: Option<Vec<String>>) -> PyResult<Self> {
        if let (Some(_), Some(text)) = (&arrivals, &cadence) {
            let sentence = format!("cadence: got '{text}', expected none, as arrivals are given");
            return Err(raise(hocket_core::Error::new(sentence)));
        }
        let faults = faults.unwrap_or_default();
        let (arrivals, arrivals_text) = match arrivals {
            None => (None, None),
            Some(TextOrTimes::Text(text)) => (Some(Arrivals::parse(&text).map_err(raise)?), Some(text)),
            Some(TextOrTimes::Times(times_s)) => {
                (Some(Arrivals::from_times_s(&times_s).map_err(raise)?), Some(format!("{} times", times_s.len())))
            }
        };
        Ok(Self {
            arrivals,
            cadence: cadence.as_deref().map(Cadence::parse).transpose().map_err(raise)?,
            faults: faults.iter().map(|text| Fault::parse(text).map_err(raise)).collect::<PyResult<_>>()?,
            texts: SceneTexts { arrivals: arrivals_text, cadence, faults },
        })
    }

    /// Whether trials have different arrivals.
    #[getter]
    fn is_drawn(&self) -> bool {
        self.arrivals.as_ref().is_some_and(Arrivals::are_drawn)
    }

    /// The calls of the cadence, the seconds between two of them, the calls at a time, and the seconds and the parts of
    /// the computation during each; no parts without one.
    #[getter]
    fn cadence(&self) -> Option<(u16, Option<f64>, u16, f64, u32)> {
        let cadence = self.cadence?;
        let (computing_s, parts) = cadence.computation.map_or((0.0, 0), |one| (one.time_s, one.parts));
        Some((cadence.calls, cadence.every_s, cadence.at_a_time, computing_s, parts))
    }

    /// When each rank arrives in each of so many trials of seed 0, in seconds after the first rank.
    fn arrival_times_s(&self, ranks: usize, trials: u64) -> PyResult<Vec<Vec<f64>>> {
        let Some(arrivals) = &self.arrivals else { return Ok(Vec::new()) };
        arrivals.check(ranks).map_err(raise)?;
        Ok((0..trials).map(|trial| arrivals.times_s(ranks, 0, trial)).collect())
    }

    /// What the faults do to links: when, to which link, and the part of its bandwidth from then on. Refuses faults that
    /// the machine cannot have.
    fn changes_of_links(&self, machine: &PythonMachine) -> PyResult<Vec<(f64, u32, f64)>> {
        machine.platform().changes_of_links(&self.faults).map_err(raise)
    }
}

/// Arrivals as text, or as a time for each rank in seconds.
#[derive(FromPyObject)]
enum TextOrTimes {
    Text(String),
    Times(Vec<f64>),
}

/// A cadence as text; none for None.
pub fn read_cadence(object: &Bound<'_, PyAny>) -> PyResult<Option<Cadence>> {
    object.extract::<Option<String>>()?.map(|text| Cadence::parse(&text)).transpose().map_err(raise)
}

/// Faults as texts.
pub fn read_faults(object: &Bound<'_, PyAny>) -> PyResult<Vec<Fault>> {
    object.extract::<Vec<String>>()?.iter().map(|text| Fault::parse(text).map_err(raise)).collect()
}

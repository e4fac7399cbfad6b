//! Scenes as Python objects that stay in the compiled module: their texts are read once.

use hocket::{Arrivals, Cadence};
use hocket_simulate::Fault;
use pyo3::prelude::*;

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
}

#[pymethods]
impl PythonScene {
    /// The scene of arrivals (a text, or a time for each rank in seconds), a cadence and faults.
    #[new]
    #[pyo3(signature = (arrivals = None, cadence = None, faults = None))]
    fn new(
        arrivals: Option<&Bound<'_, PyAny>>,
        cadence: Option<&Bound<'_, PyAny>>,
        faults: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        // They are read here: PyO3 adds a note to an error of an argument's own reader.
        let arrivals = arrivals.map(read_arrivals).transpose()?;
        let cadence = cadence.map(read_cadence).transpose()?.flatten();
        Ok(Self { arrivals, cadence, faults: faults.map_or_else(|| Ok(Vec::new()), read_faults)? })
    }

    /// Whether trials have different arrivals.
    #[getter]
    fn is_drawn(&self) -> bool {
        self.arrivals.as_ref().is_some_and(Arrivals::are_drawn)
    }

    /// The calls of the cadence, the seconds between two of them, the calls at a time, and the seconds and the parts of
    /// the computation beside each; no parts without one.
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
fn read_arrivals(object: &Bound<'_, PyAny>) -> PyResult<Arrivals> {
    let arrivals = match object.extract::<String>() {
        Ok(text) => Arrivals::parse(&text),
        Err(_) => Arrivals::listed(&object.extract::<Vec<f64>>()?),
    };
    arrivals.map_err(raise)
}

/// A cadence as text; none for None.
pub fn read_cadence(object: &Bound<'_, PyAny>) -> PyResult<Option<Cadence>> {
    object.extract::<Option<String>>()?.map(|text| Cadence::parse(&text)).transpose().map_err(raise)
}

/// Faults as texts.
pub fn read_faults(object: &Bound<'_, PyAny>) -> PyResult<Vec<Fault>> {
    object.extract::<Vec<String>>()?.iter().map(|text| Fault::parse(text).map_err(raise)).collect()
}

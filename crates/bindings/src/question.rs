//! Questions: many calls of many algorithms, simulated together.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hocket::question::{self, Candidate, Conditions, Outcome, Role, Start};
use hocket::request::CallRequest;
use hocket::{Arrivals, Settings};
use hocket_core::{Parameter, Result};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::machine::PythonMachine;
use crate::request::{How, OwnParameter, ResultValues, declared};
use crate::result::Simulation;
use crate::watch::Watch;
use crate::wire::{Plain, raise};
use crate::worker::in_worker;

/// A call of an algorithm.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct CellRequest {
    row: usize,
    call: Plain<CallRequest>,
    own: Option<(Vec<OwnParameter>, Py<PyAny>)>,
    /// The number of its conditions.
    conditions: usize,
    #[pyo3(from_py_with = role)]
    role: Role,
    alike: f64,
}

impl CellRequest {
    fn cell<'a>(&'a self, own: Option<&'a Own>, conditions: &'a [Conditions<'a>]) -> Result<question::Cell<'a>> {
        Ok(question::Cell {
            row: self.row,
            request: self.call.0.clone(),
            candidate: match own {
                Some(own) => Candidate::Own(own),
                None => Candidate::Entry(self.call.0.entry()?),
            },
            conditions: &conditions[self.conditions],
            role: self.role,
            alike: self.alike,
        })
    }
}

/// The conditions of a machine and a scene.
fn conditions<'a>(machine: &'a PythonMachine, how: &'a How) -> Result<Conditions<'a>> {
    let scene = how.scene();
    let late_rank = scene.arrivals.as_ref().and_then(Arrivals::late_rank);
    Ok(Conditions {
        machine: machine.view(late_rank),
        quiet: machine.quiet_view(late_rank),
        scene,
        trials: how.trials.trials()?,
        engine: how.engine,
        observes: [how.records_operations(), how.passages],
        path: how.path.as_ref(),
    })
}

fn role(name: &Bound<'_, PyAny>) -> PyResult<Role> {
    Ok(match name.extract::<String>()?.as_str() {
        "races" => Role::Races,
        "ends" => Role::Ends,
        "by formula" => Role::ByFormula,
        _ => Role::Beside,
    })
}

/// A program of the user: a function of settings, a deadline, and whether the call is isolated and without noise. It gives
/// the time, or None if that is later.
struct Own {
    parameters: Vec<Parameter>,
    run: Py<PyAny>,
}

impl question::OwnProgram for Own {
    fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    fn run(&self, settings: &Settings, until_s: f64, is_alone: bool) -> Result<Option<f64>> {
        Python::attach(|py| {
            let time_s = self.run.call1(py, (Plain(settings), until_s, is_alone)).and_then(|time_s| time_s.extract(py));
            time_s.map_err(|error: PyErr| hocket_core::Error::new(error.value(py).to_string()))
        })
    }
}

/// Calls of algorithms on a machine.
#[pyclass(frozen, module = "hocket._native")]
pub struct Question {
    conditions: Vec<(Py<PythonMachine>, How)>,
    cells: Vec<(CellRequest, Option<Own>)>,
    at_best: bool,
    places: Option<usize>,
    starts: OnceLock<Vec<Start>>,
}

#[pymethods]
impl Question {
    #[new]
    fn new(
        conditions: Vec<(Py<PythonMachine>, How)>,
        cells: Vec<CellRequest>,
        at_best: bool,
        places: Option<usize>,
    ) -> PyResult<Self> {
        let own = |mut cell: CellRequest| {
            let own = cell.own.take().map(|(parameters, run)| Own { parameters: declared(&parameters), run });
            (cell, own)
        };
        let cells = cells.into_iter().map(own).collect();
        Ok(Self { conditions, cells, at_best, places, starts: OnceLock::new() })
    }

    /// Estimates of the seconds on one core for each cell.
    fn efforts_s(slf: Py<Self>, py: Python<'_>, threads: usize) -> PyResult<Vec<f64>> {
        in_worker(py, move || {
            let this = slf.get();
            this.ask(|question| Ok(question.efforts_s(this.starts(question, threads), threads)))
        })
    }

    /// For each cell, what its parameters are set to by the call and by the formula.
    fn settings(slf: Py<Self>, py: Python<'_>) -> PyResult<Plain<Vec<Settings>>> {
        in_worker(py, move || {
            let this = slf.get();
            let settings = |start: &Start| start.settings.clone();
            this.ask(|question| Ok(Plain(this.starts(question, 1).iter().map(settings).collect())))
        })
    }

    /// Simulates. `on_done` receives the number of each cell, its result, and what its parameters were set to. The result is a
    /// dictionary; True for a program of the user; a text, why it was refused; or a number, if it is later. Returns the
    /// messages of all runs that were begun.
    fn answer(slf: Py<Self>, py: Python<'_>, on_done: Py<PyAny>, threads: usize) -> PyResult<u64> {
        in_worker(py, move || slf.get().tell(&on_done, threads))
    }
}

impl Question {
    fn tell(&self, on_done: &Py<PyAny>, threads: usize) -> PyResult<u64> {
        let (watch, failure) = (Watch::default(), RefCell::new(None));
        let is_interrupted = || failure.borrow().is_some() || watch.says_stop();
        let note = |number, outcome| {
            let result = Python::attach(|py| on_done.call1(py, self.row(py, number, outcome)?).map(drop));
            failure.replace_with(|failure| failure.take().or(result.err()));
        };
        let result = self.ask(|question| {
            let result = question.answer(self.starts(question, threads), threads, &is_interrupted, note);
            Ok(result.map(|()| question.messages.load(Ordering::Relaxed)))
        })?;
        match failure.into_inner() {
            Some(error) => Err(error),
            None => result.map_err(|error| watch.why(raise(error))),
        }
    }

    fn starts(&self, question: &question::Question<'_>, threads: usize) -> &[Start] {
        self.starts.get_or_init(|| question.starts(threads))
    }

    /// What `use_question` makes of this question.
    fn ask<T>(&self, use_question: impl FnOnce(&question::Question<'_>) -> PyResult<T>) -> PyResult<T> {
        let conditions = self.conditions.iter().map(|(machine, how)| conditions(machine.get(), how));
        let conditions = conditions.collect::<Result<Vec<_>>>().map_err(raise)?;
        let cells = self.cells.iter().map(|(cell, own)| cell.cell(own.as_ref(), &conditions));
        let cells = cells.collect::<Result<Vec<_>>>().map_err(raise)?;
        use_question(&question::Question {
            at_best: self.at_best,
            places: self.places,
            cells: &cells,
            is_stopped: AtomicBool::new(false),
            messages: AtomicU64::new(0),
        })
    }

    /// The number of a cell, its result, and what its parameters were set to, for Python.
    fn row(&self, py: Python<'_>, number: usize, outcome: Outcome) -> PyResult<(usize, Py<PyAny>, Py<PyAny>)> {
        let row = match outcome {
            Outcome::Simulated(run) => {
                let (machine, how) = &self.conditions[self.cells[number].0.conditions];
                let entry = run.request.entry().map_err(raise)?;
                let settings = Plain(run.request.parameters.clone()).into_py_any(py)?;
                let values = ResultValues::of(entry, &run.simulated.call).with_gap(&run.values);
                let result = Simulation::new(run.request, values, run.simulated, &machine.get().platform(), how);
                return Ok((number, Plain(result).into_py_any(py)?, settings));
            }
            Outcome::Kept(_) => true.into_py_any(py)?,
            Outcome::Refused(sentence) => sentence.into_py_any(py)?,
            Outcome::Late(until_s) => until_s.into_py_any(py)?,
        };
        Ok((number, row, py.None()))
    }
}

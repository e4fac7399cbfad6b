//! Questions: many calls of many algorithms, simulated together.

use std::sync::{Mutex, OnceLock, PoisonError};

use hocket::Settings;
use hocket::question::{self, Candidate, Outcome, Part, Prepared};
use hocket::request::CallRequest;
use hocket_core::{Parameter, Result};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::machine::PythonMachine;
use crate::request::{How, OwnParameter, ResultValues, declared};
use crate::result::Simulation;
use crate::watch::Watch;
use crate::wire::{Error, Plain, raise};
use crate::worker::in_worker;

/// A call of an algorithm.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct CellRequest {
    row: usize,
    call: Plain<CallRequest>,
    own: Option<(Vec<OwnParameter>, Py<PyAny>)>,
    machine: Option<Py<PythonMachine>>,
    #[pyo3(from_py_with = part)]
    part: Part,
    alike: f64,
}

impl CellRequest {
    fn cell<'a>(&'a self, own: Option<&'a Own>, late_rank: Option<usize>) -> Result<question::Cell<'a>> {
        Ok(question::Cell {
            row: self.row,
            request: self.call.0.clone(),
            candidate: match own {
                Some(own) => Candidate::Own(own),
                None => Candidate::Entry(self.call.0.entry()?),
            },
            machine: self.machine.as_ref().map(|machine| machine.get().view(late_rank)),
            part: self.part,
            alike: self.alike,
        })
    }
}

fn part(name: &Bound<'_, PyAny>) -> PyResult<Part> {
    Ok(match name.extract::<String>()?.as_str() {
        "races" => Part::Races,
        "ends" => Part::Ends,
        _ => Part::Beside,
    })
}

/// A program of the user: a function of settings, a deadline, and whether the call is isolated and without noise. It gives
/// the time, or None if that is later.
struct Own {
    parameters: Vec<Parameter>,
    run: Py<PyAny>,
    failure: Mutex<Option<PyErr>>,
}

impl question::OwnProgram for Own {
    fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    fn run(&self, settings: &Settings, until_s: f64, is_alone: bool) -> Result<Option<f64>> {
        let time_s = Python::attach(|py| self.run.call1(py, (Plain(settings), until_s, is_alone))?.extract(py));
        time_s.map_err(|error: PyErr| {
            let sentence = error.to_string();
            Python::attach(|py| {
                if error.is_instance_of::<Error>(py) {
                    return hocket_core::Error::new(error.value(py).to_string());
                }
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                hocket_core::Error::new(sentence)
            })
        })
    }
}

/// Calls of algorithms on a machine.
#[pyclass(frozen, module = "hocket._native")]
pub struct Question {
    machine: Py<PythonMachine>,
    quiet: Py<PythonMachine>,
    how: How,
    cells: Vec<(CellRequest, Option<Own>)>,
    at_best: bool,
    places: Option<usize>,
    threads: usize,
    prepared: OnceLock<Vec<Prepared>>,
}

#[pymethods]
impl Question {
    #[new]
    fn new(
        machine: Py<PythonMachine>,
        quiet: Py<PythonMachine>,
        how: How,
        cells: Vec<CellRequest>,
        at_best: bool,
        places: Option<usize>,
        threads: usize,
    ) -> PyResult<Self> {
        let own = |mut cell: CellRequest| {
            let own = cell.own.take();
            let own =
                own.map(|(parameters, run)| Own { parameters: declared(&parameters), run, failure: Mutex::default() });
            (cell, own)
        };
        let cells = cells.into_iter().map(own).collect();
        Ok(Self { machine, quiet, how, cells, at_best, places, threads, prepared: OnceLock::new() })
    }

    /// Estimates of the seconds on one core for each cell.
    fn efforts_s(slf: Py<Self>, py: Python<'_>) -> PyResult<Vec<f64>> {
        in_worker(py, move || {
            let question = slf.get();
            question.ask(|asked| Ok(asked.efforts_s(question.prepared(asked), question.threads)))
        })
    }

    /// For each cell, what its parameters are set to by the call and by the formula.
    fn settings(slf: Py<Self>, py: Python<'_>) -> PyResult<Plain<Vec<Settings>>> {
        in_worker(py, move || {
            let question = slf.get();
            let settings = |prepared: &Prepared| prepared.settings.clone();
            question.ask(|asked| Ok(Plain(question.prepared(asked).iter().map(settings).collect())))
        })
    }

    /// Simulates. `on_done` receives the number of each cell, its result, and what its parameters were set to. The result is a
    /// dictionary; True for a program of the user; a text, why it was refused; or a number, if it is later.
    fn answer(slf: Py<Self>, py: Python<'_>, on_done: Py<PyAny>) -> PyResult<()> {
        in_worker(py, move || slf.get().tell(&on_done))
    }
}

impl Question {
    fn tell(&self, on_done: &Py<PyAny>) -> PyResult<()> {
        let (watch, failure) = (Watch::default(), Mutex::new(None));
        let own_failure = || {
            let of_own = |own: &Own| own.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
            self.cells.iter().filter_map(|(_, own)| own.as_ref()).find_map(of_own)
        };
        let is_interrupted = || {
            let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
            *failure = failure.take().or_else(own_failure);
            failure.is_some() || watch.says_stop()
        };
        let result = self.ask(|asked| {
            let done = asked.answer(self.prepared(asked), self.threads, &is_interrupted, |number, outcome| {
                let told = Python::attach(|py| {
                    let settings = if let Outcome::Done(done) = &outcome {
                        Some(Plain(done.request.parameters.clone()))
                    } else {
                        None
                    };
                    let row = self.row(py, number, outcome)?;
                    on_done.call1(py, (number, row, settings)).map(drop)
                });
                if let Err(error) = told {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            });
            Ok(done)
        })?;
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (failure, result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(|error| watch.why(raise(error))),
        }
    }

    fn prepared(&self, asked: &question::Question<'_>) -> &[Prepared] {
        self.prepared.get_or_init(|| asked.prepare(self.threads))
    }

    /// What `use_question` makes of this question.
    fn ask<T>(&self, use_question: impl FnOnce(&question::Question<'_>) -> PyResult<T>) -> PyResult<T> {
        let scene = self.how.scene();
        let late_rank = scene.arrivals.as_ref().and_then(hocket::Arrivals::late_rank);
        let cells = self.cells.iter().map(|(cell, own)| cell.cell(own.as_ref(), late_rank));
        let cells = cells.collect::<Result<Vec<_>>>().map_err(raise)?;
        use_question(&question::Question {
            machine: self.machine.get().view(late_rank),
            quiet: self.quiet.get().view(late_rank),
            scene: &scene,
            trials: self.how.trials.trials().map_err(raise)?,
            engine: self.how.engine,
            observes: [self.how.events, self.how.passages],
            at_best: self.at_best,
            places: self.places,
            cells: &cells,
        })
    }

    /// The result of a cell for Python.
    fn row(&self, py: Python<'_>, number: usize, outcome: Outcome) -> PyResult<Py<PyAny>> {
        match outcome {
            Outcome::Done(done) => {
                let (cell, _) = &self.cells[number];
                let machine = cell.machine.as_ref().unwrap_or(&self.machine).get();
                let entry = done.request.entry().map_err(raise)?;
                let values = ResultValues::of(entry, &done.simulated.call).with_gap(&done.values);
                Plain(Simulation::new(done.request, values, done.simulated, &machine.platform(), &self.how))
                    .into_py_any(py)
            }
            Outcome::Kept(_) => true.into_py_any(py),
            Outcome::Refused(sentence) => sentence.into_py_any(py),
            Outcome::Late(until_s) => until_s.into_py_any(py),
        }
    }
}

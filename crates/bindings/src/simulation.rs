//! Requests for simulations: a call on a machine, and how to simulate it.

use std::sync::Arc;

use hocket::Arrivals;
use hocket::request::CallRequest;
use hocket_simulate::{Engine, Platform};
use pyo3::prelude::*;

use crate::call::PythonCall;
use crate::machine::PythonMachine;
use crate::request::{How, OwnProgram};
use crate::result::Simulation;
use crate::runnable::Runnable;
use crate::schedule::PythonSchedule;
use crate::wire::{OPERATION_BYTES, Plain, check_operations, raise};
use crate::worker::in_worker_unless_python;

/// A request for a simulation, which has been checked.
#[pyclass(frozen, module = "hocket._native")]
pub struct Request {
    platform: Arc<Platform>,
    call: Arc<PythonCall>,
    how: How,
}

#[pymethods]
impl Request {
    /// A call of the algorithm that it names, or of a program of the user.
    #[new]
    fn new(machine: &PythonMachine, call: Plain<CallRequest>, own: Option<OwnProgram>, how: How) -> PyResult<Self> {
        let late_rank = how.scene.arrivals.as_ref().and_then(Arrivals::late_rank);
        let call = Arc::new(PythonCall::from_request(call.0, Some(machine), own, late_rank)?);
        Ok(Self { platform: machine.platform(), call, how })
    }

    /// A schedule; `name` is the name of its algorithm.
    #[staticmethod]
    fn of_schedule(
        py: Python<'_>,
        machine: &PythonMachine,
        schedule: &PythonSchedule,
        name: String,
        how: How,
    ) -> PyResult<Self> {
        let call = Arc::new(PythonCall::of_schedule(py, schedule.content(), name)?);
        Ok(Self { platform: machine.platform(), call, how })
    }

    /// An estimate of the seconds of one core, by the formulas of an algorithm of the catalogue; 0 if it is unknown.
    #[getter]
    fn effort_s(&self) -> f64 {
        let Self { platform, call, how } = self;
        let (Ok(entry), Ok(trials)) = (call.entry(), how.trials.trials()) else { return 0.0 };
        // The engine symmetry reports nothing of single ranks.
        let engine = if how.observes() && how.engine == Engine::Auto { Engine::Dataflow } else { how.engine };
        hocket::effort_s(entry, &call.content(), platform, &how.scene(), trials, engine).unwrap_or(0.0)
    }

    /// The messages of the call, by the formula of an algorithm of the catalogue; 0 if they are unknown.
    #[getter]
    fn messages(&self) -> f64 {
        self.call.entry().ok().and_then(|entry| hocket::messages(entry, &self.call.content()).ok()).unwrap_or(0.0)
    }

    /// The result. Progress callback `on_trials`: receives the number of finished trials.
    #[pyo3(signature = (on_trials = None))]
    fn simulate(&self, py: Python<'_>, on_trials: Option<Py<PyAny>>) -> PyResult<Plain<Simulation>> {
        Ok(self.run(py, f64::INFINITY, on_trials)?.expect("no time is later than infinity"))
    }

    /// The result; none if it is later than `until_s`.
    fn simulate_until(&self, py: Python<'_>, until_s: f64) -> PyResult<Option<Plain<Simulation>>> {
        self.run(py, until_s, None)
    }
}

impl Request {
    fn run(&self, py: Python<'_>, until_s: f64, on_trials: Option<Py<PyAny>>) -> PyResult<Option<Plain<Simulation>>> {
        let runnable = self.call.runnable(py)?;
        let is_python = matches!(runnable, Runnable::Python(_));
        let (platform, request, how) = (self.platform.clone(), self.call.clone(), self.how.clone());
        let work = move || {
            let call = request.content();
            if how.records_operations() {
                check_operations(2.0 * runnable.messages(&call).map_err(raise)?, OPERATION_BYTES)?;
            }
            let gap = request.gap().map_err(raise)?;
            let result = runnable.simulate(&call, &platform, gap, &how, until_s, on_trials.as_ref())?;
            let Some(result) = result else { return Ok(None) };
            check_operations(result.many.first.trace.len() as f64, OPERATION_BYTES)?;
            let (call, parameters) = request.as_result(&result.call);
            Ok(Some(Plain(Simulation::new(call, parameters, result, &platform, &how))))
        };
        in_worker_unless_python(py, is_python, work)
    }
}

//! Schedules as objects of Python, which stay in the compiled module: they have millions of tasks.

use std::sync::Arc;

use hocket::pacing::Gap;
use hocket_core::{Call, Collective, budget};
use hocket_record::{Schedule, Task, from_goal, to_goal};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::request::{MachineRequest, RunRequest, ScheduleRequest, SimulateRequest};
use crate::result::Trace;
use crate::runnable::Runnable;
use crate::wire::{self, Error, raise, read, write};

/// Memory of a task with the list of those that it waits for.
const TASK_BYTES: f64 = (size_of::<Task>() + 32) as f64;
/// Memory that a simulation keeps of a task, in which `graph` waits for other tasks.
const RUNNING_BYTES: f64 = 36.0;

/// The tasks of every rank.
#[pyclass(frozen, eq, name = "Schedule", module = "hocket._native")]
#[derive(PartialEq)]
pub struct PythonSchedule(Arc<Schedule>);

impl PythonSchedule {
    fn new(schedule: Schedule) -> Self {
        Self(Arc::new(schedule))
    }

    fn operations(&self) -> f64 {
        self.0.ranks.iter().map(|tasks| tasks.len() as f64).sum()
    }
}

/// Refuses so many operations if there is no memory for them.
fn check(operations: f64, bytes_of_each: f64) -> PyResult<()> {
    budget::check(format_args!("{operations:.0} operations"), operations * bytes_of_each).map_err(raise)
}

#[pymethods]
impl PythonSchedule {
    /// Reads GOAL.
    #[staticmethod]
    fn from_goal(py: Python<'_>, text: &str, file: &str) -> PyResult<Self> {
        py.detach(|| from_goal(text, file)).map(Self::new).map_err(raise)
    }

    /// Reads a schedule in Hocket's own format.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, file: &str) -> PyResult<Self> {
        py.detach(|| Schedule::from_json(text, file)).map(Self::new).map_err(raise)
    }

    /// Writes the schedule in Hocket's own format.
    fn as_json(&self, py: Python<'_>) -> PyResult<String> {
        wire::check_operations(self.operations())?;
        py.detach(|| write(&*self.0))
    }

    /// Writes the schedule as GOAL; without a machine its reductions and copies take no time.
    fn as_goal(&self, py: Python<'_>, machine: Option<&str>) -> PyResult<String> {
        let (reduce, copy) = match machine {
            None => (0.0, 0.0),
            Some(machine) => {
                let platform = read::<MachineRequest>(machine)?.platform().map_err(raise)?;
                (platform.node.reduce_s_per_byte, platform.node.copy_s_per_byte)
            }
        };
        py.detach(|| to_goal(&self.0, reduce, copy)).map_err(raise)
    }

    /// How the schedule goes to another process.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.get_type::<Self>().getattr("from_json")?;
        Ok((make, (self.as_json(py)?, "schedule").into_pyobject(py)?))
    }
}

/// Records an algorithm as a schedule.
#[pyfunction]
#[pyo3(signature = (request, program = None))]
pub fn record(py: Python<'_>, request: &str, program: Option<Py<PyAny>>) -> PyResult<PythonSchedule> {
    let request: RunRequest = read(request)?;
    if request.call.gap().map_err(raise)? != Gap::default() {
        return Err(Error::new_err("parameter gap: a schedule holds no gaps between packets, expected none"));
    }
    let (runnable, call) = Runnable::resolve(&request.call, program)?;
    check(2.0 * runnable.messages(&call).map_err(raise)?, TASK_BYTES)?;
    py.detach(move || runnable.record(&call)).map(PythonSchedule::new)
}

/// Simulates a schedule; `on_trials` is told now and then how many trials are done.
#[pyfunction]
#[pyo3(signature = (request, schedule, on_trials = None))]
pub fn simulate_schedule(
    py: Python<'_>,
    request: &str,
    schedule: &Bound<'_, PythonSchedule>,
    on_trials: Option<Py<PyAny>>,
) -> PyResult<String> {
    let request: SimulateRequest<ScheduleRequest> = read(request)?;
    check(schedule.get().operations(), RUNNING_BYTES)?;
    let schedule = schedule.get().0.clone();
    let platform = request.machine.platform().map_err(raise)?;
    let (ranks, element_bytes) = (schedule.ranks.len(), schedule.element_bytes);
    let call = Call { element_bytes, ..Call::new(Collective::Barrier, ranks, 0) };
    let how = request.how(on_trials).map_err(raise)?;
    let found = py.detach(move || {
        let many = Runnable::Recorded(schedule).simulate(&call, &platform, how)?;
        wire::check_operations(many.first.trace.len() as f64)?;
        Ok::<_, PyErr>(Trace::new(request.call.into_call(ranks), many, &platform, request.trials.seed, request.links))
    })?;
    write(&found)
}

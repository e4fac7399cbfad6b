//! Calls as Python objects that stay in the compiled module: a call is made once and passed to every function.

use std::collections::BTreeMap;
use std::sync::Arc;

use hocket::pacing::Gap;
use hocket_algorithms::automatic::has_none;
use hocket_algorithms::parameter_values::ParameterValues;
use hocket_algorithms::{Entry, find};
use hocket_core::{Call, Collective, Nodes, budget};
use hocket_record::Schedule;
use pyo3::prelude::*;

use crate::aside::aside;
use crate::machine::PythonMachine;
use crate::program::PythonProgram;
use crate::request::{CallRequest, Values};
use crate::runnable::{Runnable, interned};
use crate::wire::{Error, raise, write};

/// The memory that a simulation keeps per rank of a schedule, in bytes.
const RANK_BYTES: f64 = 400.0;

/// The subject of a call.
enum What {
    /// No algorithm in particular.
    Any,
    Listed(&'static Entry),
    Program(Py<PyAny>),
    Recorded(Arc<Schedule>),
}

/// A call of an algorithm that has accepted it, of a schedule, or of any algorithm.
#[pyclass(frozen, name = "Call", module = "hocket._native")]
pub struct PythonCall {
    request: CallRequest,
    what: What,
    call: Call,
    gap: Gap,
}

#[pymethods]
impl PythonCall {
    /// The call of a request, for the algorithm that it names or for `program`, on a machine if given.
    #[new]
    #[pyo3(signature = (request, machine = None, program = None))]
    fn new(
        request: CallRequest,
        machine: Option<&Bound<'_, PythonMachine>>,
        program: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        Self::made(request, machine.map(Bound::get), program)
    }

    /// The values of all parameters, in the form of results.
    fn values(&self) -> PyResult<String> {
        write(&self.repeated(&self.call).1)
    }

    /// The values of all parameters as numbers, and of further names in the formulas of a catalogue algorithm.
    #[getter]
    fn parameters(&self) -> BTreeMap<&'static str, u64> {
        self.call.parameters.iter().copied().collect()
    }
}

impl PythonCall {
    /// The call of a schedule with this name.
    ///
    /// # Errors
    /// Messages that do not match, or more ranks than there is memory for.
    pub fn of_schedule(py: Python<'_>, schedule: Arc<Schedule>, name: String) -> PyResult<Self> {
        let (ranks, element_bytes) = (schedule.ranks(), schedule.element_bytes());
        budget::check(format_args!("{ranks} ranks"), ranks as f64 * RANK_BYTES).map_err(raise)?;
        let checked = schedule.clone();
        let messages = aside(py, move || Ok(checked.check_messages()))?;
        messages.map_err(|error| raise(error.at(&name)))?;
        let call = Call { element_bytes, ..Call::new(Collective::Barrier, ranks, 0) };
        let request = CallRequest::of_schedule(name, ranks);
        Ok(Self { request, what: What::Recorded(schedule), call, gap: Gap::default() })
    }

    fn made(request: CallRequest, machine: Option<&PythonMachine>, program: Option<Py<PyAny>>) -> PyResult<Self> {
        let gap = request.gap().map_err(raise)?;
        let call = Call { nodes: PythonMachine::nodes(machine).clone(), ..request.call().map_err(raise)? };
        let (what, call) = if let Some(program) = program {
            if !request.automatic.is_empty() {
                let label = format!("{}/{}", request.collective, request.algorithm);
                return Err(raise(has_none(&label, &request.automatic.join(", "))));
            }
            let parameters = request.parameters.iter().map(|(name, value)| (interned(name), *value)).collect();
            (What::Program(program), Call { parameters, nodes: Nodes::Unknown, ..call })
        } else if request.algorithm.is_empty() {
            (What::Any, call)
        } else {
            let entry = find(call.collective, &request.algorithm).map_err(raise)?;
            (What::Listed(entry), accepted(entry, &call, &request, machine).map_err(raise)?)
        };
        Ok(Self { request, what, call, gap })
    }

    /// The same call with elements of this size and an operator that is commutative or not.
    pub fn with_elements(&self, py: Python<'_>, element_bytes: usize, commutative: bool) -> PyResult<Self> {
        let request = CallRequest { element_bytes, commutative, ..self.request.clone() };
        let program = if let What::Program(program) = &self.what { Some(program.clone_ref(py)) } else { None };
        Self::made(request, None, program)
    }

    /// The call on these ranks of a machine.
    ///
    /// # Errors
    /// The algorithm refuses the call there, or the call has gaps between packets.
    pub fn placed(&self, machine: &PythonMachine, ranks: &[usize]) -> hocket_core::Result<Call> {
        if self.gap != Gap::default() {
            let text = "gap: expected none, as gaps are for a call that has the machine to itself";
            return Err(hocket_core::Error::new(text));
        }
        let What::Listed(entry) = self.what else { return Ok(self.content()) };
        let call = Call { nodes: machine.platform().nodes.select(ranks), ..self.request.call()? };
        accepted(entry, &call, &self.request, Some(machine))
    }

    /// The call itself.
    pub fn content(&self) -> Call {
        self.call.clone()
    }

    /// The gap between packets.
    pub fn gap(&self) -> Gap {
        self.gap
    }

    /// The subject that can be run.
    ///
    /// # Errors
    /// A call of no particular algorithm.
    pub fn runnable(&self, py: Python<'_>) -> PyResult<Runnable> {
        Ok(match &self.what {
            What::Any => return Err(of_none()),
            What::Listed(entry) => Runnable::Listed(entry),
            What::Program(program) => Runnable::Python(PythonProgram::new(program.clone_ref(py))),
            What::Recorded(schedule) => Runnable::Recorded(schedule.clone()),
        })
    }

    /// The algorithm of the catalogue.
    ///
    /// # Errors
    /// A call of another subject.
    pub fn entry(&self) -> PyResult<&'static Entry> {
        if let What::Listed(entry) = self.what { Ok(entry) } else { Err(of_none()) }
    }

    /// The call in the form of results, and the values of its parameters; `completed` is the call that was run.
    pub fn repeated(&self, completed: &Call) -> (CallRequest, Values) {
        let entry = if let What::Listed(entry) = self.what { Some(entry) } else { None };
        (self.request.clone(), self.request.values(entry, completed))
    }
}

fn of_none() -> PyErr {
    Error::new_err("the call is of no algorithm of the catalogue")
}

/// The call as the algorithm accepts it, with the automatic values.
fn accepted(
    entry: &Entry,
    call: &Call,
    request: &CallRequest,
    machine: Option<&PythonMachine>,
) -> hocket_core::Result<Call> {
    let numbers = request.parameters.clone();
    match machine {
        Some(machine) if !request.automatic.is_empty() => {
            let automatic = request.automatic.iter().map(String::as_str);
            ParameterValues::new(entry, numbers, automatic, &machine.surroundings())?.accept(entry, call)
        }
        _ => entry.accept(call, &numbers),
    }
}

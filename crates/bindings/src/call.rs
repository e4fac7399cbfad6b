//! Calls as Python objects that stay in the compiled module: a call is made once and passed to every function.

use std::collections::BTreeMap;
use std::sync::Arc;

use hocket::pacing::Gap;
use hocket::request::{Accepted, CallRequest, CallValues, Setting, Signature, accept_values, collective};
use hocket_algorithms::automatic::has_none;
use hocket_algorithms::{Entry, find};
use hocket_core::{Call, Collective, Nodes, budget};
use hocket_record::Schedule;
use pyo3::prelude::*;

use crate::machine::PythonMachine;
use crate::program::PythonProgram;
use crate::request::{OwnParameter, OwnProgram, ResultValues, declared};
use crate::runnable::{Runnable, sentence};
use crate::wire::{Error, Plain, interned, raise};
use crate::worker::in_worker;

/// The memory that a simulation keeps per rank of a schedule, in bytes.
const RANK_BYTES: f64 = 400.0;

/// The subject of a call.
enum What {
    /// No algorithm in particular.
    Any,
    Entry(&'static Entry),
    Program {
        program: Py<PyAny>,
        refuses: Py<PyAny>,
    },
    Schedule(Arc<Schedule>),
}

/// A call of an algorithm that has accepted it, of a schedule, or of any algorithm.
#[pyclass(frozen, name = "Call", module = "hocket._native")]
pub struct PythonCall {
    request: CallRequest,
    values: CallValues,
    what: What,
    call: Call,
}

#[pymethods]
impl PythonCall {
    /// The call of a request, for the algorithm that it names or for a program of the user, on a machine if there is one.
    #[new]
    #[pyo3(signature = (request, own = None, machine = None))]
    fn new(
        request: Plain<CallRequest>,
        own: Option<OwnProgram>,
        machine: Option<&Bound<'_, PythonMachine>>,
    ) -> PyResult<Self> {
        Self::from_request(request.0, machine.map(Bound::get), own, None)
    }

    /// The values of all parameters, in the form of results.
    fn values(&self) -> Plain<ResultValues> {
        Plain(self.as_result(&self.call).1)
    }

    /// The values of all parameters as numbers, and of further names in the formulas of a catalogue algorithm.
    #[getter]
    fn parameters(&self) -> BTreeMap<&'static str, u64> {
        self.call.parameters.iter().copied().collect()
    }
}

impl PythonCall {
    /// The call of a request, for the algorithm that it names or for a program of the user, on a machine if there is one.
    /// `late_rank` is the rank that is late in all trials, if one is.
    ///
    /// # Errors
    /// An invalid call, or one that the algorithm refuses.
    pub fn from_request(
        request: CallRequest,
        machine: Option<&PythonMachine>,
        own: Option<OwnProgram>,
        late_rank: Option<usize>,
    ) -> PyResult<Self> {
        let OwnProgram { program, parameters, refuses } = match own {
            Some(own) => own,
            None if request.algorithm.is_empty() => {
                let call = request.call().map_err(raise)?;
                return Ok(Self { request, values: CallValues::default(), what: What::Any, call });
            }
            None => {
                let (entry, machine) =
                    (request.entry().map_err(raise)?, machine.map(|machine| machine.view(late_rank)));
                let Accepted { call, values } = request.accept(entry, machine).map_err(raise)?;
                return Ok(Self { request, values, what: What::Entry(entry), call });
            }
        };
        let CallRequest { ranks, element_bytes, parameters: settings, .. } = &request;
        let platform = machine.map(PythonMachine::platform);
        let signature = Signature::own(format!("{} {}", request.collective, request.algorithm), declared(&parameters));
        let values = signature.values_on(settings, *element_bytes as u64, *ranks, platform.as_deref(), late_rank);
        Self::of_program(request, values.map_err(raise)?, program, refuses)
    }

    /// The call of a schedule with this name.
    ///
    /// # Errors
    /// Messages that do not match, or more ranks than there is memory for.
    pub fn of_schedule(py: Python<'_>, schedule: Arc<Schedule>, name: String) -> PyResult<Self> {
        let (ranks, element_bytes) = (schedule.ranks(), schedule.element_bytes());
        budget::check(format_args!("{ranks} ranks"), ranks as f64 * RANK_BYTES).map_err(raise)?;
        let content = schedule.clone();
        let messages = in_worker(py, move || Ok(content.check_messages()))?;
        messages.map_err(|error| raise(error.at(&name)))?;
        let call = Call { element_bytes, ..Call::new(Collective::Barrier, ranks, 0) };
        let request = CallRequest::of_schedule(name, ranks);
        Ok(Self { request, values: CallValues::default(), what: What::Schedule(schedule), call })
    }

    fn of_program(request: CallRequest, values: CallValues, program: Py<PyAny>, refuses: Py<PyAny>) -> PyResult<Self> {
        let call = request.call().map_err(raise)?;
        if !values.automatic.is_empty() {
            let label = format!("{}/{}", request.collective, request.algorithm);
            return Err(raise(has_none(&label, &values.automatic.join(", "))));
        }
        let parameters = values.numbers.iter().map(|(name, value)| (interned(name), *value)).collect();
        let call = Call { parameters, ..call };
        if let Some(sentence) = sentence(&refuses, &call, request.neighbors.as_deref())? {
            return Err(Error::new_err(sentence));
        }
        Ok(Self { request, values, what: What::Program { program, refuses }, call })
    }

    /// The same call with elements of this size and an operator that is commutative or not.
    pub fn with_elements(&self, py: Python<'_>, element_bytes: usize, commutative: bool) -> PyResult<Self> {
        let request = CallRequest { element_bytes, commutative, ..self.request.clone() };
        match &self.what {
            What::Entry(entry) => {
                let call = accept_values(entry, &request.call().map_err(raise)?, &self.values, None).map_err(raise)?;
                Ok(Self { request, values: self.values.clone(), what: What::Entry(entry), call })
            }
            What::Program { program, refuses } => {
                Self::of_program(request, self.values.clone(), program.clone_ref(py), refuses.clone_ref(py))
            }
            What::Any | What::Schedule(_) => Err(of_none()),
        }
    }

    /// The call on ranks of a machine that are on these nodes.
    ///
    /// # Errors
    /// The algorithm refuses the call there, or the call has gaps between packets.
    pub fn on_ranks(&self, machine: &PythonMachine, nodes: Nodes) -> hocket_core::Result<Call> {
        if self.gap()? != Gap::default() {
            let text = "gap: expected none, as gaps are for a call that has the machine to itself";
            return Err(hocket_core::Error::new(text));
        }
        let What::Entry(entry) = self.what else { return Ok(self.content()) };
        let call = Call { nodes, ..self.request.call()? };
        accept_values(entry, &call, &self.values, Some(&machine.surroundings()))
    }

    /// The call itself.
    pub fn content(&self) -> Call {
        self.call.clone()
    }

    /// The gap between packets.
    pub fn gap(&self) -> hocket_core::Result<Gap> {
        self.values.gap()
    }

    /// The subject that can be run.
    ///
    /// # Errors
    /// A call of no particular algorithm.
    pub fn runnable(&self, py: Python<'_>) -> PyResult<Runnable> {
        Ok(match &self.what {
            What::Any => return Err(of_none()),
            What::Entry(entry) => Runnable::Entry(entry),
            What::Program { program, .. } => Runnable::Python(PythonProgram::new(program.clone_ref(py))),
            What::Schedule(schedule) => Runnable::Schedule(schedule.clone()),
        })
    }

    /// The algorithm of the catalogue.
    ///
    /// # Errors
    /// A call of another subject.
    pub fn entry(&self) -> PyResult<&'static Entry> {
        if let What::Entry(entry) = self.what { Ok(entry) } else { Err(of_none()) }
    }

    /// The call in the form of results, and the values of its parameters; `completed` is the call that was run.
    pub fn as_result(&self, completed: &Call) -> (CallRequest, ResultValues) {
        let values = match self.what {
            What::Entry(entry) => ResultValues::of(entry, completed).with_gap(&self.values),
            _ => ResultValues::new(&self.values, None),
        };
        (self.request.clone(), values)
    }
}

fn of_none() -> PyErr {
    Error::new_err("the call is of no algorithm of the catalogue")
}

/// The values of the parameters of an algorithm, or of a program with these parameters, in the form of results.
#[pyfunction]
pub fn complete(
    collective: &str,
    algorithm: &str,
    own: Option<Vec<OwnParameter>>,
    settings: Plain<Vec<(String, Setting)>>,
    element_bytes: u64,
) -> PyResult<Plain<ResultValues>> {
    let entry = match &own {
        Some(_) => None,
        None => Some(self::collective(collective).and_then(|collective| find(collective, algorithm)).map_err(raise)?),
    };
    let own = own.map(|parameters| Signature::own(format!("{collective} {algorithm}"), declared(&parameters)));
    let signature = own.or_else(|| entry.map(Signature::from));
    let values = signature.map(|signature| signature.values(&settings.0, element_bytes)).transpose().map_err(raise)?;
    Ok(Plain(ResultValues::new(&values.unwrap_or_default(), entry)))
}

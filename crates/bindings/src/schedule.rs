//! Schedules as Python objects that stay in the compiled module: they may have millions of tasks.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use hocket::pacing::Gap;
use hocket_record::{Costs, Form, Schedule, from_json};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::call::PythonCall;
use crate::machine::PythonMachine;
use crate::watch::Watch;
use crate::wire::{Error, OPERATION_BYTES, Plain, check_operations, raise};
use crate::worker::{in_worker, in_worker_unless_python};

/// The least memory of a recorded task, in bytes.
const TASK_BYTES: f64 = 6.0;
/// The length of a written task, in bytes.
const TEXT_BYTES: f64 = 100.0;

/// The tasks of every rank.
#[pyclass(frozen, eq, name = "Schedule", module = "hocket._native")]
#[derive(PartialEq)]
pub struct PythonSchedule(Arc<Schedule>);

impl PythonSchedule {
    /// The schedule itself.
    pub fn content(&self) -> Arc<Schedule> {
        self.0.clone()
    }

    fn write<W: Write>(
        &self,
        py: Python<'_>,
        machine: Option<&PythonMachine>,
        form: Form,
        open: impl FnOnce() -> PyResult<W> + Send,
    ) -> PyResult<()> {
        py.detach(|| {
            let node = machine.map_or_else(Default::default, |machine| machine.platform().node.clone());
            let costs =
                Costs { reduce_s: &|bytes| node.reduce.time_s(bytes), copy_s: &|bytes| node.copy.time_s(bytes) };
            with_watch(open()?, |out| self.0.write(form, costs, out).map_err(of_system))
        })
    }
}

/// A stream that is interrupted on Ctrl-C or when memory runs out.
struct WatchedStream<'a, S> {
    stream: S,
    watch: &'a Watch,
}

impl<S> WatchedStream<'_, S> {
    fn check(&self) -> io::Result<()> {
        if self.watch.says_stop() { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }
}

impl<S: Read> Read for WatchedStream<'_, S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.stream.read(bytes)
    }
}

impl<S: Write> Write for WatchedStream<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Works on a stream, which Ctrl-C or a lack of memory interrupts.
fn with_watch<S, T>(stream: S, work: impl FnOnce(WatchedStream<'_, S>) -> PyResult<T>) -> PyResult<T> {
    let watch = Watch::default();
    let result = work(WatchedStream { stream, watch: &watch });
    result.map_err(|error| watch.why(error))
}

/// A system error as a Python OSError; other errors in their own words.
fn of_system(error: io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, hocket_record::describe_system_error(&error))),
        None => Error::new_err(error.to_string()),
    }
}

#[pymethods]
impl PythonSchedule {
    /// Number of ranks.
    #[getter]
    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    /// Reads a file in any of the formats.
    #[staticmethod]
    fn load(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let name = file.to_string_lossy();
        let schedule = py.detach(|| {
            let stream = File::open(&file).map_err(of_system)?;
            with_watch(stream, |stream| Schedule::read(stream, &name).map_err(raise))
        });
        schedule.map(Arc::new).map(Self)
    }

    /// Reads Hocket's own format.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, name: &str) -> PyResult<Self> {
        let (text, name) = (text.to_owned(), name.to_owned());
        in_worker(py, move || from_json(text.as_bytes(), &name).map(Arc::new).map_err(raise)).map(Self)
    }

    /// Writes the schedule into a file. Without a machine, reductions and copies take no time.
    fn save(
        &self,
        py: Python<'_>,
        machine: Option<&Bound<'_, PythonMachine>>,
        form: Plain<Form>,
        file: PathBuf,
    ) -> PyResult<()> {
        self.write(py, machine.map(Bound::get), form.0, || File::create(file).map_err(of_system))
    }

    /// Writes the schedule.
    fn as_bytes<'py>(
        &self,
        py: Python<'py>,
        machine: Option<&Bound<'_, PythonMachine>>,
        form: Plain<Form>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        check_operations(self.0.task_count() as f64, TEXT_BYTES)?;
        let mut bytes = Vec::new();
        self.write(py, machine.map(Bound::get), form.0, || Ok(&mut bytes))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes that are equal if and only if the schedules are.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// Refuses to pass the tasks to Python if there is no memory for them.
    fn check_data(&self) -> PyResult<()> {
        check_operations(self.0.task_count() as f64, OPERATION_BYTES)
    }

    /// Pickles the schedule.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = py.get_type::<Self>().getattr("from_json")?;
        let text = self.as_bytes(py, None, Plain(Form::Json))?.call_method0("decode")?;
        Ok((make, (text, "schedule").into_pyobject(py)?))
    }
}

/// Records a call of an algorithm as a schedule.
#[pyfunction]
pub fn record(py: Python<'_>, call: &PythonCall) -> PyResult<PythonSchedule> {
    check_recordable(py, call)?;
    let (runnable, call) = (call.runnable(py)?, call.content());
    let is_python = runnable.entry().is_none();
    in_worker_unless_python(py, is_python, move || runnable.record(&call).map(Arc::new)).map(PythonSchedule)
}

/// An estimate of the seconds for recording a call of an algorithm of the catalogue.
#[pyfunction]
pub fn recording_effort_s(py: Python<'_>, call: &PythonCall) -> PyResult<f64> {
    check_recordable(py, call)?;
    hocket::recording_effort_s(call.entry()?, &call.content()).map_err(raise)
}

/// Checks that a call can be recorded in the available memory.
fn check_recordable(py: Python<'_>, call: &PythonCall) -> PyResult<()> {
    if call.gap().map_err(raise)? != Gap::default() {
        return Err(Error::new_err("parameter gap: a schedule holds no gaps between packets, expected none"));
    }
    check_operations(2.0 * call.runnable(py)?.messages(&call.content()).map_err(raise)?, TASK_BYTES)
}

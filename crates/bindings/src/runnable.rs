//! Subjects that run in the worlds: an algorithm of the catalogue, one written in Python, or a schedule.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use hocket::pacing::Gap;
use hocket::{Report, Simulated, Subject};
use hocket_algorithms::Entry;
use hocket_core::{AnyProgram, Call, Error, Result};
use hocket_memory::Operator;
use hocket_record::Schedule;
use hocket_simulate::{Options, Platform};
use hocket_verify::{Kind, Limits};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::program::PythonProgram;
use crate::request::How;
use crate::watch::Watch;
use crate::wire::raise;

/// The most work of one run of a verification, in elements: about a second.
const MOST_WORK: usize = 1 << 27;
/// The work of a step of a program written in Python.
const WORK_OF_PYTHON: usize = 512;

pub enum Runnable {
    Entry(&'static Entry),
    Python(PythonProgram),
    Schedule(Arc<Schedule>),
}

impl Runnable {
    /// The algorithm of the catalogue, if it is one.
    pub fn entry(&self) -> Option<&'static Entry> {
        if let Self::Entry(entry) = self { Some(entry) } else { None }
    }

    pub fn program(&self) -> &dyn AnyProgram {
        match self {
            Self::Entry(entry) => entry.program(),
            Self::Schedule(schedule) => &**schedule,
            Self::Python(program) => program,
        }
    }

    /// Raises the exception of a program written in Python, after it has run.
    pub fn check(&self) -> PyResult<()> {
        if let Self::Python(program) = self { program.check() } else { Ok(()) }
    }

    /// The result of `run` with the program, or the exception of the program.
    fn with_program<T>(&self, run: impl FnOnce(&dyn AnyProgram) -> T) -> PyResult<T> {
        let output = run(self.program());
        self.check()?;
        Ok(output)
    }

    /// Simulates; none if a result is not complete at `until_s`. `on_trials` receives the number of finished trials.
    /// Stops on Ctrl-C or when memory runs out.
    pub fn simulate(
        &self,
        call: &Call,
        platform: &Platform,
        gap: Gap,
        how: &How,
        until_s: f64,
        on_trials: Option<&Py<PyAny>>,
    ) -> PyResult<Option<Simulated>> {
        let trials = how.trials.trials().map_err(raise)?;
        let watch = Watch::default();
        let report = |trials: u64| {
            if let Some(on_trials) = on_trials {
                watch.call(|py| on_trials.call1(py, (trials,)).map(drop));
            }
        };
        let options = Options {
            engine: how.engine,
            trace: how.records_operations(),
            passages: how.passages,
            until_s,
            is_interrupted: &|| watch.says_stop(),
            on_trials: &report,
            ..Options::default()
        };
        let simulated = self.with_program(|program| {
            let subject = match self {
                Self::Entry(entry) => Subject::Entry(entry),
                Self::Python(_) => Subject::Own(program),
                Self::Schedule(schedule) => Subject::Schedule(schedule),
            };
            let scene = how.scene();
            let run = |platform: &Platform, trials| {
                hocket::simulate_trials(&subject, call, platform, gap, &scene, trials, options)
            };
            let simulated = run(platform, trials)?;
            simulated.with_path(how.path.as_ref(), &scene, platform, |quiet| run(quiet, trials.one()))
        })?;
        match simulated {
            Err(error) if error == Error::lateness() => Ok(None),
            other => other.map(Some).map_err(|error| watch.why(raise(error))),
        }
    }

    /// Verifies on the calls that the precondition allows. For an algorithm written in Python, `refuses` takes a call
    /// as keywords and returns a reason or None, and the ranks of `second_program` share no state.
    pub fn verify(
        &self,
        second_program: Option<&PythonProgram>,
        calls: impl Iterator<Item = Call>,
        refuses: Option<&Py<PyAny>>,
        limits: Limits,
    ) -> PyResult<Report> {
        let failure = OnceCell::new();
        let accept = |call: &Call| self.accept(call, refuses, &failure);
        let watch = Watch::default();
        let is_stopped = || watch.says_stop();
        let second = second_program.map(|program| program as &dyn AnyProgram);
        let report =
            self.with_program(|program| hocket::verify_calls(program, second, calls, accept, limits, &is_stopped))?;
        second_program.map_or(Ok(()), PythonProgram::check)?;
        let mut report = match report {
            Ok(report) => report,
            Err(error) => return Err(watch.why(raise(error))),
        };
        let wrong = report.counterexample.as_mut().filter(|wrong| wrong.1.kind != Kind::Failure); // has its place
        if let (Self::Python(program), Some(wrong)) = (self, wrong) {
            let verify = || hocket_verify::verify(program, second, &wrong.0, limits, &is_stopped);
            wrong.1 = program.with_places(second_program, &wrong.1, verify);
        }
        failure.into_inner().map_or(Ok(report), Err)
    }

    /// An estimate of the seconds that `verify` takes on these calls.
    pub fn verification_effort_s(
        &self,
        calls: impl Iterator<Item = Call>,
        refuses: Option<&Py<PyAny>>,
        limits: Limits,
    ) -> PyResult<f64> {
        if let Self::Entry(entry) = self {
            return hocket::verification_effort_s(entry, &calls.collect::<Vec<_>>()).map_err(raise);
        }
        let failure = OnceCell::new();
        let accepted: Vec<_> = calls.filter_map(|call| self.accept(&call, refuses, &failure).ok()).collect();
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        let watch = Watch::default();
        let is_stopped = || watch.says_stop();
        let effort_s = self.with_program(|program| hocket::program_effort_s(program, accepted, limits, &is_stopped))?;
        effort_s.map_err(|error| watch.why(raise(error)))
    }

    /// The limits of a verification: programs written in Python are slow, and may do something else when they run again.
    /// Calls with a given number of elements take any work.
    pub fn limits(&self, is_count_given: bool) -> Limits {
        let most_work = if is_count_given { usize::MAX } else { MOST_WORK };
        let limits = Limits { most_work, ..Limits::default() };
        match self {
            Self::Python(_) => Limits { runs_again: true, work_per_step: WORK_OF_PYTHON, ..limits },
            _ => limits,
        }
    }

    fn accept(&self, call: &Call, refuses: Option<&Py<PyAny>>, failure: &OnceCell<PyErr>) -> Result<Call> {
        let cannot = || Error::new("the call cannot be verified");
        let fail = |error| {
            let _ = failure.set(error); // unless another one was the first
            cannot()
        };
        if failure.get().is_some() {
            return Err(cannot());
        }
        let accepted = if let Self::Entry(entry) = self {
            let parameters: Vec<_> = call.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            entry.accept(call, &parameters)?
        } else {
            call.check()?;
            let sentence = refuses.map_or(Ok(None), |refuses| sentence(refuses, call, None)).map_err(fail)?;
            if let Some(sentence) = sentence {
                return Err(Error::new(sentence));
            }
            call.clone()
        };
        let room = hocket_verify::check_room(&accepted, self.messages(&accepted)?);
        room.map_err(|error| fail(raise(error)))?;
        Ok(accepted)
    }

    /// Number of messages of all ranks, by the formula of a catalogue algorithm; 0 for others, which have no formula.
    pub fn messages(&self, call: &Call) -> Result<f64> {
        match self {
            Self::Entry(entry) => hocket::messages(entry, call),
            Self::Python(_) | Self::Schedule(_) => Ok(0.0),
        }
    }

    /// Runs on real data.
    pub fn run(&self, call: &Call, operator: &Operator, inputs: &[Vec<u8>]) -> PyResult<Vec<Vec<u8>>> {
        self.with_program(|program| hocket_memory::run(program, call, Some(operator), inputs))?.map_err(raise)
    }

    pub fn record(&self, call: &Call) -> PyResult<Schedule> {
        self.with_program(|program| hocket_record::record(program, call))?.map_err(raise)
    }
}

/// The reason for which a precondition written in Python refuses a call.
pub fn sentence(refuses: &Py<PyAny>, call: &Call, neighbors: Option<&str>) -> PyResult<Option<String>> {
    Python::attach(|py| {
        let keywords = PyDict::new(py);
        let elements = if call.collective.size_is_one_block() { call.count(0) } else { call.input_len(call.root) };
        keywords.set_item("ranks", call.ranks)?;
        keywords.set_item("size_bytes", elements * call.element_bytes)?;
        keywords.set_item("root", call.root)?;
        keywords.set_item("neighbors", neighbors)?;
        keywords.set_item("element_bytes", call.element_bytes)?;
        keywords.set_item("in_place", call.in_place)?;
        keywords.set_item("commutative", call.commutative)?;
        keywords.set_item("parameters", call.parameters.iter().copied().collect::<BTreeMap<_, _>>())?;
        refuses.call(py, (), Some(&keywords))?.extract(py)
    })
}

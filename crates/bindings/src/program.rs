//! Algorithms written in Python: a generator function that yields verbs, run as a program in any world.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::env::current_dir;
use std::future::{Future, pending};
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hocket_core::{
    Call, Collective, Counts, Edge, Failure, Neighborhood, Options, Program, Rank, Received, Result, Side, Source,
    Span, Step, Tag, Winner, budget,
};
use hocket_verify::{Counterexample, Kind, Verdict};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::number::Number;
use crate::wire::{Error, interned, raise};

/// The largest nesting of generators and branches: each level takes a piece of the running thread's stack.
const MOST_NESTED: usize = 500;

/// The largest number of successive empty steps, such as a `join` without branches.
const MOST_EMPTY: usize = 1_000_000;

/// The number of steps of a rank after which a program counts as endless, and the increment per rank and element.
/// Larger than the limit of the verify world, which reports the last steps.
const MOST_STEPS: usize = 100_000;
const STEPS_PER_PART: usize = 10;

/// A program: a generator function of a rank and a call.
pub struct PythonProgram {
    function: Py<PyAny>,
    /// Turns an exception of the program into one line, for worlds that report it as a finding.
    explain: Option<Py<PyAny>>,
    failure: OnceLock<PyErr>,
    /// Whether steps know their places in the program.
    has_places: AtomicBool,
    /// The places of steps that were made and not taken by ranks that did not end.
    left_places: Mutex<Vec<(&'static str, usize)>>,
    /// Number of resumptions of generators and of begun branches since the latest check of memory.
    resumptions: AtomicUsize,
}

/// The value of `resumptions` at which memory is checked: a program may run without end.
const RESUMPTIONS_PER_LOOK: usize = 1 << 16;

impl PythonProgram {
    pub fn new(function: Py<PyAny>) -> Self {
        Self {
            function,
            explain: None,
            failure: OnceLock::new(),
            has_places: AtomicBool::new(false),
            left_places: Mutex::default(),
            resumptions: AtomicUsize::new(0),
        }
    }

    /// The program, for a world that reports exceptions as findings, in the words of `explain`.
    pub fn to_verify(function: Py<PyAny>, explain: Option<Py<PyAny>>) -> Self {
        Self { explain, ..Self::new(function) }
    }

    /// Raises the exception of a rank, unless it is a finding. The run then has no other result.
    pub fn check(&self) -> PyResult<()> {
        self.failure.get().map_or(Ok(()), |error| Err(Python::attach(|py| error.clone_ref(py))))
    }

    /// A counterexample with the places of steps, from a verification in which they are known to this program and to
    /// `second_program`. If that finds something else, the program does not repeat, and the counterexample stays.
    pub fn with_places(
        &self,
        second_program: Option<&Self>,
        first: &Counterexample,
        verify: impl FnOnce() -> Result<Verdict>,
    ) -> Counterexample {
        [Some(self), second_program]
            .into_iter()
            .flatten()
            .for_each(|one| one.has_places.store(true, Ordering::Relaxed));
        let is_same = |second: &Counterexample| {
            let has_place = second.kind == Kind::StepsNotTaken;
            (second.kind, &second.ranks) == (first.kind, &first.ranks) && (has_place || second.got == first.got)
        };
        let second = verify().ok().and_then(|verdict| verdict.counterexample).filter(is_same);
        let Some(mut counterexample) = second else { return first.clone() };
        if counterexample.kind == Kind::Deadlock {
            let mut left_places = std::mem::take(&mut *lock(&self.left_places));
            left_places.sort_unstable();
            let line = |(place, rank)| format!("made and not yielded: the step of {place}, on rank {rank}");
            counterexample.details.extend(left_places.into_iter().take(MOST_PLACES).map(line));
        }
        counterexample
    }

    fn look_at_memory(&self) -> PyResult<()> {
        if self.resumptions.fetch_add(1, Ordering::Relaxed) + 1 < RESUMPTIONS_PER_LOOK {
            return Ok(());
        }
        self.resumptions.store(0, Ordering::Relaxed);
        budget::look().map_err(raise)
    }

    /// Stops the rank after this exception of the program.
    async fn fail(&self, r: &Rank<'_>, error: PyErr) {
        match Python::attach(|py| self.exception_text(py, &error)) {
            Ok(Some(words)) => r.fail(&Failure::Exception(words)),
            Ok(None) => self.stop(error).await,
            Err(error) => self.stop(error).await,
        }
        pending::<()>().await;
    }

    /// The exception as text, if it is a finding: Ctrl-C and a lack of memory are not the program's.
    fn exception_text(&self, py: Python<'_>, error: &PyErr) -> PyResult<Option<String>> {
        let Some(explain) = &self.explain else { return Ok(None) };
        if error.is_instance_of::<PyKeyboardInterrupt>(py) || error.is_instance_of::<PyMemoryError>(py) {
            return Ok(None);
        }
        explain.call1(py, (error.clone_ref(py).into_value(py),))?.extract(py).map(Some)
    }

    /// Stops the rank: it never goes on, and the run has no result.
    async fn stop(&self, error: PyErr) {
        let _ = self.failure.set(error); // unless another one was the first
        pending::<()>().await;
    }
}

impl Program for PythonProgram {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let has_places = self.has_places.load(Ordering::Relaxed);
        let requests = Arc::new(Requests { has_places, ..Requests::default() });
        let owner = Owner::new(r.rank());
        let rank = PythonRank { owner, size: r.size(), ports: r.circuits(), requests: requests.clone() };
        let generator =
            Python::attach(|py| self.function.call1(py, (rank, RankCall { call: c.clone(), rank: owner.rank })));
        match generator {
            Ok(generator) => {
                let (empty, steps, rests) = (Cell::new(0), Cell::new(0), RefCell::default());
                let parts = c.ranks + c.input_len(r.rank()) + c.result_len(r.rank());
                let most_steps = MOST_STEPS + STEPS_PER_PART * parts;
                let driver =
                    Rc::new(Driver { rank: r, owner, program: self, requests, empty, steps, most_steps, rests });
                let _end = DropRests(driver.clone());
                driver.generate(generator, 1).await;
                driver.check_all_taken().await;
            }
            Err(error) => self.fail(r, error).await,
        }
    }
}

/// A rank of one run. Its steps and spans have no meaning for another rank or run.
#[derive(Clone, Copy, PartialEq)]
struct Owner {
    rank: usize,
    run: u64,
}

impl Owner {
    fn new(rank: usize) -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        Self { rank, run: RUNS.fetch_add(1, Ordering::Relaxed) }
    }

    /// Checks that `what` belongs to this rank and run.
    fn check(self, whose: Self, what: impl FnOnce() -> String) -> PyResult<()> {
        ensure(self == whose, || {
            let other = if self.rank == whose.rank { "another run".to_owned() } else { format!("rank {}", whose.rank) };
            format!("rank {} uses {} of {other}, expected a step or span of the same rank and run", self.rank, what())
        })
    }
}

/// What the verbs of a rank have made.
#[derive(Default)]
struct Requests {
    end: AtomicUsize,
    /// The lengths of working memory that the world has not given yet.
    lens: Mutex<Vec<usize>>,
    /// Number of steps, and of those that were taken.
    steps: AtomicUsize,
    steps_taken: AtomicUsize,
    has_places: bool,
    /// The places of the steps that were not taken, by their numbers, if steps know their places.
    places: Mutex<BTreeMap<usize, &'static str>>,
}

impl Requests {
    /// A step with this action, and its number.
    fn step(&self, act: Act, owner: Owner) -> Verb {
        let number = self.steps.fetch_add(1, Ordering::Relaxed);
        let place = if self.has_places { Python::attach(place_of_caller) } else { None };
        place.map(|place| lock(&self.places).insert(number, place));
        Verb { act, height: 1, owner, number, place, is_taken: AtomicBool::new(false) }
    }

    fn mark_taken(&self, verb: &Verb) {
        if !verb.is_taken.swap(true, Ordering::Relaxed) {
            self.steps_taken.fetch_add(1, Ordering::Relaxed);
            verb.place.map(|_| lock(&self.places).remove(&verb.number));
        }
    }

    /// The places of the steps that were not taken, each once.
    fn left_places(&self) -> Vec<&'static str> {
        let mut places: Vec<_> = lock(&self.places).values().copied().collect();
        places.dedup();
        places
    }
}

/// The number of places of steps that a counterexample names.
const MOST_PLACES: usize = 4;

fn lock<T>(content: &Mutex<T>) -> MutexGuard<'_, T> {
    content.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file and line of the program that calls a verb; the file as seen from the current folder.
fn place_of_caller(py: Python<'_>) -> Option<&'static str> {
    let frame = py.import("sys").ok()?.call_method0("_getframe").ok()?;
    let file: String = frame.getattr("f_code").ok()?.getattr("co_filename").ok()?.extract().ok()?;
    let line: usize = frame.getattr("f_lineno").ok()?.extract().ok()?;
    let folder = current_dir().ok()?;
    let path = Path::new(&file).strip_prefix(folder).unwrap_or(Path::new(&file));
    Some(interned(&format!("{}:{line}", path.display())))
}

type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Runs the generators of one rank.
struct Driver<'a> {
    rank: &'a Rank<'a>,
    owner: Owner,
    program: &'a PythonProgram,
    requests: Arc<Requests>,
    /// Number of empty steps since the latest other one.
    empty: Cell<usize>,
    /// Number of other steps, and its limit.
    steps: Cell<usize>,
    most_steps: usize,
    /// Branches that a `first` did not wait for. Each shares a handle with the steps that let it finish: a handle with
    /// no other owner means that the program has dropped those steps.
    rests: RefCell<Vec<(Arc<()>, Later<'a, ()>)>>,
}

/// Drops the rests at the end of the run, because they hold the driver that holds them.
struct DropRests<'a>(Rc<Driver<'a>>);

impl Drop for DropRests<'_> {
    fn drop(&mut self) {
        self.0.rests.take();
        let places = self.0.requests.left_places().into_iter().map(|place| (place, self.0.owner.rank));
        lock(&self.0.program.left_places).extend(places);
    }
}

/// A running generator of steps. An abandoned one is closed here: Python would do so later and print exceptions.
struct Running<'a> {
    generator: Py<PyAny>,
    driver: Rc<Driver<'a>>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        Python::attach(|py| {
            if self.generator.call_method0(py, "close").is_err() {
                std::mem::forget(self.generator.clone_ref(py)); // nor does Python close it once more
            }
        });
        self.driver.withdraw();
    }
}

/// The next result of a generator.
enum Next {
    /// A step, and the depth of its nesting.
    Step(Py<PyAny>, usize),
    /// The value that the generator returned.
    End(Py<PyAny>),
}

impl<'a> Driver<'a> {
    /// Performs a step: a verb, or a generator of steps. Returns the value of the step.
    fn perform(self: &Rc<Self>, step: Py<PyAny>, depth: usize) -> Later<'a, Py<PyAny>> {
        let driver = self.clone();
        Box::pin(async move {
            let act = Python::attach(|py| Some(driver.begin(step.bind(py).cast::<Verb>().ok()?.get())));
            match act {
                Some(act) => driver.act(act, depth).await,
                None => driver.generate(step, depth).await,
            }
        })
    }

    /// The action of a verb that is taken now.
    fn begin(&self, verb: &Verb) -> Act {
        self.requests.mark_taken(verb);
        if let Some(place) = verb.place {
            self.rank.locate(place);
        }
        verb.act.clone()
    }

    /// Stops a verification of a rank that has made steps without taking them.
    async fn check_all_taken(&self) {
        let Requests { steps, steps_taken, .. } = &*self.requests;
        if self.program.explain.is_none() || steps.load(Ordering::Relaxed) == steps_taken.load(Ordering::Relaxed) {
            return;
        }
        let places = self.requests.left_places();
        let of = |place| format!("the step of {place}");
        let first: Vec<_> = places.into_iter().take(MOST_PLACES).map(of).collect();
        let what = if first.is_empty() { "a step".to_owned() } else { first.join(", ") };
        self.rank.fail(&Failure::StepsNotTaken(format!("{what} made and never yielded")));
        pending::<()>().await;
    }

    async fn generate(self: &Rc<Self>, generator: Py<PyAny>, depth: usize) -> Py<PyAny> {
        let running = Running { generator, driver: self.clone() };
        let mut value = none();
        loop {
            if self.program.failure.get().is_some() {
                pending::<()>().await;
            }
            let next = Python::attach(|py| self.resume(running.generator.bind(py), value, depth));
            let memory = self.give_scratch().and(self.program.look_at_memory());
            self.withdraw();
            if let Err(error) = memory {
                self.program.stop(error).await;
            }
            match next {
                Ok(Next::Step(step, depth)) => value = self.perform(step, depth).await,
                Ok(Next::End(value)) => return value,
                Err(error) => {
                    self.program.fail(self.rank, error).await;
                    return none();
                }
            }
        }
    }

    fn give_scratch(&self) -> PyResult<()> {
        let lens = std::mem::take(&mut *lock(&self.requests.lens));
        for len in lens {
            self.rank.check_scratch(len).map_err(raise)?;
            self.rank.scratch(len);
        }
        Ok(())
    }

    /// Drops the rests that the program has dropped.
    fn withdraw(&self) {
        let rests: Vec<_> = self.rests.borrow_mut().extract_if(.., |(step, _)| Arc::strong_count(step) == 1).collect();
        drop(rests); // only now: a rest may hold generators, which come back here
    }

    async fn act(self: &Rc<Self>, verb: Act, depth: usize) -> Py<PyAny> {
        let r = self.rank;
        match verb {
            Act::Step(step) => {
                let Received { source, len } = r.operation(step).await;
                return match step {
                    Step::Recv { .. } => object(PythonReceived { source: source as usize, length: len }),
                    Step::Connect { .. } => object(len > 0),
                    _ => none(),
                };
            }
            Act::Join(steps) => {
                self.program.resumptions.fetch_add(steps.len(), Ordering::Relaxed);
                return object(r.join_all(steps.into_iter().map(|step| self.perform(step, depth))).await);
            }
            Act::First(a, b) => {
                let requests = &self.requests;
                Python::attach(|py| {
                    let verbs = [&a, &b].into_iter().filter_map(|step| step.bind(py).cast::<Verb>().ok());
                    verbs.for_each(|verb| requests.mark_taken(verb.get()));
                });
                let (winner, rest) = r.first(self.perform(a, depth), self.perform(b, depth)).await;
                let step = Arc::new(());
                self.rests.borrow_mut().push((step.clone(), Box::pin(rest)));
                let (index, value) = match winner {
                    Winner::A(value) => (0, value),
                    Winner::B(value) => (1, value),
                };
                let (number, place, is_taken) = (0, None, AtomicBool::new(true));
                let rest = Verb { act: Act::Rest(step), height: 1, owner: self.owner, number, place, is_taken };
                return object((index, value, rest));
            }
            Act::Rest(step) => {
                let rest = self.rests.borrow_mut().extract_if(.., |(other, _)| Arc::ptr_eq(other, &step)).next();
                if let Some((_, rest)) = rest {
                    rest.await;
                }
            }
        }
        none()
    }

    /// Resumes a generator at `depth` until its next step. Another yielded value raises an error at the yield.
    fn resume(&self, generator: &Bound<'_, PyAny>, value: Py<PyAny>, depth: usize) -> PyResult<Next> {
        let py = generator.py();
        let step = match generator.call_method1("send", (value,)) {
            Ok(step) => step,
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
                return Ok(Next::End(error.value(py).getattr("value")?.unbind()));
            }
            Err(error) => return Err(error),
        };
        match self.check(&step, depth) {
            Ok(depth) => Ok(Next::Step(step.unbind(), depth)),
            Err(error) => {
                let at_yield = generator.call_method1("throw", (error.value(py),)).err();
                Err(at_yield.filter(|other| other.value(py).is(error.value(py))).unwrap_or(error))
            }
        }
    }

    /// Checks what a generator at `depth` yielded. Returns the depth of the nested steps.
    fn check(&self, step: &Bound<'_, PyAny>, depth: usize) -> PyResult<usize> {
        let is_empty = step.cast::<Verb>().map_or(true, |verb| verb.get().is_empty());
        self.empty.set(if is_empty { self.empty.get() + 1 } else { 0 });
        ensure(self.empty.get() <= MOST_EMPTY, || {
            format!("rank {} yielded {MOST_EMPTY} empty steps in a row, expected the program to end", self.owner.rank)
        })?;
        self.steps.set(self.steps.get() + usize::from(!is_empty));
        ensure(self.steps.get() <= self.most_steps, || {
            format!(
                "rank {} took {} steps and still runs, expected the program to end",
                self.owner.rank, self.most_steps
            )
        })?;
        check_depth(depth + height(step, self.owner)?)
    }
}

/// The number of levels of a step of `owner`: one, plus the levels of its branches.
fn height(step: &Bound<'_, PyAny>, owner: Owner) -> PyResult<usize> {
    if let Ok(verb) = step.cast::<Verb>() {
        owner.check(verb.get().owner, || "a step".to_owned())?;
        return Ok(verb.get().height);
    }
    let kind = step.get_type().name()?;
    ensure(step.hasattr("throw")?, || format!("got {kind}, expected a step, which a verb of the rank returns"))?;
    Ok(1)
}

fn check_depth(depth: usize) -> PyResult<usize> {
    ensure(depth <= MOST_NESTED, || format!("steps are nested too deeply, expected at most {MOST_NESTED} levels"))?;
    Ok(depth)
}

fn none() -> Py<PyAny> {
    Python::attach(|py| py.None())
}

fn object<T: for<'py> IntoPyObjectExt<'py>>(value: T) -> Py<PyAny> {
    Python::attach(|py| value.into_py_any(py).unwrap_or_else(|_| py.None()))
}

/// The action of a verb.
enum Act {
    Step(Step),
    Join(Vec<Py<PyAny>>),
    First(Py<PyAny>, Py<PyAny>),
    Rest(Arc<()>),
}

impl Clone for Act {
    fn clone(&self) -> Self {
        let copy = |step: &Py<PyAny>| Python::attach(|py| step.clone_ref(py));
        match self {
            Self::Step(step) => Self::Step(*step),
            Self::Join(steps) => Self::Join(steps.iter().map(copy).collect()),
            Self::First(a, b) => Self::First(copy(a), copy(b)),
            Self::Rest(step) => Self::Rest(step.clone()),
        }
    }
}

/// A step made by a verb. It has no effect until it is yielded.
#[pyclass(frozen, name = "Step", module = "hocket._native")]
pub struct Verb {
    act: Act,
    height: usize,
    owner: Owner,
    /// Its number among the steps of its rank.
    number: usize,
    /// Its place in the program, if known.
    place: Option<&'static str>,
    is_taken: AtomicBool,
}

impl Verb {
    fn is_empty(&self) -> bool {
        matches!(&self.act, Act::Join(branches) if branches.is_empty())
    }
}

/// The result of a receive.
#[pyclass(frozen, get_all, name = "Received", module = "hocket._native")]
pub struct PythonReceived {
    source: usize,
    length: usize,
}

/// A piece of one of a rank's buffers.
#[pyclass(frozen, from_py_object, name = "Span", module = "hocket._native")]
#[derive(Clone, Copy)]
pub struct PythonSpan {
    span: Span,
    owner: Owner,
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> PyResult<()> {
    if holds { Ok(()) } else { Err(Error::new_err(what())) }
}

#[pymethods]
impl PythonSpan {
    fn __len__(&self) -> usize {
        self.span.len
    }

    fn __repr__(&self) -> String {
        self.span.to_string()
    }

    fn __getitem__(&self, elements: &Bound<'_, PyAny>) -> PyResult<Self> {
        let indices = match elements.cast::<PySlice>() {
            Ok(slice) => Some(slice.indices(self.span.len as isize)?).filter(|indices| indices.step == 1),
            Err(_) => None,
        };
        let Some(indices) = indices else {
            return Err(Error::new_err(format!("span: got [{}], expected elements such as [2:5]", elements.str()?)));
        };
        Ok(self.sibling(self.span.part(indices.start as usize, indices.slicelength)))
    }

    fn part(&self, offset: Number, length: Number) -> PyResult<Self> {
        let (offset, length) = some_of(self.span.len, &offset, &length, || {
            format!(
                "part({offset}, {length}): expected an offset and a length within the {} elements of the span",
                self.span.len
            )
        })?;
        Ok(self.sibling(self.span.part(offset, length)))
    }

    fn chunk(&self, index: Number, chunks: Number) -> PyResult<Self> {
        self.chunks(index, Number::Natural(1), chunks)
    }

    fn chunks(&self, first: Number, count: Number, chunks: Number) -> PyResult<Self> {
        let what = || format!("chunks {first} to {first} + {count}: expected chunks within the {chunks} of the span");
        let all = chunks.natural().filter(|chunks| *chunks > 0).ok_or_else(|| Error::new_err(what()))?;
        let (first, count) = some_of(all, &first, &count, what)?;
        Ok(self.sibling(self.span.chunks(first, count, all)))
    }
}

/// The numbers `first` and `count` if these parts lie within `all`.
fn some_of(all: usize, first: &Number, count: &Number, what: impl FnOnce() -> String) -> PyResult<(usize, usize)> {
    let numbers = first.natural().zip(count.natural());
    numbers
        .filter(|(first, count)| first.checked_add(*count).is_some_and(|end| end <= all))
        .ok_or_else(|| Error::new_err(what()))
}

impl PythonSpan {
    /// Another span of the same rank.
    fn sibling(&self, span: Span) -> Self {
        Self { span, owner: self.owner }
    }
}

/// One call of a collective, as one of its ranks knows it.
#[pyclass(frozen, name = "Call", module = "hocket._native")]
pub struct RankCall {
    call: Call,
    rank: usize,
}

#[pymethods]
impl RankCall {
    #[getter]
    fn root(&self) -> usize {
        self.call.root
    }

    fn input(&self, r: &PythonRank) -> PythonSpan {
        PythonSpan { span: self.call.input_of(r.owner.rank), owner: r.owner }
    }

    fn result(&self, r: &PythonRank) -> PythonSpan {
        PythonSpan { span: self.call.result_of(r.owner.rank), owner: r.owner }
    }

    fn count(&self, block: Number) -> PyResult<usize> {
        let (block, _) = self.some_blocks(&block, &Number::Natural(1))?;
        ensure(self.knows_all_counts() || block == self.rank, || self.unknown_counts())?;
        Ok(self.call.count(block))
    }

    fn block(&self, span: PythonSpan, block: Number) -> PyResult<PythonSpan> {
        self.blocks(span, block, Number::Natural(1))
    }

    fn blocks(&self, span: PythonSpan, first: Number, count: Number) -> PyResult<PythonSpan> {
        let (first, count) = self.some_blocks(&first, &count)?;
        ensure(self.knows_all_counts(), || self.unknown_counts())?;
        let (len, total) = (span.span.len, self.call.offset(first + count));
        ensure(total <= len, || {
            format!("span: got {len} elements, expected at least {total}, where the last block ends")
        })?;
        Ok(span.sibling(self.call.blocks(span.span, first, count)))
    }

    fn sends(&self, r: &PythonRank) -> PyResult<Vec<(usize, PythonSpan)>> {
        let (call, rank) = (&self.call, r.owner.rank);
        self.peers(r, call.input_of(rank), |edges| &edges.to, |all, peer| call.block_to(all, rank, peer))
    }

    fn receives(&self, r: &PythonRank) -> PyResult<Vec<(usize, PythonSpan)>> {
        let (call, rank) = (&self.call, r.owner.rank);
        self.peers(r, call.result_of(rank), |edges| &edges.from, |all, peer| call.block_from(all, rank, peer))
    }

    fn parameter(&self, name: &str) -> PyResult<u64> {
        let parameter = self.call.parameters.iter().find(|(key, _)| *key == name);
        parameter.map(|(_, value)| *value).ok_or_else(|| Error::new_err(format!("parameter {name:?} is not declared")))
    }
}

impl RankCall {
    /// The blocks of a rank in a span that holds all, each with the rank at its other end.
    fn peers(
        &self,
        r: &PythonRank,
        all: Span,
        edges: fn(&Neighborhood) -> &Vec<Edge>,
        block: impl Fn(Span, usize) -> Span,
    ) -> PyResult<Vec<(usize, PythonSpan)>> {
        let Call { collective, ranks, .. } = self.call;
        let blocks: Vec<_> = match collective {
            Collective::Alltoall | Collective::Alltoallv => (0..ranks).map(|peer| (peer, block(all, peer))).collect(),
            _ if collective.has_neighbors() => {
                let edges = edges(self.call.neighbors().of(r.owner.rank)).iter();
                edges.map(|edge| (edge.rank, all.part(edge.elements.start, edge.elements.len()))).collect()
            }
            _ => {
                return Err(Error::new_err(format!(
                    "{collective}: sends() and receives() do not apply, expected block() or blocks()"
                )));
            }
        };
        Ok(blocks.into_iter().map(|(peer, span)| (peer, PythonSpan { span, owner: r.owner })).collect())
    }

    fn some_blocks(&self, first: &Number, count: &Number) -> PyResult<(usize, usize)> {
        let ranks = self.call.ranks;
        ensure(!matches!(self.call.counts, Counts::Pairs(_) | Counts::Neighbors(_)), || {
            format!("{}: block() and blocks() do not apply, expected sends() or receives()", self.call.collective)
        })?;
        some_of(ranks, first, count, || {
            format!("blocks {first} to {first} + {count}: expected blocks within the {ranks} of the call")
        })
    }

    /// Whether MPI tells this rank the sizes of the blocks of others.
    fn knows_all_counts(&self) -> bool {
        self.call.collective.size_is_known() || self.rank == self.call.root
    }

    fn unknown_counts(&self) -> String {
        let Call { collective, root, .. } = self.call;
        format!(
            "{collective}: rank {} asks for blocks of other ranks, expected its own block: MPI tells only the root, rank {root}, all counts",
            self.rank
        )
    }
}

/// One rank, as its program sees it.
#[pyclass(frozen, name = "Rank", module = "hocket._native")]
pub struct PythonRank {
    owner: Owner,
    #[pyo3(get)]
    size: usize,
    #[pyo3(get)]
    ports: Option<usize>,
    requests: Arc<Requests>,
}

impl PythonRank {
    fn peer(&self, rank: &Number) -> PyResult<usize> {
        let what =
            || Error::new_err(format!("rank {rank} does not exist, expected a rank from 0 to {}", self.size - 1));
        rank.natural().filter(|rank| *rank < self.size).ok_or_else(what)
    }

    fn own(&self, span: PythonSpan) -> PyResult<Span> {
        self.owner.check(span.owner, || span.span.to_string())?;
        Ok(span.span)
    }

    /// Checks that two spans belong to this rank and have equal lengths.
    fn own_pair(&self, source: PythonSpan, target: PythonSpan) -> PyResult<(Span, Span)> {
        let (from, to) = (source.span.len, target.span.len);
        ensure(from == to, || format!("got spans of {from} and {to} elements, expected equal lengths"))?;
        Ok((self.own(source)?, self.own(target)?))
    }

    fn combine_step(&self, source: PythonSpan, target: PythonSpan, side: Side) -> PyResult<Verb> {
        let (source, target) = self.own_pair(source, target)?;
        Ok(self.step(Step::Combine { source, target, side }))
    }

    fn step(&self, step: Step) -> Verb {
        self.act(Act::Step(step))
    }

    fn act(&self, act: Act) -> Verb {
        self.requests.step(act, self.owner)
    }

    /// The number of levels of a step with these branches.
    fn height_over<'a>(&self, py: Python<'_>, branches: impl IntoIterator<Item = &'a Py<PyAny>>) -> PyResult<usize> {
        let highest = branches
            .into_iter()
            .try_fold(0, |highest, branch| PyResult::Ok(highest.max(height(branch.bind(py), self.owner)?)))?;
        check_depth(1 + highest)
    }
}

fn tag_of(tag: &Number) -> PyResult<Tag> {
    let what = || Error::new_err(format!("tag: got {tag}, expected a whole number from 0 to {}", Tag::MAX));
    tag.natural().and_then(|tag| tag.try_into().ok()).ok_or_else(what)
}

#[pymethods]
impl PythonRank {
    #[getter]
    fn rank(&self) -> usize {
        self.owner.rank
    }

    fn scratch(&self, length: Number) -> PyResult<PythonSpan> {
        let what = || Error::new_err(format!("scratch: got {length} elements, expected 0 to 2^40"));
        let length = length.natural().filter(|length| *length <= 1 << 40).ok_or_else(what)?;
        let offset = self.requests.end.fetch_add(length, Ordering::Relaxed);
        lock(&self.requests.lens).push(length);
        let span = Span { buffer: hocket_core::Buffer::Scratch, offset, len: length };
        Ok(PythonSpan { span, owner: self.owner })
    }

    #[pyo3(signature = (to, data, tag = Number::Natural(0)))]
    fn send(&self, to: Number, data: PythonSpan, tag: Number) -> PyResult<Verb> {
        let (to, data) = (self.peer(&to)?, self.own(data)?);
        let options = Options { tag: tag_of(&tag)?, ..Options::default() };
        Ok(self.step(Step::Send { to, data, options }))
    }

    #[pyo3(signature = (source, into, tag = Number::Natural(0)))]
    fn recv(&self, source: Number, into: PythonSpan, tag: Number) -> PyResult<Verb> {
        let from = Source::Rank(self.peer(&source)? as u32);
        Ok(self.step(Step::Recv { from, into: self.own(into)?, tag: tag_of(&tag)? }))
    }

    #[pyo3(signature = (into, tag = Number::Natural(0)))]
    fn recv_any(&self, into: PythonSpan, tag: Number) -> PyResult<Verb> {
        Ok(self.step(Step::Recv { from: Source::Any, into: self.own(into)?, tag: tag_of(&tag)? }))
    }

    fn sendrecv(
        &self,
        py: Python<'_>,
        to: Number,
        data: PythonSpan,
        source: Number,
        into: PythonSpan,
    ) -> PyResult<Verb> {
        let no_tag = || Number::Natural(0);
        let steps = [self.send(to, data, no_tag())?, self.recv(source, into, no_tag())?];
        let steps: PyResult<_> = steps.into_iter().map(|step| Ok(Py::new(py, step)?.into_any())).collect();
        Ok(Verb { height: 2, ..self.act(Act::Join(steps?)) })
    }

    fn reduce(&self, peer: Number, source: PythonSpan, target: PythonSpan) -> PyResult<Verb> {
        let side = if self.peer(&peer)? < self.owner.rank { Side::Left } else { Side::Right };
        self.combine_step(source, target, side)
    }

    fn combine(&self, source: PythonSpan, target: PythonSpan, side: &str) -> PyResult<Verb> {
        let side = match side {
            "left" => Side::Left,
            "right" => Side::Right,
            _ => return Err(Error::new_err(format!("side: got {side:?}, expected \"left\" or \"right\""))),
        };
        self.combine_step(source, target, side)
    }

    fn copy(&self, source: PythonSpan, target: PythonSpan) -> PyResult<Verb> {
        let (source, target) = self.own_pair(source, target)?;
        Ok(self.step(Step::Copy { source, target }))
    }

    fn compute(&self, time_s: f64) -> PyResult<Verb> {
        ensure(time_s.is_finite() && time_s >= 0.0, || {
            format!("compute: got {time_s} s, expected a finite time of at least 0 s")
        })?;
        Ok(self.step(Step::Compute { time_s }))
    }

    fn connect(&self, peer: Number) -> PyResult<Verb> {
        Ok(self.step(Step::Connect { peer: self.peer(&peer)? }))
    }

    fn disconnect(&self, peer: Number) -> PyResult<Verb> {
        Ok(self.step(Step::Disconnect { peer: self.peer(&peer)? }))
    }

    #[pyo3(signature = (*branches))]
    fn join(&self, py: Python<'_>, branches: Vec<Py<PyAny>>) -> PyResult<Verb> {
        let height = self.height_over(py, &branches)?;
        Ok(Verb { height, ..self.act(Act::Join(branches)) })
    }

    fn first(&self, py: Python<'_>, a: Py<PyAny>, b: Py<PyAny>) -> PyResult<Verb> {
        let height = self.height_over(py, [&a, &b])?;
        Ok(Verb { height, ..self.act(Act::First(a, b)) })
    }
}

//! Questions: how long do algorithms take for some calls on a machine, and with which values of parameters? All that is
//! simulated for one answer is planned together, and runs on threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hocket_algorithms::Entry;
use hocket_algorithms::shapes::levels::used_parameters;
use hocket_core::{Call, Error, Parameter, Result};
use hocket_simulate::{Engine, Options, Platform, Trials};

use crate::best::{Calls, Effort, FEW_MESSAGES, Open, Outlook, SMALL_JOB, Settings};
use crate::critical_path::PathMachines;
use crate::effort::effort_s;
use crate::price::{ROUNDING, estimate_s, messages, optimistic_s};
use crate::request::{Accepted, CallRequest, CallValues, OnMachine, Setting};
use crate::simulation::{Scene, Simulated, Subject, simulate_trials};

/// An algorithm in a question.
pub enum Candidate<'a> {
    /// Of the catalogue.
    Entry(&'static Entry),
    /// Of the user.
    Own(&'a dyn OwnProgram),
}

/// An algorithm of the user in a question, which keeps the results of its runs by itself.
pub trait OwnProgram: Sync {
    /// Its parameters.
    fn parameters(&self) -> &[Parameter];

    /// The time of a run; none if it is later than `until_s`. `is_alone`: an isolated call without noise, to choose values;
    /// else as the question asks.
    ///
    /// # Errors
    /// It refuses the call, or fails.
    fn run(&self, settings: &Settings, until_s: f64, is_alone: bool) -> Result<Option<f64>>;
}

/// How a cell takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It ends when it cannot come in.
    Races,
    /// It races, and is simulated to the end.
    Ends,
    /// It is simulated as it is, and competes with none: a library's choice.
    Beside,
    /// As beside others, with the values that the formula chooses.
    ByFormula,
}

impl Role {
    /// Whether its time counts for others, and values of its parameters are searched.
    fn competes(self) -> bool {
        matches!(self, Self::Races | Self::Ends)
    }
}

/// One call of one algorithm.
pub struct Cell<'a> {
    /// The number of its row: cells of a row compete.
    pub row: usize,
    /// The call. What it sets stays.
    pub request: CallRequest,
    /// The algorithm.
    pub candidate: Candidate<'a>,
    /// Where and how it is simulated.
    pub conditions: &'a Conditions<'a>,
    /// How it takes part.
    pub role: Role,
    /// It may take this many times as long as the fastest of its row, and not be told apart from it.
    pub alike: f64,
}

/// Where and how cells are simulated.
pub struct Conditions<'a> {
    /// The machine.
    pub machine: OnMachine<'a>,
    /// The machine without noise, for which values of parameters are chosen.
    pub quiet: OnMachine<'a>,
    /// Who calls when.
    pub scene: Scene,
    /// The trials.
    pub trials: Trials,
    /// How to keep time.
    pub engine: Engine,
    /// Whether to record the operations of each rank, and the passages of each link.
    pub observes: [bool; 2],
    /// If critical paths are asked for, by the operations: the machines that tell what a message consists of.
    pub path: Option<&'a PathMachines>,
}

impl Conditions<'_> {
    /// Whether the run that chooses values is the one that is asked for.
    fn is_alone(&self) -> bool {
        self.scene == Scene::default() && self.machine.platform.is_certain() && self.observes == [false, false]
    }
}

/// A question.
pub struct Question<'a> {
    /// Whether to search values of parameters by simulations, instead of by formulas.
    pub at_best: bool,
    /// If only so many places of a row matter: a simulation ends when its algorithm cannot come in.
    pub places: Option<usize>,
    /// All cells.
    pub cells: &'a [Cell<'a>],
    /// Whether all simulations must end.
    pub is_stopped: AtomicBool,
    /// The messages of all runs that were begun, by formulas: what the answer costs, on any host.
    pub messages: AtomicU64,
}

/// What became of a cell.
pub enum Outcome {
    /// It was simulated.
    Simulated(Box<Simulation>),
    /// An algorithm of the user took this time, and kept the result.
    Kept(f64),
    /// Why it was not simulated.
    Refused(String),
    /// It is later than this time.
    Late(f64),
}

impl Outcome {
    /// The time, if there is one.
    fn time_s(&self) -> Option<f64> {
        match self {
            Self::Simulated(run) => Some(run.simulated.times_s[0]),
            Self::Kept(time_s) => Some(*time_s),
            Self::Refused(_) | Self::Late(_) => None,
        }
    }
}

/// A simulation, and the call with the values that were chosen.
pub struct Simulation {
    /// The call.
    pub request: CallRequest,
    /// Values of its parameters.
    pub values: CallValues,
    /// The simulation.
    pub simulated: Simulated,
}

/// A cell before its simulation: the values that its formula chooses, and its time by the formula.
pub struct Start {
    /// What the call and the formula set parameters to.
    pub settings: Settings,
    estimate_s: f64,
    /// A time that the algorithm hardly beats; 0 if it is unknown.
    least_s: f64,
}

/// An algorithm whose time by its formula is so many times the time of the last place that matters is not simulated. A test
/// compares the two.
const FAR: f64 = 1.5;
/// In small jobs, values of parameters are searched a little for calls of so few messages even if that is not asked for.
const MESSAGES_OF_SMALL_CALL: f64 = 4096.0;
/// Algorithms that take at most so many times as long as the fastest are searched further.
const FURTHER_FACTOR: f64 = 1.5;
/// So many rows are simulated at the same time; they are complete before others begin.
const ROWS_AT_ONCE: usize = 8;
/// Time between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(20);
const STACK_BYTES: usize = 8 << 20;

impl Question<'_> {
    /// If only so many places of the row of a cell matter to it.
    fn places(&self, cell: &Cell<'_>) -> Option<usize> {
        self.places.filter(|_| cell.conditions.is_alone())
    }

    /// The values that formulas choose, and times by formulas.
    pub fn starts(&self, threads: usize) -> Vec<Start> {
        in_threads(threads, self.cells.len(), |number| {
            let cell = &self.cells[number];
            let of_call = cell.request.parameters.clone();
            if cell.role == Role::Beside {
                return Start { settings: of_call, estimate_s: f64::INFINITY, least_s: 0.0 };
            }
            let calls = IsolatedCalls { question: self, cell };
            let settings = self.open(cell, |open| open.by_formula(&calls, &of_call)).unwrap_or(of_call);
            let platform = cell.conditions.quiet.platform;
            let times_s = calls.accept(&settings).and_then(|(entry, call)| {
                Some((estimate_s(entry, &call, platform, false).ok()?, optimistic_s(entry, &call, platform).ok()?))
            });
            let (estimate_s, least_s) = times_s.unwrap_or((f64::INFINITY, 0.0));
            Start { settings, estimate_s, least_s }
        })
    }

    /// Estimates of the seconds on one core for each cell; 0 where it is unknown, and for cells that will not be simulated.
    pub fn efforts_s(&self, starts: &[Start], threads: usize) -> Vec<f64> {
        let races = self.races(starts);
        in_threads(threads, self.cells.len(), |number| {
            let (cell, Start { settings, least_s, .. }) = (&self.cells[number], &starts[number]);
            let Candidate::Entry(entry) = cell.candidate else { return 0.0 };
            let last_s = self.places(cell).and_then(|places| {
                let race = &races[cell.row];
                race.get(places.min(race.len()) - 1).map(|last| starts[*last].estimate_s)
            });
            let is_left_out = last_s.is_some_and(|last_s| *least_s > FAR * last_s);
            if cell.role == Role::Beside || is_left_out {
                return 0.0;
            }
            let Conditions { machine, scene, trials, engine, .. } = cell.conditions;
            let Ok(accepted) = request_with(&cell.request, settings).accept(entry, Some(*machine)) else { return 0.0 };
            effort_s(entry, &accepted.call, machine.platform, scene, *trials, *engine).unwrap_or(0.0)
        })
    }

    /// The cells of each row: those that compete, the likely fastest first, then the others.
    fn races(&self, starts: &[Start]) -> Vec<Vec<usize>> {
        let rows = self.cells.iter().map(|cell| cell.row + 1).max().unwrap_or(0);
        let mut races = vec![Vec::new(); rows];
        for (number, cell) in self.cells.iter().enumerate() {
            races[cell.row].push(number);
        }
        let is_beside = |number: &usize| !self.cells[*number].role.competes();
        let estimate_s = |number: &usize| starts[*number].estimate_s;
        for race in &mut races {
            race.sort_by(|one, other| estimate_s(one).total_cmp(&estimate_s(other)));
            race.sort_by_key(is_beside);
        }
        races
    }

    /// Simulates all cells. `on_done` receives the number of each cell with its outcome, as soon as it is there.
    ///
    /// # Errors
    /// The work was interrupted, or no thread can be started.
    pub fn answer(
        &self,
        starts: &[Start],
        threads: usize,
        is_interrupted: &dyn Fn() -> bool,
        mut on_done: impl FnMut(usize, Outcome),
    ) -> Result<()> {
        let row = |(number, race): (usize, Vec<_>)| Row { number, race: race.into(), ..Row::default() };
        let mut rows: VecDeque<_> = self.races(starts).into_iter().enumerate().map(row).collect();
        let mut running: Vec<Row> = Vec::new();
        let (queue, (sender, receiver)) = (Queue::default(), channel());
        let work = |sender: &Sender<_>| {
            let _alarm = End { queue: &queue, is_stopped: &self.is_stopped, only_in_panic: true };
            while let Some(job) = queue.next() {
                let outcome = self.outcome(&job, &starts[job.number]);
                if sender.send((job.number, outcome)).is_err() {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            let _end = End { queue: &queue, is_stopped: &self.is_stopped, only_in_panic: false };
            for _ in 0..threads.clamp(1, self.cells.len().max(1)) {
                let sender = sender.clone();
                let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || work(&sender));
                thread.map_err(|error| Error::of_thread(&error))?;
            }
            let mut left = self.cells.len();
            let mut outcomes: VecDeque<(usize, Outcome)> = VecDeque::new();
            while left > 0 {
                while running.len() < ROWS_AT_ONCE
                    && let Some(row) = rows.pop_front()
                {
                    running.push(row);
                }
                for row in &mut running {
                    while row.pending == 0 && !row.race.is_empty() {
                        outcomes.extend(row.next_group(self, starts, &queue));
                    }
                    if row.pending == 0 {
                        outcomes.extend(row.search_on(&queue));
                    }
                }
                running.retain(|row| row.pending > 0);
                if outcomes.is_empty() {
                    match receiver.recv_timeout(LOOK) {
                        Ok((number, outcome)) => {
                            if let Some(row) = running.iter_mut().find(|row| row.number == self.cells[number].row) {
                                outcomes.extend(row.note(self, number, outcome));
                            }
                        }
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return Err(Error::interruption()),
                    }
                }
                while let Some((number, outcome)) = outcomes.pop_front() {
                    left -= 1;
                    on_done(number, outcome);
                }
                if is_interrupted() || self.is_stopped() {
                    return Err(Error::interruption());
                }
            }
            Ok(())
        })
    }

    /// What `use_open` makes of the parameters that a cell leaves open; none if its call is invalid.
    fn open<T>(&self, cell: &Cell<'_>, use_open: impl FnOnce(Open<'_>) -> T) -> Option<T> {
        let (parameters, topology) = match cell.candidate {
            Candidate::Entry(entry) => (entry.about.parameters, entry.about.topology),
            Candidate::Own(program) => (program.parameters(), None),
        };
        let call = cell.request.call().ok()?;
        Some(use_open(Open::new(parameters, &cell.request.parameters, topology, &call, cell.conditions.quiet.platform)))
    }

    fn outcome(&self, job: &Job, start: &Start) -> Outcome {
        let (cell, until_s) = (&self.cells[job.number], job.until_s);
        let calls = IsolatedCalls { question: self, cell };
        let (settings, effort) = match &job.previous {
            Some(settings) => (settings, Some(Effort::FURTHER)),
            None => (&start.settings, self.effort(&calls, &start.settings)),
        };
        let result = match effort {
            Some(effort) => {
                let search = |open: Open<'_>| open.search(&calls, settings, &cell.request.parameters, until_s, effort);
                match self.open(cell, search).unwrap_or_else(|| cell.request.call().map(|_| None)) {
                    Ok(Some((settings, _))) if !cell.conditions.is_alone() => self.run_as_asked(cell, &settings),
                    result => result.map(|best| best.map(|(_, outcome)| outcome)),
                }
            }
            None if cell.role.competes() && cell.conditions.is_alone() => {
                calls.run(settings, until_s).map(|run| run.map(|(_, outcome)| outcome))
            }
            None => self.run_as_asked(cell, settings),
        };
        match result {
            Ok(Some(outcome)) => outcome,
            Ok(None) => Outcome::Late(until_s),
            Err(error) => Outcome::Refused(error.to_string()),
        }
    }

    /// How thoroughly to search the values of a cell's parameters, if at all: in full if it is asked for, a little in small
    /// calls.
    fn effort(&self, calls: &IsolatedCalls<'_>, settings: &Settings) -> Option<Effort> {
        let is_small =
            || calls.cell.request.ranks <= SMALL_JOB && calls.outlook(settings).messages <= MESSAGES_OF_SMALL_CALL;
        match calls.cell.role {
            Role::Beside | Role::ByFormula => None,
            _ if self.at_best => Some(Effort::FULL),
            _ if is_small() => Some(Effort::SMALL),
            _ => None,
        }
    }

    fn run_as_asked(&self, cell: &Cell<'_>, settings: &Settings) -> Result<Option<Outcome>> {
        let Candidate::Entry(entry) = cell.candidate else {
            let Candidate::Own(program) = cell.candidate else { return Ok(None) };
            return Ok(program.run(settings, f64::INFINITY, false)?.map(Outcome::Kept));
        };
        let Conditions { machine, scene, engine, observes: [trace, passages], .. } = cell.conditions;
        let (engine, trace, passages, is_interrupted) = (*engine, *trace, *passages, &|| self.is_stopped());
        let options = Options { engine, trace, passages, is_interrupted, ..Options::default() };
        let run =
            self.run(entry, request_with(&cell.request, settings), cell.conditions, (*machine, scene), options)?;
        Ok(Some(Outcome::Simulated(Box::new(run))))
    }

    fn run(
        &self,
        entry: &'static Entry,
        request: CallRequest,
        conditions: &Conditions<'_>,
        (machine, scene): (OnMachine<'_>, &Scene),
        options: Options<'_>,
    ) -> Result<Simulation> {
        let Accepted { call, values } = request.accept(entry, Some(machine))?;
        self.messages.fetch_add(messages(entry, &call).unwrap_or(0.0) as u64, Ordering::Relaxed);
        let (subject, gap) = (Subject::Entry(entry), values.gap()?);
        let Conditions { trials, path, .. } = conditions;
        let run = |platform: &Platform, trials| simulate_trials(&subject, &call, platform, gap, scene, trials, options);
        let simulated = run(machine.platform, *trials)?;
        let simulated = simulated.with_path(*path, scene, machine.platform, |quiet| run(quiet, trials.one()))?;
        Ok(Simulation { request, values, simulated })
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// Isolated calls of a cell without noise.
struct IsolatedCalls<'a> {
    question: &'a Question<'a>,
    cell: &'a Cell<'a>,
}

impl IsolatedCalls<'_> {
    /// An algorithm of the catalogue, and the call as it accepts it; none if it does not.
    fn accept(&self, settings: &Settings) -> Option<(&'static Entry, Call)> {
        let Candidate::Entry(entry) = self.cell.candidate else { return None };
        let accepted =
            request_with(&self.cell.request, settings).accept(entry, Some(self.cell.conditions.quiet)).ok()?;
        Some((entry, accepted.call))
    }
}

impl Calls for IsolatedCalls<'_> {
    type Output = Outcome;

    fn estimate_s(&self, settings: &Settings) -> f64 {
        let platform = self.cell.conditions.quiet.platform;
        let time_s = self.accept(settings).and_then(|(entry, call)| estimate_s(entry, &call, platform, true).ok());
        time_s.unwrap_or(f64::INFINITY)
    }

    fn outlook(&self, settings: &Settings) -> Outlook {
        let Some((entry, call)) = self.accept(settings) else {
            return Outlook { call: format!("{settings:?}"), ..Outlook::default() };
        };
        let platform = self.cell.conditions.quiet.platform;
        Outlook {
            call: format!("{:?}", used_parameters(&call)),
            quick_s: estimate_s(entry, &call, platform, false).unwrap_or(f64::INFINITY),
            least_s: optimistic_s(entry, &call, platform).unwrap_or(0.0),
            messages: messages(entry, &call).unwrap_or(0.0),
        }
    }

    fn automatic(&self, settings: &Settings, name: &str) -> Option<u64> {
        let Candidate::Entry(entry) = self.cell.candidate else { return None };
        entry.about.automatic.iter().find(|automatic| automatic.parameter == name)?;
        let others = settings.iter().filter(|(other, _)| other != name).cloned();
        let settings = others.chain([(name.to_owned(), Setting::automatic())]).collect();
        self.accept(&settings).map(|(_, call)| call.parameter(name))
    }

    fn run(&self, settings: &Settings, until_s: f64) -> Result<Option<(f64, Outcome)>> {
        let Self { question, cell } = self;
        let entry = match cell.candidate {
            Candidate::Entry(entry) => entry,
            Candidate::Own(program) => {
                return Ok(program.run(settings, until_s, true)?.map(|time_s| (time_s, Outcome::Kept(time_s))));
            }
        };
        let Conditions { quiet, engine, .. } = *cell.conditions;
        let is_interrupted = &|| question.is_stopped();
        let options = Options { engine, until_s, is_interrupted, ..Options::default() };
        let (request, scene) = (request_with(&cell.request, settings), Scene::default());
        match question.run(entry, request, cell.conditions, (quiet, &scene), options) {
            Ok(run) => Ok(Some((run.simulated.times_s[0], Outcome::Simulated(Box::new(run))))),
            Err(error) if error == Error::lateness() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn request_with(request: &CallRequest, settings: &Settings) -> CallRequest {
    CallRequest { parameters: settings.clone(), ..request.clone() }
}

/// A row on its way.
#[derive(Default)]
struct Row {
    number: usize,
    /// The cells that have not begun.
    race: VecDeque<usize>,
    /// How many have begun and not ended.
    pending: usize,
    times_s: Vec<f64>,
    /// The runs of algorithms whose search may go on.
    runs: Vec<(usize, Box<Simulation>)>,
    /// Whether the race is over.
    is_searched: bool,
}

impl Row {
    /// Notes an outcome. Gives it back if it is final.
    fn note(&mut self, question: &Question<'_>, number: usize, outcome: Outcome) -> Option<(usize, Outcome)> {
        self.pending -= 1;
        if !question.cells[number].role.competes() {
            return Some((number, outcome));
        }
        self.times_s.extend(outcome.time_s());
        match outcome {
            Outcome::Simulated(run) if question.at_best && !self.is_searched => {
                self.runs.push((number, run));
                None
            }
            _ => Some((number, outcome)),
        }
    }

    /// At the end of the race, searches on for algorithms that are nearly the fastest. Gives the outcomes of the others.
    fn search_on(&mut self, queue: &Queue) -> Vec<(usize, Outcome)> {
        self.is_searched = true;
        let fastest_s = self.times_s.iter().copied().fold(f64::INFINITY, f64::min);
        let mut outcomes = Vec::new();
        for (number, run) in self.runs.drain(..) {
            let Simulated { times_s, many, .. } = &run.simulated;
            if times_s[0] <= FURTHER_FACTOR * fastest_s && many.first.messages as f64 <= FEW_MESSAGES {
                self.pending += 1;
                queue.push(Job { number, until_s: f64::INFINITY, previous: Some(run.request.parameters) });
            } else {
                outcomes.push((number, Outcome::Simulated(run)));
            }
        }
        outcomes
    }

    /// Begins the next cells: as many as there are places without a time, or else as there are places. The times of the cells
    /// before are their deadline, so that results do not depend on the number of threads. Gives the outcomes of those that
    /// are too late by their formula.
    fn next_group(&mut self, question: &Question<'_>, starts: &[Start], queue: &Queue) -> Vec<(usize, Outcome)> {
        let places = self.race.front().and_then(|number| question.places(&question.cells[*number]));
        let places = places.unwrap_or(usize::MAX);
        let mut times_s = self.times_s.clone();
        times_s.sort_by(f64::total_cmp);
        times_s.dedup_by(|later_s, before_s| *later_s <= *before_s * ROUNDING);
        let mut too_late = Vec::new();
        let most = if times_s.len() < places { places - times_s.len() } else { places };
        while self.pending < most
            && let Some(number) = self.race.pop_front()
        {
            let cell = &question.cells[number];
            let until_s = match times_s.get(places - 1) {
                Some(place_s) if cell.role == Role::Races => ROUNDING * place_s.max(times_s[0] * cell.alike),
                _ => f64::INFINITY,
            };
            if starts[number].least_s > FAR * until_s {
                too_late.push((number, Outcome::Late(until_s)));
            } else {
                self.pending += 1;
                queue.push(Job { number, until_s, previous: None });
            }
        }
        too_late
    }
}

/// A cell that can begin.
struct Job {
    number: usize,
    /// Its deadline.
    until_s: f64,
    /// What the search before found, from which this one goes on.
    previous: Option<Settings>,
}

/// The cells that can begin.
#[derive(Default)]
struct Queue {
    waiting: Mutex<(VecDeque<Job>, bool)>,
    change: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<Job>, bool)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.lock().0.push_back(job);
        self.change.notify_one();
    }

    /// The next cell, as soon as there is one; none when all is over.
    fn next(&self) -> Option<Job> {
        let waits = |(cells, is_over): &mut (VecDeque<_>, bool)| cells.is_empty() && !*is_over;
        let mut waiting = self.change.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        if waiting.1 { None } else { waiting.0.pop_front() }
    }
}

/// Ends all threads when it goes out of scope, however that comes.
struct End<'a> {
    queue: &'a Queue,
    is_stopped: &'a AtomicBool,
    only_in_panic: bool,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if self.only_in_panic && !thread::panicking() {
            return;
        }
        self.is_stopped.store(true, Ordering::Relaxed);
        self.queue.lock().1 = true;
        self.queue.change.notify_all();
    }
}

/// The results of `work` for the numbers below `count`, in their order.
fn in_threads<T: Send>(threads: usize, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let some = || {
        let numbers =
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count));
        numbers.map(|number| (number, work(number))).collect::<Vec<_>>()
    };
    let mut results = thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads.min(count)).filter_map(|_| thread::Builder::new().spawn_scoped(scope, some).ok()).collect();
        let mut results = some();
        others.into_iter().for_each(|other| results.extend(other.join().expect("a thread that does not panic")));
        results
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

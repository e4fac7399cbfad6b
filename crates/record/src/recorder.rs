//! Recording a program: every verb becomes a task that waits for the tasks before it on its branch.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use hocket_core::{
    Buffer, Call, Error, Moment, Options, Program, Rank, Received, Result, Side, Source, Span, Tag, budget,
    run_to_completion,
};

use crate::schedule::{Action, Schedule, Task};

/// Tasks between two looks at how much memory they take.
const TASKS_PER_LOOK: usize = 1 << 18;

/// Records what `program` does in `call`.
///
/// # Errors
/// A program whose shape depends on timing, because it receives from any source or uses `first`; or receives and sends
/// that do not match; or more tasks than there is memory for.
pub fn record(program: &impl Program, call: &Call) -> Result<Schedule> {
    let recorders: Vec<_> = (0..call.ranks).map(|rank| Recorder::new(rank, call.ranks)).collect();
    let mut unseen_tasks = 0;
    for recorder in &recorders {
        let is_complete = run_to_completion(program.run(recorder, call));
        if let Some(why) = recorder.refusal.get() {
            return Err(Error::new(format!("cannot be recorded: rank {} {why}", recorder.rank)));
        }
        if !is_complete {
            return Err(Error::new(format!("cannot be recorded: rank {} never ends", recorder.rank)));
        }
        unseen_tasks += recorder.tasks.borrow().len();
        if unseen_tasks >= TASKS_PER_LOOK {
            unseen_tasks = 0;
            budget::look()?;
        }
    }
    let mut schedule = Schedule {
        format: Schedule::FORMAT,
        element_bytes: call.element_bytes,
        scratch: recorders.iter().map(|r| r.scratch.get()).collect(),
        ranks: recorders.into_iter().map(|r| r.tasks.into_inner()).collect(),
    };
    fit_receives(&mut schedule)?;
    Ok(schedule)
}

/// Cuts each receive to the length of its message, which the receiving program need not know in advance.
fn fit_receives(schedule: &mut Schedule) -> Result<()> {
    let mut sent: HashMap<(u32, u32, Tag), Vec<usize>> = HashMap::new();
    for (rank, tasks) in schedule.ranks.iter().enumerate() {
        for task in tasks {
            if let Action::Send { to, tag, data } = &task.action {
                sent.entry((rank as u32, *to, *tag)).or_default().push(data.len);
            }
        }
    }
    let mut received: HashMap<(u32, u32, Tag), usize> = HashMap::new();
    for (rank, tasks) in schedule.ranks.iter_mut().enumerate() {
        for (number, task) in tasks.iter_mut().enumerate() {
            let Action::Recv { from, tag, into } = &mut task.action else { continue };
            let key = (*from, rank as u32, *tag);
            let nth = received.entry(key).or_default();
            let len = sent.get(&key).and_then(|lens| lens.get(*nth));
            *nth += 1;
            match len {
                Some(len) if *len <= into.len => into.len = *len,
                _ => {
                    let text =
                        format!("rank {rank}, task {number}: no message of rank {from} fits this receive of {into}");
                    return Err(Error::new(text));
                }
            }
        }
    }
    Ok(())
}

/// One rank, recorded.
struct Recorder {
    rank: usize,
    size: usize,
    tasks: RefCell<Vec<Task>>,
    scratch: Cell<usize>,
    latest: RefCell<Latest>,
    refusal: Cell<Option<&'static str>>,
}

/// The tasks that a branch's next task waits for.
#[derive(Clone, Default)]
struct Latest(Rc<Vec<u32>>);

impl Moment for Latest {
    fn later(self, other: Self) -> Self {
        let mut tasks: Vec<_> = self.0.iter().chain(other.0.iter()).copied().collect();
        tasks.sort_unstable();
        tasks.dedup();
        Self(Rc::new(tasks))
    }

    fn is_before(&self, _: &Self) -> bool {
        false
    }
}

impl Recorder {
    fn new(rank: usize, size: usize) -> Self {
        Self {
            rank,
            size,
            tasks: RefCell::default(),
            scratch: Cell::new(0),
            latest: RefCell::default(),
            refusal: Cell::new(None),
        }
    }

    fn push(&self, action: Action) {
        let tasks = &mut *self.tasks.borrow_mut();
        let after = self.latest.borrow().0.to_vec();
        *self.latest.borrow_mut() = Latest(Rc::new(vec![tasks.len() as u32]));
        tasks.push(Task { action, after, after_start: Vec::new() });
    }

    fn refuse(&self, why: &'static str) {
        self.refusal.set(self.refusal.get().or(Some(why)));
    }
}

impl Rank for Recorder {
    type Moment = Latest;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn scratch(&self, len: usize) -> Span {
        let offset = self.scratch.replace(self.scratch.get() + len);
        Span { buffer: Buffer::Scratch, offset, len }
    }

    async fn send_with(&self, to: usize, data: Span, options: Options) {
        self.push(Action::Send { to: to as u32, tag: options.tag, data });
    }

    async fn recv_with(&self, from: Source, into: Span, tag: Tag) -> Received {
        let source = match from {
            Source::Rank(from) => from,
            Source::Any => {
                self.refuse("receives from any source, so what it does next depends on which message comes first");
                0
            }
        };
        self.push(Action::Recv { from: source, tag, into });
        Received { source: source as usize, len: into.len }
    }

    async fn combine(&self, source: Span, target: Span, side: Side) {
        self.push(Action::combine(source, target, side));
    }

    async fn copy(&self, source: Span, target: Span) {
        if source != target {
            self.push(Action::Copy { source, target });
        }
    }

    async fn compute(&self, time_s: f64) {
        self.push(Action::Compute { time_s });
    }

    fn moment(&self) -> Latest {
        self.latest.borrow().clone()
    }

    fn set_moment(&self, moment: Latest) {
        *self.latest.borrow_mut() = moment;
    }

    fn is_decided(&self, _: bool, _: bool) -> bool {
        self.refuse("uses first, so what it does next depends on which branch ends earlier");
        true
    }
}

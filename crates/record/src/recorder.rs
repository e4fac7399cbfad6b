//! Recording a program: every verb becomes a task that waits for the tasks before it on its branch.

use hocket_core::{
    AnyProgram, At, Buffer, Call, Error, Features, Moment, Moments, Outcome, Progress, Received, Result, Source, Span,
    Step, World, budget, check_ranks, run,
};

use crate::schedule::{Action, Schedule, Task};

/// Tasks between two looks at how much memory they take.
pub(crate) const TASKS_PER_LOOK: usize = 1 << 18;

/// Records the actions of `program` in `call`.
///
/// # Errors
/// A program whose shape depends on timing, because it receives from any source or uses `first`; or receives and sends
/// that do not match; or more tasks than there is memory for.
pub fn record(program: &dyn AnyProgram, call: &Call) -> Result<Schedule> {
    check_ranks(program, call, size_of::<Vec<Task>>() + size_of::<usize>())?;
    let recorder = run(program, call, Recorder::new(call.ranks));
    if let Some(failure) = recorder.failure {
        return Err(failure);
    }
    let mut schedule = Schedule {
        format: Schedule::FORMAT,
        element_bytes: call.element_bytes,
        scratch: recorder.scratch,
        ranks: recorder.ranks,
    };
    fit_receives(&mut schedule)?;
    Ok(schedule)
}

/// Cuts each receive to the length of its message, which the receiving program need not know in advance.
fn fit_receives(schedule: &mut Schedule) -> Result<()> {
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for (rank, tasks) in schedule.ranks.iter().enumerate() {
        for (number, task) in tasks.iter().enumerate() {
            match task.action {
                Action::Send { to, tag, data } => sends.push(((rank as u32, to, tag), number as u32, data.len)),
                Action::Recv { from, tag, .. } => receives.push(((from, rank as u32, tag), number as u32)),
                _ => {}
            }
        }
    }
    sends.sort_unstable();
    receives.sort_unstable();
    let (mut sends, mut unfit) = (sends.into_iter().peekable(), Vec::new());
    for ((from, rank, tag), number) in receives {
        let pair = (from, rank, tag);
        while sends.next_if(|(sent, ..)| *sent < pair).is_some() {}
        let len = sends.next_if(|(sent, ..)| *sent == pair).map(|(.., len)| len);
        let Action::Recv { into, .. } = &mut schedule.ranks[rank as usize][number as usize].action else { continue };
        match len {
            Some(len) if len <= into.len => into.len = len,
            _ => unfit.push((rank, number, from, *into)),
        }
    }
    match unfit.into_iter().min_by_key(|(rank, number, ..)| (*rank, *number)) {
        None => Ok(()),
        Some((rank, number, from, into)) => {
            let text = format!("rank {rank}, task {number}: no message of rank {from} fits this receive of {into}");
            Err(Error::new(text))
        }
    }
}

/// The recorded actions of ranks: each rank runs to its end before the next one begins.
struct Recorder {
    ranks: Vec<Vec<Task>>,
    scratch: Vec<usize>,
    /// The rank that runs, if any has begun.
    running: Option<usize>,
    has_ended: bool,
    /// Tasks noted since the latest look at the memory.
    unseen_tasks: usize,
    groups: Groups,
    failure: Option<Error>,
}

impl Recorder {
    fn new(ranks: usize) -> Self {
        Self {
            ranks: vec![Vec::new(); ranks],
            scratch: vec![0; ranks],
            running: None,
            has_ended: true,
            unseen_tasks: 0,
            groups: Groups::default(),
            failure: None,
        }
    }

    /// The task for `step`; none if the step takes no time in any world.
    fn task(&mut self, rank: usize, step: &Step) -> Option<Action> {
        Some(match *step {
            Step::Send { to, data, options } => Action::Send { to: to as u32, tag: options.tag, data },
            Step::Recv { from: Source::Rank(from), into, tag } => Action::Recv { from, tag, into },
            Step::Recv { from: Source::Any, .. } => {
                self.refuse(
                    rank,
                    "receives from any source, so what it does next depends on which message comes first",
                );
                return None;
            }
            Step::Combine { source, target, side } => Action::combine(source, target, side),
            Step::Copy { source, target } if source == target => return None,
            Step::Copy { source, target } => Action::Copy { source, target },
            Step::Compute { time_s } => Action::Compute { time_s },
            Step::Connect { .. } | Step::Disconnect { .. } => return None,
        })
    }

    fn refuse(&mut self, rank: usize, why: &str) {
        self.failure.get_or_insert_with(|| Error::new(format!("cannot be recorded: rank {rank} {why}")));
    }
}

impl World for Recorder {
    fn features(&self) -> Features {
        Features { has_moments: true, ..Features::PLAIN }
    }

    fn next(&mut self) -> Option<usize> {
        if let Some(rank) = self.running.filter(|_| !self.has_ended) {
            self.refuse(rank, "never ends");
        }
        if self.unseen_tasks >= TASKS_PER_LOOK {
            self.unseen_tasks = 0;
            self.failure = self.failure.take().or_else(|| budget::look().err());
        }
        let next = self.running.map_or(0, |rank| rank + 1);
        self.running = Some(next);
        self.has_ended = false;
        (self.failure.is_none() && next < self.ranks.len()).then_some(next)
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        let (source, len) = match *step {
            Step::Recv { from: Source::Rank(from), into, .. } => (from, into.len),
            Step::Recv { into, .. } => (0, into.len),
            _ => (at.rank as u32, 1),
        };
        let now = match self.task(at.rank, step) {
            None => at.now,
            Some(action) => {
                let tasks = &mut self.ranks[at.rank];
                let after = self.groups.tasks(at.now);
                tasks.push(Task { action, after, after_start: Vec::new() });
                self.unseen_tasks += 1;
                Groups::one(tasks.len() as u32 - 1)
            }
        };
        Progress::Done((now, Received { source, len }))
    }

    fn take(&mut self, _: At, _: u32) -> Option<Outcome> {
        None
    }

    fn withdraw(&mut self, _: usize, _: u32) {}

    fn scratch(&mut self, rank: usize, len: usize) -> Span {
        let offset = self.scratch[rank];
        self.scratch[rank] += len;
        Span { buffer: Buffer::Scratch, offset, len }
    }

    fn end(&mut self, rank: usize, _: Moment) {
        self.has_ended = true;
        self.ranks[rank].shrink_to_fit();
        self.groups.0.clear();
    }

    fn moments(&mut self) -> &mut dyn Moments {
        &mut self.groups
    }

    fn race(&mut self, rank: usize) {
        self.refuse(rank, "uses first, so what it does next depends on which branch ends earlier");
    }
}

/// The tasks that a branch's next task waits for. The first word of a moment says whether there are none, one, or
/// several; the second is the number of the one task, or of the list of tasks here.
#[derive(Default)]
struct Groups(Vec<Vec<u32>>);

impl Groups {
    const ONE: u64 = 1;
    const SEVERAL: u64 = 2;

    fn one(task: u32) -> Moment {
        Moment::of([Self::ONE, u64::from(task)])
    }

    fn tasks(&self, moment: Moment) -> Vec<u32> {
        match moment.words() {
            [Self::ONE, task] => vec![task as u32],
            [Self::SEVERAL, list] => self.0[list as usize].clone(),
            _ => Vec::new(),
        }
    }
}

impl Moments for Groups {
    fn later(&mut self, one: Moment, other: Moment) -> Moment {
        let mut tasks = self.tasks(one);
        tasks.extend(self.tasks(other));
        tasks.sort_unstable();
        tasks.dedup();
        match tasks[..] {
            [] => Moment::default(),
            [task] => Self::one(task),
            _ => {
                self.0.push(tasks);
                Moment::of([Self::SEVERAL, self.0.len() as u64 - 1])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hocket_core::Options;

    use super::*;

    #[test]
    fn a_task_waits_for_those_before_it_on_its_branch() {
        let mut world = Recorder::new(1);
        assert_eq!(world.next(), Some(0));
        let span = Span::new(Buffer::Input, 1);
        let mut issue = |now, step: Step| match world.issue(At { rank: 0, now }, &step) {
            Progress::Done((moment, _)) => moment,
            other => panic!("{other:?}"),
        };
        let start = Moment::default();
        let sent = issue(start, Step::Send { to: 0, data: span, options: Options::default() });
        let received = issue(start, Step::Recv { from: Source::Rank(0), into: span, tag: 0 });
        let joined = world.moments().later(sent, received);
        world.issue(At { rank: 0, now: joined }, &Step::Compute { time_s: 1.0 });
        let after: Vec<_> = world.ranks[0].iter().map(|task| task.after.as_slice()).collect();
        assert_eq!(after, [&[][..], &[], &[0, 1]]);
    }

    #[test]
    fn a_receive_from_any_source_cannot_be_recorded() {
        let mut world = Recorder::new(1);
        let step = Step::Recv { from: Source::Any, into: Span::EMPTY, tag: 0 };
        world.issue(At { rank: 0, now: Moment::default() }, &step);
        assert!(world.failure.is_some_and(|why| why.to_string().contains("receives from any source")));
    }
}

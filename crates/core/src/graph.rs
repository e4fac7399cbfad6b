//! `graph`: tasks of one rank, each of which starts after others have started or ended.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustc_hash::FxHashMap;

use crate::Moment;
use crate::rank::Rank;
use crate::step::Step;
use crate::verbs::Operation;

/// Tasks of one rank. The followers of a task wait for it and have higher numbers.
pub trait Tasks {
    /// The location of a task.
    type Place: Copy;
    /// Calls `each` with the tasks that wait for no other, in the order of their numbers.
    fn first(&self, each: impl FnMut(Self::Place));
    /// The number of a task among all.
    fn number(place: Self::Place) -> u32;
    /// The number of starts and ends for which a task waits.
    fn waits(&self, place: Self::Place) -> u32;
    /// The step of a task.
    fn step(&self, place: Self::Place) -> Step;
    /// Calls `each` with the tasks that wait for the start of this one, in the order of their numbers.
    fn at_start(&self, place: Self::Place, each: impl FnMut(Self::Place));
    /// Calls `each` with the tasks that wait for the end of this one, in the order of their numbers.
    fn at_end(&self, place: Self::Place, each: impl FnMut(Self::Place));
}

impl Rank<'_> {
    /// Runs all tasks, each as soon as it can, simultaneous ones by number. Done when all have ended.
    pub fn graph<T: Tasks>(&self, tasks: T) -> Graph<'_, T> {
        let waiting = Waiting { joins: FxHashMap::default(), ready: BTreeMap::new() };
        Graph { rank: self, tasks, waiting, running: None, end: None }
    }
}

/// Future of [`Rank::graph`].
pub struct Graph<'r, T: Tasks> {
    rank: &'r Rank<'r>,
    tasks: T,
    waiting: Waiting<T::Place>,
    /// The running tasks in the order of their numbers; none before the beginning.
    running: Option<Vec<RunningTask<'r, T::Place>>>,
    end: Option<Moment>,
}

/// Tasks that have not started.
struct Waiting<P> {
    /// For each task that waits for several others, by number: how many are missing, and the latest moment so far.
    joins: FxHashMap<u32, (u32, Moment)>,
    /// Tasks that can start, by number, with their moments.
    ready: BTreeMap<u32, (P, Moment)>,
}

struct RunningTask<'r, P> {
    task: P,
    moment: Moment,
    operation: Operation<'r, ()>,
}

impl<P: Copy> Waiting<P> {
    /// An event for which each of `followers` waits has happened at `moment`.
    fn release<T: Tasks<Place = P>>(
        &mut self,
        (rank, tasks): (&Rank<'_>, &T),
        moment: Moment,
        followers: impl FnOnce(&T, &mut dyn FnMut(P)),
    ) {
        followers(tasks, &mut |follower| {
            let (number, waits) = (T::number(follower), tasks.waits(follower));
            let (missing, moment) = if waits == 1 { (0, moment) } else { self.join(rank, number, waits, moment) };
            if missing == 0 {
                self.ready.insert(number, (follower, moment));
            }
        });
    }

    /// Takes the next task that can start, if its number is lower than this one.
    fn before(&mut self, number: u32) -> Option<(P, Moment)> {
        let first = self.ready.first_entry()?;
        (*first.key() < number).then(|| first.remove())
    }

    /// An awaited event of this task happened. Returns the number of missing events and the latest moment so far.
    fn join(&mut self, rank: &Rank<'_>, number: u32, waits: u32, moment: Moment) -> (u32, Moment) {
        let Entry::Occupied(mut entry) = self.joins.entry(number) else {
            self.joins.insert(number, (waits - 1, moment));
            return (waits - 1, moment);
        };
        let (missing, latest) = entry.get_mut();
        *missing -= 1;
        *latest = rank.later(*latest, moment);
        if *missing == 0 { entry.remove() } else { *entry.get() }
    }
}

impl<'r, T: Tasks> Graph<'r, T> {
    fn begin(&mut self, moment: Moment) -> Vec<RunningTask<'r, T::Place>> {
        let ready = &mut self.waiting.ready;
        self.tasks.first(|task| {
            ready.insert(T::number(task), (task, moment));
        });
        Vec::new()
    }

    /// Starts the waiting tasks below this number that can start, including tasks released meanwhile. Tasks that do not
    /// end at once are added to `new_tasks`.
    fn start_before(&mut self, number: u32, new_tasks: &mut Vec<RunningTask<'r, T::Place>>, cx: &mut Context<'_>) {
        while let Some((task, moment)) = self.waiting.before(number) {
            let mut task = self.start(task, moment);
            if !self.advance(&mut task, cx) {
                new_tasks.push(task);
            }
        }
    }

    fn start(&mut self, task: T::Place, moment: Moment) -> RunningTask<'r, T::Place> {
        self.waiting.release((self.rank, &self.tasks), moment, |tasks, each| tasks.at_start(task, each));
        // Several tasks may start at the same moment, and nothing waits for all of them.
        let moment = self.rank.branch_of(self.rank.racing(moment), T::number(task) as usize);
        RunningTask { task, moment, operation: self.rank.operation(self.tasks.step(task)) }
    }

    /// Continues a task. Returns true if the task has ended.
    fn advance(&mut self, running: &mut RunningTask<'r, T::Place>, cx: &mut Context<'_>) -> bool {
        let RunningTask { task, moment, operation } = running;
        let has_ended = self.rank.poll_at(moment, Pin::new(operation), cx).is_ready();
        if has_ended {
            self.waiting.release((self.rank, &self.tasks), *moment, |tasks, each| tasks.at_end(*task, each));
            self.end = Some(self.end.map_or(*moment, |end| self.rank.later(end, *moment)));
        }
        has_ended
    }
}

impl<T: Tasks> Unpin for Graph<'_, T> {}

impl<T: Tasks> Future for Graph<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let begin = this.rank.moment();
        let mut running = this.running.take().unwrap_or_else(|| this.begin(begin));
        let mut new_tasks = Vec::new();
        running.retain_mut(|task| {
            this.start_before(T::number(task.task), &mut new_tasks, cx);
            !this.advance(task, cx)
        });
        this.start_before(u32::MAX, &mut new_tasks, cx);
        running.append(&mut new_tasks);
        if !running.is_sorted_by_key(|task| T::number(task.task)) {
            running.sort_by_key(|task| T::number(task.task));
        }
        if running.is_empty() {
            this.rank.set_moment(this.end.unwrap_or(begin));
            return Poll::Ready(());
        }
        this.running = Some(running);
        this.rank.set_moment(begin);
        Poll::Pending
    }
}

//! `graph`: tasks of one rank, each of which starts when others have started or ended.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Moment;
use crate::rank::Rank;

/// The tasks that a task of a [`Rank::graph`] waits for, by number.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'a> {
    /// Tasks that have to end first.
    pub ends: &'a [u32],
    /// Tasks that have to start first.
    pub starts: &'a [u32],
}

impl Rank<'_> {
    /// Runs task i of those that wait as `waits` says, each as soon as it can; done when all have ended.
    pub fn graph<'a, F: Future<Output = ()>, T: FnMut(usize) -> F>(
        &'a self,
        waits: impl ExactSizeIterator<Item = Waits<'a>> + Clone,
        task: T,
    ) -> Graph<'a, T, F> {
        Graph::new(self, waits, task)
    }
}

/// Future of [`Rank::graph`].
pub struct Graph<'r, T, F> {
    rank: &'r Rank<'r>,
    task: T,
    /// For each task, the number of tasks that it still waits for.
    missing: Vec<u32>,
    at_end: Followers,
    at_start: Followers,
    /// When each task can start, as far as known.
    start: Vec<Option<Moment>>,
    ready: Vec<u32>,
    running: Vec<Running<F>>,
    end: Option<Moment>,
    left: usize,
}

/// For each task, the tasks that wait for it.
struct Followers {
    /// The end of each task's followers among all.
    ends: Vec<u32>,
    all: Vec<u32>,
}

impl Followers {
    /// `waits` gives the tasks that each of `tasks` tasks waits for.
    fn new<'a>(tasks: usize, waits: impl Iterator<Item = &'a [u32]> + Clone) -> Self {
        let mut ends = vec![0; tasks + 1];
        waits.clone().flatten().for_each(|other| ends[*other as usize + 1] += 1);
        (0..tasks).for_each(|task| ends[task + 1] += ends[task]);
        let mut all = vec![0; ends[tasks] as usize];
        for (task, others) in waits.enumerate() {
            for other in others {
                let place = &mut ends[*other as usize];
                all[*place as usize] = task as u32;
                *place += 1;
            }
        }
        Self { ends, all }
    }

    /// The places of a task's followers.
    fn of(&self, task: u32) -> std::ops::Range<usize> {
        let task = task as usize;
        let first = if task == 0 { 0 } else { self.ends[task - 1] };
        first as usize..self.ends[task] as usize
    }
}

struct Running<F> {
    task: u32,
    moment: Moment,
    future: Pin<Box<F>>,
}

impl<'r, F: Future<Output = ()>, T: FnMut(usize) -> F> Graph<'r, T, F> {
    fn new<'a>(rank: &'r Rank<'r>, waits: impl ExactSizeIterator<Item = Waits<'a>> + Clone, task: T) -> Self {
        let tasks = waits.len();
        let missing: Vec<_> = waits.clone().map(|waits| (waits.ends.len() + waits.starts.len()) as u32).collect();
        Self {
            rank,
            task,
            ready: (0..tasks as u32).rev().filter(|task| missing[*task as usize] == 0).collect(),
            missing,
            at_end: Followers::new(tasks, waits.clone().map(|waits| waits.ends)),
            at_start: Followers::new(tasks, waits.map(|waits| waits.starts)),
            start: vec![None; tasks],
            running: Vec::new(),
            end: None,
            left: tasks,
        }
    }

    fn later(&self, known: Option<Moment>, moment: Moment) -> Option<Moment> {
        Some(known.map_or(moment, |known| self.rank.later(known, moment)))
    }

    /// `task` has started or ended at `moment`: each of its `followers` waits for one task less.
    fn release(&mut self, followers: fn(&Self) -> &Followers, task: u32, moment: Moment) {
        for place in followers(self).of(task).rev() {
            let follower = followers(self).all[place];
            let at = follower as usize;
            self.start[at] = self.later(self.start[at], moment);
            self.missing[at] -= 1;
            if self.missing[at] == 0 {
                self.ready.push(follower);
            }
        }
    }

    fn start(&mut self, task: u32, begin: Moment) -> Running<F> {
        let moment = self.start[task as usize].take().unwrap_or(begin);
        self.release(|graph| &graph.at_start, task, moment);
        // Other tasks may start at the same moment, and nothing waits for all of them.
        let moment = self.rank.branch_of(self.rank.racing(moment), task as usize);
        Running { task, moment, future: Box::pin((self.task)(task as usize)) }
    }

    /// Continues a task. Returns true if the task has ended.
    fn advance(&mut self, running: &mut Running<F>, cx: &mut Context<'_>) -> bool {
        let has_ended = self.rank.poll_at(&mut running.moment, running.future.as_mut(), cx).is_ready();
        if has_ended {
            self.left -= 1;
            self.release(|graph| &graph.at_end, running.task, running.moment);
            self.end = self.later(self.end, running.moment);
        }
        has_ended
    }
}

impl<T, F> Unpin for Graph<'_, T, F> {}

impl<F: Future<Output = ()>, T: FnMut(usize) -> F> Future for Graph<'_, T, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let begin = this.rank.moment();
        let mut running = std::mem::take(&mut this.running);
        running.retain_mut(|task| !this.advance(task, cx));
        while let Some(task) = this.ready.pop() {
            let mut task = this.start(task, begin);
            if !this.advance(&mut task, cx) {
                running.push(task);
            }
        }
        this.running = running;
        if this.left > 0 {
            this.rank.set_moment(begin);
            return Poll::Pending;
        }
        this.rank.set_moment(this.end.take().unwrap_or(begin));
        Poll::Ready(())
    }
}

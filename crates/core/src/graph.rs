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
        waits: impl ExactSizeIterator<Item = Waits<'a>>,
        task: T,
    ) -> Graph<'a, T, F> {
        Graph::new(self, waits, task)
    }
}

/// Future of [`Rank::graph`].
pub struct Graph<'r, T, F> {
    rank: &'r Rank<'r>,
    task: T,
    /// For each task: the number of tasks that it still waits for, and the tasks that wait for it.
    missing: Vec<usize>,
    at_end: Vec<Vec<u32>>,
    at_start: Vec<Vec<u32>>,
    /// When each task can start, as far as known.
    start: Vec<Option<Moment>>,
    ready: Vec<u32>,
    running: Vec<Running<F>>,
    end: Option<Moment>,
    left: usize,
}

struct Running<F> {
    task: u32,
    moment: Moment,
    future: Pin<Box<F>>,
}

impl<'r, F: Future<Output = ()>, T: FnMut(usize) -> F> Graph<'r, T, F> {
    fn new<'a>(rank: &'r Rank<'r>, waits: impl ExactSizeIterator<Item = Waits<'a>>, task: T) -> Self {
        let tasks = waits.len();
        let (mut at_end, mut at_start) = (vec![Vec::new(); tasks], vec![Vec::new(); tasks]);
        let mut missing = Vec::with_capacity(tasks);
        for (number, Waits { ends, starts }) in waits.enumerate() {
            ends.iter().for_each(|other| at_end[*other as usize].push(number as u32));
            starts.iter().for_each(|other| at_start[*other as usize].push(number as u32));
            missing.push(ends.len() + starts.len());
        }
        Self {
            rank,
            task,
            ready: (0..tasks as u32).rev().filter(|task| missing[*task as usize] == 0).collect(),
            missing,
            at_end,
            at_start,
            start: vec![None; tasks],
            running: Vec::new(),
            end: None,
            left: tasks,
        }
    }

    fn later(&self, known: Option<Moment>, moment: Moment) -> Option<Moment> {
        Some(known.map_or(moment, |known| self.rank.later(known, moment)))
    }

    /// One of the tasks that those in `waiting` wait for has reached `moment`.
    fn release(&mut self, waiting: &[u32], moment: Moment) {
        for task in waiting.iter().rev().map(|task| *task as usize) {
            self.start[task] = self.later(self.start[task], moment);
            self.missing[task] -= 1;
            if self.missing[task] == 0 {
                self.ready.push(task as u32);
            }
        }
    }

    fn start(&mut self, task: u32, begin: Moment) -> Running<F> {
        let moment = self.start[task as usize].take().unwrap_or(begin);
        let waiting = std::mem::take(&mut self.at_start[task as usize]);
        self.release(&waiting, moment);
        // Other tasks may start at the same moment, and nothing waits for all of them.
        let moment = self.rank.branch_of(self.rank.racing(moment), task as usize);
        Running { task, moment, future: Box::pin((self.task)(task as usize)) }
    }

    /// Continues a task. Returns true if the task has ended.
    fn advance(&mut self, running: &mut Running<F>, cx: &mut Context<'_>) -> bool {
        let has_ended = self.rank.poll_at(&mut running.moment, running.future.as_mut(), cx).is_ready();
        if has_ended {
            self.left -= 1;
            let waiting = std::mem::take(&mut self.at_end[running.task as usize]);
            self.release(&waiting, running.moment);
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

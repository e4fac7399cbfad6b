//! A schedule as a program.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use hocket_core::{Call, Moment, Options, Program, Rank, Side, Source};

use crate::schedule::{Action, Schedule, Task};

impl Program for Schedule {
    async fn run(&self, r: &impl Rank, _: &Call) {
        r.scratch(self.scratch[r.rank()]);
        Replay::new(r, &self.ranks[r.rank()]).await;
    }
}

/// Runs the tasks of one rank, each as soon as those that it waits for allow.
struct Replay<'a, R: Rank> {
    rank: &'a R,
    tasks: &'a [Task],
    /// Of each task: how many it still waits for, and who waits for it.
    missing: Vec<usize>,
    at_end: Vec<Vec<u32>>,
    at_start: Vec<Vec<u32>>,
    /// When each task can start, as far as known.
    start: Vec<Option<R::Moment>>,
    ready: Vec<u32>,
    running: Vec<Running<'a, R>>,
    end: Option<R::Moment>,
    left: usize,
}

struct Running<'a, R: Rank> {
    task: u32,
    moment: R::Moment,
    future: Pin<Box<dyn Future<Output = ()> + 'a>>,
}

impl<'a, R: Rank> Replay<'a, R> {
    fn new(rank: &'a R, tasks: &'a [Task]) -> Self {
        let mut at_end = vec![Vec::new(); tasks.len()];
        let mut at_start = vec![Vec::new(); tasks.len()];
        for (number, task) in tasks.iter().enumerate() {
            task.after.iter().for_each(|other| at_end[*other as usize].push(number as u32));
            task.after_start.iter().for_each(|other| at_start[*other as usize].push(number as u32));
        }
        let missing: Vec<_> = tasks.iter().map(|task| task.after.len() + task.after_start.len()).collect();
        Self {
            rank,
            tasks,
            ready: (0..tasks.len() as u32).rev().filter(|task| missing[*task as usize] == 0).collect(),
            missing,
            at_end,
            at_start,
            start: vec![None; tasks.len()],
            running: Vec::new(),
            end: None,
            left: tasks.len(),
        }
    }

    /// One of the tasks that `waiting` wait for has come to `moment`.
    fn release(&mut self, waiting: &[u32], moment: &R::Moment) {
        for task in waiting.iter().rev().map(|task| *task as usize) {
            let earlier = self.start[task].take();
            self.start[task] = Some(earlier.map_or(moment.clone(), |earlier| earlier.later(moment.clone())));
            self.missing[task] -= 1;
            if self.missing[task] == 0 {
                self.ready.push(task as u32);
            }
        }
    }

    fn start(&mut self, task: u32, begin: &R::Moment) -> Running<'a, R> {
        let moment = self.start[task as usize].take().unwrap_or_else(|| begin.clone());
        let waiting = std::mem::take(&mut self.at_start[task as usize]);
        self.release(&waiting, &moment);
        // Others may start where this task does, and nothing waits for all of them.
        let moment = moment.racing().branch(task as usize);
        Running { task, moment, future: Box::pin(act(self.rank, &self.tasks[task as usize].action)) }
    }

    /// Goes on with a task; whether it has ended.
    fn advance(&mut self, running: &mut Running<'a, R>, cx: &mut Context<'_>) -> bool {
        self.rank.set_moment(running.moment.clone());
        let is_ended = running.future.as_mut().poll(cx).is_ready();
        running.moment = self.rank.moment();
        if is_ended {
            self.left -= 1;
            let waiting = std::mem::take(&mut self.at_end[running.task as usize]);
            self.release(&waiting, &running.moment);
            let end = self.end.take();
            self.end = Some(end.map_or(running.moment.clone(), |end| end.later(running.moment.clone())));
        }
        is_ended
    }
}

impl<R: Rank> Unpin for Replay<'_, R> {}

impl<R: Rank> Future for Replay<'_, R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let begin = this.rank.moment();
        let mut running = std::mem::take(&mut this.running);
        running.retain_mut(|task| !this.advance(task, cx));
        while let Some(task) = this.ready.pop() {
            let mut task = this.start(task, &begin);
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

async fn act(r: &impl Rank, action: &Action) {
    match *action {
        Action::Send { to, tag, data } => {
            r.send_with(to as usize, data, Options { tag, ..Options::default() }).await;
        }
        Action::Recv { from, tag, into } => {
            r.recv_with(Source::Rank(from), into, tag).await;
        }
        Action::Combine { source, target, is_source_left } => {
            let side = if is_source_left { Side::Left } else { Side::Right };
            r.combine(source, target, side).await;
        }
        Action::Copy { source, target } => r.copy(source, target).await,
        Action::Compute { time_s } => r.compute(time_s).await,
    }
}

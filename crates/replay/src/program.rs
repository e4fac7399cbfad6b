//! An application as a program: each rank performs its calls in order, while operations that it has started go on.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hocket_core::{Buffer, Call, Completion, Mode, Operations, Options, Program, Rank, Source, Span};

use super::application::{Action, Application, BLOCKING};

/// An application, and the times of its calls in a run.
pub struct Replay<'a> {
    application: &'a Application,
    /// Factor for the traced computing times.
    scale: f64,
    /// `call_overhead` of the machine, in seconds.
    overhead_s: f64,
    /// For each rank, when each call began and returned, in seconds; NaN without a clock.
    times_s: Vec<Mutex<Vec<[f64; 2]>>>,
    has_begun: Vec<AtomicBool>,
}

/// When calls began and returned, by rank.
pub type Times = Vec<Vec<[f64; 2]>>;

impl<'a> Replay<'a> {
    pub fn new(application: &'a Application, scale: f64, overhead_s: f64) -> Self {
        let ranks = application.ranks.len();
        let times_s = (0..ranks).map(|_| Mutex::default()).collect();
        let has_begun = (0..ranks).map(|_| AtomicBool::default()).collect();
        Self { application, scale, overhead_s, times_s, has_begun }
    }

    /// The times of the last run.
    pub fn times_s(self) -> Times {
        self.times_s.into_iter().map(|times| times.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// The number of a rank's calls that have returned; none if it has not begun.
    pub fn calls_returned(&self, rank: usize) -> Option<usize> {
        self.has_begun[rank].load(Ordering::Relaxed).then(|| self.times_of(rank).len())
    }

    fn times_of(&self, rank: usize) -> MutexGuard<'_, Vec<[f64; 2]>> {
        self.times_s[rank].lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn walk<'r>(&'r self, r: &'r Rank<'r>, operations: &Operations<'r>) {
        let rank = r.rank();
        let now_s = || r.time_s().unwrap_or(f64::NAN);
        self.has_begun[rank].store(true, Ordering::Relaxed);
        self.times_of(rank).clear();
        for call in &self.application.ranks[rank].calls {
            r.compute(call.compute_s * self.scale).await;
            let start_s = now_s();
            for action in self.application.actions(rank, call) {
                self.act(r, operations, action).await;
            }
            self.times_of(rank).push([start_s, now_s()]);
        }
        operations.end().await;
        r.complete();
        operations.leave().await;
    }

    async fn act<'r>(&'r self, r: &'r Rank<'r>, operations: &Operations<'r>, action: &Action) {
        match *action {
            Action::Nothing | Action::Start { .. } => {}
            Action::Send { message, request: BLOCKING } => self.send(r, message).await,
            Action::Send { message, request } => operations.start(request, self.send(r, message)).await,
            Action::Receive { message, request: BLOCKING } => self.receive(r, message).await,
            Action::Receive { message, request } => operations.start(request, self.receive(r, message)).await,
            Action::Exchange { sent, received } => {
                r.join(self.send(r, sent), self.receive(r, received)).await;
            }
            Action::Wait { first, count } => {
                for request in self.application.requests(r.rank(), first, count) {
                    operations.wait(*request).await;
                }
            }
            Action::Collective { instance, place, request: BLOCKING } => {
                let completion = Rc::default();
                operations.call(BLOCKING, &completion, self.collective(r, instance, place, completion.clone())).await;
            }
            Action::Collective { instance, place, request } => {
                let completion = Rc::default();
                operations.fork(request, &completion, self.collective(r, instance, place, completion.clone())).await;
            }
        }
    }

    async fn collective(&self, r: &Rank<'_>, instance: u32, place: u32, completion: Completion) {
        let Application { communicators, collectives, .. } = self.application;
        if self.overhead_s > 0.0 {
            r.compute(self.overhead_s).await;
        }
        collectives.run(r, communicators, instance, place, &completion).await;
    }

    async fn send(&self, r: &Rank<'_>, message: u32) {
        let message = &self.application.messages[message as usize];
        // A message without receive must not block its sender.
        let mode = if message.is_received { message.mode } else { Mode::Posted };
        let options = Options { tag: message.channel, mode, ..Options::default() };
        r.send_with(message.to as usize, Span::new(Buffer::Input, message.bytes as usize), options).await;
    }

    async fn receive(&self, r: &Rank<'_>, message: u32) {
        let message = &self.application.messages[message as usize];
        let into = Span::new(Buffer::Result, message.bytes as usize);
        r.recv_with(Source::Rank(message.from), into, message.channel).await;
    }
}

impl Program for Replay<'_> {
    async fn run(&self, r: &Rank<'_>, _: &Call) {
        let operations = Operations::new(r);
        operations.run_beside(self.walk(r, &operations)).await;
    }
}

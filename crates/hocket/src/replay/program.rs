//! An application as a program: each rank makes its calls in order, and operations that it has started run beside them.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use hocket_core::{Buffer, Call, Moment, Options, Path, Program, Rank, Source, Span};
use rustc_hash::FxHashMap;

use super::application::{Action, Application, BLOCKING, Mode};

/// An application with its clock: what it notes of the run.
pub struct Replay<'a> {
    application: &'a Application,
    /// The time of computing, as a factor of the traced time.
    scale: f64,
    /// For each rank, when each call began and when it returned, in seconds; not a number where there is no clock.
    times_s: Vec<RefCell<Vec<[f64; 2]>>>,
    has_begun: Vec<Cell<bool>>,
}

/// When calls began and returned, by rank.
pub type Times = Vec<Vec<[f64; 2]>>;

impl<'a> Replay<'a> {
    pub fn new(application: &'a Application, scale: f64) -> Self {
        let ranks = application.ranks.len();
        let (times_s, has_begun) = (vec![RefCell::default(); ranks], vec![Cell::new(false); ranks]);
        Self { application, scale, times_s, has_begun }
    }

    /// The times that the last run recorded.
    pub fn times_s(self) -> Times {
        self.times_s.into_iter().map(RefCell::into_inner).collect()
    }

    /// How many calls of a rank have returned; none if it has not begun.
    pub fn returned(&self, rank: usize) -> Option<usize> {
        self.has_begun[rank].get().then(|| self.times_s[rank].borrow().len())
    }

    async fn walk<'r, R: Rank>(&'r self, r: &'r R, beside: &Beside<'r, R>) {
        let rank = r.rank();
        let now_s = || r.time_s().unwrap_or(f64::NAN);
        self.has_begun[rank].set(true);
        self.times_s[rank].borrow_mut().clear();
        for call in &self.application.ranks[rank].calls {
            r.compute(call.compute_s * self.scale).await;
            let start_s = now_s();
            for action in self.application.actions(rank, call) {
                self.act(r, beside, action).await;
            }
            self.times_s[rank].borrow_mut().push([start_s, now_s()]);
        }
        beside.end().await;
        r.complete();
        beside.leave().await;
    }

    async fn act<'r, R: Rank>(&'r self, r: &'r R, beside: &Beside<'r, R>, action: &Action) {
        match *action {
            Action::Nothing | Action::Start { .. } => {}
            Action::Send { message, request: BLOCKING } => self.send(r, message).await,
            Action::Send { message, request } => beside.start(request, self.send(r, message)).await,
            Action::Receive { message, request: BLOCKING } => self.receive(r, message).await,
            Action::Receive { message, request } => beside.start(request, self.receive(r, message)).await,
            Action::Exchange { sent, received } => {
                r.join(self.send(r, sent), self.receive(r, received)).await;
            }
            Action::Wait { first, count } => {
                for request in self.application.requests(r.rank(), first, count) {
                    beside.wait(*request).await;
                }
            }
            Action::Collective { instance, place, request: BLOCKING } => {
                let completed = Rc::default();
                beside.call(&completed, self.collective(r, instance, place, completed.clone())).await;
            }
            Action::Collective { instance, place, request } => {
                let completed = Rc::default();
                beside.fork(request, &completed, self.collective(r, instance, place, completed.clone())).await;
            }
        }
    }

    async fn collective<R: Rank>(&self, r: &R, instance: u32, place: u32, completed: Completed<R>) {
        let Application { communicators, collectives, .. } = self.application;
        collectives.run(r, communicators, instance, place, &completed).await;
    }

    async fn send(&self, r: &impl Rank, message: u32) {
        let message = &self.application.messages[message as usize];
        let options = Options {
            tag: message.channel,
            // Nobody would ever wake who waited for its receive.
            is_posted: message.mode == Mode::Buffered || !message.is_received,
            is_synchronous: message.mode == Mode::Synchronous && message.is_received,
            ..Options::default()
        };
        r.send_with(message.to as usize, Span::new(Buffer::Input, message.bytes as usize), options).await;
    }

    async fn receive(&self, r: &impl Rank, message: u32) {
        let message = &self.application.messages[message as usize];
        let into = Span::new(Buffer::Result, message.bytes as usize);
        r.recv_with(Source::Rank(message.from), into, message.channel).await;
    }
}

impl Program for Replay<'_> {
    async fn run(&self, r: &impl Rank, _: &Call) {
        let beside = Beside::new(r);
        beside.along(self.walk(r, &beside)).await;
    }
}

/// When a collective was complete, if that is before its end: what it does from there on only serves other ranks.
type Completed<R> = Rc<OnceCell<<R as Rank>::Moment>>;

/// The operations that a rank has started, and those of them that are done.
struct Beside<'r, R: Rank> {
    rank: &'r R,
    running: RefCell<Vec<Running<'r, R>>>,
    /// When that was done which nobody has waited for, by request.
    done: RefCell<FxHashMap<u32, R::Moment>>,
}

/// An operation under way, at its own moment.
struct Running<'r, R: Rank> {
    /// None of what only serves other ranks.
    request: Option<u32>,
    /// Its branch of the program: once it has begun, it is polled only when that can go on.
    path: Path,
    has_begun: bool,
    moment: R::Moment,
    completed: Option<Completed<R>>,
    future: Pin<Box<dyn Future<Output = ()> + 'r>>,
}

/// Branches of a rank's program that are told apart: one for its calls, and one for each request.
const BRANCHES: usize = 1 << 20;

impl<'r, R: Rank> Beside<'r, R> {
    fn new(rank: &'r R) -> Self {
        Self { rank, running: RefCell::default(), done: RefCell::default() }
    }

    /// Starts one verb. The rank goes on at once, and at the next place of its program.
    async fn start(&self, request: u32, verb: impl Future<Output = ()> + 'r) {
        let moment = self.rank.moment();
        self.begin(request, moment, None, Box::pin(verb)).await;
    }

    /// Starts a collective: a branch of the program that the rank goes on without.
    async fn fork(&self, request: u32, completed: &Completed<R>, verbs: impl Future<Output = ()> + 'r) {
        let moment = self.rank.moment().racing().branch(request as usize);
        let completed = Some(completed.clone());
        self.begin(request, moment, completed, Box::pin(verbs)).await;
    }

    /// Runs a collective until it is complete.
    async fn call(&self, completed: &Completed<R>, verbs: impl Future<Output = ()> + 'r) {
        let moment = self.rank.moment();
        self.begin(BLOCKING, moment, Some(completed.clone()), Box::pin(verbs)).await;
        let end = self.done(BLOCKING).await;
        // What only serves others has places of its own in the program.
        self.rank.set_moment(if completed.get().is_some() { end.racing().branch(0) } else { end });
    }

    async fn begin(
        &self,
        request: u32,
        moment: R::Moment,
        completed: Option<Completed<R>>,
        future: Pin<Box<dyn Future<Output = ()> + 'r>>,
    ) {
        let now = self.rank.moment();
        let path = Path::ROOT.branch(1 + request as usize % (BRANCHES - 1), BRANCHES);
        let mut begun = Some(Running { request: Some(request), path, has_begun: false, moment, completed, future });
        poll_fn(|cx| {
            let mut running = begun.take().expect("polled once");
            if !self.advance(&mut running, cx) {
                self.running.borrow_mut().push(running);
            }
            Poll::Ready(())
        })
        .await;
        self.rank.set_moment(now.clone().after_first(now));
    }

    /// Goes on with an operation; whether it has ended.
    fn advance(&self, running: &mut Running<'r, R>, cx: &mut Context<'_>) -> bool {
        if running.has_begun && !self.rank.can_go_on(running.path) {
            return false;
        }
        running.has_begun = true;
        let here = self.rank.path();
        self.rank.set_path(running.path);
        self.rank.set_moment(running.moment.clone());
        let has_ended = running.future.as_mut().poll(cx).is_ready();
        running.moment = self.rank.moment();
        self.rank.set_path(here);
        let completed = running.completed.as_ref().and_then(|completed| completed.get().cloned());
        if let Some(end) = completed.or_else(|| has_ended.then(|| running.moment.clone()))
            && let Some(request) = running.request.take()
        {
            self.done.borrow_mut().insert(request, end);
        }
        has_ended
    }

    /// When an operation was done, once it is.
    async fn done(&self, request: u32) -> R::Moment {
        poll_fn(|_| self.done.borrow_mut().remove(&request).map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Waits until an operation is done.
    async fn wait(&self, request: u32) {
        let end = self.done(request).await;
        self.rank.set_moment(self.rank.moment().after_first(end));
    }

    /// Waits until everything is done that has a request.
    async fn end(&self) {
        let is_done = || self.running.borrow().iter().all(|running| running.request.is_none());
        poll_fn(|_| if is_done() { Poll::Ready(()) } else { Poll::Pending }).await;
        let mut done: Vec<_> = self.done.take().into_iter().collect();
        done.sort_unstable_by_key(|(request, _)| *request);
        for (_, end) in done {
            self.rank.set_moment(self.rank.moment().after_first(end));
        }
    }

    /// Waits until other ranks have been served.
    async fn leave(&self) {
        poll_fn(|_| if self.running.borrow().is_empty() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Goes on with everything that was started, and along `main`, which starts it and waits for it.
    async fn along(&self, main: impl Future<Output = ()>) {
        let mut main = pin!(main);
        poll_fn(|cx| {
            let now = self.rank.moment();
            let mut running = self.running.take();
            running.retain_mut(|operation| !self.advance(operation, cx));
            self.running.replace(running);
            self.rank.set_moment(now);
            self.rank.set_path(Path::ROOT.branch(0, BRANCHES));
            main.as_mut().poll(cx)
        })
        .await;
    }
}

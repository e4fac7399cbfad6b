//! An application as a program: each rank walks along its calls, and what it has started runs on beside.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hocket_core::{Buffer, Call, Moment, Options, Program, Rank, Source, Span};
use rustc_hash::FxHashMap;

use super::application::{Action, Application, BLOCKING, Mode};

/// An application with its clock: what it notes of the run.
pub struct Replay<'a> {
    application: &'a Application,
    /// What computing takes of the traced time.
    scale: f64,
    /// Of each rank, when each call began and when it returned, in seconds; not a number where there is no clock.
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

    /// What the last run noted.
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
                self.application.collectives.run(r, &self.application.communicators, instance, place).await;
            }
            Action::Collective { instance, place, request } => {
                let all = &self.application.communicators;
                beside.fork(request, self.application.collectives.run(r, all, instance, place)).await;
            }
        }
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

/// What a rank has started, and what of it has ended.
struct Beside<'r, R: Rank> {
    rank: &'r R,
    running: RefCell<Vec<Running<'r, R>>>,
    /// When that ended which nobody has waited for, by request.
    ended: RefCell<FxHashMap<u32, R::Moment>>,
}

/// An operation under way, at its own moment.
struct Running<'r, R: Rank> {
    request: u32,
    moment: R::Moment,
    future: Pin<Box<dyn Future<Output = ()> + 'r>>,
}

impl<'r, R: Rank> Beside<'r, R> {
    fn new(rank: &'r R) -> Self {
        Self { rank, running: RefCell::default(), ended: RefCell::default() }
    }

    /// Starts one verb. The rank goes on at once, and at the next place of its program.
    async fn start(&self, request: u32, verb: impl Future<Output = ()> + 'r) {
        self.begin(request, self.rank.moment(), verb).await;
    }

    /// Starts several verbs, a branch of the program that the rank goes on without.
    async fn fork(&self, request: u32, verbs: impl Future<Output = ()> + 'r) {
        self.begin(request, self.rank.moment().racing().branch(request as usize), verbs).await;
    }

    async fn begin(&self, request: u32, moment: R::Moment, verbs: impl Future<Output = ()> + 'r) {
        let now = self.rank.moment();
        let mut begun = Some(Running { request, moment, future: Box::pin(verbs) });
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
        self.rank.set_moment(running.moment.clone());
        let has_ended = running.future.as_mut().poll(cx).is_ready();
        running.moment = self.rank.moment();
        if has_ended {
            self.ended.borrow_mut().insert(running.request, running.moment.clone());
        }
        has_ended
    }

    /// Waits until an operation has ended.
    async fn wait(&self, request: u32) {
        let end = poll_fn(|_| self.ended.borrow_mut().remove(&request).map_or(Poll::Pending, Poll::Ready)).await;
        self.rank.set_moment(self.rank.moment().after_first(end));
    }

    /// Waits until everything has ended.
    async fn end(&self) {
        poll_fn(|_| if self.running.borrow().is_empty() { Poll::Ready(()) } else { Poll::Pending }).await;
        let mut ended: Vec<_> = self.ended.take().into_iter().collect();
        ended.sort_unstable_by_key(|(request, _)| *request);
        for (_, moment) in ended {
            self.rank.set_moment(self.rank.moment().after_first(moment));
        }
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
            main.as_mut().poll(cx)
        })
        .await;
    }
}

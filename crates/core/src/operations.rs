//! `operations`: operations that a rank starts and awaits by number while its program continues.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::program::Steps;
use crate::rank::Rank;
use crate::{Moment, Path};

/// The moment at which a part of a program was complete, if before its end: its rest only serves other ranks.
pub type Completion = Rc<OnceCell<Moment>>;

/// The operations that a rank has started, and which of them are done.
pub struct Operations<'r> {
    rank: &'r Rank<'r>,
    running: RefCell<Vec<Running<'r>>>,
    /// The moments at which operations were done for which nothing has waited yet, by request.
    ends: RefCell<BTreeMap<u32, Moment>>,
}

/// An operation under way, at its own moment.
struct Running<'r> {
    /// None if the operation only serves other ranks.
    request: Option<u32>,
    /// The operation's branch of the program. Once begun, it is polled only when the branch can go on.
    path: Path,
    has_begun: bool,
    moment: Moment,
    completion: Option<Completion>,
    future: Steps<'r>,
}

/// Number of distinct branches of a rank's program: one for its calls, and one for each request.
const BRANCHES: usize = 1 << 20;

impl<'r> Operations<'r> {
    /// Nothing is under way at `rank`.
    pub fn new(rank: &'r Rank<'r>) -> Self {
        Self { rank, running: RefCell::default(), ends: RefCell::default() }
    }

    /// Starts one verb as `request`. The rank continues at once, at the next place of its program.
    pub async fn start(&self, request: u32, verb: impl Future<Output = ()> + 'r) {
        self.begin(request, self.rank.moment(), None, Box::pin(verb)).await;
    }

    /// Starts a part of the program as `request`, in a branch. The rank continues at once.
    pub async fn fork(&self, request: u32, completion: &Completion, part: impl Future<Output = ()> + 'r) {
        let moment = self.rank.branch_of(self.rank.racing(self.rank.moment()), request as usize);
        self.begin(request, moment, Some(completion.clone()), Box::pin(part)).await;
    }

    /// Runs a part of the program until it is complete; `request` must be free.
    pub async fn call(&self, request: u32, completion: &Completion, part: impl Future<Output = ()> + 'r) {
        let rank = self.rank;
        self.begin(request, rank.moment(), Some(completion.clone()), Box::pin(part)).await;
        let end = self.end_of(request).await;
        // From here on, the rest of the part and the rank must have different places in the program.
        let is_serving = completion.get().is_some();
        rank.set_moment(if is_serving { rank.branch_of(rank.racing(end), 0) } else { end });
    }

    async fn begin(&self, request: u32, moment: Moment, completion: Option<Completion>, future: Steps<'r>) {
        let now = self.rank.moment();
        let path = Path::ROOT.branch(1 + request as usize % (BRANCHES - 1), BRANCHES);
        let mut operation =
            Some(Running { request: Some(request), path, has_begun: false, moment, completion, future });
        poll_fn(|cx| {
            let mut running = operation.take().expect("polled once");
            if !self.advance(&mut running, cx) {
                self.running.borrow_mut().push(running);
            }
            Poll::Ready(())
        })
        .await;
        self.rank.set_moment(self.rank.after_first(now, now));
    }

    /// Continues an operation. Returns true if the operation has ended.
    fn advance(&self, running: &mut Running<'r>, cx: &mut Context<'_>) -> bool {
        let rank = self.rank;
        if running.has_begun && !rank.can_go_on(running.path) {
            return false;
        }
        running.has_begun = true;
        let own_path = rank.path();
        rank.set_path(running.path);
        let has_ended = rank.poll_at(&mut running.moment, running.future.as_mut(), cx).is_ready();
        rank.set_path(own_path);
        let completion = running.completion.as_ref().and_then(|completion| completion.get().copied());
        if let Some(end) = completion.or_else(|| has_ended.then_some(running.moment))
            && let Some(request) = running.request.take()
        {
            self.ends.borrow_mut().insert(request, end);
        }
        has_ended
    }

    /// Waits until `request` is done. Returns the moment at which it was done.
    async fn end_of(&self, request: u32) -> Moment {
        poll_fn(|_| self.ends.borrow_mut().remove(&request).map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Waits until `request` is done.
    pub async fn wait(&self, request: u32) {
        let end = self.end_of(request).await;
        self.rank.set_moment(self.rank.after_first(self.rank.moment(), end));
    }

    /// Waits until every operation with a request is done.
    pub async fn end(&self) {
        let is_done = || self.running.borrow().iter().all(|running| running.request.is_none());
        poll_fn(|_| if is_done() { Poll::Ready(()) } else { Poll::Pending }).await;
        for end in self.ends.take().into_values() {
            self.rank.set_moment(self.rank.after_first(self.rank.moment(), end));
        }
    }

    /// Waits until all operations have ended, including those that only serve other ranks.
    pub async fn leave(&self) {
        poll_fn(|_| if self.running.borrow().is_empty() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Runs `main`, which starts other operations and waits for them, and continues all operations started.
    pub async fn run_beside(&self, main: impl Future<Output = ()>) {
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

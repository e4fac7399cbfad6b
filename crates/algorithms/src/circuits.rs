//! Circuits of programs that know their peers ahead: they tell them, a few steps at a time.
//!
//! Source: "MPI collectives on circuit-switched optical networks", equations (2), (4), (6) and (8).

use std::future::Future;
use std::pin::Pin;

use hocket_core::{Rank, Started};

/// The circuits of a program that goes step by step, and of whose ranks each has some peers in a step. Where nodes have k
/// ports (see [`Rank::ports`]), steps are taken in batches, the same at all ranks, of as many as k circuits are enough for.
/// With its first step of a batch a rank asks for its circuits of the whole batch, and closes those of the batch before. It
/// waits for each with the step that needs it.
///
/// Where there are no ports, or too few for one step, circuits come with the messages.
pub struct Circuits<'r, R: Rank, P> {
    rank: &'r R,
    /// Steps of a batch; 0 where circuits come by themselves.
    batch: usize,
    steps: usize,
    peers: P,
    /// The step that is taken, if any is.
    step: Option<usize>,
    open: Vec<usize>,
    asked: Vec<(usize, Started<'r, R, Asked<'r>>)>,
}

type Asked<'r> = Pin<Box<dyn Future<Output = bool> + 'r>>;

impl<'r, R: Rank, I: IntoIterator<Item = usize>, P: Fn(usize) -> I> Circuits<'r, R, P> {
    /// None as yet: `peers` are those of this rank in a step, `width` of them at most.
    pub fn new(rank: &'r R, width: usize, steps: usize, peers: P) -> Self {
        let batch = rank.ports().map_or(0, |ports| ports / width);
        Self { rank, batch, steps, peers, step: None, open: Vec::new(), asked: Vec::new() }
    }

    /// This rank takes that step, which comes after those before.
    pub async fn step(&mut self, step: usize) {
        let is_new = self.batch > 0 && self.step.is_none_or(|last| last / self.batch != step / self.batch);
        self.step = Some(step);
        if is_new {
            let first = step - step % self.batch;
            let last = first.saturating_add(self.batch).min(self.steps);
            self.reopen(distinct((first..last).flat_map(&self.peers)));
        }
        for peer in (self.peers)(step) {
            if let Some(place) = self.asked.iter().position(|(asked, _)| *asked == peer) {
                self.asked.swap_remove(place).1.await;
            }
        }
    }

    /// Lets the circuits go that are open, and asks for those to `peers`; one to a peer of both stays.
    fn reopen(&mut self, peers: Vec<usize>) {
        for peer in self.open.iter().filter(|peer| !peers.contains(peer)) {
            drop(self.rank.start(self.rank.disconnect(*peer)));
        }
        for peer in peers.iter().filter(|peer| !self.open.contains(peer)) {
            let asked: Asked<'r> = Box::pin(self.rank.connect(*peer));
            self.asked.push((*peer, self.rank.start(asked)));
        }
        self.open = peers;
    }

    /// This rank has taken its last step. Done when its circuits are released, also those that came by themselves.
    pub async fn close(self) {
        if self.batch > 0 {
            return Box::pin(change(self.rank, &self.open, &[])).await;
        }
        for peer in self.step.into_iter().flat_map(&self.peers) {
            self.rank.disconnect(peer).await;
        }
    }
}

/// Each of them once.
pub fn distinct(peers: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut peers: Vec<_> = peers.into_iter().collect();
    peers.sort_unstable();
    peers.dedup();
    peers
}

/// Closes the circuits to `old` peers and opens those to `new` ones, all at once; one to a peer of both stays.
pub async fn change(r: &impl Rank, old: &[usize], new: &[usize]) {
    let closing = old.iter().filter(|peer| !new.contains(peer)).map(|peer| r.disconnect(*peer));
    let opening = new.iter().filter(|peer| !old.contains(peer)).map(|peer| r.connect(*peer));
    r.join(r.join_all(closing), r.join_all(opening)).await;
}

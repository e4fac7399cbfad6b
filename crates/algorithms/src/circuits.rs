//! Circuits of programs that know their peers ahead: a program announces them, a few steps at a time.
//!
//! Source: S. Takizawa, S. Matsuoka, H. Nakada, "MPI collective communication on all optical network", equations (2),
//! (4), (6) and (8).

use std::future::Future;
use std::pin::Pin;

use hocket_core::{Rank, Started};

/// The circuits of a program that goes step by step, and of whose ranks each has some peers in a step. Where nodes have k
/// ports (see [`Rank::circuits`]), steps are taken in batches, the same at all ranks, of as many as k circuits are enough for.
/// With its first step of a batch a rank asks for its circuits of the whole batch, and closes those of the batch before. It
/// waits for each with the step that needs it.
///
/// Where there are too few ports for one step, or programs need not ask, circuits come with the messages.
pub struct Circuits<'r, P> {
    rank: &'r Rank<'r>,
    peers: P,
    /// None where there are no circuits: there, programs should be no larger and no slower for them.
    known: Option<Box<Known<'r>>>,
}

struct Known<'r> {
    steps: usize,
    /// Steps of a batch; 0 where circuits come with the messages.
    batch: usize,
    /// The step that is taken, if any is.
    step: Option<usize>,
    open: Vec<usize>,
    asked: Vec<(usize, Started<'r, Asked<'r>>)>,
}

type Asked<'r> = Pin<Box<dyn Future<Output = bool> + 'r>>;

impl<'r, I: IntoIterator<Item = usize>, P: Fn(usize) -> I> Circuits<'r, P> {
    /// None as yet: `peers` are those of this rank in a step, `width` of them at most.
    pub fn new(rank: &'r Rank<'r>, width: usize, steps: usize, peers: P) -> Self {
        let known = |ports| Known { steps, batch: ports / width, step: None, open: Vec::new(), asked: Vec::new() };
        Self { rank, peers, known: rank.circuits().map(|ports| Box::new(known(ports))) }
    }

    /// This rank takes that step, which comes after those before.
    pub async fn step(&mut self, step: usize) {
        if let Some(known) = &mut self.known {
            Box::pin(known.step(self.rank, &self.peers, step)).await;
        }
    }

    /// This rank has taken its last step. Done when its circuits are released, also those that came with messages.
    pub async fn close(self) {
        if let Some(known) = self.known {
            Box::pin(known.close(self.rank, self.peers)).await;
        }
    }
}

impl<'r> Known<'r> {
    async fn step<I: IntoIterator<Item = usize>>(
        &mut self,
        rank: &'r Rank<'r>,
        peers: impl Fn(usize) -> I,
        step: usize,
    ) {
        let last = self.step.replace(step);
        if self.batch > 0 && last.is_none_or(|last| last / self.batch != step / self.batch) {
            let first = step - step % self.batch;
            let steps = first..first.saturating_add(self.batch).min(self.steps);
            self.reopen(rank, distinct(steps.flat_map(&peers))).await;
        }
        for peer in peers(step) {
            if let Some(place) = self.asked.iter().position(|(asked, _)| *asked == peer) {
                self.asked.swap_remove(place).1.await;
            }
        }
    }

    async fn close<I: IntoIterator<Item = usize>>(self, rank: &'r Rank<'r>, peers: impl Fn(usize) -> I) {
        let came_with_messages = if self.batch == 0 { self.step } else { None };
        release(rank, &distinct(came_with_messages.into_iter().flat_map(peers).chain(self.open))).await;
    }

    /// Lets the circuits go that are open, and asks for those to `peers`; one to a peer of both stays.
    async fn reopen(&mut self, rank: &'r Rank<'r>, peers: Vec<usize>) {
        let_go(rank, &self.open, &peers).await;
        for peer in peers.iter().filter(|peer| !self.open.contains(peer)) {
            let asked: Asked<'r> = Box::pin(rank.connect(*peer));
            self.asked.push((*peer, rank.start(asked).await));
        }
        self.open = peers;
    }
}

/// Each of them once.
pub fn distinct(peers: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut peers: Vec<_> = peers.into_iter().collect();
    peers.sort_unstable();
    peers.dedup();
    peers
}

/// Lets the circuits to `old` peers go, waiting for none, and opens those to `new` ones; one to a peer of both stays.
pub async fn change(r: &Rank<'_>, old: &[usize], new: &[usize]) {
    let_go(r, old, new).await;
    r.join_all(new.iter().filter(|peer| !old.contains(peer)).map(|peer| r.connect(*peer))).await;
}

async fn let_go(r: &Rank<'_>, old: &[usize], needed: &[usize]) {
    for peer in old.iter().filter(|peer| !needed.contains(peer)) {
        drop(r.start(r.disconnect(*peer)).await);
    }
}

/// Closes the circuits to these peers. Done when they are released.
pub async fn release(r: &Rank<'_>, open: &[usize]) {
    r.join_all(open.iter().map(|peer| r.disconnect(*peer))).await;
}

//! Rounds: a program that knows its peers ahead asks the network for circuits, a few rounds at a time.
//!
//! Source: S. Takizawa, S. Matsuoka, H. Nakada, "MPI collective communication on all optical network", equations (2),
//! (4), (6) and (8).

use std::future::Future;
use std::pin::Pin;

use hocket_core::{Rank, Span, StartedBranch};

/// A program that goes round by round; each rank meets some peers in a round. On most networks, this has no effect. On
/// a network with circuits, whose nodes have k ports for them (see [`Rank::circuits`]), rounds form batches, the same
/// at all ranks. A batch has as many rounds as k circuits are enough for. With the first round of a batch, a rank asks
/// for the circuits of the whole batch, and closes the circuits of the batch before. In each round, it waits for the
/// circuits that this round needs.
///
/// If one round needs more ports than there are, or programs need not ask, circuits come with the messages.
pub struct Rounds<'r, P> {
    rank: &'r Rank<'r>,
    peers: P,
    /// None if the network has no circuits: programs should then be as small and as fast as without this type.
    plan: Option<Box<CircuitPlan<'r>>>,
}

struct CircuitPlan<'r> {
    rounds: usize,
    /// Rounds of a batch; 0 if circuits come with the messages.
    batch: usize,
    /// The latest round that this rank entered, if any.
    round: Option<usize>,
    open: Vec<usize>,
    requests: Vec<(usize, StartedBranch<'r, Request<'r>>)>,
}

type Request<'r> = Pin<Box<dyn Future<Output = bool> + 'r>>;

impl<'r, I: IntoIterator<Item = usize>, P: Fn(usize) -> I> Rounds<'r, P> {
    /// Before the first of `rounds`. `peers` returns the peers of a round, at most `width`.
    pub fn new(rank: &'r Rank<'r>, width: usize, rounds: usize, peers: P) -> Self {
        let plan =
            |ports| CircuitPlan { rounds, batch: ports / width, round: None, open: Vec::new(), requests: Vec::new() };
        Self { rank, peers, plan: rank.circuits().map(|ports| Box::new(plan(ports))) }
    }

    /// This rank enters a round. Ranks enter their rounds in order.
    pub async fn enter(&mut self, round: usize) {
        if let Some(plan) = &mut self.plan {
            Box::pin(plan.enter(self.rank, &self.peers, round)).await;
        }
    }

    /// As [`Rank::sendrecv`]. Where a node has one port for circuits, even ranks send first and odd ranks receive first.
    pub async fn sendrecv(&self, to: usize, data: Span, from: usize, into: Span) {
        if self.rank.circuits() == Some(1) {
            Box::pin(in_turns(self.rank, (to, data), (from, into))).await;
        } else {
            self.rank.sendrecv(to, data, from, into).await;
        }
    }

    /// This rank has finished its last round. Returns when all its circuits are released, including the circuits that
    /// came with messages.
    pub async fn end(self) {
        if let Some(plan) = self.plan {
            Box::pin(plan.end(self.rank, self.peers)).await;
        }
    }
}

async fn in_turns(r: &Rank<'_>, (to, data): (usize, Span), (from, into): (usize, Span)) {
    if r.rank().is_multiple_of(2) {
        r.send(to, data).await;
        r.recv(from, into).await;
    } else {
        r.recv(from, into).await;
        r.send(to, data).await;
    }
}

impl<'r> CircuitPlan<'r> {
    async fn enter<I: IntoIterator<Item = usize>>(
        &mut self,
        rank: &'r Rank<'r>,
        peers: impl Fn(usize) -> I,
        round: usize,
    ) {
        let last = self.round.replace(round);
        if self.batch > 0 && last.is_none_or(|last| last / self.batch != round / self.batch) {
            let first = round - round % self.batch;
            let rounds = first..first.saturating_add(self.batch).min(self.rounds);
            self.reopen(rank, distinct(rounds.flat_map(&peers))).await;
        }
        for peer in peers(round) {
            if let Some(place) = self.requests.iter().position(|(other, _)| *other == peer) {
                self.requests.swap_remove(place).1.await;
            }
        }
    }

    async fn end<I: IntoIterator<Item = usize>>(self, rank: &'r Rank<'r>, peers: impl Fn(usize) -> I) {
        let came_with_messages = if self.batch == 0 { self.round } else { None };
        release(rank, &distinct(came_with_messages.into_iter().flat_map(peers).chain(self.open))).await;
    }

    /// Closes the open circuits and asks for circuits to `peers`. A circuit that is open already stays.
    async fn reopen(&mut self, rank: &'r Rank<'r>, peers: Vec<usize>) {
        let_go(rank, &self.open, &peers).await;
        for peer in peers.iter().filter(|peer| !self.open.contains(peer)) {
            let request: Request<'r> = Box::pin(rank.connect(*peer));
            self.requests.push((*peer, rank.start(request).await));
        }
        self.open = peers;
    }
}

/// The peers, each once.
pub fn distinct(peers: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut peers: Vec<_> = peers.into_iter().collect();
    peers.sort_unstable();
    peers.dedup();
    peers
}

/// Closes the circuits to `old` peers without waiting, and opens circuits to `new` peers. A circuit to a peer that is
/// in both stays.
pub async fn change(r: &Rank<'_>, old: &[usize], new: &[usize]) {
    let_go(r, old, new).await;
    r.join_all(new.iter().filter(|peer| !old.contains(peer)).map(|peer| r.connect(*peer))).await;
}

async fn let_go(r: &Rank<'_>, old: &[usize], new: &[usize]) {
    for peer in old.iter().filter(|peer| !new.contains(peer)) {
        drop(r.start(r.disconnect(*peer)).await);
    }
}

/// Closes the circuits to these peers. Returns when they are released.
pub async fn release(r: &Rank<'_>, open: &[usize]) {
    r.join_all(open.iter().map(|peer| r.disconnect(*peer))).await;
}

//! Rounds: programs that know ahead whom they meet tell the network, a few rounds at a time.
//!
//! Source: S. Takizawa, S. Matsuoka, H. Nakada, "MPI collective communication on all optical network", equations (2),
//! (4), (6) and (8).

use std::future::Future;
use std::pin::Pin;

use hocket_core::{Rank, Started};

/// A program that goes round by round, of whose ranks each meets some peers in a round. To most networks that means nothing. Where
/// there are circuits, and nodes have k ports for them (see [`Rank::circuits`]), rounds are taken in batches, the same at all ranks, of as
/// many as k circuits are enough for. With its first round of a batch a rank asks for its circuits of the whole batch, and
/// closes those of the batch before. It waits for each with the round that needs it.
///
/// Where there are too few ports for one round, or programs need not ask, circuits come with the messages.
pub struct Rounds<'r, P> {
    rank: &'r Rank<'r>,
    peers: P,
    /// None where there are no circuits: there, programs should be no larger and no slower for them.
    known: Option<Box<Known<'r>>>,
}

struct Known<'r> {
    rounds: usize,
    /// Rounds of a batch; 0 where circuits come with the messages.
    batch: usize,
    /// The round that was entered last, if any was.
    round: Option<usize>,
    open: Vec<usize>,
    asked: Vec<(usize, Started<'r, Asked<'r>>)>,
}

type Asked<'r> = Pin<Box<dyn Future<Output = bool> + 'r>>;

impl<'r, I: IntoIterator<Item = usize>, P: Fn(usize) -> I> Rounds<'r, P> {
    /// None as yet of `rounds`: `peers` are those that this rank meets in a round, `width` of them at most.
    pub fn new(rank: &'r Rank<'r>, width: usize, rounds: usize, peers: P) -> Self {
        let known = |ports| Known { rounds, batch: ports / width, round: None, open: Vec::new(), asked: Vec::new() };
        Self { rank, peers, known: rank.circuits().map(|ports| Box::new(known(ports))) }
    }

    /// This rank enters that round, which comes after those before.
    pub async fn enter(&mut self, round: usize) {
        if let Some(known) = &mut self.known {
            Box::pin(known.enter(self.rank, &self.peers, round)).await;
        }
    }

    /// This rank has had its last round. Done when its circuits are released, also those that came with messages.
    pub async fn end(self) {
        if let Some(known) = self.known {
            Box::pin(known.end(self.rank, self.peers)).await;
        }
    }
}

impl<'r> Known<'r> {
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
            if let Some(place) = self.asked.iter().position(|(asked, _)| *asked == peer) {
                self.asked.swap_remove(place).1.await;
            }
        }
    }

    async fn end<I: IntoIterator<Item = usize>>(self, rank: &'r Rank<'r>, peers: impl Fn(usize) -> I) {
        let came_with_messages = if self.batch == 0 { self.round } else { None };
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

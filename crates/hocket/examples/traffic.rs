//! A world of one's own: who sends how much to whom?
//!
//! `cargo run -p hocket --example traffic` prints the elements that each rank sends to each, for every algorithm.

use hocket_algorithms::CATALOGUE;
use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{
    AnyProgram, At, Buffer, Call, Outcome, Progress, ReadyRanks, Received, Source, Span, Step, Tag, World, run,
};

/// Messages of each pair of ranks, and their elements.
pub struct Traffic {
    ranks: usize,
    /// By sender, then by receiver.
    pub messages: Vec<u64>,
    /// By sender, then by receiver.
    pub elements: Vec<usize>,
    mailboxes: Mailboxes<usize, u32>,
    receives: Slots<Received>,
    ready: ReadyRanks,
}

impl Traffic {
    /// What `program` sends in `call`.
    pub fn of(program: &dyn AnyProgram, call: &Call) -> Self {
        let ranks = call.ranks;
        let (messages, elements) = (vec![0; ranks * ranks], vec![0; ranks * ranks]);
        let (mailboxes, receives, ready) = (Mailboxes::new(ranks), Slots::default(), ReadyRanks::all(ranks));
        run(program, call, Self { ranks, messages, elements, mailboxes, receives, ready })
    }

    /// The message meets its receive, or waits for it.
    fn send(&mut self, from: usize, to: usize, len: usize, tag: Tag) {
        self.messages[from * self.ranks + to] += 1;
        self.elements[from * self.ranks + to] += len;
        match self.mailboxes.take_receive(to, from as u32, tag) {
            Some(ticket) => {
                self.receives.fill(ticket, Received { source: from as u32, len });
                self.ready.push(to);
            }
            None => {
                self.mailboxes.hold(to, from as u32, tag, len);
            }
        }
    }

    fn receive(&mut self, rank: usize, from: Source, tag: Tag, now: hocket_core::Moment) -> Progress {
        if let Some((source, len)) = self.mailboxes.take_message(rank, from, tag) {
            return Progress::Done((now, Received { source, len }));
        }
        let ticket = self.receives.open();
        self.mailboxes.wait(rank, from, tag, ticket);
        Progress::Waits(ticket)
    }
}

impl World for Traffic {
    fn next(&mut self) -> Option<usize> {
        self.ready.pop()
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        match *step {
            Step::Send { to, data, options } => self.send(at.rank, to, data.len, options.tag),
            Step::Recv { from, tag, .. } => return self.receive(at.rank, from, tag, at.now),
            _ => {}
        }
        Progress::Done((at.now, Received { source: at.rank as u32, len: 1 }))
    }

    fn take(&mut self, at: At, ticket: u32) -> Option<Outcome> {
        Some((at.now, self.receives.take(ticket)?))
    }

    fn withdraw(&mut self, rank: usize, ticket: u32) {
        self.receives.abandon(ticket);
        self.mailboxes.withdraw(rank, |posted| *posted == ticket);
    }

    fn scratch(&mut self, _: At, len: usize) -> Span {
        Span::new(Buffer::Scratch, len)
    }
}

#[allow(dead_code)]
fn main() {
    for entry in CATALOGUE {
        let Ok(call) = entry.accept(&Call::new(entry.collective, 8, 8), &[]) else { continue };
        println!("{entry}");
        for row in Traffic::of(entry.program(), &call).elements.chunks(call.ranks) {
            println!("    {}", row.iter().map(|elements| format!("{elements:4}")).collect::<String>());
        }
    }
}

//! Checks the messages of a program without data: are all received, and does every rank reach its end?

use std::collections::BTreeMap;

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{
    At, Buffer, Call, Error, Outcome, Progress, ReadyRanks, Received, Result, Source, Span, Step, Tag, World,
};
use rustc_hash::FxHashMap;

use crate::choices::{Choices, Decision};
use crate::finding::{Counterexample, Kind, Overlap, first_lines};

/// One run of a program: one protocol, one order of messages.
pub struct Messages<'a> {
    call: &'a Call,
    is_rendezvous: bool,
    choices: &'a mut Choices,
    mailboxes: Mailboxes<WaitingMessage, Receive>,
    slots: Slots<Received>,
    /// The waiting operations, by slot.
    waiting: FxHashMap<u32, BlockedOperation>,
    /// By rank, the receives that need a decision: from any source, or posted behind such a receive.
    undecided_receives: BTreeMap<usize, Vec<UndecidedReceive>>,
    ready: ReadyRanks,
    has_ended: Vec<bool>,
    finding: Option<Counterexample>,
    resumes: u32,
    is_interrupted: &'a dyn Fn() -> bool,
    is_stopped: bool,
}

/// Number of resumptions of ranks between two calls of `is_interrupted`.
const RESUMES_PER_LOOK: u32 = 1 << 16;

struct WaitingMessage {
    len: usize,
    /// The slot of a rendezvous send that waits for the receive.
    sender: Option<u32>,
}

#[derive(Clone, Copy)]
struct Receive {
    slot: u32,
    room: usize,
}

#[derive(Clone, Copy)]
struct BlockedOperation {
    rank: usize,
    what: Side,
}

#[derive(Clone, Copy)]
enum Side {
    Send { to: usize, tag: Tag, len: usize },
    Recv { from: Source, tag: Tag, room: usize },
}

struct UndecidedReceive {
    source: Source,
    tag: Tag,
    receive: Receive,
}

impl UndecidedReceive {
    fn accepts(&self, from: u32, tag: Tag) -> bool {
        self.tag == tag && self.source.accepts(from)
    }
}

impl<'a> Messages<'a> {
    pub fn new(
        call: &'a Call,
        is_rendezvous: bool,
        choices: &'a mut Choices,
        is_interrupted: &'a dyn Fn() -> bool,
    ) -> Self {
        Self {
            call,
            is_rendezvous,
            choices,
            mailboxes: Mailboxes::new(call.ranks),
            slots: Slots::default(),
            waiting: FxHashMap::default(),
            undecided_receives: BTreeMap::new(),
            ready: ReadyRanks::all(call.ranks),
            has_ended: vec![false; call.ranks],
            finding: None,
            resumes: 0,
            is_interrupted,
            is_stopped: false,
        }
    }

    pub fn finding(self) -> Result<Option<Counterexample>> {
        if self.is_stopped { Err(Error::interruption()) } else { Ok(self.finding) }
    }

    fn wait(&mut self, rank: usize, what: Side) -> u32 {
        let slot = self.slots.open();
        self.waiting.insert(slot, BlockedOperation { rank, what });
        slot
    }

    fn finish(&mut self, slot: u32, received: Received) {
        if let Some(BlockedOperation { rank, .. }) = self.waiting.remove(&slot) {
            self.slots.fill(slot, received);
            self.ready.push(rank);
        }
    }

    fn send(&mut self, rank: usize, to: usize, len: usize, tag: Tag) -> Progress {
        let sender = self.is_rendezvous.then(|| self.wait(rank, Side::Send { to, tag, len }));
        let message = WaitingMessage { len, sender };
        match self.mailboxes.take_receive(to, rank as u32, tag) {
            Some(receive) => self.transfer((rank, to), tag, receive, message),
            None => self.mailboxes.hold(to, rank as u32, tag, message),
        }
        sender.map_or(done_progress(rank), Progress::Waits)
    }

    /// A copy or reduction, whose operands must not overlap.
    fn work(&mut self, rank: usize, source: Span, target: Span) -> Progress {
        if let Some(Overlap { expected, got }) = Overlap::of(source, target) {
            self.report(Counterexample::new(Kind::Overlap, self.is_rendezvous, vec![rank], expected, got));
        }
        done_progress(rank)
    }

    fn receive(&mut self, rank: usize, source: Source, room: usize, tag: Tag) -> Progress {
        let slot = self.wait(rank, Side::Recv { from: source, tag, room });
        let receive = Receive { slot, room };
        let is_behind = |from: u32| {
            self.undecided_receives.get(&rank).is_some_and(|earlier| earlier.iter().any(|one| one.accepts(from, tag)))
        };
        match source {
            Source::Rank(from) if !is_behind(from) => match self.mailboxes.take_message(rank, source, tag) {
                Some((from, message)) => self.transfer((from as usize, rank), tag, receive, message),
                None => self.mailboxes.wait(rank, source, tag, receive),
            },
            _ => self.undecided_receives.entry(rank).or_default().push(UndecidedReceive { source, tag, receive }),
        }
        Progress::Waits(slot)
    }

    /// A message meets its receive.
    fn transfer(&mut self, (from, to): (usize, usize), tag: Tag, receive: Receive, message: WaitingMessage) {
        let (len, room) = (message.len, receive.room);
        if len > room {
            let text = |len| bytes(self.call, len);
            let expected = format!("messages of at most {} from rank {from} (tag {tag})", text(room));
            let got = format!("a message of {}", text(len));
            self.report(Counterexample::new(Kind::Truncation, self.is_rendezvous, vec![to, from], expected, got));
        }
        self.finish(receive.slot, Received { source: from as u32, len });
        if let Some(sender) = message.sender {
            self.finish(sender, Received { source: to as u32, len });
        }
    }

    /// Gives one undecided receive a message. Returns true if there was a receive that can have one.
    fn decide(&mut self) -> bool {
        let mut alternatives = Vec::new();
        for (rank, receives) in &self.undecided_receives {
            for (index, receive) in receives.iter().enumerate() {
                let messages = self.mailboxes.unexpected(*rank).map(|(from, tag, _)| (from, tag));
                let acceptable = messages.filter(|(from, tag)| receive.accepts(*from, *tag));
                let is_first = |(from, tag): &(u32, Tag)| !receives[..index].iter().any(|one| one.accepts(*from, *tag));
                let mut senders: Vec<_> = acceptable.filter(is_first).map(|(from, _)| from).collect();
                senders.sort_unstable();
                senders.dedup();
                alternatives.extend(senders.into_iter().map(|from| (*rank, index, from)));
            }
        }
        let choice = match alternatives.len() {
            0 => return false,
            1 => 0,
            several => self.choices.decide(several),
        };
        let (rank, index, from) = alternatives[choice];
        if alternatives.len() > 1 {
            self.choices.note(Decision { rank, step: None, from: Some(from) });
        }
        let Some(receives) = self.undecided_receives.get_mut(&rank) else { return false };
        let UndecidedReceive { tag, receive, .. } = receives.remove(index);
        if let Some((_, message)) = self.mailboxes.take_message(rank, Source::Rank(from), tag) {
            self.transfer((from as usize, rank), tag, receive, message);
        }
        true
    }

    fn report(&mut self, counterexample: Counterexample) {
        self.finding.get_or_insert(counterexample);
    }

    /// No rank can go on: all programs have ended, or some never will.
    fn conclude(&mut self) {
        let stuck = self.has_ended.iter().filter(|has_ended| !**has_ended).count();
        if stuck > 0 {
            return self.report(self.deadlock(stuck));
        }
        let oldest = |rank: usize| Some((rank, self.mailboxes.oldest(rank)?));
        let Some((rank, (from, tag, message))) = (0..self.call.ranks).find_map(oldest) else { return };
        let got = format!("a message of {} from rank {from} (tag {tag}) left over", bytes(self.call, message.len));
        let (ranks, expected) = (vec![rank, from as usize], "every message to be received");
        let counterexample = Counterexample::new(Kind::LeftOverMessage, self.is_rendezvous, ranks, expected, got);
        self.report(counterexample.with_details(self.unmatched_sends()));
    }

    /// The messages that no rank receives; a rendezvous send that waits is not one.
    fn unmatched_sends(&self) -> Vec<String> {
        let to = |rank: usize| self.mailboxes.unexpected(rank).map(move |message| (rank, message));
        let messages = (0..self.call.ranks).flat_map(to).filter(|(_, (.., message))| message.sender.is_none());
        let line = |(to, (from, tag, message)): (usize, (u32, Tag, &WaitingMessage))| {
            let send = self.description(Side::Send { to, tag, len: message.len });
            (from as usize, format!("never received: rank {from} sent it: {send}"))
        };
        first_lines(messages.map(line).collect())
    }

    /// The first circle of ranks that wait for each other, or the first rank that waits for no rank in particular.
    fn deadlock(&self, stuck: usize) -> Counterexample {
        const MOST: usize = 8;
        let mut waits = BTreeMap::new();
        for (slot, BlockedOperation { rank, what }) in &self.waiting {
            let earliest = waits.entry(*rank).or_insert((*slot, *what));
            *earliest = if *slot < earliest.0 { (*slot, *what) } else { *earliest };
        }
        let peer = |rank: usize| match waits.get(&rank)?.1 {
            Side::Send { to, .. } => Some(to),
            Side::Recv { from: Source::Rank(from), .. } => Some(from as usize),
            Side::Recv { from: Source::Any, .. } => None,
        };
        let mut chain: Vec<_> = waits.keys().take(1).copied().collect();
        while let Some(next) = chain.last().and_then(|rank| peer(*rank)).filter(|next| waits.contains_key(next)) {
            if let Some(start) = chain.iter().position(|rank| *rank == next) {
                chain.drain(..start);
                break;
            }
            chain.push(next);
        }
        let line = |rank: &usize| Some(format!("rank {rank} waits: {}", self.description(waits.get(rank)?.1)));
        let details = chain.iter().take(MOST).filter_map(line).chain(self.unmatched_sends()).collect();
        let got = format!("{stuck} of {} ranks waiting for ever", self.call.ranks);
        Counterexample::new(Kind::Deadlock, self.is_rendezvous, chain, "every rank to reach its end", got)
            .with_details(details)
    }

    fn description(&self, what: Side) -> String {
        match what {
            Side::Send { to, tag, len } => format!("send {} to rank {to} (tag {tag})", bytes(self.call, len)),
            Side::Recv { from: Source::Rank(from), tag, room } => {
                format!("recv {} from rank {from} (tag {tag})", bytes(self.call, room))
            }
            Side::Recv { from: Source::Any, tag, room } => {
                format!("recv {} from any rank (tag {tag})", bytes(self.call, room))
            }
        }
    }
}

fn bytes(call: &Call, len: usize) -> String {
    format!("{} B", len * call.element_bytes)
}

fn done_progress(rank: usize) -> Progress {
    Progress::Done((Default::default(), Received { source: rank as u32, len: 0 }))
}

impl World for Messages<'_> {
    fn next(&mut self) -> Option<usize> {
        self.resumes += 1;
        self.is_stopped |= self.resumes.is_multiple_of(RESUMES_PER_LOOK) && (self.is_interrupted)();
        if self.is_stopped {
            return None;
        }
        while self.finding.is_none() {
            if let Some(rank) = self.ready.pop() {
                return Some(rank);
            }
            if !self.decide() {
                self.conclude();
                break;
            }
        }
        None
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        match *step {
            Step::Send { to, data, options } => self.send(at.rank, to, data.len, options.tag),
            Step::Recv { from, into, tag } => self.receive(at.rank, from, into.len, tag),
            Step::Copy { source, target } if source == target => done_progress(at.rank),
            Step::Combine { source, target, .. } | Step::Copy { source, target } => self.work(at.rank, source, target),
            _ => done_progress(at.rank),
        }
    }

    fn take(&mut self, at: At, ticket: u32) -> Option<Outcome> {
        Some((at.now, self.slots.take(ticket)?))
    }

    fn withdraw(&mut self, rank: usize, ticket: u32) {
        self.slots.abandon(ticket);
        self.waiting.remove(&ticket);
        self.mailboxes.withdraw(rank, |receive| receive.slot == ticket);
        if let Some(receives) = self.undecided_receives.get_mut(&rank) {
            receives.retain(|one| one.receive.slot != ticket);
        }
    }

    fn scratch(&mut self, _: At, len: usize) -> Span {
        Span::new(Buffer::Scratch, len)
    }

    fn end(&mut self, rank: usize, _: hocket_core::Moment) {
        self.has_ended[rank] = true;
    }
}

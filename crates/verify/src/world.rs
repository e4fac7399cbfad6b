//! Running a program on symbolic values.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{pending, poll_fn};
use std::task::Poll;

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{
    Buffer, Call, Collective, Moment, Options, Program, Rank, Ranks, ReadyRanks, Received, Result, Side, Source, Span,
    Tag, budget,
};

use crate::choices::Choices;
use crate::expression::{Arena, Contribution, Value};
use crate::finding::{Counterexample, Kind};
use crate::set::Set;

/// One run of a program: one protocol, one order of messages.
pub struct World<'a> {
    pub call: &'a Call,
    pub is_rendezvous: bool,
    pub arena: &'a RefCell<Arena>,
    choices: &'a Choices,
    ranks: Vec<RefCell<State>>,
    mailboxes: RefCell<Mailboxes<Message, Posted>>,
    slots: RefCell<Slots<Received>>,
    /// Operations whose completion is a decision: they take from any source, or race. And receives that come behind such
    /// a receive, which may take the message that they would take.
    undecided: RefCell<Vec<Undecided>>,
    /// Ranks at which there are new messages or undecided operations, or old ones are gone, since the latest decision.
    has_news: Vec<Cell<bool>>,
    ready: ReadyRanks,
    finding: RefCell<Option<Counterexample>>,
    sent: Cell<usize>,
    overtaking: Cell<usize>,
}

struct Message {
    /// Messages sent before it.
    number: usize,
    values: Vec<Value>,
    /// The ranks that had come before it was sent.
    come: Set,
    /// The operation of a rendezvous send that waits for the receive.
    sender: Option<Waiting>,
}

#[derive(Clone, Copy)]
struct Posted {
    waiting: Waiting,
    into: Span,
}

/// An operation that waits: its rank, slot, step, and whether it is in a race.
#[derive(Clone, Copy)]
struct Waiting {
    rank: usize,
    slot: u32,
    step: usize,
    is_racing: bool,
}

/// An operation that waits for a decision.
struct Undecided {
    waiting: Waiting,
    what: What,
    /// Whose messages a receive may take, when it was last looked at; of a completion, one entry that means nothing.
    senders: Vec<u32>,
}

#[derive(Clone, Copy)]
enum What {
    /// Done, as soon as the order of messages says so.
    Completion(Received),
    /// A receive that takes what the order of messages gives it.
    Receive { into: Span, source: Source, tag: Tag },
}

impl Undecided {
    /// Whether this is a receive of `rank` that accepts a message `from` there with `tag`.
    fn accepts(&self, rank: usize, from: u32, tag: Tag) -> bool {
        match self.what {
            What::Completion(_) => false,
            What::Receive { source, tag: wanted, .. } => {
                self.waiting.rank == rank && wanted == tag && source.accepts(from)
            }
        }
    }

    /// Whether there is only one way to go on: it comes behind other receives, or did so.
    fn is_decided(&self) -> bool {
        matches!(self.what, What::Receive { source: Source::Rank(_), .. }) && !self.waiting.is_racing
    }

    /// Looks again whose messages a receive may take: not those that a receive posted `earlier` accepts.
    fn look(&mut self, earlier: &[Self], mailboxes: &Mailboxes<Message, Posted>) {
        let What::Receive { source, tag, .. } = self.what else { return };
        let rank = self.waiting.rank;
        let held = mailboxes.unexpected(rank).filter(|(from, sent, _)| *sent == tag && source.accepts(*from));
        self.senders.clear();
        self.senders.extend(held.map(|(from, ..)| from));
        self.senders.sort_unstable();
        self.senders.dedup();
        self.senders.retain(|from| !earlier.iter().any(|receive| receive.accepts(rank, *from, tag)));
    }
}

/// What a rank holds and has done.
#[derive(Default)]
struct State {
    input: Vec<Value>,
    result: Vec<Value>,
    scratch: Vec<Value>,
    steps: Vec<Step>,
    /// Steps, and operations that do nothing.
    turns: usize,
    /// Whether the collective has returned to its caller.
    has_left: bool,
}

/// One operation of a rank.
struct Step {
    verb: Verb,
    reads: Option<Span>,
    writes: Option<Span>,
    /// What was finished when it began.
    finished: Finished,
    /// Of a receive, the ranks of which its message tells that they have come.
    come: Set,
    is_done: bool,
    /// Whether its branch was dropped before it was done.
    is_withdrawn: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Verb {
    Send(usize, Tag),
    Recv(Source, Tag),
    Combine,
    Copy,
    Compute,
    Complete,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tagged = |f: &mut fmt::Formatter<'_>, tag: Tag| if tag == 0 { Ok(()) } else { write!(f, " (tag {tag})") };
        match (self.verb, self.reads, self.writes) {
            (Verb::Send(to, tag), Some(data), _) => write!(f, "send {data} to rank {to}").and_then(|()| tagged(f, tag)),
            (Verb::Recv(Source::Rank(from), tag), _, Some(into)) => {
                write!(f, "recv {into} from rank {from}").and_then(|()| tagged(f, tag))
            }
            (Verb::Recv(Source::Any, tag), _, Some(into)) => {
                write!(f, "recv {into} from any rank").and_then(|()| tagged(f, tag))
            }
            (Verb::Combine, Some(source), Some(target)) => write!(f, "combine {source} into {target}"),
            (Verb::Copy, Some(source), Some(target)) => write!(f, "copy {source} to {target}"),
            (Verb::Complete, ..) => f.write_str("complete: the caller may use its buffers"),
            _ => f.write_str("compute"),
        }
    }
}

impl State {
    fn new(call: &Call, rank: usize, arena: &mut Arena) -> Self {
        let mut state = Self { result: vec![Value::UNDEFINED; call.result_room(rank)], ..Self::default() };
        let span = call.input_of(rank);
        let leaf = |element| Contribution { rank: rank as u32, element: element as u32 };
        let values = (0..span.len).map(|element| arena.leaf(leaf(element)));
        match span.buffer {
            Buffer::Input => state.input = values.collect(),
            _ => values.zip(&mut state.result[span.range()]).for_each(|(value, place)| *place = value),
        }
        state
    }

    fn buffer(&self, buffer: Buffer) -> &Vec<Value> {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Result => &self.result,
            Buffer::Scratch => &self.scratch,
        }
    }

    fn read(&self, span: Span) -> &[Value] {
        &self.buffer(span.buffer)[span.range()]
    }

    fn write(&mut self, span: Span, values: impl IntoIterator<Item = Value>) {
        let buffer = match span.buffer {
            Buffer::Input => &mut self.input,
            Buffer::Result => &mut self.result,
            Buffer::Scratch => &mut self.scratch,
        };
        buffer[span.range()].iter_mut().zip(values).for_each(|(place, value)| *place = value);
    }
}

/// Refuses a call whose values, and whose steps if it is known to take so many messages, there is no memory for.
///
/// # Errors
/// As [`budget::check`].
pub fn check_room(call: &Call, messages: f64) -> Result<()> {
    let elements = |rank| (call.input_len(rank) + call.result_room(rank)) as f64;
    let values_bytes = (0..call.ranks).map(elements).sum::<f64>() * size_of::<Value>() as f64;
    let steps_bytes = 2.0 * messages * size_of::<Step>() as f64;
    budget::check(format_args!("verifying {} ranks", call.ranks), values_bytes + steps_bytes)
}

impl<'a> World<'a> {
    pub fn new(call: &'a Call, is_rendezvous: bool, arena: &'a RefCell<Arena>, choices: &'a Choices) -> Self {
        let states: Vec<_> =
            (0..call.ranks).map(|rank| RefCell::new(State::new(call, rank, &mut arena.borrow_mut()))).collect();
        Self {
            call,
            is_rendezvous,
            arena,
            choices,
            ranks: states,
            mailboxes: RefCell::new(Mailboxes::new(call.ranks)),
            slots: RefCell::default(),
            undecided: RefCell::default(),
            has_news: vec![Cell::new(false); call.ranks],
            ready: ReadyRanks::all(call.ranks),
            finding: RefCell::new(None),
            sent: Cell::new(0),
            overtaking: Cell::new(0),
        }
    }

    /// Runs the program to its end, to a deadlock, or to the first finding.
    pub fn run(&self, program: &impl Program) {
        let handles: Vec<_> = (0..self.call.ranks).map(|rank| SymbolicRank::new(self, rank)).collect();
        let mut programs = Ranks::new(handles.iter().map(|r| program.run(r, self.call)));
        while self.finding.borrow().is_none() {
            if let Some(rank) = self.ready.pop() {
                programs.resume(rank);
            } else if !self.decide() {
                break;
            }
        }
        if self.finding.borrow().is_some() {
            return;
        }
        let stuck: Vec<_> = (0..self.call.ranks).filter(|rank| !programs.has_ended(*rank)).collect();
        if let Some(rank) = stuck.first() {
            self.report(self.deadlock(*rank, &stuck));
        } else {
            self.look_for_left_over_messages();
            handles.iter().filter(|r| !r.state().borrow().has_left).for_each(SymbolicRank::leave);
        }
    }

    pub fn finding(&self) -> Option<Counterexample> {
        self.finding.borrow().clone()
    }

    pub fn overtaking(&self) -> usize {
        self.overtaking.get()
    }

    /// The result of a rank.
    pub fn result(&self, rank: usize) -> Vec<Value> {
        self.ranks[rank].borrow().read(self.call.result_of(rank)).to_vec()
    }

    /// The last step of `rank` that wrote into `span`.
    pub fn last_write(&self, rank: usize, span: Span) -> Option<String> {
        let state = self.ranks[rank].borrow();
        let at = state.steps.iter().rposition(|step| step.writes.is_some_and(|w| w.overlaps(span)))?;
        Some(format!("last written in step {}: {}", at + 1, state.steps[at]))
    }

    fn report(&self, counterexample: Counterexample) {
        self.finding.borrow_mut().get_or_insert(counterexample);
    }

    fn counterexample(&self, kind: Kind, rank: usize, step: usize, expected: String, got: String) -> Counterexample {
        Counterexample {
            kind,
            is_rendezvous: self.is_rendezvous,
            ranks: vec![rank],
            step: Some(step + 1),
            span: None,
            expected,
            got,
            details: vec![format!("step {}: {}", step + 1, self.ranks[rank].borrow().steps[step])],
        }
    }

    /// The latest steps of a rank.
    fn latest_steps(&self, rank: usize) -> Vec<String> {
        const MOST: usize = 3;
        let state = self.ranks[rank].borrow();
        let latest = state.steps.iter().enumerate().skip(state.steps.len().saturating_sub(MOST));
        latest.map(|(at, step)| format!("step {}: {step}", at + 1)).collect()
    }

    /// `rank` leaves a barrier, and nothing tells it that `missing` has come.
    fn left_too_early(&self, rank: usize, missing: usize) -> Counterexample {
        Counterexample {
            kind: Kind::LeftTooEarly,
            is_rendezvous: self.is_rendezvous,
            ranks: vec![rank, missing],
            step: None,
            span: None,
            expected: format!("rank {rank} to stay until it knows that rank {missing} has come"),
            got: format!(
                "no message that rank {rank} waited for comes from rank {missing}, directly or through others"
            ),
            details: self.latest_steps(rank),
        }
    }

    fn never_ends(&self, rank: usize, most: usize) -> Counterexample {
        Counterexample {
            kind: Kind::NeverEnds,
            is_rendezvous: self.is_rendezvous,
            ranks: vec![rank],
            step: None,
            span: None,
            expected: format!("rank {rank} to reach its end within {most} steps"),
            got: "it still goes on, and was stopped; its latest steps:".to_owned(),
            details: self.latest_steps(rank),
        }
    }

    /// Lets one undecided operation go on; whether there was one that can.
    fn decide(&self) -> bool {
        let Some((index, from)) = self.next_decision() else { return false };
        let Undecided { waiting, what, .. } = self.undecided.borrow_mut().remove(index);
        self.has_news[waiting.rank].set(true);
        match what {
            What::Completion(received) => self.finish(waiting, received),
            What::Receive { into, tag, .. } => {
                self.take_message(&Posted { waiting, into }, Source::Rank(from), tag);
            }
        }
        true
    }

    /// The undecided operation that goes on, and whose message it takes.
    fn next_decision(&self) -> Option<(usize, u32)> {
        let undecided = &mut *self.undecided.borrow_mut();
        for index in 0..undecided.len() {
            let (earlier, rest) = undecided.split_at_mut(index);
            if self.has_news[rest[0].waiting.rank].get() {
                rest[0].look(earlier, &self.mailboxes.borrow());
            }
        }
        self.has_news.iter().for_each(|news| news.set(false));
        if let Some(index) = undecided.iter().position(|one| one.is_decided() && !one.senders.is_empty()) {
            return Some((index, undecided[index].senders[0]));
        }
        let alternatives = undecided.iter().map(|one| one.senders.len()).sum();
        if alternatives == 0 {
            return None;
        }
        let mut choice = self.choices.decide(alternatives);
        for (index, one) in undecided.iter().enumerate() {
            match one.senders.get(choice) {
                Some(from) => return Some((index, *from)),
                None => choice -= one.senders.len(),
            }
        }
        None
    }

    /// Gives the earliest message that a receive accepts to it.
    fn take_message(&self, posted: &Posted, source: Source, tag: Tag) {
        let rank = posted.waiting.rank;
        let taken = self.mailboxes.borrow_mut().take_message(rank, source, tag);
        if let Some((from, message)) = taken {
            self.transfer(from as usize, posted, message);
        }
    }

    fn finish(&self, waiting: Waiting, received: Received) {
        self.slots.borrow_mut().fill(waiting.slot, received);
        self.ready.push(waiting.rank);
    }

    /// A message meets its receive.
    fn transfer(&self, from: usize, posted: &Posted, message: Message) {
        let Waiting { rank, step, .. } = posted.waiting;
        let len = message.values.len();
        if len > posted.into.len {
            let expected = format!("at most {}", elements(posted.into.len));
            let got = format!("a message of {} from rank {from}", elements(len));
            return self.report(self.counterexample(Kind::Truncation, rank, step, expected, got));
        }
        let is_overtaken =
            |(other, _, held): (u32, Tag, &Message)| other as usize == from && held.number < message.number;
        if self.mailboxes.borrow().unexpected(rank).any(is_overtaken) {
            self.overtaking.set(self.overtaking.get() + 1);
        }
        let state = &mut *self.ranks[rank].borrow_mut();
        state.write(posted.into.part(0, len), message.values);
        state.steps[step].come = message.come;
        self.finish(posted.waiting, Received { source: from, len });
        if let Some(sender) = message.sender {
            self.complete(sender, Received { source: rank, len });
        }
    }

    /// An operation is done: at once, or when the order of messages says so.
    fn complete(&self, waiting: Waiting, received: Received) {
        if waiting.is_racing {
            let what = What::Completion(received);
            self.undecided.borrow_mut().push(Undecided { waiting, what, senders: vec![0] });
        } else {
            self.finish(waiting, received);
        }
    }

    fn combined(&self, sources: &[Value], targets: &[Value], side: Side) -> Vec<Value> {
        let arena = &mut *self.arena.borrow_mut();
        let operands = sources.iter().zip(targets);
        let combine = |(source, target): (&Value, &Value)| match side {
            Side::Left => arena.combine(*source, *target),
            Side::Right => arena.combine(*target, *source),
        };
        operands.map(combine).collect()
    }

    fn deadlock(&self, rank: usize, stuck: &[usize]) -> Counterexample {
        let waits = |rank: usize| {
            let state = self.ranks[rank].borrow();
            let at = state.steps.iter().position(|step| !step.is_done)?;
            Some((at, state.steps[at].to_string(), state.steps[at].verb))
        };
        let peer = |rank: usize| match waits(rank)?.2 {
            Verb::Send(to, _) => Some(to),
            Verb::Recv(Source::Rank(from), _) => Some(from as usize),
            _ => None,
        };
        let mut chain = vec![rank];
        while let Some(next) = peer(chain[chain.len() - 1]).filter(|next| stuck.contains(next)) {
            if let Some(start) = chain.iter().position(|r| *r == next) {
                chain.drain(..start);
                break;
            }
            chain.push(next);
        }
        const MOST: usize = 8;
        let line = |rank: &usize| {
            let (at, text, _) = waits(*rank)?;
            Some(format!("rank {rank} waits in step {}: {text}", at + 1))
        };
        Counterexample {
            kind: Kind::Deadlock,
            is_rendezvous: self.is_rendezvous,
            step: waits(chain[0]).map(|(at, ..)| at + 1),
            span: None,
            expected: "every rank to reach its end".to_owned(),
            got: format!("{} of {} ranks waiting for ever", stuck.len(), self.call.ranks),
            details: chain.iter().take(MOST).filter_map(line).collect(),
            ranks: chain,
        }
    }

    fn look_for_left_over_messages(&self) {
        let mailboxes = self.mailboxes.borrow();
        for rank in 0..self.call.ranks {
            if let Some((from, tag, message)) = mailboxes.unexpected(rank).next() {
                return self.report(Counterexample {
                    kind: Kind::LeftOverMessage,
                    is_rendezvous: self.is_rendezvous,
                    ranks: vec![rank, from as usize],
                    step: None,
                    span: None,
                    expected: "every message to be received".to_owned(),
                    got: format!(
                        "a message of {} from rank {from} (tag {tag}) left over",
                        elements(message.values.len())
                    ),
                    details: Vec::new(),
                });
            }
        }
    }
}

/// What has certainly happened before a branch goes on.
#[derive(Clone, Default)]
pub struct Finished {
    /// The steps of its rank that are finished.
    steps: Set,
    /// The ranks that have come, as far as its rank has been told.
    come: Set,
    is_racing: bool,
}

impl Moment for Finished {
    fn later(self, other: Self) -> Self {
        Self { steps: self.steps.union(&other.steps), come: self.come.union(&other.come), is_racing: self.is_racing }
    }

    fn is_before(&self, _: &Self) -> bool {
        false
    }

    fn racing(self) -> Self {
        Self { is_racing: true, ..self }
    }
}

/// One rank with symbolic data.
struct SymbolicRank<'a> {
    world: &'a World<'a>,
    rank: usize,
    finished: RefCell<Finished>,
}

impl<'a> SymbolicRank<'a> {
    fn new(world: &'a World<'a>, rank: usize) -> Self {
        let finished = Finished { come: Set::of(rank), ..Finished::default() };
        Self { world, rank, finished: RefCell::new(finished) }
    }

    fn state(&self) -> &'a RefCell<State> {
        &self.world.ranks[self.rank]
    }

    /// Begins an operation: notes its step, after checking its spans and that no operation under way disturbs it.
    async fn begin(&self, verb: Verb, reads: Option<Span>, writes: Option<Span>) -> usize {
        let (number, is_wrong) = self.note(verb, reads, writes);
        if is_wrong {
            pending::<()>().await;
        }
        number
    }

    /// Notes a step; its number, and whether there is something wrong with it, which is then reported.
    fn note(&self, verb: Verb, reads: Option<Span>, writes: Option<Span>) -> (usize, bool) {
        let number = {
            let state = &mut *self.state().borrow_mut();
            let finished = self.finished.borrow().clone();
            let come = Set::default();
            state.steps.push(Step { verb, reads, writes, finished, come, is_done: false, is_withdrawn: false });
            state.steps.len() - 1
        };
        let found = self.out_of_bounds(number).or_else(|| self.write_to_input(number));
        let found = found.or_else(|| self.race(number)).or_else(|| self.ambiguity(number)).or_else(|| self.runaway());
        let is_wrong = found.is_some();
        found.into_iter().for_each(|found| self.world.report(found));
        (number, is_wrong)
    }

    fn out_of_bounds(&self, number: usize) -> Option<Counterexample> {
        let state = self.state().borrow();
        let step = &state.steps[number];
        let peer = match step.verb {
            Verb::Send(to, _) => Some(to),
            Verb::Recv(Source::Rank(from), _) => Some(from as usize),
            _ => None,
        };
        let ranks = self.world.call.ranks;
        let finding = |expected, got| self.world.counterexample(Kind::OutOfBounds, self.rank, number, expected, got);
        if let Some(peer) = peer.filter(|peer| *peer >= ranks) {
            return Some(finding(format!("a rank below {ranks}"), format!("rank {peer}")));
        }
        let is_outside = |span: &Span| span.offset + span.len > state.buffer(span.buffer).len();
        let span = [step.reads, step.writes].into_iter().flatten().find(is_outside)?;
        let room = state.buffer(span.buffer).len();
        Some(finding(format!("a span inside its buffer of {}", elements(room)), span.to_string()))
    }

    fn write_to_input(&self, number: usize) -> Option<Counterexample> {
        let state = self.state().borrow();
        let step = &state.steps[number];
        let is_program = step.verb != Verb::Complete;
        let target = step.writes.filter(|span| is_program && !self.world.call.may_write(self.rank, *span))?;
        let (expected, got) = ("the input to be only read".to_owned(), format!("{target} written"));
        let found = self.world.counterexample(Kind::WriteToInput, self.rank, number, expected, got);
        Some(Counterexample { span: Some(target.to_string()), ..found })
    }

    /// Takes a turn; whether there were so many that the program does not seem to end.
    fn runaway(&self) -> Option<Counterexample> {
        let call = self.world.call;
        let elements = call.input_len(self.rank) + call.result_len(self.rank);
        let most = self.world.choices.limits().most_steps + 10 * (call.ranks + elements);
        let turns = self.state().borrow().turns + 1;
        self.state().borrow_mut().turns = turns;
        (turns > most).then(|| self.world.never_ends(self.rank, most))
    }

    /// An operation that does nothing, and is no step.
    async fn idle(&self) {
        if let Some(found) = self.runaway() {
            self.world.report(found);
            pending::<()>().await;
        }
    }

    /// The collective returns to its caller, who may now read the result and change the input: for all that follows, a step
    /// that never finishes.
    fn leave(&self) {
        let call = self.world.call;
        let (result, input) = (call.result_of(self.rank), call.input_of(self.rank));
        let writes = (!call.is_in_place(self.rank)).then_some(input);
        if call.collective == Collective::Barrier
            && let Some(missing) = self.finished.borrow().come.missing(call.ranks).next()
        {
            self.world.report(self.world.left_too_early(self.rank, missing));
        }
        let (step, _) = self.note(Verb::Complete, Some(result), writes);
        let state = &mut *self.state().borrow_mut();
        state.steps[step].is_done = true;
        state.has_left = true;
    }

    /// An earlier step of another branch that sends to, or receives from, the same peer with the same tag. Branches that
    /// have just begun issue their messages in the order of the program; later on timing decides. Whether a receive was
    /// withdrawn in time is among the orders that are tried. Two empty messages may change places, but not in a barrier, whose
    /// messages tell who has come.
    fn ambiguity(&self, number: usize) -> Option<Counterexample> {
        let state = self.state().borrow();
        let step = &state.steps[number];
        let is_message = matches!(step.verb, Verb::Send(..) | Verb::Recv(Source::Rank(_), _));
        if !is_message {
            return None;
        }
        let is_barrier = self.world.call.collective == Collective::Barrier;
        let is_nothing = |step: &Step| !is_barrier && step.reads.or(step.writes).is_none_or(Span::is_empty);
        let other = step.finished.steps.missing(number).find(|at| {
            let other = &state.steps[*at];
            other.verb == step.verb
                && !(other.is_withdrawn && matches!(other.verb, Verb::Recv(..)))
                && other.finished.steps != step.finished.steps
                && !(is_nothing(other) && is_nothing(step))
        })?;
        Some(self.concurrent(
            Kind::AmbiguousOrder,
            number,
            other,
            "messages of one pair with one tag one after another",
        ))
    }

    /// Two steps under way at the same time that must not be.
    fn concurrent(&self, kind: Kind, number: usize, other: usize, expected: &str) -> Counterexample {
        let got = "both under way at the same time".to_owned();
        let mut found = self.world.counterexample(kind, self.rank, number, expected.to_owned(), got);
        found.details.insert(0, format!("step {}: {}", other + 1, self.state().borrow().steps[other]));
        found
    }

    /// An earlier step that is not certainly finished and uses the same elements, one of the two writing them.
    fn race(&self, number: usize) -> Option<Counterexample> {
        let state = self.state().borrow();
        let step = &state.steps[number];
        let clash = |a: Option<Span>, b: Option<Span>| a.zip(b).is_some_and(|(a, b)| a.overlaps(b));
        let other = step.finished.steps.missing(number).find(|at| {
            let other = &state.steps[*at];
            clash(step.writes, other.reads) || clash(step.writes, other.writes) || clash(step.reads, other.writes)
        })?;
        let expected = format!("step {} to be finished before its elements are used again", other + 1);
        Some(self.concurrent(Kind::BufferRace, number, other, &expected))
    }

    fn end(&self, step: usize) {
        let done = &mut self.state().borrow_mut().steps[step];
        done.is_done = true;
        let finished = &mut *self.finished.borrow_mut();
        finished.steps = finished.steps.with(step);
        finished.come = finished.come.union(&done.come);
    }

    fn waiting(&self, step: usize) -> Waiting {
        let slot = self.world.slots.borrow_mut().open();
        Waiting { rank: self.rank, slot, step, is_racing: self.finished.borrow().is_racing }
    }

    async fn wait(&self, waiting: Waiting) -> Received {
        let slot = waiting.slot;
        let guard = Withdraw { world: self.world, waiting };
        let received = poll_fn(|_| self.world.slots.borrow_mut().take(slot).map_or(Poll::Pending, Poll::Ready)).await;
        std::mem::forget(guard);
        self.end(waiting.step);
        received
    }

    /// A local operation is done, unless it races: then the order of messages decides when.
    async fn end_local(&self, step: usize) {
        if !self.finished.borrow().is_racing {
            return self.end(step);
        }
        let waiting = self.waiting(step);
        self.world.complete(waiting, Received { source: self.rank, len: 0 });
        self.wait(waiting).await;
    }
}

/// Takes an operation back when its branch is dropped.
struct Withdraw<'a> {
    world: &'a World<'a>,
    waiting: Waiting,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        let Waiting { rank, slot, step, .. } = self.waiting;
        self.world.ranks[rank].borrow_mut().steps[step].is_withdrawn = true;
        self.world.slots.borrow_mut().abandon(slot);
        self.world.mailboxes.borrow_mut().withdraw(rank, |posted| posted.waiting.slot == slot);
        self.world.undecided.borrow_mut().retain(|undecided| undecided.waiting.slot != slot);
        self.world.has_news[rank].set(true);
    }
}

impl Rank for SymbolicRank<'_> {
    type Moment = Finished;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.call.ranks
    }

    fn scratch(&self, len: usize) -> Span {
        let scratch = &mut self.state().borrow_mut().scratch;
        let offset = scratch.len();
        scratch.resize(offset + len, Value::UNDEFINED);
        Span { buffer: Buffer::Scratch, offset, len }
    }

    fn check_scratch(&self, len: usize) -> Result<()> {
        budget::check(format_args!("scratch of {len} elements"), (len * size_of::<Value>()) as f64)
    }

    async fn send_with(&self, to: usize, data: Span, options: Options) {
        let step = self.begin(Verb::Send(to, options.tag), Some(data), None).await;
        let (world, from) = (self.world, self.rank as u32);
        let values = self.state().borrow().read(data).to_vec();
        let come = self.finished.borrow().come.clone();
        let waiting = self.waiting(step);
        let number = world.sent.replace(world.sent.get() + 1);
        let message = Message { number, values, come, sender: world.is_rendezvous.then_some(waiting) };
        let posted = world.mailboxes.borrow_mut().take_receive(to, from, options.tag);
        match posted {
            Some(posted) => world.transfer(self.rank, &posted, message),
            None => {
                world.mailboxes.borrow_mut().hold(to, from, options.tag, message);
                world.has_news[to].set(true);
            }
        }
        if !world.is_rendezvous {
            world.complete(waiting, Received { source: to, len: data.len });
        }
        self.wait(waiting).await;
    }

    async fn recv_with(&self, from: Source, into: Span, tag: Tag) -> Received {
        let step = self.begin(Verb::Recv(from, tag), None, Some(into)).await;
        let waiting = self.waiting(step);
        let posted = Posted { waiting, into };
        let world = self.world;
        let is_behind =
            |source: u32| world.undecided.borrow().iter().any(|earlier| earlier.accepts(self.rank, source, tag));
        let is_undecided = match from {
            Source::Any => true,
            Source::Rank(source) => waiting.is_racing || is_behind(source),
        };
        if is_undecided {
            let what = What::Receive { into, source: from, tag };
            world.undecided.borrow_mut().push(Undecided { waiting, what, senders: Vec::new() });
            world.has_news[self.rank].set(true);
        } else {
            let message = world.mailboxes.borrow_mut().take_message(self.rank, from, tag);
            match message {
                Some((source, message)) => world.transfer(source as usize, &posted, message),
                None => world.mailboxes.borrow_mut().wait(self.rank, from, tag, posted),
            }
        }
        self.wait(waiting).await
    }

    async fn combine(&self, source: Span, target: Span, side: Side) {
        let step = self.begin(Verb::Combine, Some(source), Some(target)).await;
        let (sources, targets) = {
            let state = self.state().borrow();
            (state.read(source).to_vec(), state.read(target).to_vec())
        };
        let is_undefined = |values: &[Value]| values.iter().position(|value| *value == Value::UNDEFINED);
        let undefined = is_undefined(&sources)
            .map(|at| source.part(at, 1))
            .or_else(|| is_undefined(&targets).map(|at| target.part(at, 1)));
        if let Some(span) = undefined {
            let (expected, got) = ("an operand that was written".to_owned(), format!("{span}, which never was"));
            self.world.report(self.world.counterexample(Kind::UndefinedOperand, self.rank, step, expected, got));
            pending::<()>().await;
        }
        self.state().borrow_mut().write(target, self.world.combined(&sources, &targets, side));
        self.end_local(step).await;
    }

    async fn copy(&self, source: Span, target: Span) {
        if source == target {
            return self.idle().await;
        }
        let step = self.begin(Verb::Copy, Some(source), Some(target)).await;
        let values = self.state().borrow().read(source).to_vec();
        self.state().borrow_mut().write(target, values);
        self.end_local(step).await;
    }

    async fn compute(&self, _time_s: f64) {
        let step = self.begin(Verb::Compute, None, None).await;
        self.end_local(step).await;
    }

    async fn connect(&self, _peer: usize) -> bool {
        self.idle().await;
        true
    }

    fn disconnect(&self, _peer: usize) -> impl Future<Output = ()> {
        self.idle()
    }

    fn complete(&self) {
        self.leave();
    }

    fn moment(&self) -> Finished {
        self.finished.borrow().clone()
    }

    fn set_moment(&self, moment: Finished) {
        *self.finished.borrow_mut() = moment;
    }
}

fn elements(len: usize) -> String {
    if len == 1 { "1 element".to_owned() } else { format!("{len} elements") }
}

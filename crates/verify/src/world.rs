//! Running a program on symbolic values.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::successors;
use std::num::Wrapping;

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::units::count_in_words;
use hocket_core::{
    At, Buffer, Call, Collective, Error, Failure, Features, Moment, Moments, Outcome, Progress, ReadyRanks, Received,
    Result, Side, Source, Span, Step as IssuedStep, Tag, World, budget,
};
use rustc_hash::{FxHashMap, FxHasher};

use crate::choices::{Choices, Decision};
use crate::expression::{Arena, Value, bytes_of};
use crate::finding::{Counterexample, Kind, Overlap, first_lines};
use crate::set::Set;
use crate::uses::{BYTES_OF_ELEMENT, Uses};

/// One run of a program: one protocol, one order of messages.
pub struct Symbolic<'a> {
    pub call: &'a Call,
    pub is_rendezvous: bool,
    pub arena: &'a mut Arena,
    choices: &'a mut Choices,
    ranks: Vec<State>,
    mailboxes: Mailboxes<Message, PostedReceive>,
    slots: Slots<Received>,
    /// The operation of each slot.
    waiting: Vec<Waiting>,
    /// Operations whose completion is a decision: receives from any source, operations that race, and receives posted
    /// behind a receive from any source, which could take the same message.
    undecided_operations: Vec<UndecidedOperation>,
    /// For each rank, whether messages or undecided operations have come or gone since the latest decision.
    has_news: Vec<bool>,
    ready: ReadyRanks,
    /// Whether the ranks are resumed in reverse order.
    is_reversed: bool,
    points: Points,
    finding: Option<Counterexample>,
    sent: usize,
    /// Number of steps of all ranks until now.
    step_count: usize,
    overtaking: usize,
    is_interrupted: &'a dyn Fn() -> bool,
    /// The work of this run: elements of steps, steps under way that were looked at, and a number for each step.
    work: Cell<usize>,
    /// The value of `work` at which `is_interrupted` is called next.
    next_look: usize,
    /// Why the run stopped.
    stop: Option<Error>,
}

/// Messages that are looked at for the work of an element.
const LOOKS_PER_WORK: usize = 8;
/// The work between two calls of `is_interrupted`.
const WORK_PER_LOOK: usize = 1 << 20;

struct Message {
    /// Number of messages sent before it.
    number: usize,
    /// The step of its sender.
    step: usize,
    values: Vec<Value>,
    /// The ranks known by its sender to have come to the barrier; in a schedule, the steps before its arrival.
    arrivals: Set,
    /// The waiting send, if it is a rendezvous.
    sender: Option<Waiting>,
}

#[derive(Clone, Copy)]
struct PostedReceive {
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
struct UndecidedOperation {
    waiting: Waiting,
    what: What,
    /// The senders whose messages the receive may take, as last determined; none for a completion.
    senders: Vec<u32>,
}

#[derive(Clone, Copy)]
enum What {
    /// An operation that is done when this decision is taken.
    Completion(Received),
    /// A receive that this decision gives a message.
    Receive { into: Span, source: Source, tag: Tag },
}

impl UndecidedOperation {
    /// Whether this is a receive of `rank` that accepts a message from `from` with `tag`.
    fn accepts(&self, rank: usize, from: u32, tag: Tag) -> bool {
        match self.what {
            What::Completion(_) => false,
            What::Receive { source, tag: own_tag, .. } => {
                self.waiting.rank == rank && own_tag == tag && source.accepts(from)
            }
        }
    }

    /// Number of ways in which the operation can go on.
    fn ways(&self) -> usize {
        match self.what {
            What::Completion(_) => 1,
            What::Receive { .. } => self.senders.len(),
        }
    }

    fn decision(&self, from: Option<u32>) -> Decision {
        Decision { rank: self.waiting.rank, step: Some(self.waiting.step + 1), from }
    }

    /// Whether the operation can complete in only one way: it is undecided only because of receives before it.
    fn is_decided(&self) -> bool {
        matches!(self.what, What::Receive { source: Source::Rank(_), .. }) && !self.waiting.is_racing
    }

    /// Updates the senders whose messages the receive may take, without those for a receive posted `earlier`.
    fn look(&mut self, earlier: &[Self], mailboxes: &Mailboxes<Message, PostedReceive>) {
        let What::Receive { source, tag, .. } = self.what else { return };
        let rank = self.waiting.rank;
        let messages = mailboxes.unexpected(rank).filter(|(from, sent, _)| *sent == tag && source.accepts(*from));
        self.senders.clear();
        self.senders.extend(messages.map(|(from, ..)| from));
        self.senders.sort_unstable();
        self.senders.dedup();
        self.senders.retain(|from| !earlier.iter().any(|receive| receive.accepts(rank, *from, tag)));
    }
}

/// The state and the steps of a rank.
struct State {
    input: Vec<Value>,
    result: Vec<Value>,
    scratch: Vec<Value>,
    steps: Vec<Step>,
    uses: Uses,
    /// The latest step with each verb.
    latest: FxHashMap<Verb, usize>,
    /// Number of steps, and of operations that do nothing.
    turns: usize,
    /// Whether the collective has returned to its caller.
    has_left: bool,
    /// The place of the next step in the program, if known.
    place: Option<&'static str>,
    /// The moment at which the program has ended.
    end: Option<Moment>,
}

/// A step for comparison with another run of the same call. Records are equal in spite of other numbers, which depend on
/// timing.
#[derive(Eq)]
pub struct StepRecord {
    text: String,
    /// A hash of the step, of the steps that are finished before it begins, and of its place among the branches that
    /// begin with it. Two runs have the same marks if every branch takes the same steps in the same order.
    mark: u64,
    number: usize,
}

impl PartialEq for StepRecord {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.mark) == (&other.text, other.mark)
    }
}

/// One operation of a rank.
struct Step {
    verb: Verb,
    reads: Option<Span>,
    writes: Option<Span>,
    /// Its place in the program, if known.
    place: Option<&'static str>,
    /// The moment at which the step began.
    start: Moment,
    /// Its number among the steps of all ranks.
    id: usize,
    /// For a receive, the ranks that have come to the barrier according to its message; in a schedule, the steps before
    /// its arrival.
    arrivals: Set,
    /// For a receive, whether its message has arrived.
    has_arrived: bool,
    is_done: bool,
    /// Whether its branch was dropped before it was done.
    is_withdrawn: bool,
    /// The step with the same verb before it, and whether all of these are finished when it begins.
    alike: Option<usize>,
    is_after_alike: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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
        let tag_text = |tag: Tag| if tag == 0 { String::new() } else { format!(" (tag {tag})") };
        match (self.verb, self.reads, self.writes) {
            (Verb::Send(to, tag), Some(data), _) => write!(f, "send {data} to rank {to}{}", tag_text(tag)),
            (Verb::Recv(Source::Rank(from), tag), _, Some(into)) => {
                write!(f, "recv {into} from rank {from}{}", tag_text(tag))
            }
            (Verb::Recv(Source::Any, tag), _, Some(into)) => {
                write!(f, "recv {into} from any rank{}", tag_text(tag))
            }
            (Verb::Combine, Some(source), Some(target)) => write!(f, "combine {source} into {target}"),
            (Verb::Copy, Some(source), Some(target)) => write!(f, "copy {source} to {target}"),
            (Verb::Complete, ..) => f.write_str("complete: the caller may use its buffers"),
            _ => f.write_str("compute"),
        }?;
        self.place.map_or(Ok(()), |place| write!(f, " ({place})"))
    }
}

impl Step {
    /// The step as text, independent of the position of its scratch and of its place in the program.
    fn text(&self) -> String {
        let without_offset =
            |span: Span| if span.buffer == Buffer::Scratch { Span { offset: 0, ..span } } else { span };
        let (reads, writes) = (self.reads.map(without_offset), self.writes.map(without_offset));
        Self { reads, writes, place: None, arrivals: Set::default(), ..*self }.to_string()
    }

    /// What the step uses, and whether it writes. The caller may write all of its buffers once it has them back.
    fn spans(&self) -> [(Span, bool); 2] {
        match self.verb {
            Verb::Complete => [Buffer::Input, Buffer::Result].map(|buffer| (Span::new(buffer, usize::MAX), true)),
            _ => [(self.reads, false), (self.writes, true)].map(|(span, writes)| (span.unwrap_or(Span::EMPTY), writes)),
        }
    }

    /// Whether this step and one under way when it begins use the same elements, and one of the two writes them.
    fn races(&self, other: &Self) -> bool {
        let clashes = |(span, writes): (Span, bool)| {
            other.spans().into_iter().any(|(other, also_writes)| (writes || also_writes) && span.overlaps(other))
        };
        [self.verb, other.verb] != [Verb::Complete; 2] && self.spans().into_iter().any(clashes)
    }
}

impl State {
    fn new(call: &Call, rank: usize, arena: &Arena) -> Self {
        let result = vec![Value::UNDEFINED; call.result_room(rank)];
        let span = call.input_of(rank);
        let mut state = Self {
            input: Vec::new(),
            uses: Uses::new(span.len, result.len()),
            latest: FxHashMap::default(),
            result,
            scratch: Vec::new(),
            steps: Vec::new(),
            turns: 0,
            has_left: false,
            place: None,
            end: None,
        };
        let values = arena.input_of(rank);
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

/// The memory of an element of a buffer, and of its latest uses.
const BYTES_OF_VALUE: usize = size_of::<Value>() + BYTES_OF_ELEMENT;

/// Refuses a call if there is no memory for its values, for the steps of `messages` messages, and for the expressions:
/// combining m contributions to an element makes m - 1 of them.
pub fn check_room(call: &Call, messages: f64) -> Result<()> {
    let elements = |rank| (call.input_len(rank) + call.result_room(rank)) as f64;
    let values_bytes = (0..call.ranks).map(elements).sum::<f64>() * BYTES_OF_VALUE as f64;
    let steps_bytes = 2.0 * messages * (size_of::<Step>() + size_of::<History>()) as f64;
    let contributions = (0..call.ranks).map(|rank| call.input_of(rank).len as f64).sum::<f64>();
    let vector = call.input_of(0).len as f64;
    let combined = if call.collective.reduces() { contributions - vector } else { 0.0 };
    let bytes = values_bytes + steps_bytes + bytes_of(contributions, combined);
    budget::check(format_args!("verifying {} ranks", call.ranks), bytes)
}

impl<'a> Symbolic<'a> {
    pub fn new(
        call: &'a Call,
        is_rendezvous: bool,
        arena: &'a mut Arena,
        choices: &'a mut Choices,
        is_interrupted: &'a dyn Fn() -> bool,
    ) -> Self {
        let ranks = (0..call.ranks).map(|rank| State::new(call, rank, arena)).collect();
        Self {
            call,
            is_rendezvous,
            arena,
            choices,
            ranks,
            mailboxes: Mailboxes::new(call.ranks),
            slots: Slots::default(),
            waiting: Vec::new(),
            undecided_operations: Vec::new(),
            has_news: vec![false; call.ranks],
            ready: ReadyRanks::all(call.ranks),
            is_reversed: false,
            points: Points { all: vec![History::default()], refusal: None, has_tasks: false },
            finding: None,
            sent: 0,
            step_count: 0,
            overtaking: 0,
            is_interrupted,
            work: Cell::new(0),
            next_look: WORK_PER_LOOK,
            stop: None,
        }
    }

    /// This run for a schedule without receives from any source. No order of its tasks needs to be tried, as only a
    /// race would change its results. Findings name tasks.
    pub fn of_tasks(mut self) -> Self {
        self.points.has_tasks = true;
        self
    }

    /// The name of a step: its number, from 1; or in a schedule that of its task, from 0.
    fn name_of(&self, rank: usize, step: usize) -> String {
        if self.points.has_tasks {
            format!("task {}", self.ranks[rank].steps[step].start.words()[1])
        } else {
            format!("step {}", step + 1)
        }
    }

    /// The number of a step, from 1; none in a schedule, whose tasks are named.
    fn number_of(&self, step: usize) -> Option<usize> {
        (!self.points.has_tasks).then_some(step + 1)
    }

    /// Checks that the run was not stopped.
    ///
    /// # Errors
    /// Too little memory, or the user has stopped the run.
    pub fn check_ran(&self) -> Result<()> {
        self.stop.clone().map_or(Ok(()), Err)
    }

    /// The work of this run until now.
    pub fn work(&self) -> usize {
        self.work.get()
    }

    /// Whether the run must stop before a step of this many elements.
    fn is_stopped(&mut self, elements: usize) -> bool {
        let limits = self.choices.limits();
        let work = self.work.get() + limits.work_per_step + elements;
        self.work.set(work);
        if self.stop.is_none() {
            self.stop = self.arena.refusal().or(self.points.refusal.as_ref()).cloned();
        }
        if work >= self.next_look && self.stop.is_none() {
            self.next_look = work + WORK_PER_LOOK;
            let is_over = limits.is_late() || (self.is_interrupted)();
            self.stop = is_over.then(Error::interruption).or_else(|| (work > limits.most_work).then(Error::lateness));
        }
        self.stop.is_some()
    }

    /// This run, with the ranks in reverse order if `is_reversed`.
    pub fn in_reverse(self, is_reversed: bool) -> Self {
        Self { is_reversed, ..self }
    }

    /// The rank's place in the order of resumption, and the inverse.
    fn place(&self, rank: usize) -> usize {
        if self.is_reversed { self.call.ranks - 1 - rank } else { rank }
    }

    /// No rank can go on: all programs have ended, or some never will.
    fn conclude(&mut self) {
        let stuck: Vec<_> = (0..self.call.ranks).filter(|rank| self.ranks[*rank].end.is_none()).collect();
        if let Some(rank) = stuck.first() {
            return self.report(self.deadlock(*rank, &stuck));
        }
        self.left_over_messages().into_iter().for_each(|counterexample| self.report(counterexample));
        for rank in 0..self.call.ranks {
            let state = &self.ranks[rank];
            let Some(end) = state.end else { continue };
            if !state.has_left {
                self.leave(rank, end);
            }
            self.unfinished_send(rank, end).into_iter().for_each(|counterexample| self.report(counterexample));
        }
    }

    /// A send of `rank` that may be unfinished at the end of its program, when its scratch is freed.
    fn unfinished_send(&self, rank: usize, end: Moment) -> Option<Counterexample> {
        let steps = &self.ranks[rank].steps;
        let is_send = |step: &Step| matches!(step.verb, Verb::Send(..)) && !step.reads.is_none_or(Span::is_empty);
        let send = self.points.at(end).steps.missing(steps.len()).find(|at| is_send(&steps[*at]))?;
        let expected = format!("{} to be finished before the program of its rank ends", self.name_of(rank, send));
        let got = "still in flight when the program's scratch is freed".to_owned();
        Some(self.counterexample(Kind::BufferRace, rank, send, expected, got))
    }

    pub fn finding(&self) -> Option<Counterexample> {
        self.finding.clone()
    }

    pub fn overtaking(&self) -> usize {
        self.overtaking
    }

    /// The result of a rank.
    pub fn result(&self, rank: usize) -> Vec<Value> {
        self.ranks[rank].read(self.call.result_of(rank)).to_vec()
    }

    /// The last step of `rank` that wrote into `span`, as text.
    pub fn last_write(&self, rank: usize, span: Span) -> Option<String> {
        let steps = &self.ranks[rank].steps;
        let last = |span: Span, end: usize| {
            steps[..end].iter().rposition(|step| step.writes.is_some_and(|writes| writes.overlaps(span)))
        };
        let at = last(span, steps.len())?;
        let mut text = format!("last written in {}: {}", self.name_of(rank, at), steps[at]);
        if let Step { verb: Verb::Copy, reads: Some(reads), writes: Some(writes), .. } = steps[at]
            && self.points.has_tasks
            && let Some(before) = last(reads.part(span.offset - writes.offset, span.len), at)
        {
            text += &format!("; its source in {}: {}", self.name_of(rank, before), steps[before]);
        }
        Some(text)
    }

    fn report(&mut self, counterexample: Counterexample) {
        self.finding.get_or_insert(counterexample);
    }

    fn counterexample(&self, kind: Kind, rank: usize, step: usize, expected: String, got: String) -> Counterexample {
        Counterexample {
            step: self.number_of(step),
            details: vec![format!("{}: {}", self.name_of(rank, step), self.ranks[rank].steps[step])],
            ..Counterexample::new(kind, self.is_rendezvous, vec![rank], expected, got)
        }
    }

    /// The latest steps of a rank.
    fn latest_steps(&self, rank: usize) -> Vec<String> {
        const MOST: usize = 3;
        let state = &self.ranks[rank];
        let latest = state.steps.iter().enumerate().skip(state.steps.len().saturating_sub(MOST));
        latest.map(|(at, step)| format!("step {}: {step}", at + 1)).collect()
    }

    /// `rank` leaves a barrier before it knows that `missing` has come.
    fn left_too_early(&self, rank: usize, missing: usize) -> Counterexample {
        let expected = format!("rank {rank} to stay until it knows that rank {missing} has come");
        let got =
            format!("no message that rank {rank} waited for comes from rank {missing}, directly or through others");
        Counterexample::new(Kind::LeftTooEarly, self.is_rendezvous, vec![rank, missing], expected, got)
            .with_details(self.latest_steps(rank))
    }

    fn never_ends(&self, rank: usize, most: usize) -> Counterexample {
        let expected = format!("rank {rank} to reach its end within {most} steps");
        let got = "it still goes on, and was stopped; its latest steps:";
        Counterexample::new(Kind::NeverEnds, self.is_rendezvous, vec![rank], expected, got)
            .with_details(self.latest_steps(rank))
    }

    /// The program of `rank` fails in its next step for this reason.
    fn failure(&self, rank: usize, why: &Failure) -> Counterexample {
        let (kind, expected, got) = match why {
            Failure::Exception(got) => (Kind::Failure, "a program that raises nothing", got),
            Failure::StepsNotTaken(got) => (Kind::StepsNotTaken, "every step that a verb makes to be yielded", got),
        };
        Counterexample {
            step: (kind == Kind::Failure).then(|| self.ranks[rank].steps.len() + 1),
            details: self.latest_steps(rank),
            ..Counterexample::new(kind, self.is_rendezvous, vec![rank], expected, got)
        }
    }

    /// Lets one undecided operation go on. Returns true if there was one that can.
    fn decide(&mut self) -> bool {
        let Some((index, from)) = self.next_decision() else { return false };
        if let Some(counterexample) = self.changed_choices() {
            self.report(counterexample);
            return true;
        }
        let UndecidedOperation { waiting, what, .. } = self.undecided_operations.remove(index);
        self.has_news[waiting.rank] = true;
        match what {
            What::Completion(received) => self.finish(waiting, received),
            What::Receive { into, source, tag } => {
                self.take_message(&PostedReceive { waiting, into }, from.map_or(source, Source::Rank), tag);
            }
        }
        true
    }

    /// The undecided operation that goes on, and the sender of the message that it takes.
    fn next_decision(&mut self) -> Option<(usize, Option<u32>)> {
        let undecided_operations = &mut self.undecided_operations;
        let mut ways = 0;
        for index in 0..undecided_operations.len() {
            let (earlier, rest) = undecided_operations.split_at_mut(index);
            let one = &mut rest[0];
            if self.has_news[one.waiting.rank] {
                one.look(earlier, &self.mailboxes);
            }
            ways += one.ways();
        }
        self.has_news.fill(false);
        if ways == 0 {
            return None;
        }
        if let Some(index) = undecided_operations.iter().position(|one| one.is_decided() && one.ways() > 0) {
            return Some((index, undecided_operations[index].senders.first().copied()));
        }
        let mut way = self.choices.decide(ways);
        for (index, one) in undecided_operations.iter().enumerate() {
            if way < one.ways() {
                let from = one.senders.get(way).copied();
                if ways > 1 {
                    self.choices.note(one.decision(from));
                }
                return Some((index, from));
            }
            way -= one.ways();
        }
        None
    }

    /// A counterexample if decisions differ from those after the same decisions in an earlier run.
    fn changed_choices(&self) -> Option<Counterexample> {
        let rank = self.undecided_operations.first().map_or(0, |one| one.waiting.rank);
        let got = "other messages to choose from".to_owned();
        self.choices.has_changed().then(|| self.unlike(Kind::NotRepeatable, rank, got))
    }

    /// A further run of a correct program differs at this rank.
    fn unlike(&self, kind: Kind, rank: usize, got: String) -> Counterexample {
        let [expected, _] = kind.of_further_run();
        Counterexample::new(kind, self.is_rendezvous, vec![rank], expected, got)
    }

    /// The steps of each rank, in an order that does not depend on timing.
    pub fn step_records(&self) -> Vec<Vec<StepRecord>> {
        self.ranks.iter().map(|state| self.step_records_of(state)).collect()
    }

    fn step_records_of(&self, state: &State) -> Vec<StepRecord> {
        let mut step_records: Vec<StepRecord> = Vec::with_capacity(state.steps.len());
        let mut marks_of_all = Wrapping(0);
        let mut branches_by_start: FxHashMap<u64, usize> = FxHashMap::default();
        for (number, step) in state.steps.iter().enumerate() {
            let under_way = self.points.at(step.start).steps.missing(number);
            let marks_before =
                marks_of_all - under_way.map(|at| Wrapping(step_records[at].mark)).sum::<Wrapping<u64>>();
            let branch = branches_by_start.entry(step.start.words()[0]).or_default();
            let text = step.text();
            let mut hasher = FxHasher::default();
            (&text, marks_before.0, *branch).hash(&mut hasher);
            *branch += 1;
            marks_of_all += hasher.finish();
            step_records.push(StepRecord { text, mark: hasher.finish(), number });
        }
        step_records.sort_unstable_by(|one, other| (&one.text, one.mark).cmp(&(&other.text, other.mark)));
        step_records
    }

    /// A counterexample of this kind if this further run of a correct program differs from the `first` one.
    pub fn differs_from(&self, first: &[Vec<StepRecord>], kind: Kind) -> Option<Counterexample> {
        let [_, now] = kind.of_further_run();
        if let Some(counterexample) = &self.finding {
            let got = format!("{} {now}: {}", counterexample.kind.name(), counterexample.got);
            return Some(self.unlike(kind, counterexample.ranks[0], got).with_details(counterexample.details.clone()));
        }
        let second = self.step_records();
        let rank = (0..first.len()).find(|rank| first[*rank] != second[*rank])?;
        let (before, after) = (&first[rank], &second[rank]);
        let has_same_steps = before.iter().map(|record| &record.text).eq(after.iter().map(|record| &record.text));
        let steps = count_in_words(before.len(), "step");
        let got = if has_same_steps {
            format!("the same {steps}, in another order {now}")
        } else {
            format!("{steps} at first, {} {now}", after.len())
        };
        let is_like =
            |record: &StepRecord, other: &StepRecord| record.text == other.text && (!has_same_steps || record == other);
        let only = |when: &str, these: &[StepRecord], those: &[StepRecord]| {
            let is_missing = |record: &&StepRecord| !those.iter().any(|other| is_like(record, other));
            let record = these.iter().filter(is_missing).min_by_key(|record| record.number)?;
            Some(format!("step {} {when}: {}", record.number + 1, record.text))
        };
        let details = [only("at first", before, after), only(now, after, before)].into_iter().flatten().collect();
        Some(self.unlike(kind, rank, got).with_details(details))
    }

    /// Gives a receive the earliest message that it accepts.
    fn take_message(&mut self, posted: &PostedReceive, source: Source, tag: Tag) {
        let rank = posted.waiting.rank;
        if let Some((from, message)) = self.mailboxes.take_message(rank, source, tag) {
            self.transfer(from as usize, posted, message);
        }
    }

    fn finish(&mut self, waiting: Waiting, received: Received) {
        self.slots.fill(waiting.slot, received);
        self.ready.push(self.place(waiting.rank));
    }

    /// A message meets its receive.
    fn transfer(&mut self, from: usize, posted: &PostedReceive, message: Message) {
        let Waiting { rank, step, .. } = posted.waiting;
        let len = message.values.len();
        if len > posted.into.len {
            let expected = format!("at most {}", count_in_words(posted.into.len, "element"));
            let got = format!("a message of {} from rank {from}", count_in_words(len, "element"));
            return self.report(self.counterexample(Kind::Truncation, rank, step, expected, got));
        }
        let looks = Cell::new(0);
        let is_overtaken = |(other, _, waiting_message): (u32, Tag, &Message)| {
            looks.set(looks.get() + 1);
            other as usize == from && waiting_message.number < message.number
        };
        if self.mailboxes.unexpected(rank).any(is_overtaken) {
            self.overtaking += 1;
        }
        self.work.set(self.work.get() + looks.get() / LOOKS_PER_WORK);
        let state = &mut self.ranks[rank];
        state.write(posted.into.part(0, len), message.values);
        state.steps[step].arrivals = message.arrivals;
        state.steps[step].has_arrived = true;
        if self.points.has_tasks {
            self.race_of(rank, step).into_iter().for_each(|counterexample| self.report(counterexample));
        }
        self.finish(posted.waiting, Received { source: from as u32, len });
        if let Some(sender) = message.sender {
            self.complete_step(sender, Received { source: rank as u32, len });
        }
    }

    /// An operation is done: at once, or after a decision if it races.
    fn complete_step(&mut self, waiting: Waiting, received: Received) {
        if waiting.is_racing {
            let what = What::Completion(received);
            self.undecided_operations.push(UndecidedOperation { waiting, what, senders: Vec::new() });
        } else {
            self.finish(waiting, received);
        }
    }

    fn deadlock(&self, rank: usize, stuck: &[usize]) -> Counterexample {
        let waits = |rank: usize| {
            let state = &self.ranks[rank];
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
            Some(format!("rank {rank} waits in {}: {text}", self.name_of(*rank, at)))
        };
        let got = format!("{} of {} ranks waiting for ever", stuck.len(), self.call.ranks);
        Counterexample {
            step: waits(chain[0]).and_then(|(at, ..)| self.number_of(at)),
            details: chain.iter().take(MOST).filter_map(line).chain(self.unmatched_sends()).collect(),
            ..Counterexample::new(Kind::Deadlock, self.is_rendezvous, chain, "every rank to reach its end", got)
        }
    }

    /// The messages that no rank receives, in the order in which they were sent; a rendezvous send that waits is not one.
    fn unmatched_sends(&self) -> Vec<String> {
        let to = |rank: usize| self.mailboxes.unexpected(rank).map(move |(from, _, message)| (from as usize, message));
        let messages = (0..self.call.ranks).flat_map(to).filter(|(_, message)| message.sender.is_none());
        let line = |(from, message): (usize, &Message)| {
            let text = &self.ranks[from].steps[message.step];
            (
                message.number,
                format!("never received: rank {from} sent it in {}: {text}", self.name_of(from, message.step)),
            )
        };
        first_lines(messages.map(line).collect())
    }

    fn left_over_messages(&self) -> Option<Counterexample> {
        let unexpected = |rank: usize| Some((rank, self.mailboxes.oldest(rank)?));
        let (rank, (from, tag, message)) = (0..self.call.ranks).find_map(unexpected)?;
        let size = count_in_words(message.values.len(), "element");
        let got = format!("a message of {size} from rank {from} (tag {tag}) left over");
        let (ranks, expected) = (vec![rank, from as usize], "every message to be received");
        let counterexample = Counterexample::new(Kind::LeftOverMessage, self.is_rendezvous, ranks, expected, got);
        Some(counterexample.with_details(self.unmatched_sends()))
    }

    /// Begins an operation: notes and checks its step. None if the step is wrong, which is then reported.
    fn begin(&mut self, at: At, verb: Verb, reads: Option<Span>, writes: Option<Span>) -> Option<usize> {
        let (number, is_wrong) = self.note(at.rank, at.now, verb, reads, writes);
        (!is_wrong).then_some(number)
    }

    /// Notes a step. Returns its number, and whether the step is wrong, which is then reported.
    fn note(
        &mut self,
        rank: usize,
        start: Moment,
        verb: Verb,
        reads: Option<Span>,
        writes: Option<Span>,
    ) -> (usize, bool) {
        let State { steps, place, .. } = &mut self.ranks[rank];
        let number = steps.len();
        steps.push(Step {
            verb,
            reads,
            writes,
            place: place.take(),
            start,
            id: self.step_count,
            arrivals: Set::default(),
            has_arrived: false,
            is_done: false,
            is_withdrawn: false,
            alike: None,
            is_after_alike: true,
        });
        self.step_count += 1;
        let counterexample = self.out_of_bounds(rank, number).or_else(|| self.write_to_input(rank, number));
        let counterexample = counterexample.or_else(|| self.overlap(rank, number));
        let counterexample =
            counterexample.or_else(|| self.race_of(rank, number)).or_else(|| self.ambiguity(rank, number));
        let counterexample = counterexample.or_else(|| self.runaway(rank));
        let is_wrong = counterexample.is_some();
        counterexample.into_iter().for_each(|counterexample| self.report(counterexample));
        (number, is_wrong)
    }

    fn out_of_bounds(&self, rank: usize, number: usize) -> Option<Counterexample> {
        let state = &self.ranks[rank];
        let step = &state.steps[number];
        let peer = match step.verb {
            Verb::Send(to, _) => Some(to),
            Verb::Recv(Source::Rank(from), _) => Some(from as usize),
            _ => None,
        };
        let ranks = self.call.ranks;
        let finding = |expected, got| self.counterexample(Kind::OutOfBounds, rank, number, expected, got);
        if let Some(peer) = peer.filter(|peer| *peer >= ranks) {
            return Some(finding(format!("a rank below {ranks}"), format!("rank {peer}")));
        }
        let is_outside = |span: &Span| span.offset + span.len > state.buffer(span.buffer).len();
        let span = [step.reads, step.writes].into_iter().flatten().find(is_outside)?;
        let room = state.buffer(span.buffer).len();
        Some(finding(format!("a span inside its buffer of {}", count_in_words(room, "element")), span.to_string()))
    }

    fn write_to_input(&self, rank: usize, number: usize) -> Option<Counterexample> {
        let state = &self.ranks[rank];
        let step = &state.steps[number];
        let target = step.writes.filter(|span| !self.call.may_write(rank, *span))?;
        let (expected, got) = ("the input to be only read".to_owned(), format!("{target} written"));
        let counterexample = self.counterexample(Kind::WriteToInput, rank, number, expected, got);
        Some(Counterexample { span: Some(target.to_string()), ..counterexample })
    }

    /// A copy or reduction whose operands share elements.
    fn overlap(&self, rank: usize, number: usize) -> Option<Counterexample> {
        let step = &self.ranks[rank].steps[number];
        let Overlap { expected, got } = Overlap::of(step.reads?, step.writes?)?;
        Some(self.counterexample(Kind::Overlap, rank, number, expected, got))
    }

    /// Counts a turn. Returns a counterexample if the program seems endless.
    fn runaway(&mut self, rank: usize) -> Option<Counterexample> {
        let call = self.call;
        let elements = call.input_len(rank) + call.result_len(rank);
        let most = self.choices.limits().most_steps + 10 * (call.ranks + elements);
        self.ranks[rank].turns += 1;
        (self.ranks[rank].turns > most).then(|| self.never_ends(rank, most))
    }

    /// An operation that does nothing and is no step.
    fn idle(&mut self, at: At) -> Progress {
        let Some(counterexample) = self.runaway(at.rank) else {
            return Progress::Done((at.now, Received { source: at.rank as u32, len: 1 }));
        };
        self.report(counterexample);
        Progress::Never
    }

    /// The ranks that `rank` knows to have come to the barrier.
    fn arrivals(&self, rank: usize, now: Moment) -> Set {
        if self.call.collective == Collective::Barrier {
            self.points.at(now).arrivals.insert(rank)
        } else {
            Set::default()
        }
    }

    /// The collective returns to its caller, who may now use the result and the input: noted as a step that never ends.
    fn leave(&mut self, rank: usize, now: Moment) {
        let call = self.call;
        if call.collective == Collective::Barrier
            && let Some(missing) = self.arrivals(rank, now).missing(call.ranks).next()
        {
            self.report(self.left_too_early(rank, missing));
        }
        let (step, _) = self.note(rank, now, Verb::Complete, None, None);
        let state = &mut self.ranks[rank];
        state.steps[step].is_done = true;
        state.has_left = true;
    }

    /// An earlier step of another branch with the same peer, tag and direction. New branches issue their messages in
    /// the order of the program; later, timing decides. For a receive that may be withdrawn in time, both orders are
    /// tried. Two empty messages may be swapped, except in a barrier, where messages tell which ranks have come.
    fn ambiguity(&mut self, rank: usize, number: usize) -> Option<Counterexample> {
        let State { steps, latest, .. } = &mut self.ranks[rank];
        let verb = steps[number].verb;
        if !matches!(verb, Verb::Send(..) | Verb::Recv(Source::Rank(_), _)) {
            return None;
        }
        let alike = latest.insert(verb, number);
        let step = &steps[number];
        let before = &self.points.at(step.start).steps;
        let is_barrier = self.call.collective == Collective::Barrier;
        let is_nothing = |step: &Step| !is_barrier && step.reads.or(step.writes).is_none_or(Span::is_empty);
        let is_other = |other: &Step| {
            !(other.is_withdrawn && matches!(other.verb, Verb::Recv(..)))
                && self.points.at(other.start).steps != *before
                && !(is_nothing(other) && is_nothing(step))
        };
        let is_end = |at: &usize| before.contains(*at) && steps[*at].is_after_alike;
        let under_way = successors(alike, |at| steps[*at].alike).take_while(|at| !is_end(at));
        let mut under_way = under_way.filter(|at| !before.contains(*at)).peekable();
        let is_after_alike = under_way.peek().is_none();
        let other = under_way.filter(|at| is_other(&steps[*at])).last();
        (steps[number].alike, steps[number].is_after_alike) = (alike, is_after_alike);
        let expected = "messages of the same two ranks and tag one after another";
        Some(self.concurrent(Kind::AmbiguousOrder, rank, number, other?, expected))
    }

    /// Two steps that must not be under way at the same time.
    fn concurrent(&self, kind: Kind, rank: usize, number: usize, other: usize, expected: &str) -> Counterexample {
        let got = "both in flight at the same time".to_owned();
        let mut counterexample = self.counterexample(kind, rank, number, expected.to_owned(), got);
        counterexample.details.insert(0, format!("{}: {}", self.name_of(rank, other), self.ranks[rank].steps[other]));
        counterexample
    }

    /// An earlier step that may be unfinished and uses the same elements, where one of the two writes them. In a
    /// schedule, messages order steps, too, and a receive writes when its message arrives.
    fn race_of(&mut self, rank: usize, number: usize) -> Option<Counterexample> {
        let State { steps, uses, .. } = &mut self.ranks[rank];
        let (step, has_tasks) = (&steps[number], self.points.has_tasks);
        let before = self.points.at(step.start);
        let is_pending = |one: &Step| has_tasks && matches!(one.verb, Verb::Recv(..)) && !one.has_arrived;
        let knows = |id: usize| has_tasks && (before.arrivals.contains(id) || step.arrivals.contains(id));
        let is_over = |at: usize| before.steps.contains(at) || knows(steps[at].id);
        if is_pending(step) || uses.add(number, step.spans(), is_over) {
            return None;
        }
        let is_race = |at: &usize| {
            let other = &steps[*at];
            *at != number && step.races(other) && !is_pending(other) && !is_over(*at)
        };
        let count = |_: &usize| self.work.set(self.work.get() + 1);
        let other = before.steps.missing(steps.len()).inspect(count).find(is_race)?;
        let expected = format!("{} to be finished before its elements are used again", self.name_of(rank, other));
        Some(self.concurrent(Kind::BufferRace, rank, number, other, &expected))
    }

    /// Ends a step. Returns the moment at which its branch continues.
    fn end_of(&mut self, at: At, step: usize) -> Moment {
        let ended_step = &mut self.ranks[at.rank].steps[step];
        ended_step.is_done = true;
        let History { steps, arrivals, is_racing } = self.points.at(at.now);
        let (steps, mut arrivals, is_racing) = (steps.insert(step), arrivals.union(&ended_step.arrivals), *is_racing);
        if self.points.has_tasks {
            arrivals = arrivals.insert(ended_step.id);
        }
        self.points.add(History { steps, arrivals, is_racing })
    }

    /// Opens a slot for a step that waits; the outcome may come at once.
    fn wait(&mut self, at: At, step: usize) -> Waiting {
        let slot = self.slots.open();
        let waiting = Waiting { rank: at.rank, slot, step, is_racing: self.points.at(at.now).is_racing };
        match self.waiting.get_mut(slot as usize) {
            Some(place) => *place = waiting,
            None => self.waiting.push(waiting),
        }
        waiting
    }

    /// A local operation is done; if it races, a decision tells when.
    fn end_local(&mut self, at: At, step: usize) -> Progress {
        if !self.points.at(at.now).is_racing {
            return Progress::Done((self.end_of(at, step), Received { source: at.rank as u32, len: 0 }));
        }
        let waiting = self.wait(at, step);
        self.complete_step(waiting, Received { source: at.rank as u32, len: 0 });
        Progress::Waits(waiting.slot)
    }

    fn send(&mut self, at: At, to: usize, data: Span, tag: Tag) -> Option<Progress> {
        let step = self.begin(at, Verb::Send(to, tag), Some(data), None)?;
        let values = self.ranks[at.rank].read(data).to_vec();
        let arrivals = if self.points.has_tasks {
            self.points.at(at.now).arrivals.insert(self.ranks[at.rank].steps[step].id)
        } else {
            self.arrivals(at.rank, at.now)
        };
        let waiting = self.wait(at, step);
        let (number, sender) = (self.sent, self.is_rendezvous.then_some(waiting));
        let message = Message { number, step, values, arrivals, sender };
        self.sent += 1;
        match self.mailboxes.take_receive(to, at.rank as u32, tag) {
            Some(posted) => self.transfer(at.rank, &posted, message),
            None => {
                self.mailboxes.hold(to, at.rank as u32, tag, message);
                self.has_news[to] = true;
            }
        }
        if !self.is_rendezvous {
            self.complete_step(waiting, Received { source: to as u32, len: data.len });
        }
        Some(Progress::Waits(waiting.slot))
    }

    fn receive(&mut self, at: At, from: Source, into: Span, tag: Tag) -> Option<Progress> {
        let step = self.begin(at, Verb::Recv(from, tag), None, Some(into))?;
        let waiting = self.wait(at, step);
        let posted = PostedReceive { waiting, into };
        let is_behind =
            |source: u32| self.undecided_operations.iter().any(|earlier| earlier.accepts(at.rank, source, tag));
        let is_undecided = match from {
            Source::Any => true,
            Source::Rank(source) => waiting.is_racing || is_behind(source),
        };
        if is_undecided {
            let what = What::Receive { into, source: from, tag };
            self.undecided_operations.push(UndecidedOperation { waiting, what, senders: Vec::new() });
            self.has_news[at.rank] = true;
        } else {
            match self.mailboxes.take_message(at.rank, from, tag) {
                Some((source, message)) => self.transfer(source as usize, &posted, message),
                None => self.mailboxes.wait(at.rank, from, tag, posted),
            }
        }
        Some(Progress::Waits(waiting.slot))
    }

    fn combine(&mut self, at: At, source: Span, target: Span, side: Side) -> Option<Progress> {
        let step = self.begin(at, Verb::Combine, Some(source), Some(target))?;
        let state = &self.ranks[at.rank];
        let (sources, targets) = (state.read(source), state.read(target));
        let is_undefined = |values: &[Value]| values.iter().position(|value| *value == Value::UNDEFINED);
        let undefined = is_undefined(sources)
            .map(|at| source.part(at, 1))
            .or_else(|| is_undefined(targets).map(|at| target.part(at, 1)));
        if let Some(span) = undefined {
            let (expected, got) = ("an operand that was written".to_owned(), format!("{span}, which never was"));
            self.report(self.counterexample(Kind::UndefinedOperand, at.rank, step, expected, got));
            return None;
        }
        let combine = |(source, target): (&Value, &Value)| match side {
            Side::Left => self.arena.combine(*source, *target),
            Side::Right => self.arena.combine(*target, *source),
        };
        let combined: Vec<_> = sources.iter().zip(targets).map(combine).collect();
        self.ranks[at.rank].write(target, combined);
        Some(self.end_local(at, step))
    }

    fn copy(&mut self, at: At, source: Span, target: Span) -> Option<Progress> {
        let step = self.begin(at, Verb::Copy, Some(source), Some(target))?;
        let state = &mut self.ranks[at.rank];
        let values = state.read(source).to_vec();
        state.write(target, values);
        Some(self.end_local(at, step))
    }
}

/// The steps and arrivals that have certainly happened before a branch continues.
#[derive(Clone, Default)]
struct History {
    /// The steps of its rank that are finished.
    steps: Set,
    /// The ranks known to have come to the barrier; in a schedule, the steps of all ranks that happened before.
    arrivals: Set,
    is_racing: bool,
}

/// The finished steps at each moment; the first word of a moment is the index. Index 0: none.
struct Points {
    all: Vec<History>,
    /// Why there is no room for more.
    refusal: Option<Error>,
    /// Whether branches are tasks of a schedule, whose numbers are the second words of moments.
    has_tasks: bool,
}

impl Points {
    fn at(&self, moment: Moment) -> &History {
        &self.all[moment.words()[0] as usize]
    }

    fn add(&mut self, history: History) -> Moment {
        match budget::room_for_one(&mut self.all, "the order of steps") {
            Ok(()) => self.all.push(history),
            Err(refusal) => self.refusal = Some(refusal),
        }
        Moment::of([self.all.len() as u64 - 1, 0])
    }
}

impl Moments for Points {
    fn later(&mut self, one: Moment, other: Moment) -> Moment {
        let (one, other) = (self.at(one), self.at(other));
        let (steps, arrivals) = (one.steps.union(&other.steps), one.arrivals.union(&other.arrivals));
        let is_racing = one.is_racing;
        self.add(History { steps, arrivals, is_racing })
    }

    fn branch(&mut self, start: Moment, index: usize) -> Moment {
        if self.has_tasks { Moment::of([start.words()[0], index as u64]) } else { start }
    }

    fn racing(&mut self, now: Moment) -> Moment {
        if self.has_tasks {
            return now;
        }
        let history = self.at(now).clone();
        self.add(History { is_racing: true, ..history })
    }
}

impl World for Symbolic<'_> {
    fn features(&self) -> Features {
        Features { has_moments: true, ..Features::PLAIN }
    }

    fn next(&mut self) -> Option<usize> {
        while self.finding.is_none() && !self.is_stopped(0) {
            if let Some(place) = self.ready.pop() {
                return Some(self.place(place));
            }
            if !self.decide() {
                self.conclude();
                break;
            }
        }
        None
    }

    fn issue(&mut self, at: At, step: &IssuedStep) -> Progress {
        if self.is_stopped(step.elements()) {
            return Progress::Never;
        }
        let progress = match *step {
            IssuedStep::Send { to, data, options } => self.send(at, to, data, options.tag),
            IssuedStep::Recv { from, into, tag } => self.receive(at, from, into, tag),
            IssuedStep::Combine { source, target, side } => self.combine(at, source, target, side),
            IssuedStep::Copy { source, target } if source != target => self.copy(at, source, target),
            IssuedStep::Compute { .. } => {
                self.begin(at, Verb::Compute, None, None).map(|step| self.end_local(at, step))
            }
            IssuedStep::Copy { .. }
            | IssuedStep::Wait { .. }
            | IssuedStep::Connect { .. }
            | IssuedStep::Disconnect { .. } => Some(self.idle(at)),
        };
        match progress.unwrap_or(Progress::Never) {
            Progress::Waits(slot) => self.take(at, slot).map_or(Progress::Waits(slot), Progress::Done),
            other => other,
        }
    }

    fn take(&mut self, at: At, ticket: u32) -> Option<Outcome> {
        let received = self.slots.take(ticket)?;
        let step = self.waiting[ticket as usize].step;
        Some((self.end_of(at, step), received))
    }

    fn withdraw(&mut self, rank: usize, ticket: u32) {
        let step = self.waiting[ticket as usize].step;
        self.ranks[rank].steps[step].is_withdrawn = true;
        self.slots.abandon(ticket);
        self.mailboxes.withdraw(rank, |posted| posted.waiting.slot == ticket);
        self.undecided_operations.retain(|undecided_operations| undecided_operations.waiting.slot != ticket);
        self.has_news[rank] = true;
    }

    fn scratch(&mut self, At { rank, .. }: At, len: usize) -> Span {
        let room = self.check_scratch(len);
        let scratch = &mut self.ranks[rank].scratch;
        let offset = scratch.len();
        match room {
            Ok(()) => scratch.resize(offset + len, Value::UNDEFINED),
            Err(refusal) => self.stop = Some(refusal),
        }
        Span { buffer: Buffer::Scratch, offset, len }
    }

    fn check_scratch(&self, len: usize) -> Result<()> {
        budget::check(format_args!("scratch of {len} elements"), (len * BYTES_OF_VALUE) as f64)
    }

    fn complete(&mut self, rank: usize, now: Moment) {
        self.leave(rank, now);
    }

    fn end(&mut self, rank: usize, now: Moment) {
        self.ranks[rank].end = Some(now);
    }

    fn fail(&mut self, rank: usize, why: &Failure) {
        self.report(self.failure(rank, why));
    }

    fn locate(&mut self, rank: usize, place: &'static str) {
        self.ranks[rank].place = Some(place);
    }

    fn moments(&mut self) -> &mut dyn Moments {
        &mut self.points
    }
}

#[cfg(test)]
mod tests {
    use hocket_core::Options;

    use super::*;
    use crate::choices::Limits;

    fn finding_kind(is_rendezvous: bool, steps: impl FnOnce(&mut Symbolic<'_>)) -> Option<Kind> {
        let call = Call::new(Collective::Allreduce, 2, 2);
        let (mut arena, mut choices) = (Arena::new(&call), Choices::new(Limits::default()));
        let mut world = Symbolic::new(&call, is_rendezvous, &mut arena, &mut choices, &|| false);
        steps(&mut world);
        while world.next().is_some() {}
        world.finding().map(|finding| finding.kind)
    }

    fn at(rank: usize) -> At {
        At { rank, now: Moment::default() }
    }

    const INPUT: Span = Span::new(Buffer::Input, 2);
    const RESULT: Span = Span::new(Buffer::Result, 2);

    fn recv(from: u32) -> IssuedStep {
        IssuedStep::Recv { from: Source::Rank(from), into: RESULT, tag: 0 }
    }

    #[test]
    fn two_receives_at_one_moment_race_for_one_span() {
        let kind = finding_kind(false, |world| {
            world.issue(at(0), &recv(1));
            assert_eq!(world.issue(at(0), &IssuedStep::Copy { source: INPUT, target: RESULT }), Progress::Never);
        });
        assert_eq!(kind, Some(Kind::BufferRace));
    }

    #[test]
    fn steps_one_after_the_other_do_not_race() {
        let kind = finding_kind(false, |world| {
            let copy = IssuedStep::Copy { source: INPUT, target: RESULT };
            let mut now = Moment::default();
            for _ in 0..2 {
                let Progress::Done((end, _)) = world.issue(At { rank: 0, now }, &copy) else { panic!("a copy waits") };
                now = end;
            }
            world.end(0, now);
            world.end(1, Moment::default());
        });
        assert_eq!(kind, None);
    }

    #[test]
    fn a_rendezvous_waits_for_its_receive_and_an_eager_send_is_left_over() {
        let send = |world: &mut Symbolic<'_>| {
            let step = IssuedStep::Send { to: 1, data: INPUT, options: Options::default() };
            let progress = world.issue(at(0), &step);
            if let Progress::Done((now, _)) = progress {
                world.end(0, now);
            }
            world.end(1, Moment::default());
        };
        assert_eq!(finding_kind(true, send), Some(Kind::Deadlock));
        assert_eq!(finding_kind(false, send), Some(Kind::LeftOverMessage));
    }
}

//! Columns of numbers → an application, in which every receive has its message and every collective call its algorithm.

use std::collections::VecDeque;

use hocket_algorithms::rules::Rules;
use hocket_core::{Error, Mode, Nodes, Result, Tag};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use super::application::{Action, Application, BLOCKING, Call, Message, RankCalls};
use super::collective_calls::{CollectiveCalls, Counts};
use super::collectives::{CallArguments, Collectives};

/// The tables that the numbers of the columns point into.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceTables {
    /// The file that the trace was read from.
    pub file: String,
    /// The names of functions.
    pub functions: Vec<String>,
    /// The members of each communicator.
    pub communicators: Vec<Vec<usize>>,
    /// The tag of each channel.
    pub tags: Vec<i64>,
    /// The collective calls as the ranks give them.
    pub collectives: Vec<CallArguments>,
}

/// The calls of one rank: a number per call in each column, in native byte order. The last column has the words of all
/// calls, as `hocket/replays.py` lists them.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// The time for which the rank computes before the call, in seconds: f64.
    pub compute_s: &'a [u8],
    /// Its function, as i64.
    pub functions: &'a [u8],
    /// Its line, as i64.
    pub lines: &'a [u8],
    /// Its action, as i64.
    pub words: &'a [u8],
}

fn numbers<const N: usize, T>(bytes: &[u8], number: fn([u8; N]) -> T) -> impl ExactSizeIterator<Item = T> {
    bytes.chunks_exact(N).map(move |chunk| number(chunk.try_into().expect("N bytes")))
}

/// Reads an application.
///
/// # Errors
/// A received message that was never sent, ranks that disagree on a collective, or a trace that is too large.
pub fn read(tables: TraceTables, columns: &[Columns<'_>], rules: &Rules, nodes: &Nodes) -> Result<Application> {
    let TraceTables { file, functions, communicators, tags, collectives } = tables;
    let application = Application {
        file,
        functions,
        ranks: Vec::new(),
        messages: Vec::new(),
        communicators,
        collectives: Collectives::default(),
    };
    let collective_calls = CollectiveCalls::new(&application.communicators);
    let mut reader = Reader { application, queues: FxHashMap::default(), sent: 0, collective_calls, tags };
    for (rank, columns) in columns.iter().enumerate() {
        let mut words = columns.words();
        (0..columns.calls()).for_each(|_| reader.send(rank as u32, &words.operation()));
    }
    for (rank, columns) in columns.iter().enumerate() {
        reader.rank(rank, columns)?;
    }
    let Reader { mut application, collective_calls, .. } = reader;
    application.collectives = collective_calls.resolve(&application, &collectives, rules, nodes)?;
    Ok(application)
}

impl Columns<'_> {
    fn calls(&self) -> usize {
        self.compute_s.len() / 8
    }

    fn words(&self) -> WordReader<impl Iterator<Item = i64>> {
        WordReader(numbers(self.words, i64::from_ne_bytes))
    }
}

/// Reads the words of one rank.
struct WordReader<I>(I);

impl<I: Iterator<Item = i64>> WordReader<I> {
    fn next(&mut self) -> i64 {
        self.0.next().expect("as many words as calls need")
    }

    fn small(&mut self) -> u32 {
        self.next() as u32
    }

    /// The action of the next call.
    fn operation(&mut self) -> Operation {
        match self.next() {
            0 => Operation::Nothing,
            1 => Operation::Send(self.sent_message(), self.small()),
            2 => Operation::Receive(self.origin(), self.small()),
            3 => Operation::Exchange(self.sent_message(), self.origin()),
            4 => Operation::Probe(self.origin(), self.next() != 0),
            5 => Operation::Wait(self.several(Self::small)),
            6 => Operation::Collective { communicator: self.small(), arguments: self.small(), request: self.small() },
            7 => Operation::Start(self.several(Self::operation)),
            8 => Operation::ReceiveProbed(self.origin(), self.small()),
            code => unreachable!("word {code}"),
        }
    }

    fn several<T>(&mut self, one: fn(&mut Self) -> T) -> Vec<T> {
        (0..self.next()).map(|_| one(self)).collect()
    }

    fn sent_message(&mut self) -> SentMessage {
        let (to, channel, bytes) = (self.small(), self.small(), self.next() as u64);
        let mode = [Mode::Standard, Mode::Synchronous, Mode::Posted][self.next() as usize];
        SentMessage { to, channel, bytes, mode }
    }

    fn origin(&mut self) -> Origin {
        Origin { from: self.small(), channel: self.small() }
    }
}

/// The action of a call, before its messages are known.
enum Operation {
    Nothing,
    Send(SentMessage, u32),
    Receive(Origin, u32),
    Exchange(SentMessage, Origin),
    /// The flag is true if other receives cannot take the message any more.
    Probe(Origin, bool),
    Wait(Vec<u32>),
    Collective {
        communicator: u32,
        arguments: u32,
        request: u32,
    },
    Start(Vec<Operation>),
    ReceiveProbed(Origin, u32),
}

#[derive(Clone, Copy)]
struct SentMessage {
    to: u32,
    channel: Tag,
    bytes: u64,
    mode: Mode,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Origin {
    from: u32,
    channel: Tag,
}

/// The source of a receive that is never completed.
const NOWHERE: u32 = u32::MAX;

struct Reader {
    application: Application,
    /// The messages of each sender, receiver and channel that have not been received yet, in order.
    queues: FxHashMap<(Origin, u32), VecDeque<u32>>,
    /// Number of messages that the calls so far have sent.
    sent: u32,
    collective_calls: CollectiveCalls,
    tags: Vec<i64>,
}

/// The state at a point of a rank's calls.
#[derive(Default)]
struct State {
    /// Messages for which a probe has waited already.
    probed_messages: FxHashSet<u32>,
    /// Messages that matched probes took and that have not been received yet.
    matched_messages: FxHashMap<Origin, VecDeque<u32>>,
    /// Requests for which a call can wait.
    active: FxHashSet<u32>,
    collectives: Counts,
}

impl Reader {
    /// Puts the messages of an operation into the queues of their receivers.
    fn send(&mut self, from: u32, operation: &Operation) {
        match operation {
            Operation::Send(sent, _) | Operation::Exchange(sent, _) => {
                let SentMessage { to, channel, bytes, mode } = *sent;
                let number = self.application.messages.len() as u32;
                self.application.messages.push(Message { from, to, channel, bytes, mode, is_received: false });
                self.queues.entry((Origin { from, channel }, to)).or_default().push_back(number);
            }
            Operation::Start(parts) => parts.iter().for_each(|part| self.send(from, part)),
            _ => {}
        }
    }

    fn rank(&mut self, rank: usize, columns: &Columns<'_>) -> Result<()> {
        let mut words = columns.words();
        let mut state = State::default();
        self.application.ranks.push(RankCalls::default());
        let times = numbers(columns.compute_s, f64::from_ne_bytes);
        let names = numbers(columns.functions, i64::from_ne_bytes).zip(numbers(columns.lines, i64::from_ne_bytes));
        for (compute_s, (function, line)) in times.zip(names) {
            let call = Call { compute_s, action: Action::Nothing, function: function as u32, line: line as u32 };
            let action = self.action(rank, &mut state, words.operation());
            let action = action.map_err(|origin| self.missing(rank, &call, origin))?;
            self.application.ranks[rank].calls.push(Call { action, ..call });
        }
        Ok(())
    }

    fn missing(&self, rank: usize, call: &Call, origin: Origin) -> Error {
        let call_name = self.application.describe(rank, call);
        let Origin { from, channel } = origin;
        let tag = self.tags[channel as usize];
        Error::new(format!(
            "{call_name} received a message from rank {from} with tag {tag}, but the trace has no matching send"
        ))
    }

    /// The action of an operation; or the expected message that was never sent.
    fn action(&mut self, rank: usize, state: &mut State, operation: Operation) -> std::result::Result<Action, Origin> {
        Ok(match operation {
            Operation::Nothing => Action::Nothing,
            Operation::Send(_, request) => {
                state.active.insert(request);
                Action::Send { message: self.next_sent(), request }
            }
            Operation::Receive(origin, _) if origin.from == NOWHERE => Action::Nothing,
            Operation::Receive(origin, request) => {
                let message = self.take(origin, rank)?;
                receive(state, message, request)
            }
            Operation::ReceiveProbed(origin, request) => {
                let probed_message = state.matched_messages.get_mut(&origin).and_then(VecDeque::pop_front);
                let message = probed_message.map_or_else(|| self.take(origin, rank), Ok)?;
                receive(state, message, request)
            }
            Operation::Exchange(_, origin) => {
                let (sent, received) = (self.next_sent(), self.take(origin, rank)?);
                match receive(state, received, BLOCKING) {
                    Action::Receive { .. } => Action::Exchange { sent, received },
                    _ => Action::Send { message: sent, request: BLOCKING },
                }
            }
            Operation::Probe(origin, is_matched) => {
                let message = if is_matched { self.take(origin, rank)? } else { self.look(origin, rank)? };
                if is_matched {
                    state.matched_messages.entry(origin).or_default().push_back(message);
                }
                self.application.messages[message as usize].is_received = true;
                if state.probed_messages.insert(message) {
                    Action::Receive { message, request: BLOCKING }
                } else {
                    Action::Nothing
                }
            }
            Operation::Wait(requests) => {
                let all = &mut self.application.ranks[rank].requests;
                let first = all.len() as u32;
                all.extend(requests.into_iter().filter(|request| state.active.remove(request)));
                Action::Wait { first, count: all.len() as u32 - first }
            }
            Operation::Collective { communicator, arguments, request } => {
                state.active.insert(request);
                let (instance, place) = self.collective_calls.tell(
                    &self.application,
                    rank,
                    &mut state.collectives,
                    (communicator, arguments),
                );
                Action::Collective { instance, place, request }
            }
            Operation::Start(parts) => {
                let actions: std::result::Result<Vec<_>, _> =
                    parts.into_iter().map(|part| self.action(rank, state, part)).collect();
                let (all, actions) = (&mut self.application.ranks[rank].parts, actions?);
                let first = all.len() as u32;
                all.extend(&actions);
                Action::Start { first, count: actions.len() as u32 }
            }
        })
    }

    fn next_sent(&mut self) -> u32 {
        self.sent += 1;
        self.sent - 1
    }

    /// Takes the earliest message for `rank`.
    fn take(&mut self, origin: Origin, rank: usize) -> std::result::Result<u32, Origin> {
        let message = self.look(origin, rank)?;
        self.queues.get_mut(&(origin, rank as u32)).and_then(VecDeque::pop_front);
        self.application.messages[message as usize].is_received = true;
        Ok(message)
    }

    /// The earliest message for `rank`.
    fn look(&self, origin: Origin, rank: usize) -> std::result::Result<u32, Origin> {
        self.queues.get(&(origin, rank as u32)).and_then(VecDeque::front).copied().ok_or(origin)
    }
}

/// Receives a message, unless a probe has waited for it.
fn receive(state: &mut State, message: u32, request: u32) -> Action {
    if state.probed_messages.remove(&message) {
        return Action::Nothing;
    }
    state.active.insert(request);
    Action::Receive { message, request }
}

//! Columns of numbers → an application, in which every receive has its message and every collective call its algorithm.

use std::collections::VecDeque;

use hocket_algorithms::rules::Rules;
use hocket_core::{Error, Mode, Nodes, Result, Tag};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use super::application::{Action, Application, BLOCKING, Call, Message, RankCalls};
use super::collectives::{Collectives, Said};
use super::together::{Counts, Together};

/// The meaning of the columns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meaning {
    /// The file that the trace was read from.
    pub file: String,
    /// The names of functions.
    pub functions: Vec<String>,
    /// The members of each communicator.
    pub communicators: Vec<Vec<usize>>,
    /// The tag of each channel.
    pub tags: Vec<i64>,
    /// The collective calls as the ranks give them.
    pub collectives: Vec<Said>,
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
pub fn read(meaning: Meaning, columns: &[Columns<'_>], rules: &Rules, nodes: &Nodes) -> Result<Application> {
    let Meaning { file, functions, communicators, tags, collectives } = meaning;
    let application = Application {
        file,
        functions,
        ranks: Vec::new(),
        messages: Vec::new(),
        communicators,
        collectives: Collectives::default(),
    };
    let together = Together::new(&application.communicators);
    let mut reader = Reader { application, queues: FxHashMap::default(), sent: 0, together, tags };
    for (rank, columns) in columns.iter().enumerate() {
        let mut words = columns.words();
        (0..columns.calls()).for_each(|_| reader.send(rank as u32, &words.operation()));
    }
    for (rank, columns) in columns.iter().enumerate() {
        reader.rank(rank, columns)?;
    }
    let Reader { mut application, together, .. } = reader;
    application.collectives = together.resolve(&application, &collectives, rules, nodes)?;
    Ok(application)
}

impl Columns<'_> {
    fn calls(&self) -> usize {
        self.compute_s.len() / 8
    }

    fn words(&self) -> Words<impl Iterator<Item = i64>> {
        Words(numbers(self.words, i64::from_ne_bytes))
    }
}

/// Reads the words of one rank.
struct Words<I>(I);

impl<I: Iterator<Item = i64>> Words<I> {
    fn next(&mut self) -> i64 {
        self.0.next().expect("as many words as calls need")
    }

    fn whole(&mut self) -> u64 {
        self.next() as u64
    }

    fn small(&mut self) -> u32 {
        self.next() as u32
    }

    /// The action of the next call.
    fn operation(&mut self) -> Operation {
        match self.next() {
            0 => Operation::Nothing,
            1 => Operation::Send(self.sent(), self.small()),
            2 => Operation::Receive(self.taken(), self.small()),
            3 => Operation::Exchange(self.sent(), self.taken()),
            4 => Operation::Probe(self.taken(), self.next() != 0),
            5 => Operation::Wait(self.several(Self::small)),
            6 => Operation::Collective { communicator: self.small(), said: self.small(), request: self.small() },
            7 => Operation::Start(self.several(Self::operation)),
            8 => Operation::ReceiveProbed(self.taken(), self.small()),
            code => unreachable!("word {code}"),
        }
    }

    fn several<T>(&mut self, one: fn(&mut Self) -> T) -> Vec<T> {
        (0..self.next()).map(|_| one(self)).collect()
    }

    fn sent(&mut self) -> Sent {
        let (to, channel, bytes) = (self.small(), self.small(), self.whole());
        let mode = [Mode::Standard, Mode::Synchronous, Mode::Posted][self.next() as usize];
        Sent { to, channel, bytes, mode }
    }

    fn taken(&mut self) -> Taken {
        Taken { from: self.small(), channel: self.small() }
    }
}

/// The action of a call, before its messages are known.
enum Operation {
    Nothing,
    Send(Sent, u32),
    Receive(Taken, u32),
    Exchange(Sent, Taken),
    /// The flag is true if other receives cannot take the message any more.
    Probe(Taken, bool),
    Wait(Vec<u32>),
    Collective {
        communicator: u32,
        said: u32,
        request: u32,
    },
    Start(Vec<Operation>),
    ReceiveProbed(Taken, u32),
}

#[derive(Clone, Copy)]
struct Sent {
    to: u32,
    channel: Tag,
    bytes: u64,
    mode: Mode,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Taken {
    from: u32,
    channel: Tag,
}

/// The source of a receive that is never completed.
const NOWHERE: u32 = u32::MAX;

struct Reader {
    application: Application,
    /// The messages of each sender, receiver and channel that have not been received yet, in order.
    queues: FxHashMap<(Taken, u32), VecDeque<u32>>,
    /// Number of messages that the calls so far have sent.
    sent: u32,
    together: Together,
    tags: Vec<i64>,
}

/// The state at a point of a rank's calls.
#[derive(Default)]
struct State {
    /// Messages for which a probe has waited already.
    probed: FxHashSet<u32>,
    /// Messages that matched probes took and that have not been received yet.
    matched: FxHashMap<Taken, VecDeque<u32>>,
    /// Requests for which a call can wait.
    active: FxHashSet<u32>,
    collectives: Counts,
}

impl Reader {
    /// Puts the messages of an operation into the queues of their receivers.
    fn send(&mut self, from: u32, operation: &Operation) {
        match operation {
            Operation::Send(sent, _) | Operation::Exchange(sent, _) => {
                let Sent { to, channel, bytes, mode } = *sent;
                let number = self.application.messages.len() as u32;
                self.application.messages.push(Message { from, to, channel, bytes, mode, is_received: false });
                self.queues.entry((Taken { from, channel }, to)).or_default().push_back(number);
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
            let taken = self.action(rank, &mut state, words.operation());
            let action = taken.map_err(|taken| self.missing(rank, &call, taken))?;
            self.application.ranks[rank].calls.push(Call { action, ..call });
        }
        Ok(())
    }

    fn missing(&self, rank: usize, call: &Call, taken: Taken) -> Error {
        let told = self.application.told(rank, call);
        let Taken { from, channel } = taken;
        let tag = self.tags[channel as usize];
        Error::new(format!(
            "{told} received a message from rank {from} with tag {tag}, but the trace has no matching send"
        ))
    }

    /// The action of an operation; or the expected message that was never sent.
    fn action(&mut self, rank: usize, state: &mut State, operation: Operation) -> std::result::Result<Action, Taken> {
        Ok(match operation {
            Operation::Nothing => Action::Nothing,
            Operation::Send(_, request) => {
                state.active.insert(request);
                Action::Send { message: self.next_sent(), request }
            }
            Operation::Receive(taken, _) if taken.from == NOWHERE => Action::Nothing,
            Operation::Receive(taken, request) => {
                let message = self.take(taken, rank)?;
                receive(state, message, request)
            }
            Operation::ReceiveProbed(taken, request) => {
                let message = match state.matched.get_mut(&taken).and_then(VecDeque::pop_front) {
                    Some(message) => message,
                    None => self.take(taken, rank)?,
                };
                receive(state, message, request)
            }
            Operation::Exchange(_, taken) => {
                let (sent, received) = (self.next_sent(), self.take(taken, rank)?);
                match receive(state, received, BLOCKING) {
                    Action::Receive { .. } => Action::Exchange { sent, received },
                    _ => Action::Send { message: sent, request: BLOCKING },
                }
            }
            Operation::Probe(taken, is_matched) => {
                let message = if is_matched { self.take(taken, rank)? } else { self.look(taken, rank)? };
                if is_matched {
                    state.matched.entry(taken).or_default().push_back(message);
                }
                self.application.messages[message as usize].is_received = true;
                if state.probed.insert(message) {
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
            Operation::Collective { communicator, said, request } => {
                state.active.insert(request);
                let (instance, place) =
                    self.together.tell(&self.application, rank, &mut state.collectives, (communicator, said));
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
    fn take(&mut self, taken: Taken, rank: usize) -> std::result::Result<u32, Taken> {
        let message = self.look(taken, rank)?;
        self.queues.get_mut(&(taken, rank as u32)).and_then(VecDeque::pop_front);
        self.application.messages[message as usize].is_received = true;
        Ok(message)
    }

    /// The earliest message for `rank`.
    fn look(&self, taken: Taken, rank: usize) -> std::result::Result<u32, Taken> {
        self.queues.get(&(taken, rank as u32)).and_then(VecDeque::front).copied().ok_or(taken)
    }
}

/// Receives a message, unless a probe has waited for it.
fn receive(state: &mut State, message: u32, request: u32) -> Action {
    if state.probed.remove(&message) {
        return Action::Nothing;
    }
    state.active.insert(request);
    Action::Receive { message, request }
}

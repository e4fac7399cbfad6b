//! An application's calls in a compact form: the actions of each rank, with their messages.

use hocket_core::{Mode, Tag};

use super::collectives::Collectives;

/// The calls of every rank of an application.
pub struct Application {
    /// The file it was read from.
    pub file: String,
    /// The names of its functions.
    pub functions: Vec<String>,
    pub ranks: Vec<RankCalls>,
    pub messages: Vec<Message>,
    /// The members of each communicator, in their order.
    pub communicators: Vec<Vec<usize>>,
    pub collectives: Collectives,
}

/// The calls of one rank.
#[derive(Default)]
pub struct RankCalls {
    pub calls: Vec<Call>,
    /// The operations of calls that start several.
    pub parts: Vec<Action>,
    /// The requests that calls wait for.
    pub requests: Vec<u32>,
}

/// One call of a rank.
pub struct Call {
    /// The time for which the rank computes before the call, in seconds.
    pub compute_s: f64,
    pub action: Action,
    /// The index in [`Application::functions`].
    pub function: u32,
    /// The line of the trace; 0 if there is none.
    pub line: u32,
}

/// The operation of a call. Started operations have a request; others have [`BLOCKING`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    Nothing,
    Send {
        message: u32,
        request: u32,
    },
    Receive {
        message: u32,
        request: u32,
    },
    Exchange {
        sent: u32,
        received: u32,
    },
    /// Starts `count` of the rank's parts from `first` on.
    Start {
        first: u32,
        count: u32,
    },
    /// Waits for `count` of the rank's requests from `first` on.
    Wait {
        first: u32,
        count: u32,
    },
    Collective {
        instance: u32,
        place: u32,
        request: u32,
    },
}

/// The request of operations that are done before the call returns.
pub const BLOCKING: u32 = u32::MAX;

/// A message from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    pub from: u32,
    pub to: u32,
    /// Its communicator and its tag.
    pub channel: Tag,
    pub bytes: u64,
    pub mode: Mode,
    pub is_received: bool,
}

impl Application {
    /// The name of a line of the trace in errors.
    pub fn place(&self, rank: usize, line: u32) -> String {
        let line = if line > 0 { format!(", line {line}") } else { String::new() };
        format!("{}, rank {rank}{line}", self.file)
    }

    /// The name of a call in errors.
    pub fn describe(&self, rank: usize, call: &Call) -> String {
        format!("{}: {}", self.place(rank, call.line), self.functions[call.function as usize])
    }

    /// The operations of a call in order.
    pub fn actions<'a>(&'a self, rank: usize, call: &'a Call) -> &'a [Action] {
        match call.action {
            Action::Start { first, count } => &self.ranks[rank].parts[first as usize..(first + count) as usize],
            _ => std::slice::from_ref(&call.action),
        }
    }

    /// `count` requests from `first` on.
    pub fn requests(&self, rank: usize, first: u32, count: u32) -> &[u32] {
        &self.ranks[rank].requests[first as usize..(first + count) as usize]
    }
}

//! A running program: started, resumed when messages have ended, and restarted for the next equal call.

use std::ffi::c_void;
use std::rc::Rc;
use std::time::Duration;

use hocket_algorithms::Entry;
use hocket_core::{Call, Repeated};

use crate::buffers::Layout;
use crate::transport::{Failure, Transport};
use crate::world::Process;

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It waits for messages.
    Waits,
    /// Its result is complete, and no message is under way.
    Done,
    /// A function of the caller failed.
    Failed(Failure),
}

/// One algorithm for one call; used by one thread at a time.
pub struct Operation {
    program: Repeated,
    process: Rc<Process>,
    /// Its algorithm.
    pub entry: &'static Entry,
    /// The rule that chose it; empty without one.
    pub(crate) rule: &'static str,
    /// Its call, with the algorithm's parameters.
    pub(crate) call: Rc<Call>,
    /// The layout of the call's elements in memory.
    pub(crate) layout: Layout,
    /// Whether the call returns before it is complete.
    pub(crate) is_nonblocking: bool,
}

impl Operation {
    /// The program of `entry` for a blocking call that it has accepted, not yet started.
    pub fn new(entry: &'static Entry, call: Call, layout: Layout, rank: usize, transport: Transport) -> Self {
        let process = Rc::new(Process::new(rank, call.ranks, call.commutative, layout, transport));
        let call = Rc::new(call);
        let program = Repeated::new(entry.program(), process.clone(), call.clone());
        Self { program, process, entry, rule: "", call, layout, is_nonblocking: false }
    }

    /// Starts the program on these buffers; the transport's functions are called with `user`.
    pub fn start(&mut self, user: *mut c_void, input: *mut u8, result: *mut u8) {
        self.process.world.borrow_mut().restart(user, input, result);
        self.program.restart();
        self.resume();
    }

    /// Continues as far as possible. If it `may_wait`, it waits for messages when nothing else is possible.
    pub fn advance(&mut self, may_wait: bool) -> Progress {
        while self.state() == Progress::Waits {
            let has_news = self.process.world.borrow_mut().look(may_wait);
            let is_computing = self.process.world.borrow().is_computing();
            if has_news || is_computing {
                self.resume();
            }
            if !(has_news || is_computing && may_wait) {
                break;
            }
        }
        let state = self.state();
        if state == Progress::Done {
            self.process.world.borrow_mut().end();
        }
        state
    }

    /// The time since which the result of this rank has been complete; zero if the program has not said so.
    pub fn complete_for(&self) -> Duration {
        self.process.world.borrow().complete_for().unwrap_or_default()
    }

    fn state(&self) -> Progress {
        let world = self.process.world.borrow();
        match world.failure() {
            Some(failure) => Progress::Failed(failure),
            None if self.program.has_ended() && world.is_idle() => Progress::Done,
            None => Progress::Waits,
        }
    }

    fn resume(&mut self) {
        self.program.resume();
        self.process.world.borrow_mut().note_poll();
    }
}

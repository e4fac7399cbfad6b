//! A program on its way: started, resumed when messages have ended, and started anew for the next call like it.

use std::ffi::c_void;
use std::pin::Pin;
use std::rc::Rc;

use hocket_algorithms::{Entry, Visitor, with_program};
use hocket_core::{Again, Call, Program};

use crate::engine::Kind;
use crate::rank::EngineRank;
use crate::transport::{Failure, Transport};

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It waits for messages.
    Waits,
    /// Its result is there, and nothing is under way.
    Done,
    /// A function of the caller's failed.
    Failed(Failure),
}

/// One algorithm for one call; used by one thread at a time.
pub struct Operation {
    program: Box<dyn Restart>,
    again: Again,
    rank: Rc<EngineRank>,
    has_ended: bool,
    /// Its algorithm.
    pub entry: &'static Entry,
    /// The calls it is for.
    pub kind: Kind,
}

impl Operation {
    /// The program of `entry` for a call that it accepts, not yet started.
    pub fn new(entry: &'static Entry, call: Call, kind: Kind, rank: usize, transport: Transport) -> Self {
        let rank = Rc::new(EngineRank::new(rank, call.ranks, call.commutative, kind.layout, transport));
        let program = with_program(entry, Resident { rank: rank.clone(), call: Rc::new(call) });
        Self { program, again: Again::default(), rank, has_ended: true, entry, kind }
    }

    /// Starts it on these buffers; `user` is what the transport's functions are called with.
    pub fn start(&mut self, user: *mut c_void, input: *mut u8, result: *mut u8) {
        self.rank.restart(user, input, result);
        self.program.restart();
        self.has_ended = false;
        self.resume();
    }

    /// Goes on as far as it can. If it `may_wait`, it waits for messages when it can do nothing else.
    pub fn advance(&mut self, may_wait: bool) -> Progress {
        while self.state() == Progress::Waits {
            let has_news = self.rank.look(may_wait);
            let is_computing = self.rank.is_computing();
            if has_news || is_computing {
                self.resume();
            }
            if !(has_news || is_computing && may_wait) {
                break;
            }
        }
        let state = self.state();
        if state == Progress::Done {
            self.rank.end();
        }
        state
    }

    fn state(&self) -> Progress {
        match self.rank.failure() {
            Some(failure) => Progress::Failed(failure),
            None if self.has_ended && self.rank.is_idle() => Progress::Done,
            None => Progress::Waits,
        }
    }

    fn resume(&mut self) {
        self.has_ended = self.has_ended || self.program.resume(&self.again);
        self.rank.polled();
    }
}

/// A program that can be started anew without allocating memory.
trait Restart {
    fn restart(&mut self);
    /// Whether it has ended.
    fn resume(&mut self, again: &Again) -> bool;
}

struct Running<M, F> {
    make: M,
    future: Pin<Box<Option<F>>>,
}

impl<M: Fn() -> F, F: Future<Output = ()>> Restart for Running<M, F> {
    fn restart(&mut self) {
        self.future.set(Some((self.make)()));
    }

    fn resume(&mut self, again: &Again) -> bool {
        let Some(program) = self.future.as_mut().as_pin_mut() else { return true };
        let has_ended = again.poll(program).is_ready();
        if has_ended {
            self.future.set(None);
        }
        has_ended
    }
}

/// Makes a program of the catalogue that owns its rank and its call.
struct Resident {
    rank: Rc<EngineRank>,
    call: Rc<Call>,
}

impl Visitor for Resident {
    type Output = Box<dyn Restart>;

    fn visit(self, program: &(impl Program + 'static)) -> Box<dyn Restart> {
        resident(forever(program), self)
    }
}

fn resident<P: Program + 'static>(program: &'static P, Resident { rank, call }: Resident) -> Box<dyn Restart> {
    let make = move || {
        let (rank, call) = (rank.clone(), call.clone());
        async move { program.run(&*rank, &call).await }
    };
    Box::new(Running { make, future: Box::pin(None) })
}

/// The programs of the catalogue have no data: any place is theirs, for ever.
#[allow(unsafe_code)]
fn forever<P: Program + 'static>(program: &P) -> &'static P {
    assert_eq!(size_of::<P>(), 0, "a program of the catalogue has no data");
    // SAFETY: a reference to nothing is valid for ever.
    unsafe { &*std::ptr::from_ref(program) }
}

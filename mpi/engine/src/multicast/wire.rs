//! The messages of all multicasts of a domain, through one table of functions. Each end is reported with its purpose.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::members::Members;
use crate::transport::{ANY_SOURCE, Completion, Failure, Link, Transport};

/// The role of a message in its domain.
#[derive(Clone)]
pub enum Purpose {
    /// A header that arrived.
    Header,
    /// A payload that arrived from the master.
    Payload(u64),
    /// An acknowledgement that arrived from a child.
    Ack(u64),
    /// The report to the master that a multicast is complete.
    Complete(u64),
    /// A member's header or acknowledgement that left.
    Told(u64),
    /// The master's header or payload that left.
    Issued(u64),
    /// A program's message: its lane, its slot there, and whether it was received.
    Program(Rc<Lane>, u32, bool),
}

/// A message that has ended: its purpose; if received, its sender and number of bytes.
pub struct Event {
    pub purpose: Purpose,
    pub source: usize,
    pub count: usize,
}

/// Sends and receives all messages of a domain.
pub struct Wire {
    table: Transport,
    user: *mut c_void,
    under_way: RefCell<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    purposes: Vec<Option<Purpose>>,
    free: Vec<u32>,
}

impl UnderWay {
    fn open(&mut self, purpose: Purpose) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.purposes.push(None);
            (self.purposes.len() - 1) as u32
        });
        self.purposes[slot as usize] = Some(purpose);
        slot
    }

    fn close(&mut self, slot: u32) -> Option<Purpose> {
        let purpose = self.purposes.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(purpose)
    }
}

/// The largest number of ended messages taken at a time.
const ENDED_AT_A_LOOK: usize = 64;

impl Wire {
    pub fn new(table: Transport, user: *mut c_void) -> Self {
        Self { table, user, under_way: RefCell::default() }
    }

    /// Starts to send; `data` must not move.
    pub fn send(&self, purpose: Purpose, data: &[u8], to: usize, tag: u32) -> Result<(), Failure> {
        self.link(self.user).send(self.open(purpose), data.as_ptr(), data.len(), to, tag)
    }

    /// Starts to receive up to `room` bytes, from a rank or from any.
    pub fn receive(
        &self,
        purpose: Purpose,
        into: *mut u8,
        room: usize,
        from: Option<usize>,
        tag: u32,
    ) -> Result<(), Failure> {
        let from = from.map_or(ANY_SOURCE, |rank| rank as i32);
        self.link(self.user).receive(self.open(purpose), into, room, from, tag)
    }

    /// Takes ended messages; messages of programs also go to their lanes. If it `may_wait`, it waits for one.
    pub fn look(&self, may_wait: bool) -> Result<Vec<Event>, Failure> {
        let mut room = [Completion::default(); ENDED_AT_A_LOOK];
        let mut events = Vec::new();
        for Completion { slot, source, count } in self.link(self.user).test(may_wait, &mut room)? {
            let Some(purpose) = self.under_way.borrow_mut().close(*slot) else { continue };
            if let Purpose::Program(lane, inner, has_come) = &purpose {
                lane.note_completion(*inner, if *has_come { *source as usize } else { usize::MAX }, *count);
            }
            events.push(Event { purpose, source: *source as usize, count: *count });
        }
        Ok(events)
    }

    fn open(&self, purpose: Purpose) -> u32 {
        self.under_way.borrow_mut().open(purpose)
    }

    fn link(&self, user: *mut c_void) -> Link<'_> {
        Link { table: &self.table, user }
    }
}

/// A program's messages among the members of a multicast: the `user` with which operations call [`LANE`].
pub struct Lane {
    /// The multicast.
    pub id: u64,
    wire: Rc<Wire>,
    members: Rc<Members>,
    first_tag: u32,
    tags: u32,
    /// The argument of the caller's functions.
    user: Cell<*mut c_void>,
    completions: RefCell<VecDeque<Completion>>,
}

/// The failure of a program that uses more tags than a lane has.
pub const TOO_MANY_TAGS: Failure = -3;

impl Lane {
    /// A lane with `tags` tags from `first_tag` on.
    pub fn new(id: u64, wire: Rc<Wire>, members: Rc<Members>, (first_tag, tags): (u32, u32)) -> Rc<Self> {
        let user = Cell::new(wire.user);
        Rc::new(Self { id, wire, members, first_tag, tags, user, completions: RefCell::default() })
    }

    /// Sets the `user` for the caller's functions.
    pub fn set_user(&self, user: *mut c_void) {
        self.user.set(user);
    }

    /// The `user` of an operation on this lane; the lane must outlive the operation.
    pub fn as_user(self: &Rc<Self>) -> *mut c_void {
        Rc::as_ptr(self).cast_mut().cast()
    }

    fn note_completion(&self, slot: u32, source: usize, count: usize) {
        let source = self.members.logical(source).unwrap_or_default() as u32;
        self.completions.borrow_mut().push_back(Completion { slot, source, count });
    }

    fn link(&self) -> Link<'_> {
        self.wire.link(self.user.get())
    }

    fn tag(&self, tag: u32) -> Result<u32, Failure> {
        if tag < self.tags { Ok(self.first_tag + tag) } else { Err(TOO_MANY_TAGS) }
    }

    fn start(self: Rc<Self>, slot: u32, has_come: bool) -> u32 {
        let wire = self.wire.clone();
        wire.open(Purpose::Program(self, slot, has_come))
    }
}

/// The functions of a lane.
pub const LANE: Transport = Transport { send, receive, test, reduce, copy };

fn code(outcome: Result<(), Failure>) -> c_int {
    outcome.err().unwrap_or(0)
}

#[allow(unsafe_code)]
fn lane(user: *mut c_void) -> Rc<Lane> {
    let lane: *const Lane = user.cast_const().cast();
    // SAFETY: operations are started with `as_user` of a lane that their flight holds.
    unsafe {
        Rc::increment_strong_count(lane);
        Rc::from_raw(lane)
    }
}

#[allow(unsafe_code)]
unsafe extern "C" fn send(user: *mut c_void, slot: u32, data: *const c_void, count: usize, to: i32, tag: u32) -> c_int {
    let lane = lane(user);
    let start = |tag| {
        let slot = lane.clone().start(slot, false);
        lane.link().send(slot, data.cast(), count, lane.members.rank(to as usize), tag)
    };
    code(lane.tag(tag).and_then(start))
}

#[allow(unsafe_code)]
unsafe extern "C" fn receive(
    user: *mut c_void,
    slot: u32,
    into: *mut c_void,
    count: usize,
    from: i32,
    tag: u32,
) -> c_int {
    let lane = lane(user);
    let from = if from == ANY_SOURCE { ANY_SOURCE } else { lane.members.rank(from as usize) as i32 };
    let start = |tag| {
        let slot = lane.clone().start(slot, true);
        lane.link().receive(slot, into.cast(), count, from, tag)
    };
    code(lane.tag(tag).and_then(start))
}

#[allow(unsafe_code)]
unsafe extern "C" fn test(
    user: *mut c_void,
    _: c_int,
    completions: *mut Completion,
    room: usize,
    count: *mut usize,
) -> c_int {
    let lane = lane(user);
    let waiting = &mut *lane.completions.borrow_mut();
    let available = room.min(waiting.len());
    for (index, one) in waiting.drain(..available).enumerate() {
        // SAFETY: there is room for this many.
        unsafe { *completions.add(index) = one };
    }
    // SAFETY: the operation gives a valid pointer.
    unsafe { *count = available };
    0
}

#[allow(unsafe_code)]
unsafe extern "C" fn reduce(user: *mut c_void, source: *const c_void, target: *mut c_void, count: usize) -> c_int {
    code(lane(user).link().reduce(source.cast(), target.cast(), count))
}

#[allow(unsafe_code)]
unsafe extern "C" fn copy(user: *mut c_void, source: *const c_void, target: *mut c_void, count: usize) -> c_int {
    let lane = lane(user);
    code(lane.link().copy(source.cast(), target.cast(), count))
}

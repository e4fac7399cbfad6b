//! Running a program on real data.

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::task::Poll;

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{
    Buffer, Call, Error, Options, Program, Rank, Ranks, ReadyRanks, Received, Result, Side, Source, Span, Tag, budget,
};

use crate::Operator;

/// Runs `program` on `inputs`, one byte vector per rank, and returns each rank's result.
///
/// Sends are buffered: they never wait. `operator` is needed by collectives that reduce.
///
/// # Errors
/// Inputs of the wrong number or length, a message longer than its receive, a write to an input, or ranks that wait for ever.
pub fn run(
    program: &impl Program,
    call: &Call,
    operator: Option<&Operator>,
    inputs: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>> {
    run_with_circuits(program, call, operator, inputs, Circuits::default())
}

/// What programs are told of circuits, which messages do not need here.
#[derive(Clone, Copy, Debug)]
pub struct Circuits {
    /// How many a program should open ahead of its messages.
    pub ports: Option<usize>,
    /// Whether a rank that connects to a peer gets its circuit.
    pub opens: fn(usize, usize) -> bool,
}

impl Default for Circuits {
    /// There are none.
    fn default() -> Self {
        Self { ports: None, opens: |_, _| true }
    }
}

/// As [`run`], for programs that are to open circuits ahead.
///
/// # Errors
/// As there.
pub fn run_with_circuits(
    program: &impl Program,
    call: &Call,
    operator: Option<&Operator>,
    inputs: &[Vec<u8>],
    circuits: Circuits,
) -> Result<Vec<Vec<u8>>> {
    call.check()?;
    check_inputs(call, inputs)?;
    check_room(call)?;
    let world = World {
        call,
        operator,
        ranks: (0..call.ranks).map(|rank| RefCell::new(State::new(call, rank, &inputs[rank]))).collect(),
        mailboxes: RefCell::new(Mailboxes::new(call.ranks)),
        receives: RefCell::default(),
        ready: ReadyRanks::all(call.ranks),
        failure: RefCell::new(None),
        circuits,
    };
    let handles: Vec<_> = (0..call.ranks).map(|rank| MemoryRank { world: &world, rank }).collect();
    let mut programs = Ranks::new(handles.iter().map(|r| program.run(r, call)));
    while let Some(rank) = world.ready.pop() {
        programs.resume(rank);
    }
    if let Some(failure) = world.failure.take() {
        return Err(failure);
    }
    if let Some(rank) = (0..call.ranks).find(|rank| !programs.has_ended(*rank)) {
        return Err(Error::new(format!("rank {rank} waits for ever for a message")));
    }
    Ok((0..call.ranks).map(|rank| world.ranks[rank].borrow().read(call, call.result_of(rank)).to_vec()).collect())
}

fn check_inputs(call: &Call, inputs: &[Vec<u8>]) -> Result<()> {
    if inputs.len() != call.ranks {
        return Err(Error::new(format!("inputs: got {}, expected one per rank ({})", inputs.len(), call.ranks)));
    }
    for (rank, input) in inputs.iter().enumerate() {
        let expected = call.input_len(rank) * call.element_bytes;
        if input.len() != expected {
            return Err(Error::new(format!("input of rank {rank}: got {} bytes, expected {expected}", input.len())));
        }
    }
    Ok(())
}

/// Whether there is memory for a copy of each input, and for each result twice: it is handed out as a copy.
fn check_room(call: &Call) -> Result<()> {
    let elements = |rank| (call.input_len(rank) + 2 * call.result_room(rank)) as f64;
    let bytes = (0..call.ranks).map(elements).sum::<f64>() * call.element_bytes as f64;
    budget::check(format_args!("the results of {} ranks", call.ranks), bytes)
}

struct World<'a> {
    call: &'a Call,
    operator: Option<&'a Operator>,
    ranks: Vec<RefCell<State>>,
    mailboxes: RefCell<Mailboxes<Vec<u8>, Posted>>,
    receives: RefCell<Slots<Received>>,
    ready: ReadyRanks,
    failure: RefCell<Option<Error>>,
    circuits: Circuits,
}

struct Posted {
    slot: u32,
    into: Span,
}

#[derive(Default)]
struct State {
    input: Vec<u8>,
    result: Vec<u8>,
    scratch: Vec<u8>,
}

impl State {
    fn new(call: &Call, rank: usize, input: &[u8]) -> Self {
        let bytes = call.element_bytes;
        let mut state = Self { result: vec![0; call.result_room(rank) * bytes], ..Self::default() };
        let span = call.input_of(rank);
        match span.buffer {
            Buffer::Input => state.input = input.to_vec(),
            _ => state.result[span.offset * bytes..][..input.len()].copy_from_slice(input),
        }
        state
    }

    fn buffer(&mut self, buffer: Buffer) -> &mut Vec<u8> {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Result => &mut self.result,
            Buffer::Scratch => &mut self.scratch,
        }
    }

    fn read(&self, call: &Call, span: Span) -> &[u8] {
        let buffer = match span.buffer {
            Buffer::Input => &self.input,
            Buffer::Result => &self.result,
            Buffer::Scratch => &self.scratch,
        };
        &buffer[span.offset * call.element_bytes..][..span.len * call.element_bytes]
    }

    fn write(&mut self, call: &Call, span: Span) -> &mut [u8] {
        &mut self.buffer(span.buffer)[span.offset * call.element_bytes..][..span.len * call.element_bytes]
    }
}

struct MemoryRank<'a> {
    world: &'a World<'a>,
    rank: usize,
}

impl MemoryRank<'_> {
    /// Puts an arrived message into the span of its receive.
    fn deliver(&self, to: usize, from: usize, message: &[u8], posted: &Posted) {
        let call = self.world.call;
        let len = message.len() / call.element_bytes;
        if len > posted.into.len {
            let room = posted.into.len;
            let text = format!("rank {to} receives {len} elements from rank {from} into a span of {room}");
            self.world.failure.borrow_mut().get_or_insert(Error::new(text));
            return;
        }
        let mut state = self.world.ranks[to].borrow_mut();
        state.write(call, posted.into.part(0, len)).copy_from_slice(message);
        self.world.receives.borrow_mut().fill(posted.slot, Received { source: from, len });
        self.world.ready.push(to);
    }

    /// Whether an operation may write `target`; one that may not is what the run fails with.
    fn may_write(&self, target: Span, operation: &str) -> bool {
        let may_write = self.world.call.may_write(self.rank, target);
        if !may_write {
            let text = format!("rank {}: {operation} writes {target}, expected the input to be only read", self.rank);
            self.world.failure.borrow_mut().get_or_insert(Error::new(text));
        }
        may_write
    }
}

/// Takes a receive back when its future is dropped before a message came.
struct Withdraw<'a> {
    rank: &'a MemoryRank<'a>,
    slot: u32,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        let world = self.rank.world;
        world.receives.borrow_mut().abandon(self.slot);
        world.mailboxes.borrow_mut().withdraw(self.rank.rank, |posted| posted.slot == self.slot);
    }
}

impl Rank for MemoryRank<'_> {
    type Moment = ();

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.call.ranks
    }

    fn scratch(&self, len: usize) -> Span {
        let bytes = self.world.call.element_bytes;
        let scratch = &mut self.world.ranks[self.rank].borrow_mut().scratch;
        let offset = scratch.len() / bytes;
        scratch.resize(scratch.len() + len * bytes, 0xAA);
        Span { buffer: Buffer::Scratch, offset, len }
    }

    fn check_scratch(&self, len: usize) -> Result<()> {
        budget::check(format_args!("scratch of {len} elements"), len as f64 * self.world.call.element_bytes as f64)
    }

    async fn send_with(&self, to: usize, data: Span, options: Options) {
        let message = self.world.ranks[self.rank].borrow().read(self.world.call, data).to_vec();
        let posted = self.world.mailboxes.borrow_mut().take_receive(to, self.rank as u32, options.tag);
        match posted {
            Some(posted) => self.deliver(to, self.rank, &message, &posted),
            None => {
                self.world.mailboxes.borrow_mut().hold(to, self.rank as u32, options.tag, message);
            }
        }
    }

    async fn recv_with(&self, from: Source, into: Span, tag: Tag) -> Received {
        if !self.may_write(into, "recv") {
            pending::<()>().await;
        }
        let slot = self.world.receives.borrow_mut().open();
        let posted = Posted { slot, into };
        let message = self.world.mailboxes.borrow_mut().take_message(self.rank, from, tag);
        match message {
            Some((source, message)) => self.deliver(self.rank, source as usize, &message, &posted),
            None => self.world.mailboxes.borrow_mut().wait(self.rank, from, tag, posted),
        }
        let guard = Withdraw { rank: self, slot };
        let received =
            poll_fn(|_| self.world.receives.borrow_mut().take(slot).map_or(Poll::Pending, Poll::Ready)).await;
        std::mem::forget(guard);
        received
    }

    async fn combine(&self, source: Span, target: Span, side: Side) {
        let Some(operator) = self.world.operator else {
            self.world.failure.borrow_mut().get_or_insert(Error::new("operator: none given, and the program reduces"));
            return;
        };
        if !self.may_write(target, "combine") {
            return;
        }
        let mut state = self.world.ranks[self.rank].borrow_mut();
        let source = state.read(self.world.call, source).to_vec();
        operator.apply(&source, state.write(self.world.call, target), side);
    }

    async fn copy(&self, source: Span, target: Span) {
        if source == target || !self.may_write(target, "copy") {
            return;
        }
        let mut state = self.world.ranks[self.rank].borrow_mut();
        let source = state.read(self.world.call, source).to_vec();
        state.write(self.world.call, target).copy_from_slice(&source);
    }

    async fn compute(&self, _time_s: f64) {}

    async fn connect(&self, peer: usize) -> bool {
        (self.world.circuits.opens)(self.rank, peer)
    }

    fn ports(&self) -> Option<usize> {
        self.world.circuits.ports
    }

    fn moment(&self) {}

    fn set_moment(&self, (): ()) {}
}

//! Runs of a program on real data.

use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{
    AnyProgram, At, Buffer, Call, Error, Features, Moment, Outcome, Progress, ReadyRanks, Received, Result, Side,
    Source, Span, Step, Tag, World, budget, ensure, run as run_in,
};

use crate::Operator;

/// Runs `program` on `inputs`, one byte vector per rank. Returns each rank's result.
///
/// Sends are buffered and never wait. Collectives that reduce need an `operator`.
///
/// # Errors
/// Inputs of the wrong number or length, a message longer than its receive, a write to an input, or a deadlock.
pub fn run(
    program: &dyn AnyProgram,
    call: &Call,
    operator: Option<&Operator>,
    inputs: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>> {
    run_with_circuits(program, call, operator, inputs, Circuits::default())
}

/// The circuits that programs see; messages need none here.
#[derive(Clone, Copy, Debug)]
pub struct Circuits {
    /// Number of circuits that a program should open ahead of its messages.
    pub ports: Option<usize>,
    /// Whether a rank that connects to a peer gets its circuit.
    pub opens: fn(usize, usize) -> bool,
}

impl Default for Circuits {
    /// No circuits.
    fn default() -> Self {
        Self { ports: None, opens: |_, _| true }
    }
}

/// As [`run`], for programs that open circuits ahead.
pub fn run_with_circuits(
    program: &dyn AnyProgram,
    call: &Call,
    operator: Option<&Operator>,
    inputs: &[Vec<u8>],
    circuits: Circuits,
) -> Result<Vec<Vec<u8>>> {
    call.check()?;
    check_inputs(call, inputs)?;
    check_room(call)?;
    let world = run_in(program, call, InMemory::new(call, operator, inputs, circuits));
    if let Some(failure) = world.failure {
        return Err(failure);
    }
    if let Some(rank) = world.ranks.iter().position(|state| !state.has_ended) {
        return Err(Error::new(format!("rank {rank} waits for ever for a message")));
    }
    let results = world.ranks.iter().enumerate();
    Ok(results.map(|(rank, state)| state.read(call, call.result_of(rank)).to_vec()).collect())
}

fn check_inputs(call: &Call, inputs: &[Vec<u8>]) -> Result<()> {
    ensure(inputs.len() == call.ranks, || {
        format!("inputs: got {}, expected one per rank ({})", inputs.len(), call.ranks)
    })?;
    for (rank, input) in inputs.iter().enumerate() {
        let expected = call.input_len(rank) * call.element_bytes;
        ensure(input.len() == expected, || {
            format!("input of rank {rank}: got {} bytes, expected {expected}", input.len())
        })?;
    }
    Ok(())
}

/// Checks that there is memory for a copy of each input and two copies of each result, one of which is returned.
fn check_room(call: &Call) -> Result<()> {
    let elements = |rank| (call.input_len(rank) + 2 * call.result_room(rank)) as f64;
    let bytes = (0..call.ranks).map(elements).sum::<f64>() * call.element_bytes as f64;
    budget::check(format_args!("the results of {} ranks", call.ranks), bytes)
}

struct InMemory<'a> {
    call: &'a Call,
    operator: Option<&'a Operator>,
    ranks: Vec<State>,
    mailboxes: Mailboxes<Vec<u8>, Posted>,
    receives: Slots<Received>,
    ready: ReadyRanks,
    failure: Option<Error>,
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
    has_ended: bool,
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

impl<'a> InMemory<'a> {
    fn new(call: &'a Call, operator: Option<&'a Operator>, inputs: &[Vec<u8>], circuits: Circuits) -> Self {
        Self {
            call,
            operator,
            ranks: inputs.iter().enumerate().map(|(rank, input)| State::new(call, rank, input)).collect(),
            mailboxes: Mailboxes::new(call.ranks),
            receives: Slots::default(),
            ready: ReadyRanks::all(call.ranks),
            failure: None,
            circuits,
        }
    }

    fn fail(&mut self, text: impl FnOnce() -> String) {
        self.failure.get_or_insert_with(|| Error::new(text()));
    }

    /// Puts an arrived message into the span of its receive.
    fn deliver(&mut self, to: usize, from: usize, message: &[u8], posted: &Posted) {
        let len = message.len() / self.call.element_bytes;
        let room = posted.into.len;
        if len > room {
            return self.fail(|| format!("rank {to} receives {len} elements from rank {from}, expected at most {room}, the length of the receive's span"));
        }
        self.ranks[to].write(self.call, posted.into.part(0, len)).copy_from_slice(message);
        self.receives.fill(posted.slot, Received { source: from as u32, len });
        self.ready.push(to);
    }

    /// Whether an operation may write `target`; if not, the run fails.
    fn may_write(&mut self, rank: usize, target: Span, operation: &str) -> bool {
        let may_write = self.call.may_write(rank, target);
        if !may_write {
            self.fail(|| {
                format!("rank {rank}: {operation} writes {target}, expected a program that only reads the input")
            });
        }
        may_write
    }

    fn send(&mut self, rank: usize, to: usize, data: Span, tag: Tag) {
        let message = self.ranks[rank].read(self.call, data).to_vec();
        match self.mailboxes.take_receive(to, rank as u32, tag) {
            Some(posted) => self.deliver(to, rank, &message, &posted),
            None => {
                self.mailboxes.hold(to, rank as u32, tag, message);
            }
        }
    }

    fn receive(&mut self, rank: usize, from: Source, into: Span, tag: Tag) -> Option<u32> {
        if !self.may_write(rank, into, "recv") {
            return None;
        }
        let slot = self.receives.open();
        let posted = Posted { slot, into };
        match self.mailboxes.take_message(rank, from, tag) {
            Some((source, message)) => self.deliver(rank, source as usize, &message, &posted),
            None => self.mailboxes.wait(rank, from, tag, posted),
        }
        Some(slot)
    }

    fn combine(&mut self, rank: usize, source: Span, target: Span, side: Side) {
        let Some(operator) = self.operator else {
            return self
                .fail(|| "operator: got none, expected an operator, as the program combines elements".to_owned());
        };
        if self.may_write(rank, target, "combine") {
            let state = &mut self.ranks[rank];
            let source = state.read(self.call, source).to_vec();
            operator.apply(&source, state.write(self.call, target), side);
        }
    }

    fn copy(&mut self, rank: usize, source: Span, target: Span) {
        if source != target && self.may_write(rank, target, "copy") {
            let state = &mut self.ranks[rank];
            let source = state.read(self.call, source).to_vec();
            state.write(self.call, target).copy_from_slice(&source);
        }
    }
}

impl World for InMemory<'_> {
    fn features(&self) -> Features {
        Features { circuits: self.circuits.ports, ..Features::PLAIN }
    }

    fn next(&mut self) -> Option<usize> {
        self.ready.pop()
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        let rank = at.rank;
        let mut received = Received { source: rank as u32, len: 1 };
        match *step {
            Step::Send { to, data, options } => self.send(rank, to, data, options.tag),
            Step::Recv { from, into, tag } => {
                let Some(slot) = self.receive(rank, from, into, tag) else { return Progress::Never };
                match self.receives.take(slot) {
                    Some(message) => received = message,
                    None => return Progress::Waits(slot),
                }
            }
            Step::Combine { source, target, side } => self.combine(rank, source, target, side),
            Step::Copy { source, target } => self.copy(rank, source, target),
            Step::Compute { .. } | Step::Wait { .. } | Step::Disconnect { .. } => {}
            Step::Connect { peer } => received.len = usize::from((self.circuits.opens)(rank, peer)),
        }
        Progress::Done((at.now, received))
    }

    fn take(&mut self, at: At, ticket: u32) -> Option<Outcome> {
        Some((at.now, self.receives.take(ticket)?))
    }

    fn withdraw(&mut self, rank: usize, ticket: u32) {
        self.receives.abandon(ticket);
        self.mailboxes.withdraw(rank, |posted| posted.slot == ticket);
    }

    fn scratch(&mut self, At { rank, .. }: At, len: usize) -> Span {
        let bytes = self.call.element_bytes;
        let scratch = &mut self.ranks[rank].scratch;
        let offset = scratch.len() / bytes;
        scratch.resize(scratch.len() + len * bytes, 0xAA);
        Span { buffer: Buffer::Scratch, offset, len }
    }

    fn check_scratch(&self, len: usize) -> Result<()> {
        budget::check(format_args!("scratch of {len} elements"), len as f64 * self.call.element_bytes as f64)
    }

    fn end(&mut self, rank: usize, _: Moment) {
        self.ranks[rank].has_ended = true;
    }
}

#[cfg(test)]
mod tests {
    use hocket_core::{Collective, Options};

    use super::*;

    const WHOLE: Span = Span::new(Buffer::Result, 2);

    fn world(call: &Call) -> InMemory<'_> {
        let inputs: Vec<_> = (0..call.ranks).map(|rank| vec![rank as u8 + 1; 2]).collect();
        InMemory::new(call, None, &inputs, Circuits::default())
    }

    fn at(rank: usize) -> At {
        At { rank, now: Moment::default() }
    }

    fn send(to: usize) -> Step {
        Step::Send { to, data: Span::new(Buffer::Input, 2), options: Options::default() }
    }

    fn recv(from: u32) -> Step {
        Step::Recv { from: Source::Rank(from), into: WHOLE, tag: 0 }
    }

    #[test]
    fn a_message_and_its_receive_meet_whichever_comes_first() {
        let call = Call::new(Collective::Allreduce, 3, 2);
        let mut world = world(&call);
        assert!(matches!(world.issue(at(1), &send(0)), Progress::Done(_)));
        let early = world.issue(at(0), &recv(1));
        assert_eq!(early, Progress::Done((Moment::default(), Received { source: 1, len: 2 })));
        assert_eq!(world.ranks[0].result, [2, 2]);

        let Progress::Waits(ticket) = world.issue(at(0), &recv(2)) else { panic!("there is no message yet") };
        assert_eq!(world.take(at(0), ticket), None);
        world.issue(at(2), &send(0));
        assert_eq!(world.take(at(0), ticket).map(|(_, received)| received), Some(Received { source: 2, len: 2 }));
        assert_eq!(world.ranks[0].result, [3, 3]);
    }

    #[test]
    fn a_receive_that_was_withdrawn_leaves_the_message_to_the_next_one() {
        let call = Call::new(Collective::Allreduce, 2, 2);
        let mut world = world(&call);
        let Progress::Waits(ticket) = world.issue(at(0), &recv(1)) else { panic!("there is no message yet") };
        world.withdraw(0, ticket);
        world.issue(at(1), &send(0));
        assert!(matches!(world.issue(at(0), &recv(1)), Progress::Done(_)));
    }

    #[test]
    fn the_input_is_only_read() {
        let call = Call::new(Collective::Allreduce, 2, 2);
        let mut world = world(&call);
        let step = Step::Recv { from: Source::Any, into: Span::new(Buffer::Input, 2), tag: 0 };
        assert_eq!(world.issue(at(0), &step), Progress::Never);
        assert!(
            world
                .failure
                .is_some_and(|failure| failure.to_string().contains("expected a program that only reads the input"))
        );
    }
}

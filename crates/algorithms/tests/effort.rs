//! What programs cost, whatever the world: the memory of a rank, and how often a message is asked for.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hocket_algorithms::find;
use hocket_core::matching::{Mailboxes, Slots};
use hocket_core::{At, Buffer, Call, Collective, Outcome, Progress, ReadyRanks, Received, Span, Step, World, run};

/// Counts the bytes that each thread holds, but for those of worlds.
struct Counting;

thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static IS_IN_WORLD: Cell<bool> = const { Cell::new(false) };
}

fn count(bytes: isize) {
    if !IS_IN_WORLD.get() {
        BYTES.set(BYTES.get() + bytes);
    }
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Layout) -> *mut u8 {
        count(memory.size() as isize);
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, at: *mut u8, memory: Layout) {
        count(-(memory.size() as isize));
        unsafe { System.dealloc(at, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Sends are done at once.
struct Eager {
    mailboxes: Mailboxes<usize, u32>,
    receives: Slots<Received>,
    ready: ReadyRanks,
    messages: usize,
    takes: usize,
    most_bytes: isize,
}

impl Eager {
    fn new(ranks: usize) -> Self {
        let (mailboxes, receives, ready) = (Mailboxes::new(ranks), Slots::default(), ReadyRanks::all(ranks));
        Self { mailboxes, receives, ready, messages: 0, takes: 0, most_bytes: BYTES.get() }
    }

    fn perform(&mut self, At { rank, now }: At, step: &Step) -> Progress {
        let mut received = Received { source: rank as u32, len: 1 };
        match *step {
            Step::Send { to, data, options } => {
                self.messages += 1;
                match self.mailboxes.take_receive(to, rank as u32, options.tag) {
                    Some(ticket) => {
                        self.receives.fill(ticket, Received { len: data.len, ..received });
                        self.ready.push(to);
                    }
                    None => self.mailboxes.hold(to, rank as u32, options.tag, data.len),
                }
            }
            Step::Recv { from, tag, .. } => match self.mailboxes.take_message(rank, from, tag) {
                Some((source, len)) => received = Received { source, len },
                None => {
                    let ticket = self.receives.open();
                    self.mailboxes.wait(rank, from, tag, ticket);
                    return Progress::Waits(ticket);
                }
            },
            _ => (),
        }
        Progress::Done((now, received))
    }
}

impl World for Eager {
    fn next(&mut self) -> Option<usize> {
        self.most_bytes = self.most_bytes.max(BYTES.get());
        self.ready.pop()
    }

    fn issue(&mut self, at: At, step: &Step) -> Progress {
        IS_IN_WORLD.set(true);
        let progress = self.perform(at, step);
        IS_IN_WORLD.set(false);
        progress
    }

    fn take(&mut self, at: At, ticket: u32) -> Option<Outcome> {
        self.takes += 1;
        Some((at.now, self.receives.take(ticket)?))
    }

    fn scratch(&mut self, _: At, len: usize) -> Span {
        Span::new(Buffer::Scratch, len)
    }
}

#[test]
fn a_program_takes_little_memory_and_asks_seldom() {
    const RANKS: usize = 64;
    // Bytes of a rank, and how often it asks for the outcomes of 1000 messages.
    let cases =
        [("edge_disjoint_trees", 4972, 648), ("trinaryx3", 2349, 80), ("double_tree", 2597, 344), ("ring", 557, 15)];
    for (name, bytes, takes) in cases {
        let entry = find(Collective::Allreduce, name).unwrap();
        let declared = |name: &str| entry.about.parameters.iter().any(|parameter| parameter.name == name);
        let values = [("x", 4), ("y", 4), ("z", 4), ("segment", 4096)].map(|(name, value)| (name.to_owned(), value));
        let values: Vec<_> = values.into_iter().filter(|(name, _)| declared(name)).collect();
        let call = Call { element_bytes: 8, ..Call::new(Collective::Allreduce, RANKS, 1 << 16) };
        let (call, before) = (entry.accept(&call, &values).unwrap(), BYTES.get());
        let world = run(entry.program(), &call, Eager::new(RANKS));
        let found = [(world.most_bytes - before) as usize / RANKS, 1000 * world.takes / world.messages];
        for (found, expected) in found.into_iter().zip([bytes, takes]) {
            assert!(10 * found < 11 * expected, "{name}: {found}, expected {expected}");
        }
    }
}

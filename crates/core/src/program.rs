//! Programs, and running them in a world.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::executor::{FEW, Poller};
use crate::rank::{Rank, Ranks};
use crate::rank_state::{RankState, RankStates, SharedWorld};
use crate::world::World;
use crate::{Call, Moment, Result, Symmetry, budget};

/// The steps of all ranks in one collective call. Ranks may run on different threads.
pub trait Program: Sync {
    /// The steps of rank `r` in call `c`.
    fn run(&self, r: &Rank<'_>, c: &Call) -> impl Future<Output = ()>;
    /// A symmetry of the program in call `c`, if it is known to have one: of its messages, with their lengths, and of
    /// its work; of its copies only `with_copies`.
    fn symmetry(&self, _c: &Call, _with_copies: bool) -> Option<Symmetry> {
        None
    }
}

/// The steps of one rank.
pub type Steps<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Any program. Worlds take programs through this trait, so that programs and worlds are compiled once each.
pub trait AnyProgram: Sync {
    /// As [`Program::symmetry`].
    fn symmetry(&self, call: &Call, with_copies: bool) -> Option<Symmetry>;
    /// The memory that the program of one rank takes, in bytes.
    fn bytes_of_a_rank(&self) -> usize;
    /// The steps of one rank, also as a part of another program.
    fn steps<'a>(&'a self, r: &'a Rank<'a>, call: &'a Call) -> Steps<'a>;
    /// The program of one rank, not yet begun, to be begun several times.
    fn restartable<'a>(&'a self, r: &'a Rank<'a>, call: &'a Call) -> Box<dyn Restartable + 'a>;
}

/// The program of one rank, which is begun again in the same memory.
pub trait Restartable {
    /// Begins the program, from its start.
    fn begin(&mut self);
    /// Resumes the program, and drops it when it ends. Ready at once if it is not begun.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;
}

/// A world of which this process is one rank.
pub trait ProcessWorld {
    /// The world, with its number of ranks.
    fn shared_world(&self) -> SharedWorld<'_>;
    /// The rank of this process.
    fn rank(&self) -> usize;
}

impl<P: Program> AnyProgram for P {
    fn symmetry(&self, call: &Call, with_copies: bool) -> Option<Symmetry> {
        Program::symmetry(self, call, with_copies)
    }

    fn bytes_of_a_rank(&self) -> usize {
        fn bytes<'a, F>(_: impl FnOnce(&'a Rank<'a>, &'a Call) -> F) -> usize {
            size_of::<F>()
        }
        bytes(|r, c| self.run(r, c))
    }

    fn steps<'a>(&'a self, r: &'a Rank<'a>, call: &'a Call) -> Steps<'a> {
        Box::pin(self.run(r, call))
    }

    fn restartable<'a>(&'a self, r: &'a Rank<'a>, call: &'a Call) -> Box<dyn Restartable + 'a> {
        Box::new(Remade { make: move || self.run(r, call), program: Box::pin(None) })
    }
}

/// The memory of a program, and what makes the program.
struct Remade<M, F> {
    make: M,
    program: Pin<Box<Option<F>>>,
}

impl<M: Fn() -> F, F: Future<Output = ()>> Restartable for Remade<M, F> {
    fn begin(&mut self) {
        self.program.set(Some((self.make)()));
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(program) = self.program.as_mut().as_pin_mut() else { return Poll::Ready(()) };
        let poll = program.poll(context);
        if poll.is_ready() {
            self.program.set(None);
        }
        poll
    }
}

/// The program of this process in one call, which can be started anew without allocating memory.
pub struct Repeated {
    world: Rc<dyn ProcessWorld>,
    run_state: Rc<Cell<RunState>>,
    /// Never ends: it waits for the next start.
    runs: Steps<'static>,
    poller: Poller,
}

#[derive(Clone, Copy, PartialEq)]
enum RunState {
    Starts,
    Runs,
    Ended,
}

impl Repeated {
    /// The program in `world`, not yet started.
    pub fn new(program: &'static dyn AnyProgram, world: Rc<dyn ProcessWorld>, call: Rc<Call>) -> Self {
        let run_state = Rc::new(Cell::new(RunState::Ended));
        let runs = Box::pin(all_runs(program, world.clone(), call, run_state.clone()));
        Self { world, run_state, runs, poller: Poller::default() }
    }

    /// Starts the program again.
    pub fn restart(&mut self) {
        self.run_state.set(RunState::Starts);
    }

    /// Resumes the program until it waits or ends. No effect on an ended program.
    pub fn resume(&mut self) {
        if !self.has_ended() {
            let poll_again = || self.world.shared_world().poll_again(self.world.rank());
            let _ = self.poller.poll(self.runs.as_mut(), poll_again);
        }
    }

    /// Whether the program has ended, or was never started.
    pub fn has_ended(&self) -> bool {
        self.run_state.get() == RunState::Ended
    }
}

/// Runs the program whenever `run_state` says that it starts.
async fn all_runs(
    program: &dyn AnyProgram,
    world: Rc<dyn ProcessWorld>,
    call: Rc<Call>,
    run_state: Rc<Cell<RunState>>,
) {
    let shared_world = world.shared_world();
    let rank_state = RankState::new(&shared_world, world.rank());
    let rank = Rank::new(&rank_state);
    let mut program = program.restartable(&rank, &call);
    poll_fn(|context| {
        if run_state.replace(RunState::Runs) == RunState::Starts {
            rank_state.begin(world.rank());
            program.begin();
        }
        if program.poll(context).is_ready() {
            run_state.set(RunState::Ended);
        }
        // After its end, the program may be polled once more: one of its branches woke another at the last step.
        Poll::Pending
    })
    .await
}

/// The programs of all ranks. Those that have begun and not ended take a slot, the slot of their state.
struct Programs<'a> {
    program: &'a dyn AnyProgram,
    call: &'a Call,
    ranks: &'a Ranks<'a>,
    slots: Vec<Option<Steps<'a>>>,
    /// Slots without a program, taken again from the last: it is still in the cache.
    free: Vec<u32>,
    /// Each rank's slot, [`NEW`] or [`ENDED`].
    places: Box<[u32]>,
    poller: Poller,
}

/// In place of a slot: the rank has not begun.
const NEW: u32 = u32::MAX;
/// In place of a slot: the rank has ended.
const ENDED: u32 = u32::MAX - 1;

impl<'a> Programs<'a> {
    fn new(program: &'a dyn AnyProgram, call: &'a Call, ranks: &'a Ranks<'a>) -> Self {
        let places = vec![NEW; ranks.size()].into_boxed_slice();
        Self { program, call, ranks, slots: Vec::new(), free: Vec::new(), places, poller: Poller::default() }
    }

    /// Starts or resumes `rank` until it waits or ends. Returns the moment of its end if it ends now.
    fn resume(&mut self, rank: usize) -> Option<Moment> {
        let slot = match self.places[rank] {
            ENDED => return None,
            NEW => self.begin(rank),
            slot => slot,
        };
        let steps = &mut self.slots[slot as usize];
        let poll = self.poller.poll(steps.as_mut()?.as_mut(), || self.ranks.poll_again(rank));
        poll.is_ready().then(|| {
            *steps = None;
            self.free.push(slot);
            self.places[rank] = ENDED;
            self.ranks.moment(slot as usize)
        })
    }

    /// Makes the program of a rank. Returns its slot.
    fn begin(&mut self, rank: usize) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(self.program.steps(self.ranks.begin_rank(slot as usize, rank), self.call));
        self.places[rank] = slot;
        slot
    }
}

/// Refuses a call if there is no memory for the programs of the `ranks` that run and the `kept_bytes` per rank of a
/// world. The programs of many ranks count only if all of them must run at the same time.
pub fn check_ranks(program: &dyn AnyProgram, call: &Call, ranks: usize, kept_bytes: usize) -> Result<()> {
    let are_at_once = call.ranks <= FEW || call.waits_for_all();
    let program_bytes =
        program.bytes_of_a_rank() + size_of::<Option<Steps<'_>>>() + size_of::<RankState<'_>>() + size_of::<Rank<'_>>();
    let each_bytes = kept_bytes + if are_at_once { program_bytes } else { size_of::<u32>() };
    budget::check(format_args!("{} ranks", call.ranks), ranks as f64 * each_bytes as f64)
}

/// Runs `program` on all ranks of `world` until none can go on. Returns the world, which knows all ends.
pub fn run<W: World>(program: &dyn AnyProgram, call: &Call, world: W) -> W {
    let world = RefCell::new(world);
    {
        let shared_world = SharedWorld::new(&world, call.ranks);
        let rank_states = RankStates::new(&shared_world);
        let ranks = Ranks::new(&rank_states);
        let mut programs = Programs::new(program, call, &ranks);
        loop {
            let Some(rank) = world.borrow_mut().next() else { break };
            if let Some(end) = programs.resume(rank) {
                world.borrow_mut().end(rank, end);
            }
        }
    }
    world.into_inner()
}

//! Programs, and running them in a world.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use crate::executor::{Again, FEW, PinnedSlots};
use crate::rank::{Rank, Ranks};
use crate::seat::{Ground, Seat, Seats};
use crate::world::World;
use crate::{Call, Moment, Result, Symmetry, budget};

/// The steps of all ranks in one collective call. Ranks may run on different threads.
pub trait Program: Sync {
    /// The steps of rank `r` in call `c`.
    fn run(&self, r: &Rank<'_>, c: &Call) -> impl Future<Output = ()>;
    /// A symmetry of the program in call `c`, if it is known to have one: of its messages, with their lengths, and of
    /// its work.
    fn symmetry(&self, _c: &Call) -> Option<Symmetry> {
        None
    }
}

/// Any program. Worlds take programs through this trait, so that programs and worlds are compiled once each.
pub trait AnyProgram: Sync {
    /// As [`Program::symmetry`].
    fn symmetry(&self, call: &Call) -> Option<Symmetry>;
    /// The memory that the program of one rank takes, in bytes.
    fn bytes_of_a_rank(&self) -> usize;
    /// The programs of all ranks of a world, not yet started.
    fn on<'a>(&'a self, ranks: &'a Ranks<'a>, call: &'a Call) -> Box<dyn Fleet + 'a>;
    /// The program of one rank, as a part of another program.
    fn part<'a>(&'a self, r: &'a Rank<'a>, call: &'a Call) -> Pin<Box<dyn Future<Output = ()> + 'a>>;
    /// The program of one rank of its world, for repeated runs of the same call.
    fn repeated(&'static self, world: Rc<dyn Home>, call: Rc<Call>) -> Box<dyn Repeated>;
}

/// The programs of all ranks, each resumed by its number.
pub trait Fleet {
    /// Starts or resumes `rank` until it waits or ends. Returns the moment of its end if it ends now.
    fn resume(&mut self, rank: usize) -> Option<Moment>;
}

/// A program that can be started anew without allocating memory.
pub trait Repeated {
    /// Starts the program again.
    fn restart(&mut self);
    /// Resumes the program until it waits or ends. Returns true if it has ended now. No effect on an ended program.
    fn resume(&mut self, again: &Again) -> bool;
}

/// A world of which this process is one rank.
pub trait Home {
    /// The world, with its number of ranks.
    fn ground(&self) -> Ground<'_>;
    /// The rank of this process.
    fn rank(&self) -> usize;
}

impl<P: Program> AnyProgram for P {
    fn symmetry(&self, call: &Call) -> Option<Symmetry> {
        Program::symmetry(self, call)
    }

    fn bytes_of_a_rank(&self) -> usize {
        fn bytes<'a, F>(_: impl FnOnce(&'a Rank<'a>, &'a Call) -> F) -> usize {
            size_of::<Option<F>>()
        }
        bytes(|r, c| self.run(r, c))
    }

    fn on<'a>(&'a self, ranks: &'a Ranks<'a>, call: &'a Call) -> Box<dyn Fleet + 'a> {
        let (make, again) = (move |r| self.run(r, call), Again::default());
        if ranks.size() <= FEW && !ranks.are_part() {
            let slots = PinnedSlots::few((0..ranks.size()).map(|rank| make(ranks.seated(rank, rank))));
            return Box::new(Programs { make, ranks, slots, places: Vec::new(), again });
        }
        Box::new(Programs { make, ranks, slots: PinnedSlots::none(), places: vec![NEW; ranks.size()], again })
    }

    fn part<'a>(&'a self, r: &'a Rank<'a>, call: &'a Call) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(self.run(r, call))
    }

    fn repeated(&'static self, world: Rc<dyn Home>, call: Rc<Call>) -> Box<dyn Repeated> {
        let home = world.clone();
        let make = move || {
            let (world, call) = (home.clone(), call.clone());
            async move {
                let ground = world.ground();
                let seat = Seat::new(&ground, world.rank());
                self.run(&Rank::new(&seat), &call).await;
            }
        };
        Box::new(Remade { world, make, program: Box::pin(None) })
    }
}

/// The programs of all ranks. With many ranks, only those that have begun and not ended take a slot.
struct Programs<'a, M, F> {
    make: M,
    ranks: &'a Ranks<'a>,
    slots: PinnedSlots<F>,
    /// With many ranks: each rank's slot, [`NEW`] or [`ENDED`]. With few ranks: empty, a rank's slot is its number.
    places: Vec<u32>,
    again: Again,
}

/// In place of a slot: the rank has not begun.
const NEW: u32 = u32::MAX;
/// In place of a slot: the rank has ended.
const ENDED: u32 = u32::MAX - 1;

impl<'a, M: Fn(&'a Rank<'a>) -> F, F: Future<Output = ()>> Fleet for Programs<'a, M, F> {
    fn resume(&mut self, rank: usize) -> Option<Moment> {
        let slot = if self.places.is_empty() { rank as u32 } else { self.slot_of(rank)? };
        if !resume(self.slots.get(slot), &self.again, || self.ranks.poll_again(rank)) {
            return None;
        }
        if !self.places.is_empty() {
            self.slots.free(slot);
            self.places[rank] = ENDED;
        }
        Some(self.ranks.moment(slot as usize))
    }
}

impl<'a, M: Fn(&'a Rank<'a>) -> F, F: Future<Output = ()>> Programs<'a, M, F> {
    /// The slot of one of many ranks, which begins if it has not begun; none if it has ended.
    fn slot_of(&mut self, rank: usize) -> Option<u32> {
        match self.places[rank] {
            ENDED => None,
            NEW => {
                let slot = self.slots.vacant();
                self.slots.fill(slot, (self.make)(self.ranks.seated(slot as usize, rank)));
                self.places[rank] = slot;
                Some(slot)
            }
            slot => Some(slot),
        }
    }
}

/// Resumes a program, and drops it when it ends. Returns true if it has ended now.
fn resume<F: Future<Output = ()>>(mut slot: Pin<&mut Option<F>>, again: &Again, poll_again: impl FnMut()) -> bool {
    let Some(program) = slot.as_mut().as_pin_mut() else { return false };
    let has_ended = again.poll(program, poll_again).is_ready();
    if has_ended {
        slot.set(None);
    }
    has_ended
}

struct Remade<M, F> {
    world: Rc<dyn Home>,
    make: M,
    program: Pin<Box<Option<F>>>,
}

impl<M: Fn() -> F, F: Future<Output = ()>> Repeated for Remade<M, F> {
    fn restart(&mut self) {
        self.program.set(Some((self.make)()));
    }

    fn resume(&mut self, again: &Again) -> bool {
        let poll_again = || self.world.ground().poll_again(self.world.rank());
        resume(self.program.as_mut(), again, poll_again)
    }
}

/// Refuses a call if there is no memory for the programs of the `ranks` that run and the `kept_bytes` per rank of a
/// world. The programs of many ranks count only if all of them must run at the same time.
///
/// # Errors
/// As [`budget::check`].
pub fn check_ranks(program: &dyn AnyProgram, call: &Call, ranks: usize, kept_bytes: usize) -> Result<()> {
    let are_at_once = call.ranks <= FEW || call.waits_for_all();
    let program_bytes = program.bytes_of_a_rank() + size_of::<Seat<'_>>() + size_of::<Rank<'_>>();
    let each_bytes = kept_bytes + if are_at_once { program_bytes } else { size_of::<u32>() };
    budget::check(format_args!("{} ranks", call.ranks), ranks as f64 * each_bytes as f64)
}

/// Runs `program` on all ranks of `world` until none can go on. Returns the world, which knows all ends.
pub fn run<W: World>(program: &dyn AnyProgram, call: &Call, world: W) -> W {
    let world = RefCell::new(world);
    {
        let ground = Ground::new(&world, call.ranks);
        let seats = Seats::new(&ground);
        let ranks = Ranks::new(&seats);
        let mut programs = program.on(&ranks, call);
        loop {
            let Some(rank) = world.borrow_mut().next() else { break };
            if let Some(end) = programs.resume(rank) {
                world.borrow_mut().end(rank, end);
            }
        }
    }
    world.into_inner()
}

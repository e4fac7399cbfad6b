//! A rank's access to its world, whatever the world's type.

use std::cell::{Cell, OnceCell, RefCell, RefMut};

use crate::executor::FEW;
use crate::step::{Received, SendRecv, Step};
use crate::world::{At, Features, Progress, World};
use crate::{Moment, Path};

/// The state of a step, see [`world`](crate::world).
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum StepState {
    New,
    Waits(u32),
    After(u32),
    Never,
    Done,
}

/// A send and a receive that have begun, and the moments that their branches have reached.
pub(crate) struct Pair {
    pub states: [StepState; 2],
    pub moments: [Moment; 2],
    pub received: Received,
}

/// A world as shared by all its ranks. A step that is done moves the rank's state to its moment and leaves its result
/// in [`SharedWorld::received`], so that the answer is one word.
pub(crate) trait Host {
    fn issue(&self, rank_state: &RankState<'_>, step: &Step) -> StepState;
    /// Issues a send and a receive, each at its moment; the result is the receive's. Most programs send and receive in
    /// such pairs, and one call with known kinds of steps is faster than two.
    fn issue_both(&self, rank_state: &RankState<'_>, exchange: &SendRecv, pair: &mut Pair);
    fn take(&self, rank_state: &RankState<'_>, ticket: u32) -> StepState;
    /// Whether this branch of `rank`, or one further on, may go on. Asked at every poll, so it is a single call.
    fn can_go_on(&self, rank: usize, path: Path) -> bool;
    /// The next of `count` branches of a `join` at `parent`, from `from` on, that may be able to go on; else `count`.
    fn next_to_go_on(&self, rank: usize, parent: Path, from: usize, count: usize) -> usize;
    fn world(&self) -> RefMut<'_, dyn World + '_>;
}

impl<W: World> Host for RefCell<W> {
    fn issue(&self, rank_state: &RankState<'_>, step: &Step) -> StepState {
        let mut moment = rank_state.moment.get();
        let state = issue(&mut *self.borrow_mut(), rank_state, &mut moment, step);
        rank_state.moment.set(moment);
        state
    }

    fn issue_both(&self, rank_state: &RankState<'_>, exchange: &SendRecv, pair: &mut Pair) {
        let mut world = self.borrow_mut();
        let Pair { states, moments, received } = pair;
        states[0] = issue(&mut *world, rank_state, &mut moments[0], &exchange.send());
        states[1] = issue(&mut *world, rank_state, &mut moments[1], &exchange.recv());
        *received = rank_state.world.received.get();
    }

    fn take(&self, rank_state: &RankState<'_>, ticket: u32) -> StepState {
        let now = rank_state.moment.get();
        match self.borrow_mut().take(At { rank: rank_state.rank.get(), now }, ticket) {
            Some((moment, received)) => {
                rank_state.moment.set(moment);
                rank_state.world.received.set(received);
                StepState::Done
            }
            None => StepState::Waits(ticket),
        }
    }

    fn can_go_on(&self, rank: usize, path: Path) -> bool {
        self.borrow().woken(rank).is_none_or(|woken| woken.includes(path))
    }

    fn next_to_go_on(&self, rank: usize, parent: Path, from: usize, count: usize) -> usize {
        self.borrow().woken(rank).map_or(from, |woken| woken.next_branch(parent, from, count))
    }

    fn world(&self) -> RefMut<'_, dyn World + '_> {
        RefMut::map(self.borrow_mut(), |world| world as &mut (dyn World + '_))
    }
}

#[inline(always)]
fn issue<W: World>(world: &mut W, rank_state: &RankState<'_>, moment: &mut Moment, step: &Step) -> StepState {
    loop {
        return match world.issue(At { rank: rank_state.rank.get(), now: *moment }, step) {
            Progress::Done((end, received)) => {
                *moment = end;
                rank_state.world.received.set(received);
                StepState::Done
            }
            Progress::Waits(ticket) => StepState::Waits(ticket),
            Progress::Again(later) => {
                *moment = later;
                continue;
            }
            Progress::After(ticket) => StepState::After(ticket),
            Progress::Never => StepState::Never,
        };
    }
}

/// A world, and what its ranks know of it.
pub struct SharedWorld<'w> {
    pub(crate) host: &'w (dyn Host + 'w),
    pub(crate) features: Features,
    pub(crate) size: usize,
    /// The result of the step that was done last.
    pub(crate) received: Cell<Received>,
}

impl<'w> SharedWorld<'w> {
    /// The world as `size` ranks share it.
    pub fn new<W: World + 'w>(world: &'w RefCell<W>, size: usize) -> Self {
        let features = world.borrow().features();
        Self { host: world, features, size, received: Cell::new(Received { source: 0, len: 0 }) }
    }

    /// As [`World::poll_again`].
    pub(crate) fn poll_again(&self, rank: usize) {
        self.host.world().poll_again(rank);
    }
}

/// One rank's state in its world.
pub struct RankState<'w> {
    pub(crate) world: &'w SharedWorld<'w>,
    pub(crate) rank: Cell<usize>,
    pub(crate) moment: Cell<Moment>,
    pub(crate) path: Cell<Path>,
}

impl<'w> RankState<'w> {
    /// `rank`, at the beginning of its program.
    pub fn new(world: &'w SharedWorld<'w>, rank: usize) -> Self {
        Self { world, rank: Cell::new(rank), moment: Cell::default(), path: Cell::new(world.features.path) }
    }

    /// The moment that the running branch has reached.
    pub fn moment(&self) -> Moment {
        self.moment.get()
    }
}

/// Values with stable addresses, made a block at a time when first used.
pub(crate) struct Arena<T> {
    blocks: Box<[OnceCell<Box<[T]>>]>,
    places: usize,
}

impl<T> Arena<T> {
    pub fn new(places: usize) -> Self {
        Self { blocks: (0..places.div_ceil(FEW)).map(|_| OnceCell::new()).collect(), places }
    }

    #[inline]
    pub fn get(&self, place: usize, make: impl Fn(usize) -> T) -> &T {
        let all = || {
            let first = place - place % FEW;
            (first..(first + FEW).min(self.places)).map(make).collect()
        };
        &self.blocks[place / FEW].get_or_init(all)[place % FEW]
    }
}

/// The states of the ranks that have begun and not ended.
pub struct RankStates<'w> {
    world: &'w SharedWorld<'w>,
    blocks: Arena<RankState<'w>>,
}

impl<'w> RankStates<'w> {
    /// Enough for all ranks.
    pub fn new(world: &'w SharedWorld<'w>) -> Self {
        Self { world, blocks: Arena::new(world.size) }
    }

    pub(crate) fn size(&self) -> usize {
        self.world.size
    }

    pub(crate) fn poll_again(&self, rank: usize) {
        self.world.poll_again(rank);
    }

    /// The state at this place.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> &RankState<'w> {
        self.blocks.get(place, |_| RankState::new(self.world, 0))
    }
}

impl RankState<'_> {
    /// Gives the state to `rank`, at the beginning of its program.
    #[inline]
    pub(crate) fn begin(&self, rank: usize) {
        self.rank.set(rank);
        self.moment.set(Moment::default());
        self.path.set(self.world.features.path);
    }
}

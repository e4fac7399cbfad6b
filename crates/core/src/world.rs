//! Worlds: the meaning of the verbs of programs.
//!
//! A verb becomes a [`Step`]. Its rank issues the step to the world, at the moment of the branch that runs:
//!
//! ```text
//!            issue                     take
//!   (new) ──────────┬─▶ Waits(ticket) ──────┬─▶ done: a moment and the result
//!                   │        │   ▲          │
//!                   │        │   └──────────┘ not yet
//!                   │        └─ withdraw ───────▶ the branch was dropped: the step takes no outcome
//!                   ├─▶ Again(moment) ────────▶ issued again, at this moment
//!                   ├─▶ After(ticket) ────────▶ issued again, when the outcome of this ticket has been taken
//!                   ├─▶ Done ─────────────────▶ done at once
//!                   └─▶ Never ────────────────▶ the rank waits for ever; the world says why when it is asked
//! ```
//!
//! - A ticket belongs to one step, which takes its outcome or withdraws, once; the world may then reuse the number.
//! - [`At::now`] is the moment of the branch. It is the same at each take as at the issue, because a branch whose
//!   step waits does not move. The branch continues at the moment that comes with the outcome.
//! - Moments order the steps of one rank: the steps of a branch after a step, or after a `join`, are at later moments.
//! - A world that tells branches apart ([`Features::path`]) wakes a branch by its [`Path`]. The branch that waits for
//!   a ticket and all branches on the way to it are polled; others need not be.

use crate::step::{Failure, Received, Step};
use crate::{Moment, Moments, Path, Result, Span, Woken};

/// The rank that asks, and its moment.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The rank.
    pub rank: usize,
    /// The moment that its running branch has reached.
    pub now: Moment,
}

/// The moment at which a step was done, and the step's result.
pub type Outcome = (Moment, Received);

/// The answer of a world to a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// The step is done.
    Done(Outcome),
    /// The outcome of the step will be known under this ticket.
    Waits(u32),
    /// The step begins at this later moment: the rank issues it again then.
    Again(Moment),
    /// The step begins after the outcome of this ticket: the rank takes that outcome and issues the step again.
    After(u32),
    /// The step will never be done.
    Never,
}

/// The properties of a world that programs and their branches have to know. They stay the same for a whole run.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// The path of a program: [`Path::ROOT`] in a world that knows which branch can go on, else [`Path::WHOLE`].
    pub path: Path,
    /// Number of circuits that a program should open ahead of its messages, the same on all ranks; 0 where circuits
    /// come by themselves. None in a network without circuits.
    pub circuits: Option<usize>,
    /// Whether a `first` waits until both of its branches have ended: where ranks run in another order than the order
    /// of time, the first branch to end may be the later one.
    pub first_waits_for_both: bool,
    /// Whether the world orders its moments by [`World::moments`].
    pub has_moments: bool,
}

impl Features {
    /// A world without circuits that tells no branches apart and runs ranks in the order of time.
    pub const PLAIN: Self = Self { path: Path::WHOLE, circuits: None, first_waits_for_both: false, has_moments: false };
}

/// Gives the verbs a meaning: a state machine to which the programs of all ranks issue their steps.
pub trait World {
    /// The properties that programs have to know.
    fn features(&self) -> Features {
        Features::PLAIN
    }
    /// The next rank that can go on; none when no rank ever will. Only this function advances the world by itself.
    fn next(&mut self) -> Option<usize>;
    /// A rank's step begins.
    fn issue(&mut self, at: At, step: &Step) -> Progress;
    /// Takes the outcome of a step that waited; none while it is unknown.
    fn take(&mut self, _at: At, _ticket: u32) -> Option<Outcome> {
        None
    }
    /// This branch waits for this ticket; only called in a world that tells branches apart.
    fn wait(&mut self, _ticket: u32, _path: Path) {}
    /// `rank` no longer waits for this ticket.
    fn withdraw(&mut self, _rank: usize, _ticket: u32) {}
    /// `len` fresh elements of working memory of the rank.
    fn scratch(&mut self, at: At, len: usize) -> Span;
    /// Checks that there is memory for `len` elements of scratch. Worlds that hold no data always have enough.
    fn check_scratch(&self, _len: usize) -> Result<()> {
        Ok(())
    }
    /// The result of `rank` is complete, and its program may go on.
    fn complete(&mut self, _rank: usize, _now: Moment) {}
    /// The program of `rank` has reached a mark.
    fn mark(&mut self, _rank: usize, _mark: u16, _now: Moment) {}
    /// From now on, the time that `rank` takes is counted.
    fn start_timer(&mut self, _rank: usize, _now: Moment) {}
    /// The next message of `rank` to each peer costs as much as the first one.
    fn forget_peers(&mut self, _rank: usize) {}
    /// The program of `rank` will depend on the lengths of messages that it receives.
    fn reads_lengths(&mut self, _rank: usize) {}
    /// The program of `rank` has ended.
    fn end(&mut self, _rank: usize, _now: Moment) {}
    /// The program of `rank` has failed for this reason and never goes on.
    fn fail(&mut self, _rank: usize, _why: &Failure) {}
    /// The next step of `rank` is at this place of its program.
    fn locate(&mut self, _rank: usize, _place: &'static str) {}
    /// The time of a moment in seconds, by the clock of its rank; none in a world without time.
    fn time_s(&self, _now: Moment) -> Option<f64> {
        None
    }
    /// The world's own order of moments; called only if [`Features::has_moments`].
    fn moments(&mut self) -> &mut dyn Moments {
        unreachable!("asked for where features say that there is one")
    }
    /// `rank` asks which of two branches is the earlier one.
    fn race(&mut self, _rank: usize) {}
    /// The later branch of a `first` had ended when it was dropped.
    fn drop_ended(&mut self, _rank: usize) {}
    /// The branches of `rank` that can go on in this poll of its program; none in a world that tells no branches apart.
    fn woken(&self, _rank: usize) -> Option<&Woken> {
        None
    }
    /// Another branch of `rank` caused the event for which this branch waits. The branch can go on in this poll of the
    /// program if its turn `comes_later`, else in the next one.
    fn wake(&mut self, _rank: usize, _path: Path, _comes_later: bool) {}
    /// The program of `rank` is polled again, for the branches woken since the last poll began.
    fn poll_again(&mut self, _rank: usize) {}
}

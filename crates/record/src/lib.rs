//! The record world: the actions of each rank, as data. A schedule can be exported, read back, and run again in any
//! world.

mod goal;
mod program;
mod recorder;
mod schedule;

pub use goal::{from_goal, to_goal};
pub use recorder::record;
pub use schedule::{Action, Schedule, Task, in_words};

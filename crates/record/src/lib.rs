//! The record world: the actions of each rank, as data. Schedules can be exported, read back, and run in any world.

mod goal;
mod program;
mod recorder;
mod schedule;

pub use goal::{from_goal, to_goal};
pub use recorder::record;
pub use schedule::{Action, Schedule, Task, in_words};

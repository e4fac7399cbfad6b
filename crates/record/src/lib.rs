//! The record world: records the actions of each rank as a schedule, which runs in any world.

mod draft;
mod form;
mod goal;
mod goal_binary;
mod json;
mod order;
mod packed;
mod recorder;
mod schedule;
mod words;

pub use draft::{Action, Draft, Wait};
pub use form::Form;
pub use goal::Costs;
pub use json::{describe_error, from_json};
pub use order::Unordered;
pub use recorder::record;
pub use schedule::{Builder, Schedule};
pub use words::describe_system_error;

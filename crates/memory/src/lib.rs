//! The memory world: every rank in one process, real data. It tells whether results are right with no MPI anywhere.

mod operator;
mod world;

pub use operator::{Operator, operator, operator_names, type_names};
pub use world::{Circuits, run, run_with_circuits};

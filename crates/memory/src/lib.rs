//! The memory world: all ranks in one process, on real data. It checks results without MPI.

mod operator;
mod world;

pub use operator::{Operator, operator, operator_names, type_names};
pub use world::{Circuits, run, run_with_circuits};

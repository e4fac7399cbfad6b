//! The simulate world: a message is a size and a time stamp. It computes how long a program takes on a machine.
//!
//! Two engines keep virtual time. In *dataflow*, every rank runs ahead on its own clock, and messages carry their
//! arrival times. *Events* runs all ranks in the order of time. Where both apply, they agree to the last bit.

mod bound;
mod call_demand;
mod call_overhead;
mod clock;
mod dataflow;
mod events;
mod in_time;
mod later;
mod network;
mod options;
mod peers;
mod plan;
mod platform;
mod ports;
mod shuffle;
mod single;
mod tape;
mod timetable;
mod trace;
mod trials;
mod working_memory;

pub use bound::bound;
pub use call_demand::Bound;
pub use call_overhead::{DelayedProgram, with_call_overhead};
pub use in_time::Outcome;
pub use network::{
    Ask, CircuitCounts, Circuits, Fabric, Fault, Faults, Flight, Hockney, Line, LinkUse, Milestone, Network,
    NetworkModel, OnDemand, Packets, Passage, Passages, Place, Routing, SharedNetwork, Traffic,
};
pub use options::{Engine, Options};
pub use plan::Ends;
pub use platform::Platform;
pub use single::{check_size, simulate, symmetry};
pub use trace::{Kind, Record};
pub use trials::{Many, Trials, simulate_trials};

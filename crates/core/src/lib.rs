//! The vocabulary of Hocket: rank programs, their verbs, buffers, collectives, units and errors.
//!
//! A *program* is the steps of one rank: an async function over the verbs of [`Rank`]. A [`World`] gives the verbs a
//! meaning. This crate contains neither algorithms nor worlds.

pub mod budget;
mod call;
mod combinators;
mod counts;
pub mod demand;
mod earliest;
mod error;
mod executor;
mod graph;
pub mod matching;
mod moment;
pub mod names;
mod neighbors;
mod nodes;
mod operations;
mod path;
mod program;
mod rank;
mod rank_state;
mod span;
mod stencil;
mod step;
mod strands;
mod subgroup;
mod symmetry;
mod tokens;
pub mod units;
mod verbs;
mod world;

pub use call::{Call, Collective, Domain, Parameter, Part, Unit};
pub use combinators::{Branch, First, Join, JoinAll, OptionalVerb, Rest, StartedBranch, Winner};
pub use counts::{Counts, Pairs};
pub use earliest::Earliest;
pub use error::{Error, Result, ensure, one_line};
pub use executor::ReadyRanks;
pub use graph::{Graph, Tasks};
pub use moment::{Moment, Moments, Position, later_s};
pub use neighbors::{Blocks, Edge, Neighborhood, Neighbors, Sent};
pub use nodes::{NodeList, Nodes};
pub use operations::{Completion, Operations};
pub use path::{Path, Woken};
pub use program::{AnyProgram, ProcessWorld, Program, Repeated, check_ranks, run};
pub use rank::{Rank, View};
pub use rank_state::SharedWorld;
pub use span::{Buffer, Span};
pub use stencil::Stencil;
pub use step::{Failure, Mode, Options, Received, Side, Source, Step, Tag};
pub use strands::{Errand, JoinStrands, Strands, Turn};
pub use subgroup::{Members, Subgroup};
pub use symmetry::Symmetry;
pub use tokens::Tokens;
pub use verbs::{Exchange, Operation, Output};
pub use world::{At, Features, Outcome, Progress, World};

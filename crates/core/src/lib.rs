//! The vocabulary of Hocket: rank programs, their verbs, buffers, collectives, units and errors.
//!
//! A *program* is what one rank does, an async function over the verbs of [`Rank`]. A *world* implements [`Rank`] and so
//! gives the verbs a meaning. This crate knows neither algorithms nor worlds.

pub mod budget;
mod call;
mod combinators;
pub mod demand;
mod earliest;
mod error;
mod executor;
pub mod matching;
mod path;
mod rank;
mod span;
mod subgroup;
mod tokens;
pub mod units;

pub use call::{Call, Collective, Counts, Parameter, Unit};
pub use combinators::{Branch, First, Join, JoinAll, Rest, Started, Winner};
pub use earliest::Earliest;
pub use error::{Error, Result};
pub use executor::{Again, Ranks, ReadyRanks, check_ranks, run_to_completion};
pub use path::{Path, Woken};
pub use rank::{Moment, Options, Program, Rank, Received, Side, Source, Tag};
pub use span::{Buffer, Span};
pub use subgroup::Subgroup;
pub use tokens::Tokens;

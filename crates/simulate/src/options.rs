//! The options of simulations.

use hocket_core::Error;
use serde::Deserialize;

use crate::plan::Ends;

/// How virtual time is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Symmetry where it applies, else dataflow where that applies, else events.
    #[default]
    Auto,
    /// The ranks that stand for all others under a [`hocket_core::Symmetry`]: on links by events, else by dataflow.
    Symmetry,
    /// Every rank runs ahead on its own clock.
    Dataflow,
    /// All ranks in the order of time.
    Events,
}

impl Engine {
    /// Whether ranks that stand for all others are enough.
    pub fn takes_symmetry(self) -> bool {
        matches!(self, Self::Auto | Self::Symmetry)
    }
}

/// The reason why there is no outcome.
pub enum Failure {
    /// The engine does not apply, for this reason.
    Inapplicable(String),
    /// A rank's messages are not issued in the order of time, for this reason; [`Order::OfPairs`](crate::dataflow::Order) may still hold.
    Unordered(String),
    /// Another engine would fail, too.
    Other(Error),
}

impl Failure {
    /// The error of this engine.
    pub fn into_error(self, engine: &str) -> Error {
        match self {
            Self::Inapplicable(why) | Self::Unordered(why) => {
                Error::new(format!("the {engine} engine does not apply: {why}"))
            }
            Self::Other(error) => error,
        }
    }
}

/// The options of a simulation, besides the program.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How to keep time.
    pub engine: Engine,
    /// Whether to record the operations of each rank.
    pub trace: bool,
    /// Whether to record the passages of each link, in networks with contention.
    pub passages: bool,
    /// Whether the program is known to send the same messages whichever branch wins a `first`. This holds for the
    /// catalogue (a contract test checks it); for other programs it is checked at run time, which triples the time.
    pub winners_are_alike: bool,
    /// The deadline: a run in which a result is not complete at this virtual time ends with [`Error::lateness`].
    ///
    /// [`Error::lateness`]: hocket_core::Error::lateness
    pub until_s: f64,
    /// The seed of another order in which simultaneous events of different ranks are looked at. No time depends on it, as
    /// tests show, if no program connects circuits.
    pub shuffle: Option<u64>,
    /// The time of a trial, whose mean [`Trials::until_interval`](crate::Trials) is about; by default the last end.
    pub time_s: &'a dyn Fn(&Ends) -> f64,
    /// Asked from time to time; the simulation stops when it returns true.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Progress callback: receives the number of finished trials from time to time.
    pub on_trials: &'a dyn Fn(u64),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            engine: Engine::Auto,
            trace: false,
            passages: false,
            winners_are_alike: false,
            until_s: f64::INFINITY,
            shuffle: None,
            time_s: &|ends| ends.last_s,
            is_interrupted: &|| false,
            on_trials: &|_| (),
        }
    }
}

/// The bytes of `len` elements, below 2^63: signed numbers are converted to floats in one instruction.
#[inline]
pub fn bytes(len: usize, element_bytes: usize) -> f64 {
    (len * element_bytes).cast_signed() as f64
}

//! How to simulate.

use serde::Deserialize;

/// How virtual time is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Dataflow where it applies, else events.
    #[default]
    Auto,
    /// Every rank runs ahead on its own clock.
    Dataflow,
    /// All ranks in the order of time.
    Events,
}

/// The options of a simulation, besides the program.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How to keep time.
    pub engine: Engine,
    /// Whether to record what each rank did.
    pub trace: bool,
    /// Whether to record what links carry when, where messages meet.
    pub passages: bool,
    /// Whether the program is known to send the same messages whichever branch wins a `first`, as the whole catalogue
    /// is (a contract test says so); for other programs that is checked, which takes three times as long.
    pub winners_are_alike: bool,
    /// Asked from time to time; the simulation gives up when the answer is true.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Told from time to time the number of trials that are done.
    pub on_trials: &'a dyn Fn(u64),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            engine: Engine::Auto,
            trace: false,
            passages: false,
            winners_are_alike: false,
            is_interrupted: &|| false,
            on_trials: &|_| (),
        }
    }
}

/// The bytes of so many elements, of which there are fewer than 2^63: signed numbers are converted in one instruction.
#[inline]
pub fn bytes(len: usize, element_bytes: usize) -> f64 {
    (len * element_bytes).cast_signed() as f64
}

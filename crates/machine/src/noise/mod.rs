//! Noise: random delays of the operations of a rank. One file per model, and a line in the registry below.
//!
//! `[noise.os]` acts on all work of a processor: reducing, copying, computing, and its part of sending and receiving a
//! message. `[noise.network]` acts on messages: they arrive later, while the sender is done as early as without noise. An
//! operation of length l that starts at t ends at (t + l) + delay.
//!
//! `overlap` is the effect of a noise event on an operation:
//! - "stall" (the default of processors): nothing goes on during an event. An operation that starts in an event waits for
//!   its end, even if it takes no time, and an interrupted operation continues after it, until all of its length is done.
//! - "arrival" (the default of messages): every event that begins in [t, t + l) adds its duration, which meets no further
//!   events.
//!
//! Random numbers are functions of a counter: event k of rank r in trial t is the same in any order of evaluation.

mod random;

pub use random::{Draws, GROUP, SOURCES, TrialWords};

use hocket_core::Result;

use crate::Section;
use random::mix;

/// A model of noise.
pub trait Model {
    /// Whether the noise belongs to a rank; otherwise each operation draws for itself.
    fn is_of_rank(&self) -> bool {
        false
    }
    /// The source of the draws: the victim rank, or the operation by its origin rank and position in that rank's
    /// program.
    fn draw(&self, victim: usize, origin: usize, position: u64) -> u64 {
        if self.is_of_rank() { victim as u64 } else { mix(origin, position) }
    }
    /// Whether nothing goes on during an event, so that even operations without length wait for its end.
    fn stalls(&self) -> bool {
        false
    }
    /// A number that the model computes once per length of operations.
    fn weight(&self, length_s: f64) -> f64;
    /// Adds the delays of operations that start at these times to their ends, in seconds; one lane per trial.
    fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, start_s: &[f64; L], end_s: &mut [f64; L]);
}

/// Operations of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operation {
    /// The length without noise, in seconds.
    pub length_s: f64,
    /// The result of [`Model::weight`] for this length.
    pub weight: f64,
}

/// The noise of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noise {
    /// Noise on the work of processors.
    pub os: Option<NoiseModel>,
    /// Noise on messages.
    pub network: Option<NoiseModel>,
}

/// The resource that an operation uses, which determines its noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A processor: `[noise.os]`.
    Processor,
    /// The network: `[noise.network]`.
    Network,
}

impl Noise {
    /// Reads `[noise]`.
    pub fn read(section: &Section) -> Result<Self> {
        let read = |key: &str, resource| {
            let Some(own) = section.section_if_any(key)? else { return Ok(None) };
            let model = NoiseModel::read(&own, resource)?;
            own.finish()?;
            Ok(Some(model))
        };
        let noise = Self { os: read("os", Resource::Processor)?, network: read("network", Resource::Network)? };
        section.finish()?;
        Ok(noise)
    }

    /// Whether there is none.
    pub fn is_quiet(&self) -> bool {
        self.os.is_none() && self.network.is_none()
    }

    /// The noise on operations that use this resource.
    pub fn on(&self, resource: Resource) -> Option<&NoiseModel> {
        match resource {
            Resource::Processor => self.os.as_ref(),
            Resource::Network => self.network.as_ref(),
        }
    }

    /// The noise on a processor's part of a message. A part that takes no time waits only where nothing goes on.
    pub fn on_message(&self, length_s: f64) -> Option<&NoiseModel> {
        self.os.as_ref().filter(|model| length_s > 0.0 || model.stalls())
    }

    /// The key of the draws of one kind of noise.
    pub fn key(seed: u64, resource: Resource) -> [u32; 2] {
        let distinct = match resource {
            Resource::Processor => 0,
            Resource::Network => 0x9E37_79B9,
        };
        [seed as u32, (seed >> 32) as u32 ^ distinct]
    }
}

/// The times at which a periodic event hits the ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Each rank at its own random time.
    Random,
    /// All ranks at the same random time.
    Common,
    /// Rank r of P later than rank 0 by r / P of the period; rank 0 at a random time.
    Staggered,
}

impl Phase {
    fn read(section: &Section) -> Result<Self> {
        section.choice("phase", &[("random", Self::Random), ("common", Self::Common), ("staggered", Self::Staggered)])
    }

    /// The first start, as a share of the period.
    #[inline(always)]
    fn share<const L: usize>(self, draws: &Draws) -> [f64; L] {
        match self {
            Self::Random => draws.uniform(0),
            Self::Common => Draws { who: u64::MAX, ..*draws }.uniform(0),
            Self::Staggered => {
                let offset = draws.who as f64 / draws.ranks as f64;
                let mut share = Draws { who: u64::MAX, ..*draws }.uniform(0);
                for share in &mut share {
                    *share = (*share + offset) % 1.0;
                }
                share
            }
        }
    }
}

/// The effect of an event on an operation, see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlap {
    Arrival,
    Stall,
}

impl Overlap {
    /// Reads `overlap`; without it, a processor that is interrupted stalls, and a message does not.
    fn read(section: &Section, resource: Resource) -> Result<Self> {
        let words = [("stall", Self::Stall), ("arrival", Self::Arrival)];
        let [stall, arrival] = words;
        section.choice("overlap", &if resource == Resource::Processor { words } else { [arrival, stall] })
    }
}

/// The delay of an operation under "stall". `next_after` gives the start and length of the next event that ends after a
/// time. Waits are added up, rather than subtracted from times, so that the delay is exactly zero without events.
fn stall_s(start_s: f64, length_s: f64, mut next_after: impl FnMut(f64) -> (f64, f64)) -> f64 {
    let (mut now, mut left, mut delay_s) = (start_s, length_s, 0.0);
    loop {
        let (event, duration) = next_after(now);
        let meets = event < now + left;
        if !meets {
            return delay_s;
        }
        let stop = event.max(now);
        left -= stop - now;
        delay_s += (event - stop) + duration;
        now = event + duration;
    }
}

/// The probability that an operation meets an event of a Poisson process with this mean interval; 1 without interval.
fn chance(length_s: f64, interval_s: Option<f64>) -> f64 {
    interval_s.map_or(1.0, |interval_s| -libm::expm1(-length_s / interval_s))
}

/// Adds a delay to each end whose bit is set.
#[inline(always)]
fn delay_hit<const L: usize>(mut hits: u32, end_s: &mut [f64; L], delay_s: impl Fn(usize) -> f64) {
    while hits != 0 {
        let i = hits.trailing_zeros() as usize;
        end_s[i] += delay_s(i);
        hits &= hits - 1;
    }
}

/// The shortest time between events: irrelevant for programs, but large enough that counts of events do not overflow.
const SHORTEST_S: f64 = 1e-12;

/// The time between events of this key.
fn between_s(section: &Section, key: &str) -> Result<f64> {
    optional_between_s(section, key)?.ok_or_else(|| section.reject(key, "a time such as \"1 us\""))
}

/// As [`between_s`], or none when the key is absent.
fn optional_between_s(section: &Section, key: &str) -> Result<Option<f64>> {
    let time_s = section.optional_time_s(key)?;
    section.ensure(time_s.is_none_or(|time_s| time_s >= SHORTEST_S), key, "a time of at least \"1 ps\"")?;
    Ok(time_s)
}

macro_rules! models {
    ($($name:ident: $model:ident),+ $(,)?) => {
        $(
            mod $name;
            pub use $name::$model;
        )+

        /// A model of noise with its parameters.
        #[allow(missing_docs)]
        #[derive(Clone, Debug, PartialEq)]
        pub enum NoiseModel {
            $($model($model),)+
        }

        impl NoiseModel {
            /// The model that the section names, with its parameters, for noise on this resource.
            pub fn read(section: &Section, resource: Resource) -> Result<Self> {
                type Read = fn(&Section, Resource) -> Result<NoiseModel>;
                let models: &[(&str, Read)] =
                    &[$((stringify!($name), |section, on| $model::read(section, on).map(NoiseModel::$model)),)+];
                section.required_choice("model", models)?(section, resource)
            }

            /// The model's name in machine files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$model(_) => stringify!($name),)+
                }
            }

            /// Names of all models.
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];
        }

        impl Model for NoiseModel {
            fn is_of_rank(&self) -> bool {
                match self {
                    $(Self::$model(model) => model.is_of_rank(),)+
                }
            }

            fn stalls(&self) -> bool {
                match self {
                    $(Self::$model(model) => model.stalls(),)+
                }
            }

            fn weight(&self, length_s: f64) -> f64 {
                match self {
                    $(Self::$model(model) => model.weight(length_s),)+
                }
            }

            #[inline(always)]
            fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, start_s: &[f64; L], end_s: &mut [f64; L]) {
                match self {
                    $(Self::$model(model) => model.delay(operation, draws, start_s, end_s),)+
                }
            }
        }
    };
}

models! {
    gaussian: Gaussian,
    pareto: Pareto,
    periodic: Periodic,
    poisson: Poisson,
    trace: Trace,
}

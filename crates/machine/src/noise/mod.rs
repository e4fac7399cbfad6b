//! Noise: what delays the operations of a rank beyond their length. One model per file, and a line in the registry below.
//!
//! `[noise.os]` acts on the work of a processor (reducing, copying, computing), `[noise.network]` on messages: they arrive
//! later, and the sender is done as early as without noise. An operation that starts at t and is l long ends at (t + l) + delay.
//!
//! `overlap` says how an event of noise meets an operation:
//! - "arrival" (the default): every event that begins in [t, t + l) adds its duration. Time that is lost to an event, or
//!   spent waiting, is not exposed to others.
//! - "stall": nothing goes on during an event. An operation that starts in an event waits for the end of the event,
//!   and an operation that is interrupted goes on after it, until all of its length has been worked.
//!
//! Random numbers are functions of a counter: event k of rank r in trial t is the same in any order of evaluation.

mod random;

pub use random::{Draws, GROUP, SOURCES, Words};

use hocket_core::Result;

use crate::Section;
use random::mix;

/// A model of noise.
pub trait Model {
    /// Whether it is the noise of a rank that draws, and not each operation for itself.
    fn is_of_rank(&self) -> bool {
        false
    }
    /// Who draws: the rank that is hit, or the operation, known by the rank that began it and its position in that rank's
    /// program.
    fn draw(&self, victim: usize, origin: usize, position: u64) -> u64 {
        if self.is_of_rank() { victim as u64 } else { mix(origin, position) }
    }
    /// A number that the model computes once for all operations of this length.
    fn weight(&self, length_s: f64) -> f64;
    /// Adds to the ends of operations that start at these times by how much they are delayed, in seconds; one lane per
    /// trial.
    fn delay<const L: usize>(&self, operation: Operation, draws: &Draws, start_s: &[f64; L], end_s: &mut [f64; L]);
}

/// Operations of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operation {
    /// How long it takes without noise, in seconds.
    pub length_s: f64,
    /// The model's number for this length.
    pub weight: f64,
}

/// The noise of a machine: none, or that of some models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noise {
    /// On what processors do.
    pub os: Option<NoiseModel>,
    /// On messages.
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
    ///
    /// # Errors
    /// A model that is not known, or a key that is missing, wrong or unknown.
    pub fn read(section: &Section) -> Result<Self> {
        let read = |key: &str| {
            let own = section.optional_section(key)?;
            if !section.contains(key) {
                return Ok(None);
            }
            let model = NoiseModel::read(&own)?;
            own.finish()?;
            Ok(Some(model))
        };
        let noise = Self { os: read("os")?, network: read("network")? };
        section.finish()?;
        Ok(noise)
    }

    /// Whether there is none.
    pub fn is_quiet(&self) -> bool {
        self.os.is_none() && self.network.is_none()
    }

    /// The noise that an operation meets.
    pub fn on(&self, resource: Resource) -> Option<&NoiseModel> {
        match resource {
            Resource::Processor => self.os.as_ref(),
            Resource::Network => self.network.as_ref(),
        }
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

/// Which ranks an event that comes again and again hits at which time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Each rank at a time of its own, at random.
    Random,
    /// All ranks at the same time, at random.
    Common,
    /// Rank r of P later than rank 0 by r / P of the period, and that at random.
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

/// How an event meets an operation, see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlap {
    Arrival,
    Stall,
}

impl Overlap {
    fn read(section: &Section) -> Result<Self> {
        section.choice("overlap", &[("arrival", Self::Arrival), ("stall", Self::Stall)])
    }
}

/// The delay of an operation under "stall", given when the next event that ends after a time starts, and how long it is.
/// Waits are added up rather than taken as a difference of times, so that where there is none the delay is zero.
fn stall_s(start_s: f64, length_s: f64, mut next_after: impl FnMut(f64) -> (f64, f64)) -> f64 {
    let (mut now, mut left, mut delay_s) = (start_s, length_s, 0.0);
    loop {
        let (event, duration) = next_after(now);
        let meets = event < now + left;
        if !meets {
            return delay_s;
        }
        let interrupted = event.max(now);
        left -= interrupted - now;
        delay_s += (event - interrupted) + duration;
        now = event + duration;
    }
}

/// The probability that an operation meets an event of a process with this mean interval; 1 without.
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

/// The shortest time between events: far below what matters, and far above where numbers of events overflow.
const SHORTEST_S: f64 = 1e-12;

/// A time between events.
fn between_s(section: &Section, key: &str) -> Result<f64> {
    long_enough(section, key, section.time_s(key)?)
}

/// A time between events, or none when the key is absent.
fn optional_between_s(section: &Section, key: &str) -> Result<Option<f64>> {
    section.optional_time_s(key)?.map(|value| long_enough(section, key, value)).transpose()
}

fn long_enough(section: &Section, key: &str, value: f64) -> Result<f64> {
    if value >= SHORTEST_S { Ok(value) } else { Err(section.reject(key, "a time of at least \"1 ps\"")) }
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
            /// The model that the section names, with its parameters.
            ///
            /// # Errors
            /// No such model, or a parameter that is missing or wrong.
            pub fn read(section: &Section) -> Result<Self> {
                type Read = fn(&Section) -> Result<NoiseModel>;
                let models: &[(&str, Read)] =
                    &[$((stringify!($name), |section| $model::read(section).map(NoiseModel::$model)),)+];
                section.required_choice("model", models)?(section)
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

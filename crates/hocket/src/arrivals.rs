//! Arrivals: when each rank begins the call.
//!
//! A. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster
//! Computing 23 (2020): the time of a call counts from the arrival of the last rank, as no algorithm can end earlier.

use hocket_core::units::{count_in_words, parse_time_range_s, parse_time_s};
use hocket_core::{AnyProgram, Call, Error, Program, Rank, Result};
use hocket_machine::noise::Draws;

/// When each rank begins the call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Each rank at its time, in seconds.
    Times(Vec<f64>),
    /// Some ranks are late, the others begin at 0 s.
    Late {
        /// Which ranks are late.
        who: Who,
        /// How late each of them is.
        lateness: Lateness,
    },
}

/// Which ranks are late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Who {
    /// This one.
    Rank(usize),
    /// One, drawn anew in each trial.
    One,
    /// All of them.
    Every,
}

/// How late a rank is, drawn anew for each rank and trial; in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lateness {
    /// Always so.
    Exactly(f64),
    /// Uniform from the first to the second.
    Uniform(f64, f64),
    /// Exponential, with this mean.
    Exponential(f64),
}

/// The largest lateness, in seconds.
const MOST_S: f64 = 1e6;

/// Separates these draws from the draws of noise.
const KEY: u32 = 0x4152_5249;

/// The source of the draw that chooses one rank.
const CHOICE: u64 = u64::MAX;

impl Arrivals {
    /// Reads "rank 3, 20 us", "one rank, 0..500 us", "every rank, exponential 10 us", or a time for each rank:
    /// "0 us, 5 us, 0 us".
    ///
    /// # Errors
    /// Anything else, or a time above a million seconds.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = || {
            let expected = "ranks and how late they are, such as \"rank 3, 20 us\", \"one rank, 0..500 us\" or \
                            \"every rank, exponential 10 us\", or a time for each rank";
            Error::new(format!("arrivals: got {text:?}, expected {expected}"))
        };
        let parts: Vec<_> = text.split(',').map(str::trim).collect();
        if let [place, lateness] = parts[..]
            && let Some(who) = Who::parse(place)
        {
            let lateness = Lateness::parse(lateness).ok_or_else(refused)?;
            return Ok(Self::Late { who, lateness });
        }
        let times_s: Option<Vec<_>> = parts.iter().map(|part| seconds(part)).collect();
        times_s.ok_or_else(refused).and_then(|times_s| Self::from_times_s(&times_s))
    }

    /// A time for each rank, in seconds. The earliest becomes 0.
    ///
    /// # Errors
    /// A time that is not a number, or more than a million seconds after the first.
    pub fn from_times_s(times_s: &[f64]) -> Result<Self> {
        let first_s = times_s.iter().copied().fold(f64::INFINITY, f64::min);
        let late_s: Vec<_> = times_s.iter().map(|time_s| time_s - first_s).collect();
        match late_s.iter().position(|late_s| !(0.0..=MOST_S).contains(late_s)) {
            None => Ok(Self::Times(late_s)),
            Some(rank) => {
                let got = times_s[rank];
                Err(Error::new(format!("arrivals: got {got} s for rank {rank}, expected a time within {MOST_S} s")))
            }
        }
    }

    /// Checks that these are arrivals of this many ranks.
    ///
    /// # Errors
    /// A rank that does not exist, or another number of times.
    pub fn check(&self, ranks: usize) -> Result<()> {
        match self {
            Self::Times(times_s) if times_s.len() != ranks => {
                let (got, ranks) = (count_in_words(times_s.len(), "time"), count_in_words(ranks, "rank"));
                Err(Error::new(format!("arrivals: got {got}, expected one for each of {ranks}")))
            }
            Self::Late { who: Who::Rank(rank), .. } if *rank >= ranks => {
                Err(Error::new(format!("arrivals: got rank {rank}, expected a rank below {ranks}")))
            }
            _ => Ok(()),
        }
    }

    /// The rank that is late in all trials, if one is: of listed ranks, the last one.
    pub fn late_rank(&self) -> Option<usize> {
        match self {
            Self::Times(times_s) => {
                let last = (0..times_s.len()).rev().max_by(|a, b| times_s[*a].total_cmp(&times_s[*b]))?;
                (times_s[last] > 0.0).then_some(last)
            }
            Self::Late { who: Who::Rank(rank), .. } => Some(*rank),
            Self::Late { .. } => None,
        }
    }

    /// Whether arrivals differ between trials.
    pub fn are_drawn(&self) -> bool {
        match self {
            Self::Times(_) => false,
            Self::Late { who, lateness } => *who == Who::One || !matches!(lateness, Lateness::Exactly(_)),
        }
    }

    /// The time of each rank in a trial, in seconds from the first arrival.
    pub fn times_s(&self, ranks: usize, seed: u64, trial: u64) -> Vec<f64> {
        let mut times_s = self.drawn_s(ranks, seed, trial);
        let first_s = times_s.iter().copied().fold(f64::INFINITY, f64::min);
        times_s.iter_mut().for_each(|time_s| *time_s -= first_s);
        times_s
    }

    fn drawn_s(&self, ranks: usize, seed: u64, trial: u64) -> Vec<f64> {
        let uniform = |who| uniform(KEY, (seed, trial), (who, ranks));
        match self {
            Self::Times(times_s) => times_s.clone(),
            Self::Late { who, lateness } => {
                let only = match who {
                    Who::Rank(rank) => Some(*rank),
                    Who::One => Some((uniform(CHOICE) * ranks as f64) as usize),
                    Who::Every => None,
                };
                let is_late = |rank: usize| only.is_none_or(|only| only == rank);
                let time_s = |rank| if is_late(rank) { lateness.at(uniform(rank as u64)) } else { 0.0 };
                (0..ranks).map(time_s).collect()
            }
        }
    }
}

impl Who {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "one rank" => Some(Self::One),
            "every rank" => Some(Self::Every),
            _ => text.strip_prefix("rank ")?.trim().parse().ok().map(Self::Rank),
        }
    }
}

impl Lateness {
    fn parse(text: &str) -> Option<Self> {
        if let Some(mean) = text.strip_prefix("exponential ") {
            return seconds(mean).map(Self::Exponential);
        }
        let Some((least, most)) = text.split_once("..") else { return seconds(text).map(Self::Exactly) };
        let [least_s, most_s] = parse_time_range_s(least, most).ok()?;
        (least_s <= most_s && most_s <= MOST_S).then_some(Self::Uniform(least_s, most_s))
    }

    /// The lateness that belongs to a number between 0 and 1, in seconds.
    fn at(self, uniform: f64) -> f64 {
        match self {
            Self::Exactly(time_s) => time_s,
            Self::Uniform(least_s, most_s) => least_s + uniform * (most_s - least_s),
            Self::Exponential(mean_s) => -mean_s * uniform.ln(),
        }
    }
}

/// A number between 0 and 1 that depends on a key, a seed, a trial, a source and a number of ranks.
pub(crate) fn uniform(key: u32, (seed, trial): (u64, u64), (who, ranks): (u64, usize)) -> f64 {
    let key = [seed as u32, (seed >> 32) as u32 ^ key];
    let draws = Draws { key, who, first_trial: trial, ranks, first_words: &[], first_gap: None };
    let [uniform] = draws.uniform(0);
    uniform
}

fn seconds(text: &str) -> Option<f64> {
    parse_time_s(text).ok().filter(|time_s| *time_s <= MOST_S)
}

/// A program that each rank begins at its time. A rank's timer starts when it arrives. A rank that is not late takes no
/// step before the program, so that its noise is as without arrivals.
pub struct Arriving<'a> {
    pub program: &'a dyn AnyProgram,
    pub times_s: &'a [f64],
}

impl Program for Arriving<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let late_s = self.times_s[r.rank()];
        if late_s > 0.0 {
            r.wait_until(late_s).await;
        }
        r.start_timer();
        self.program.steps(r, c).await;
    }
}

//! Faults as text: "link 0 -> 1, 20..80 us, 10 %".

use std::fmt;

use hocket_core::units::{parse_time_range_s, parse_time_s};
use hocket_core::{Error, Result};

/// Links that have a part of their bandwidth, or none, for a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The links.
    pub place: Place,
    /// When it begins, in seconds from the common start.
    pub start_s: f64,
    /// When it ends, in seconds from the common start; infinite if it lasts.
    pub end_s: f64,
    /// The part of its bandwidth that a link keeps: 0 if it is down.
    pub part: f64,
}

/// Links of a topology. Vertices have a number, or a name as [`hocket_machine::Topology::vertex_name`] gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// All links from one vertex to another.
    Link {
        /// The two vertices.
        ends: [String; 2],
        /// Whether the links in the other direction are meant, too.
        is_both_ways: bool,
    },
    /// All links from and to a vertex.
    Node(String),
}

/// The latest time, in seconds.
const MOST_S: f64 = 1e6;

impl Fault {
    /// Reads "link 0 -> 1, 20..80 us, 10 %", "link 0 <-> 1, 20 us.., down" or "node 3, 0 us.., 50 %".
    ///
    /// # Errors
    /// Anything else, times of which the second is not later, or a time above a million seconds.
    pub fn parse(text: &str) -> Result<Self> {
        let refusal = || {
            let expected = "a link or a node, its times, and \"down\" or the part of its bandwidth, such as \
                            \"link 0 -> 1, 20..80 us, 10 %\", \"link 0 <-> 1, 20 us.., down\" or \
                            \"node 3, 20 us.., 50 %\"";
            Error::new(format!("faults: got {text:?}, expected {expected}"))
        };
        let [part, times, place] = text.rsplitn(3, ',').map(str::trim).collect::<Vec<_>>()[..] else {
            return Err(refusal());
        };
        let place = Place::parse(place).ok_or_else(refusal)?;
        let [start_s, end_s] = parse_times_s(times).ok_or_else(refusal)?;
        Ok(Self { place, start_s, end_s, part: parse_part(part).ok_or_else(refusal)? })
    }
}

fn parse_times_s(text: &str) -> Option<[f64; 2]> {
    let (start, end) = text.split_once("..")?;
    let [start_s, end_s] = match end.trim() {
        "" => [parse_time_s(start).ok()?, f64::INFINITY],
        _ => parse_time_range_s(start, end).ok().filter(|[_, end_s]| *end_s <= MOST_S)?,
    };
    (start_s < end_s && start_s <= MOST_S).then_some([start_s, end_s])
}

fn parse_part(text: &str) -> Option<f64> {
    if text == "down" {
        return Some(0.0);
    }
    let percent = text.strip_suffix('%')?.trim_end().parse::<f64>().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        if let Some(node) = text.strip_prefix("node ") {
            return name(node).map(Self::Node);
        }
        let ends = text.strip_prefix("link ")?;
        let (is_both_ways, (from, to)) = match ends.split_once("<->") {
            Some(ends) => (true, ends),
            None => (false, ends.split_once("->")?),
        };
        Some(Self::Link { ends: [name(from)?, name(to)?], is_both_ways })
    }
}

fn name(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::Link { ends: [from, to], is_both_ways: true } => write!(f, "link {from} <-> {to}"),
            Self::Link { ends: [from, to], is_both_ways: false } => write!(f, "link {from} -> {to}"),
        }
    }
}

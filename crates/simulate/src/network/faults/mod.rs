//! Faults: links that are slow, or down, at a time and for a time.
//!
//! A link has its full bandwidth, a part of it, or none. Where faults of one link overlap, the lowest part holds. A
//! link carries the bytes that pass in a time at the bandwidth of that time; what is on a link that is down waits until
//! the link is up again. Latencies do not change.
//!
//! A message chooses its way when it leaves: [`Ways`]. If a message waits for ever for a link, the simulation ends with one
//! line that names both.

mod rates;
mod stuck;
mod text;
mod ways;

use std::collections::BTreeMap;

use hocket_core::{Error, Result};
use hocket_machine::AnyTopology;

pub(super) use rates::{Curve, Rates};
pub(super) use stuck::Stuck;
pub use text::{Fault, Place};
pub(super) use ways::Ways;

/// The links that have faults, and their bandwidths over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults(BTreeMap<u32, Rates>);

impl Faults {
    /// These faults, on the links of a topology.
    ///
    /// # Errors
    /// A vertex or a link that the topology does not have.
    pub(crate) fn new(faults: &[Fault], topology: &AnyTopology) -> Result<Self> {
        let mut faults_by_link: BTreeMap<u32, Vec<&Fault>> = BTreeMap::new();
        for fault in faults {
            for link in links_of(&fault.place, topology)? {
                faults_by_link.entry(link).or_default().push(fault);
            }
        }
        let of_links = faults_by_link.into_iter().map(|(link, faults)| (link, Rates::of(&faults)));
        Ok(Self(of_links.filter(|(_, rates)| !rates.are_full()).collect()))
    }

    /// Links that always have this part of their bandwidth, if it is not all.
    pub(super) fn always(parts: impl Iterator<Item = f64>) -> Self {
        let slower = parts.enumerate().filter(|(_, part)| *part < 1.0);
        Self(slower.map(|(link, part)| (link as u32, Rates::always(part))).collect())
    }

    /// The same faults, on links that always have a part of their bandwidth: of this part, they keep what a fault leaves.
    pub(super) fn on(mut self, slower: &Self) -> Self {
        for (link, own) in &slower.0 {
            let rates = self.0.entry(*link).or_insert_with(|| Rates::always(1.0));
            *rates = rates.times(own.part_at(0.0));
        }
        self
    }

    /// Whether all links always have their full bandwidth.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bandwidth of a link over time; none if it is always the full one.
    pub(super) fn of(&self, link: u32) -> Option<&Rates> {
        self.0.get(&link)
    }

    /// The changes of all links: when, which link, and the part of its bandwidth from then on.
    pub(crate) fn changes(&self) -> Vec<(f64, u32, f64)> {
        let of_links = self.0.iter();
        of_links.flat_map(|(link, rates)| rates.changes().map(move |(time_s, part)| (time_s, *link, part))).collect()
    }

    /// Whether a link carries something at a time.
    pub(super) fn is_up(&self, link: u32, now_s: f64) -> bool {
        self.of(link).is_none_or(|rates| rates.part_at(now_s) > 0.0)
    }

    /// Whether a link never carries anything again from a time on.
    pub(super) fn is_lost(&self, link: u32, now_s: f64) -> bool {
        self.of(link).is_some_and(|rates| rates.up_s(now_s).is_infinite())
    }
}

fn links_of(place: &Place, topology: &AnyTopology) -> Result<Vec<u32>> {
    let vertex_of = |name| vertex(name, topology).map_err(|expected| refusal(place, &expected));
    let is_meant: Box<dyn Fn(usize, usize) -> bool> = match place {
        Place::Node(name) => {
            let node = vertex_of(name)?;
            Box::new(move |from, to| from == node || to == node)
        }
        Place::Link { ends, is_both_ways } => {
            let (from, to) = (vertex_of(&ends[0])?, vertex_of(&ends[1])?);
            Box::new(move |a, b| (a, b) == (from, to) || *is_both_ways && (b, a) == (from, to))
        }
    };
    let ends = (0..topology.links()).map(|link| (link as u32, topology.ends(link)));
    let links: Vec<_> = ends.filter(|(_, (from, to))| is_meant(*from, *to)).map(|(link, _)| link).collect();
    if links.is_empty() {
        return Err(refusal(place, &neighbours(place, topology)));
    }
    Ok(links)
}

/// The vertex of this number or name; an error says what is expected.
pub(super) fn vertex(name: &str, topology: &AnyTopology) -> std::result::Result<usize, String> {
    let count = topology.vertices();
    let number = match name.parse::<usize>() {
        Ok(number) => Some(number).filter(|number| *number < count),
        Err(_) => (0..count).find(|vertex| topology.vertex_name(*vertex) == name),
    };
    number.ok_or_else(|| {
        let last = topology.vertex_name(count - 1);
        format!("numbers from 0 to {}, or names such as {last:?}, of this {}", count - 1, topology.name())
    })
}

/// The links that leave the first vertex of a place without links.
fn neighbours(place: &Place, topology: &AnyTopology) -> String {
    const MOST_NAMED: usize = 8;
    let (Place::Node(name) | Place::Link { ends: [name, _], .. }) = place;
    let vertex = vertex(name, topology);
    let ends = (0..topology.links()).map(|link| topology.ends(link));
    let mut next: Vec<_> = ends.filter(|(from, _)| vertex == Ok(*from)).map(|(_, to)| to).collect();
    next.sort_unstable();
    next.dedup();
    if next.is_empty() {
        return format!("a node with links; {name} of this {} has none", topology.name());
    }
    let more = if next.len() > MOST_NAMED { " and others" } else { "" };
    let next: Vec<_> = next.iter().take(MOST_NAMED).map(usize::to_string).collect();
    format!("a link of this {}, in which {name} has links to {}{more}", topology.name(), next.join(", "))
}

fn refusal(place: &Place, expected: &str) -> Error {
    Error::new(format!("faults: got {place}, expected {expected}"))
}

//! The best size of segments: `segment=auto`.
//!
//! [`BY_FORMULA`] takes the power of two with the least time by the cost formula. The others are for trees on a torus,
//! such as those of Trinaryx3: N bytes go along trees of height H, in segments of SS bytes. A processor spends a time L
//! on each message. A link carries BWc bytes per second; a processor combines BWo bytes per second. Each of three trees
//! carries a third of the message. One thread prepares the messages of all trees:
//!
//! ```text
//! broadcast    H (L + SS/BWc) + max((N/SS) L, N/3/BWc) + L
//! reduce       H (L + SS/BWc + SS/BWo) + max((N/SS) L + N/BWo, N/3/BWc) + L
//! ```
//!
//! Source: "MPI Allreduceの「京」上での実装と評価", equations (3) and (4) (see the trinaryx3 page of the docs).

use std::iter::successors;
use std::sync::Arc;

use hocket_core::{Call, Collective, Result};

use crate::about::SEGMENT;
use crate::automatic::{Automatic, Costs, Decide, Formula, Links, Surroundings};
use crate::cost::{Cost, Price};

/// How many trees Trinaryx3 has on three axes, as its closed forms say.
pub const TRINARYX3: f64 = 3.0;

/// The segment with the least time. It is the default if the machine has no links, or if its processors spend no time
/// on messages.
pub const AUTOMATIC: Automatic =
    Automatic { parameter: SEGMENT.name, read: |_, surroundings| read(surroundings, |_| TRINARYX3) };

/// The same for the number of trees with which a call is completed.
pub const OF_TREES: Automatic = Automatic {
    parameter: SEGMENT.name,
    read: |_, surroundings| read(surroundings, |call| call.parameter("trees") as f64),
};

/// The power of two, up to the size of the message, with which the cost formula of the algorithm is least; the largest
/// of several. The default if the formula has no value, or if messages have no latency: the least would be best.
pub const BY_FORMULA: Automatic = Automatic { parameter: SEGMENT.name, read: by_formula };

fn by_formula(formula: Formula, surroundings: &Surroundings) -> Result<Decide> {
    let costs = surroundings.costs.clone();
    Ok(Arc::new(move |call| {
        let (least, size) = ((call.element_bytes as u64).max(1), call.size_bytes());
        if costs(least).alpha_s == 0.0 {
            return call.parameter(SEGMENT.name);
        }
        let segments = successors(Some(size.max(least).next_power_of_two()), |bytes| Some(bytes / 2));
        let times = segments
            .take_while(|bytes| *bytes >= least)
            .map(|bytes| (time_s(formula, costs(bytes.min(size)), call, bytes), bytes));
        let best = times.reduce(|best, next| if next.0 < best.0 { next } else { best });
        best.filter(|(time_s, _)| time_s.is_finite()).map_or_else(|| call.parameter(SEGMENT.name), |(_, bytes)| bytes)
    }))
}

/// The time by a formula with segments of this size; infinite if the formula has no value.
fn time_s(formula: Formula, costs: Costs, call: &Call, segment_bytes: u64) -> f64 {
    let value = |(name, value): &(&'static str, u64)| {
        let value = if *name == SEGMENT.name { segment_bytes } else { *value };
        (*name, value as f64)
    };
    let usable_ports = formula.ports.map_or(1, |ports| ports(call)).max(1);
    let price = Price {
        ranks: call.ranks,
        size_bytes: call.size_bytes() as f64,
        alpha_s: costs.alpha_s,
        beta_s: costs.beta_s_per_byte,
        gamma_s: costs.gamma_s_per_byte,
        overhead_s: None,
        usable_ports,
        ports: costs.ports.unwrap_or(usable_ports).min(usable_ports),
        parameters: call.parameters.iter().map(value).collect(),
    };
    Cost::of(formula.cost).and_then(|cost| cost.at(&price)).unwrap_or(f64::INFINITY)
}

fn read(surroundings: &Surroundings, trees: fn(&Call) -> f64) -> Result<Decide> {
    let links = surroundings.links;
    Ok(Arc::new(move |call: &Call| {
        let default = call.parameter(SEGMENT.name);
        let (bytes, height) = (call.size_bytes(), call.parameter("height"));
        match links {
            Some(links) if bytes > 0 && height > 0 => {
                let trees = trees(call);
                let pipeline = Pipeline { size_bytes: bytes as f64, height_links: height as f64, trees, links };
                match pipeline.best_segment_bytes(call.collective) {
                    0.0 => default,
                    best => best.round_ties_even().max(1.0) as u64,
                }
            }
            _ => default,
        }
    }))
}

/// A message and the trees that carry it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pipeline {
    /// N.
    pub size_bytes: f64,
    /// H.
    pub height_links: f64,
    /// Number of trees.
    pub trees: f64,
    /// L, BWc and BWo.
    pub links: Links,
}

impl Pipeline {
    /// The segment with which such trees take the least time: as a broadcast, a reduce, or an allreduce, which is both.
    /// 0 if smaller segments are always faster.
    ///
    /// The time is convex in SS. So its minimum is where one of the maxima changes sides, or where the derivative of
    /// the time between these points is 0; the trinaryx3 page of the docs derives both. The largest possible segment is
    /// a tree's part of the message: N/3 for three trees.
    pub fn best_segment_bytes(&self, collective: Collective) -> f64 {
        let Self { size_bytes, height_links, trees, links } = *self;
        let Links { latency_s, link_bytes_per_s, reduce_bytes_per_s } = links;
        let (broadcasts, reduces) = (collective != Collective::Reduce, collective != Collective::Broadcast);
        let messages_s = size_bytes * latency_s;
        if messages_s == 0.0 {
            return 0.0;
        }
        let count = |holds: bool| f64::from(u8::from(holds));
        let slope = height_links
            * ((count(broadcasts) + count(reduces)) / link_bytes_per_s + count(reduces) / reduce_bytes_per_s);
        let link_s = size_bytes / trees / link_bytes_per_s;
        let spare_s = [broadcasts.then_some(link_s), reduces.then_some(link_s - size_bytes / reduce_bytes_per_s)];
        let spare_s: Vec<f64> = spare_s.into_iter().flatten().collect();
        let where_sides_change = spare_s.iter().filter(|spare_s| **spare_s > 0.0).map(|spare_s| messages_s / spare_s);
        let between = (1..=spare_s.len()).map(|sides| (sides as f64 * messages_s / slope).sqrt());
        let part_bytes = size_bytes / trees;
        let candidates = where_sides_change.chain(between).filter(|segment_bytes| *segment_bytes > 0.0);
        let time_s = |segment_bytes: &f64| {
            let down_s = if broadcasts { self.time_s(*segment_bytes, f64::INFINITY) } else { 0.0 };
            down_s + if reduces { self.time_s(*segment_bytes, reduce_bytes_per_s) } else { 0.0 }
        };
        let best = candidates.map(|segment_bytes| segment_bytes.min(part_bytes));
        best.min_by(|a, b| time_s(a).total_cmp(&time_s(b))).unwrap_or(part_bytes)
    }

    /// The time of a reduce; with an infinite rate, the time of a broadcast.
    fn time_s(&self, segment_bytes: f64, reduce_bytes_per_s: f64) -> f64 {
        let Self { size_bytes, height_links, trees, links: Links { latency_s, link_bytes_per_s, .. } } = *self;
        let hop_s = latency_s + segment_bytes / link_bytes_per_s + segment_bytes / reduce_bytes_per_s;
        let prepared_s = size_bytes / segment_bytes * latency_s + size_bytes / reduce_bytes_per_s;
        height_links * hop_s + prepared_s.max(size_bytes / trees / link_bytes_per_s) + latency_s
    }
}

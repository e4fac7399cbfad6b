//! Packet pacing: the gaps between the packets of each step's messages, and the time of a step by itself.
//!
//! If M_i messages of step i share its busiest link, each can use 1 / M_i of it: M_i - 1 idle packet times between two
//! packets. Two more packet times let packets pass that pile up where routes turn: G_i = (M_i - 1) + 2.

use hocket_algorithms::{Entry, Steps};
use hocket_core::{Call, Error, Program, Rank, Result, ensure};
use hocket_machine::overlap;
use hocket_simulate::{Fabric, NetworkModel, Options, Outcome, Platform};
use serde::Serialize;

/// The gap between two packets of a message, in packet times: the parameter `gap`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// The same in all steps.
    Packets(f64),
    /// G_i of the step plus `offset`, at least 0.
    Auto {
        /// Added to G_i.
        offset: f64,
    },
}

impl Default for Gap {
    fn default() -> Self {
        Self::Packets(0.0)
    }
}

/// The largest gap, in packet times.
const MOST_PACKETS: f64 = 1e6;

impl Gap {
    /// Reads "auto", "auto-2", "auto+1.5", or a number.
    pub fn parse(text: &str) -> Result<Self> {
        let number = |text: &str| {
            let is_plain = text.starts_with(|c: char| c.is_ascii_digit());
            text.parse::<f64>().ok().filter(|value| is_plain && *value <= MOST_PACKETS)
        };
        let offset = |text: &str| match text.strip_prefix('-') {
            _ if text.is_empty() => Some(0.0),
            Some(less) => number(less).map(|offset| -offset),
            None => number(text.strip_prefix('+')?),
        };
        let gap = match text.strip_prefix("auto") {
            None => number(text).map(Self::Packets),
            Some(text) => offset(text).map(|offset| Self::Auto { offset }),
        };
        let expected = "auto, an offset from it such as auto-2 or auto+1, or a number of packet times from 0 to 1e6";
        gap.ok_or_else(|| Error::new(format!("parameter gap: got {text:?}, expected {expected}")))
    }

    /// The gap of a step with this many messages on the busiest link; 0 if no message uses a link.
    fn of(self, overlap: usize) -> f64 {
        match self {
            Self::Packets(gap) => gap,
            Self::Auto { .. } if overlap == 0 => 0.0,
            Self::Auto { offset } => ((overlap as f64 - 1.0) + 2.0 + offset).max(0.0),
        }
    }
}

/// A step on a machine with a topology.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// M_i: number of its messages that share the busiest link.
    pub overlap: usize,
    /// Idle packet times between two packets of a message.
    pub gap_packets: f64,
}

/// The call with the gaps of its steps, and the steps: empty if the algorithm has no steps or the machine no topology.
///
/// # Errors
/// A gap for an algorithm without steps, or on a machine without packets; more ranks than the network holds.
pub fn pace(entry: &Entry, call: &Call, platform: &Platform, gap: Gap) -> Result<(Call, Vec<Step>)> {
    check(entry, platform, gap)?;
    let (Some(declared), Some(fabric)) = (entry.about.steps, platform.network.fabric()) else {
        return Ok((call.clone(), Vec::new()));
    };
    fabric.check(call.ranks)?;
    let steps: Vec<_> = (0..(declared.count)(call)).map(|step| Step::of(declared, call, fabric, step, gap)).collect();
    let gap_packets = steps.iter().map(|step| step.gap_packets).collect();
    Ok((Call { gap_packets, ..call.clone() }, steps))
}

/// Refuses a gap that would have no effect.
fn check(entry: &Entry, platform: &Platform, gap: Gap) -> Result<()> {
    if gap == Gap::default() {
        return Ok(());
    }
    ensure(entry.about.steps.is_some(), || {
        format!("parameter gap: {entry} has no steps, expected an algorithm with steps, or no gap")
    })?;
    let (machine, model) = (&platform.name, platform.network.name());
    let expected = "expected the model packets, or no gap";
    ensure(matches!(platform.network, NetworkModel::Packets(_)), || {
        format!("parameter gap: machine {machine} has the network model {model}, {expected}")
    })
}

impl Step {
    fn of(steps: Steps, call: &Call, fabric: &Fabric, step: usize, gap: Gap) -> Self {
        let pairs = (0..call.ranks).map(|rank| (rank, (steps.destination)(call, step, rank)));
        let overlap = overlap(&*fabric.topology, (&fabric.placement, call.ranks), pairs);
        Self { overlap, gap_packets: gap.of(overlap) }
    }
}

/// One step of an algorithm, which all ranks begin at the same time.
struct SingleStep<'a> {
    steps: Steps,
    step: usize,
    sources: &'a [usize],
}

impl Program for SingleStep<'_> {
    async fn run(&self, r: &Rank<'_>, c: &Call) {
        let Self { steps, step, sources } = *self;
        let len = (steps.elements)(c, step);
        let (data, into) = (r.scratch(len), r.scratch(len));
        let send = r.send_with((steps.destination)(c, step, r.rank()), data, Steps::options(c, step));
        r.join(send, r.recv(sources[r.rank()], into)).await;
    }
}

/// One step by itself: all ranks begin it at the same time, on an idle network. Steps are counted from 0.
///
/// # Errors
/// An algorithm without steps or a machine without topology, no such step, as [`pace`], or as
/// [`hocket_simulate::simulate`].
pub fn simulate_step(
    entry: &Entry,
    call: &Call,
    platform: &Platform,
    gap: Gap,
    number: usize,
    options: Options<'_>,
) -> Result<(Step, Outcome)> {
    check(entry, platform, gap)?;
    let steps = entry
        .about
        .steps
        .ok_or_else(|| Error::new(format!("{entry} has no steps, expected an algorithm with steps")))?;
    let machine = &platform.name;
    let fabric = platform.network.fabric();
    let fabric = fabric
        .ok_or_else(|| Error::new(format!("machine {machine} has no topology, expected a machine with a topology")))?;
    fabric.check(call.ranks)?;
    let count = (steps.count)(call);
    ensure(number < count, || format!("step: got {number}, expected a step from 0 to below {count}"))?;
    let step = Step::of(steps, call, fabric, number, gap);
    let call = Call { gap_packets: [step.gap_packets].into(), ..call.clone() };
    let program = SingleStep { steps, step: number, sources: &steps.sources(&call, number) };
    Ok((step, hocket_simulate::simulate(&program, &call, platform, options)?))
}

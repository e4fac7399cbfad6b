//! The time and messages of a call by the algorithm's own formulas.

use hocket_algorithms::{Cost, Entry, Price};
use hocket_core::{Call, Counts, Result};
use hocket_machine::Work;
use hocket_simulate::{NetworkModel, Platform};

/// The values of an algorithm's formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// Time by the cost formula, in seconds.
    pub time_s: f64,
    /// Messages of all ranks.
    pub messages: f64,
    /// Whether the time is exact; otherwise it is an upper bound, with every block rounded up to the largest, or with fewer
    /// ports than the algorithm can use.
    pub is_exact: bool,
}

/// Evaluates the formulas of `entry`, without noise; none when the platform is not a Hockney network with rendezvous and one
/// cost for all messages.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn predict(entry: &Entry, call: &Call, platform: &Platform) -> Result<Option<Predicted>> {
    let NetworkModel::Hockney(network) = &platform.network else { return Ok(None) };
    if network.is_eager || network.local.is_some() || platform.node.copy != Work::default() {
        return Ok(None);
    }
    let Some(gamma_s) = platform.node.reduce.s_per_byte() else { return Ok(None) };
    let cost = Cost::parse(entry.about.cost)?;
    if network.send_overhead_s.is_some() && !cost.knows_overhead() {
        return Ok(None);
    }
    let wanted_ports = (entry.about.ports)(call).max(1);
    let ports = network.ports.unwrap_or(wanted_ports).min(wanted_ports);
    let is_exact = ports == wanted_ports && (entry.about.cost_is_exact)(call);
    let price = |elements: usize| Price {
        ranks: call.ranks,
        size_bytes: (elements * call.element_bytes) as f64,
        alpha_s: network.between.alpha_s,
        beta_s: network.between.beta_s_per_byte,
        gamma_s,
        overhead_s: network.send_overhead_s,
        wanted_ports,
        ports,
        parameters: call.parameters.clone(),
    };
    let bound = if is_exact { size_in_elements(call) } else { largest_size_in_elements(call) };
    Ok(Some(Predicted {
        time_s: platform.node.call_overhead_s + cost.at(&price(bound))?,
        messages: messages(entry, call)?,
        is_exact,
    }))
}

/// Messages of all ranks together, by the formula of `entry`.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn messages(entry: &Entry, call: &Call) -> Result<f64> {
    let price = Price {
        ranks: call.ranks,
        size_bytes: (size_in_elements(call) * call.element_bytes) as f64,
        alpha_s: 0.0,
        beta_s: 0.0,
        gamma_s: 0.0,
        overhead_s: None,
        wanted_ports: 1,
        ports: 1,
        parameters: call.parameters.clone(),
    };
    Cost::parse(entry.about.messages)?.at(&price)
}

/// The message of the MPI call, in elements: one block, or the whole vector.
fn size_in_elements(call: &Call) -> usize {
    let is_whole =
        matches!(call.counts, Counts::Offsets(_)) || call.collective == hocket_core::Collective::ReduceScatter;
    if is_whole && !call.collective.size_is_one_block() { call.total() } else { call.count(0) }
}

/// The message with every block, or chunk of the vector, as large as the largest.
fn largest_size_in_elements(call: &Call) -> usize {
    let largest = (0..call.ranks).map(|i| call.count(i)).max().unwrap_or(0);
    if call.collective.size_is_one_block() {
        largest
    } else if call.collective.has_blocks() {
        largest * call.ranks
    } else {
        call.count(0).next_multiple_of(call.ranks)
    }
}

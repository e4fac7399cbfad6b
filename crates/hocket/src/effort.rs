//! How long it takes to simulate or verify calls, before that is begun: messages by the algorithm's formula, times what one
//! costs.

use hocket_algorithms::Entry;
use hocket_core::{Call, Result};
use hocket_simulate::{NetworkModel, Platform, Trials};

use crate::price::{messages, sent_bytes};

/// What a message costs where messages do not meet, in seconds of one core.
const APART_S: f64 = 1e-7;
/// The same where it is recorded: as a task of a schedule, or once for many trials.
const RECORDED_S: f64 = 5e-7;
/// What a message costs in a further trial once it is recorded.
const REPEATED_S: f64 = 3e-9;
/// What a message costs where messages meet on links.
const SHARED_S: f64 = 1e-6;
/// What a packet costs on all links of its route together.
const PACKET_S: f64 = 2e-7;

/// What a message costs where it is verified, under both protocols, and what an element of inputs and results does.
const VERIFIED_S: f64 = 1.5e-6;
const CHECKED_S: f64 = 1.5e-7;
/// Calls that stand for all that are verified at one number of ranks.
const VERIFIED_FOR_ALL: usize = 16;

/// How many seconds a simulation takes about, all its trials together: right to a factor of three or so, on one core of a
/// computer of 2026.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn effort_s(entry: &Entry, call: &Call, platform: &Platform, trials: Trials) -> Result<f64> {
    let messages = messages(entry, call)?;
    let is_quiet = platform.noise.is_quiet();
    let count = trials.count as f64;
    if platform.network.fabric().is_none() {
        let recorded_s = RECORDED_S + count * REPEATED_S / trials.threads as f64;
        return Ok(messages * if is_quiet { APART_S } else { recorded_s });
    }
    let packets = match &platform.network {
        NetworkModel::Packets(network) => sent_bytes(entry, call)? / network.packet_bytes,
        _ => 0.0,
    };
    Ok((messages * SHARED_S + packets * PACKET_S) * if is_quiet { 1.0 } else { count })
}

/// How many seconds it takes about to record a call.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn recording_effort_s(entry: &Entry, call: &Call) -> Result<f64> {
    Ok(messages(entry, call)? * RECORDED_S)
}

/// How many seconds it takes about to verify an algorithm on those of `calls` that it accepts, by a few of them that stand for
/// all.
///
/// # Errors
/// A formula that cannot be evaluated.
pub fn verification_effort_s(entry: &Entry, calls: &[Call]) -> Result<f64> {
    let every = calls.len().div_ceil(VERIFIED_FOR_ALL).max(1);
    let mut tried_s = 0.0;
    for call in calls.iter().step_by(every) {
        let given: Vec<_> = call.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let Ok(call) = entry.accept(call, &given) else { continue };
        let elements: usize = (0..call.ranks).map(|rank| call.input_len(rank) + call.result_len(rank)).sum();
        tried_s += messages(entry, &call)? * VERIFIED_S + elements as f64 * CHECKED_S;
    }
    Ok(tried_s * every as f64)
}

//! Simulation of dynamic multicasts.

use std::collections::BTreeMap;

use hocket_algorithms::find;
use hocket_algorithms::multicast::{INLINE_BYTES, Multicast, Multicasts, Way};
use hocket_core::{Call, Collective, Error, Result, ensure, names};
use hocket_simulate::{Options, Outcome, Platform};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::machine::PythonMachine;
use crate::wire::{Plain, raise};
use crate::worker::in_worker;

/// Messages from one master to groups of ranks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MulticastRequest {
    /// Number of ranks.
    ranks: usize,
    /// The sender.
    master: usize,
    /// The groups, in the order of sending.
    groups: Vec<Vec<usize>>,
    /// Size of each message.
    size_bytes: usize,
    /// The broadcast that distributes them.
    algorithm: String,
    /// Values of its parameters.
    #[serde(default)]
    parameters: BTreeMap<String, u64>,
    /// "multicast", "acknowledged", "static" or "created", see [`Way`].
    way: String,
}

/// The ways by name.
const WAYS: [(&str, Way); 4] = [
    ("multicast", Way::Multicast),
    ("acknowledged", Way::Acknowledged),
    ("static", Way::Static),
    ("created", Way::Created),
];

impl MulticastRequest {
    fn way(&self) -> Result<Way> {
        let way = WAYS.iter().find(|(name, _)| *name == self.way).map(|(_, way)| *way);
        way.ok_or_else(|| Error::new(names::unknown("way", &self.way, WAYS.map(|(name, _)| name))))
    }

    /// The messages.
    ///
    /// # Errors
    /// A rank that does not exist, a group that does not ascend, an unknown algorithm or one that refuses the call, or
    /// a communicator whose first rank is not the master.
    fn multicasts(&self) -> Result<Vec<Multicast>> {
        let algorithm = find(Collective::Broadcast, &self.algorithm)?;
        let parameters: Vec<_> = self.parameters.iter().map(|(name, value)| (name.clone(), *value)).collect();
        let is_led = matches!(self.way()?, Way::Static | Way::Created);
        let multicast = |members: &Vec<usize>| {
            let ascend = members.windows(2).all(|pair| pair[0] < pair[1]);
            ensure(ascend && members.last().is_some_and(|last| *last < self.ranks), || {
                format!("group: got {members:?}, expected ascending ranks below {}", self.ranks)
            })?;
            ensure(!is_led || members[0] == self.master, || {
                let text = format!("group: got first rank {}, expected the master, {}", members[0], self.master);
                format!("{text}, which is the root of the communicator")
            })?;
            let call = Call::new(Collective::Broadcast, members.len(), self.size_bytes);
            Ok(Multicast { members: members.clone(), call: algorithm.accept(&call, &parameters)?, algorithm })
        };
        self.groups.iter().map(multicast).collect()
    }

    /// Runs the messages in virtual time.
    ///
    /// # Errors
    /// As [`hocket_simulate::simulate`], or an invalid request.
    fn simulate(&self, platform: &Platform) -> Result<Outcome> {
        ensure(self.master < self.ranks, || {
            format!("master: got {}, expected a rank below {}", self.master, self.ranks)
        })?;
        let program = Multicasts { all: &self.multicasts()?, way: self.way()?, inline_bytes: INLINE_BYTES };
        let count = self.size_bytes * self.groups.len();
        let call = Call { root: self.master, ..Call::new(Collective::Broadcast, self.ranks, count) };
        hocket_simulate::simulate(&program, &call, platform, Options::default())
    }
}

/// Simulates dynamic multicasts: the fields of `hocket.Delivery`.
#[pyfunction]
pub fn simulate_multicast(
    py: Python<'_>,
    machine: &PythonMachine,
    request: Plain<MulticastRequest>,
) -> PyResult<Plain<Value>> {
    let Plain(request) = request;
    let platform = machine.platform();
    let outcome = in_worker(py, move || request.simulate(&platform).map_err(raise))?;
    let Outcome { messages, message_bytes, .. } = outcome;
    Ok(Plain(json!({ "time_s": outcome.time_s(), "messages": messages, "message_bytes": message_bytes })))
}

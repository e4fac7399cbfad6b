//! Circuits: optical circuit switching. A message needs a circuit between its nodes, whose set-up takes a long time.
//!
//! Source: S. Takizawa, S. Matsuoka, H. Nakada, "MPI collective communication on all optical network", the model and
//! the equations (1) to (8).
//!
//! Keys of `[network]`, besides those of the [`Fabric`]: `latency` alpha; `bandwidth` B; `ports` k; `reconfiguration`
//! gamma, or both `set_up` and `release`; `policy`; `final_release` = "merged" (the default) or "waited"; `requests` =
//! "waits" (the default) or "refused"; `wavelengths` W (default unlimited); `changes`.
//!
//! - *A circuit* joins any two nodes and takes one port of each. It is full duplex and carries one message at a time
//!   in each direction, first come first served. A message of n bytes is sent, and has arrived, after alpha + n / B. A
//!   message to its own node takes as long and needs no circuit.
//! - *Requests.* Two nodes request a circuit if they have messages for each other and no circuit, or if programs ask
//!   for one, as the policy says. All requests wait in one queue in the order of asking. At the end of every moment at
//!   which a request came or something became free, the queue is searched from its beginning, and every possible
//!   request is granted. A circuit gets all that it needs at once, or nothing.
//! - *Time.* With `reconfiguration`, a circuit is open gamma after its grant, and a closed circuit frees its ports
//!   and its wavelength at once: its release and the next set-up are one reconfiguration. With `set_up` and `release`,
//!   a circuit is open `set_up` after its grant, and a closed circuit frees its ports and its wavelength after
//!   `release`. A circuit for which another is closed takes these over, and is open after `release` + `set_up`.
//! - *Policies* decide which circuits are set up ahead and which stay: [`policy`].
//! - *Connect* is done when the circuit is open or refused. If a request without messages cannot be granted,
//!   `requests` = "refused" refuses it to both ends. With "waits" it waits, unless one of its ends already keeps
//!   requested circuits on all its working ports: then it would wait for itself and is refused. When no other event is
//!   possible, the request that has waited longest is refused.
//! - *Disconnect* is done when no circuit joins the two nodes any more; with `final_release` = "waited", gamma (or
//!   `release`) after the last one was closed.
//! - *Eviction.* Where a policy closes a circuit for another one, circuits that no program requested go first, the
//!   least recently used first. A circuit with messages on it or queued for it never goes.
//! - *Wavelengths.* A circuit takes one wavelength, the same on every link of its routes there and back: the first
//!   one that is free on all of them (first fit).
//! - *Changes.* A node that loses ports loses circuits in excess: first those that carry nothing, then those being
//!   set up, then those that carry; in each group the least recently used first. When wavelengths go, so do the
//!   circuits on the highest ones. A message that was cut is sent again from its beginning. A fault of a node is a
//!   change to no ports and back.
//!
//! The use of a link ([`LinkUse`](super::LinkUse)): the bytes of arrived messages; the time with at least one message;
//! and the time for which messages that cross it waited for their circuit or in its queue.

mod changes;
mod deadlock;
mod faults;
mod grants;
mod parameters;
pub mod policy;
mod requests;
mod switch;
mod wavelengths;

pub use parameters::Circuits;

use hocket_core::Result;

use super::{Fabric, Fault, SharedNetwork, Traffic};
use crate::call_demand::{Bound, CallDemand, rounds};
use changes::Supply;
use switch::Switch;

impl SharedNetwork for Circuits {
    fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    fn add_faults(&mut self, faults: &[Fault]) -> Result<()> {
        faults::add(self, faults)
    }

    /// Requests and answers need no circuit.
    fn latency_s(&self, _nodes: [usize; 2]) -> f64 {
        self.latency_s
    }

    fn traffic(&self) -> Box<dyn Traffic + '_> {
        Box::new(Switch::new(self))
    }

    /// If ranks have to reach other nodes, a set-up comes first. Then the data of one rank reaches k + 1 times as many
    /// nodes every alpha, and the bytes of a node share its k ports, the most that it ever has.
    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound {
        let (placement, ranks) = (&self.fabric.placement, call_demand.call.ranks);
        let node_of = |rank| placement.node_of(rank, ranks);
        let later = self.changes.iter().filter_map(|change| match change.what {
            Supply::Ports { ports, .. } => Some(ports),
            Supply::Wavelengths(_) => None,
        });
        let ports = later.fold(self.ports, usize::max);
        let ranks_to_tell = call_demand.spread().map_or(1, |spread| placement.fewest_nodes(spread.ranks, ranks));
        let crossing = |busy: usize| call_demand.crossing_bytes(&|rank| node_of(rank) == busy);
        let bytes = call_demand.ranks_to_try().map(|rank| crossing(node_of(rank))).fold(0.0, f64::max);
        let carrying_s = self.latency_s + bytes / self.bytes_per_s / ports as f64;
        Bound {
            latency_s: if ranks_to_tell > 1 {
                self.times.set_up_s + rounds(ranks_to_tell, Some(ports)) as f64 * self.latency_s
            } else {
                0.0
            },
            bandwidth_s: match bytes > 0.0 {
                true => Some(self.times.set_up_s + carrying_s),
                false => (call_demand.bytes_of_a_rank() == 0.0).then_some(0.0),
            },
            computation_s: call_demand.combining_s(),
        }
    }
}

//! Hockney: a message of n bytes takes alpha + beta n, and holds a port at each end for that time.
//!
//! Source: R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20
//! (1994). A transfer starts when the sender is ready (eager), or both sides are (rendezvous), and occupies both until
//! its end; with `send_overhead`, it occupies the sender only for that long. A posted message occupies its sender for
//! `send_overhead`, 0 when absent. Branches of a program do not slow each other: a rank can send, receive and compute
//! at the same time.
//!
//! A node sends `ports` messages at a time, and receives as many. Further ones wait in the order in which they could
//! start, first for a sending port, then, holding it, for a receiving port (`crate::ports`). One port, the default, is
//! the model of E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
//! experience", Concurrency and Computation 19 (2007). With unlimited ports, messages do not slow each other.
//!
//! Messages within a group of ranks can have their own costs ([`Levels`]); on one node, they hold no port. The ranks of a
//! node share its ports. Messages through the switch of a node with `[level.multicast]` take `latency` + k n / `bandwidth`
//! among its k ranks: as long as k messages, one for each rank, of which a rank sends or receives all at the same time.

use hocket_core::Result;
use hocket_machine::{Machine, Placement, Section};

use super::{Departure, Levels, Network, Parcel, Resources, SEND, Within, levels};
use crate::call_demand::{Bound, CallDemand, rounds};
use crate::clock::Clock;

/// The time of a message, keys of `[network]` and of `[network.local]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// `latency`: alpha, in seconds.
    pub alpha_s: f64,
    /// 1 / `bandwidth`: beta, in seconds per byte.
    pub beta_s_per_byte: f64,
    /// 1 / `memory_bandwidth` of `[network.local]`, or 1 / `bandwidth` of `[level.multicast]`: seconds per byte for all ranks
    /// of a node together.
    pub node_s_per_byte: f64,
}

impl Line {
    fn read(section: &Section) -> Result<Self> {
        Ok(Self {
            alpha_s: section.time_s("latency")?,
            beta_s_per_byte: 1.0 / section.bytes_per_s("bandwidth")?,
            node_s_per_byte: 0.0,
        })
    }

    fn read_local(section: &Section) -> Result<Self> {
        Ok(Self { node_s_per_byte: levels::memory_s_per_byte(section)?, ..Self::read(section)? })
    }

    /// Reads the keys of `[level.multicast]`: a message takes alpha + k n / `bandwidth` among k ranks of a node.
    fn read_multicast(section: &Section) -> Result<Self> {
        let Self { alpha_s, beta_s_per_byte, .. } = Self::read(section)?;
        Ok(Self { alpha_s, beta_s_per_byte: 0.0, node_s_per_byte: beta_s_per_byte })
    }

    /// The lesser costs of two.
    fn least(self, other: Self) -> Self {
        Self {
            alpha_s: self.alpha_s.min(other.alpha_s),
            beta_s_per_byte: self.beta_s_per_byte.min(other.beta_s_per_byte),
            node_s_per_byte: self.node_s_per_byte.min(other.node_s_per_byte),
        }
    }
}

/// The model's parameters, keys of `[network]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hockney {
    /// Between nodes.
    pub between: Line,
    /// Within groups of ranks, if they have their own parameters.
    pub levels: Option<Levels<Line>>,
    /// What ranks share, if anything.
    pub resources: Option<Resources>,
    /// The nodes of the ranks.
    pub placement: Placement,
    /// `protocol`: "rendezvous" (the default) or "eager".
    pub is_eager: bool,
    /// `send_overhead`: how long a message occupies its sender, in seconds; until its end when absent.
    pub send_overhead_s: Option<f64>,
    /// `ports`, a key of `[node]`: messages that a node sends at a time, and receives at a time; none if unlimited.
    pub ports: Option<usize>,
}

/// The largest limited number of ports.
const MOST_PORTS: usize = 1024;

impl Hockney {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let section = &machine.network;
        if let Some(host) = &machine.host {
            let others = "no [host] with the model hockney: use network.send_overhead, or the model loggp";
            return Err(host.reject_all(others));
        }
        let levels = Levels::read(machine, Line::read, Line::read_local, Some(Line::read_multicast))?;
        Ok(Self {
            between: Line::read(section)?,
            resources: Resources::read(&machine.node, levels.as_ref())?,
            levels,
            placement: Placement::read_without_topology(section)?,
            is_eager: section.choice("protocol", &[("rendezvous", false), ("eager", true)])?,
            send_overhead_s: section.optional_time_s("send_overhead")?,
            ports: machine.node.count_or_unlimited("ports", 1, MOST_PORTS)?,
        })
    }
}

impl Network for Hockney {
    type Node<T: Clock> = ();
    const NODE_HAS_STATE: bool = false;

    fn post_s(&self) -> Option<f64> {
        Some(self.send_overhead_s.unwrap_or(0.0))
    }

    fn ports(&self) -> Option<usize> {
        self.ports
    }

    #[inline(always)]
    fn within(&self, message: [usize; 2], ranks: usize) -> Option<Within> {
        self.levels.as_ref().and_then(|levels| levels.within(&self.placement, message, ranks))
    }

    fn resources(&self) -> Option<(&Resources, &Placement)> {
        self.resources.as_ref().map(|resources| (resources, &self.placement))
    }

    fn shared_ports(&self) -> Option<&Placement> {
        self.levels.as_ref().map(|_| &self.placement)
    }

    /// alpha per round, and alpha + beta n / k for the n bytes of a rank on k ports. A rank may combine in any number
    /// of branches at a time, so there is no bound on combining. If messages within a node have their own costs, rounds
    /// and bytes between nodes count; for a single node only the smaller alpha. Without a limit of ports, nothing is known
    /// of bytes.
    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound {
        let ranks = call_demand.call.ranks;
        let count = call_demand.spread().map_or(1, |spread| spread.ranks);
        let (ranks_to_tell, bytes) = match &self.levels {
            None => (count, call_demand.bytes_of_a_rank()),
            Some(_) => {
                let node_of = |rank| self.placement.place_of(rank, ranks);
                let crossing = |busy| call_demand.crossing_bytes(&|rank| node_of(rank) == node_of(busy));
                let bytes = call_demand.ranks_to_try().map(crossing).fold(0.0, f64::max);
                (self.placement.fewest_nodes(count, ranks), bytes)
            }
        };
        let nearest = self.levels.iter().flat_map(Levels::between_nodes).copied();
        let Line { alpha_s, beta_s_per_byte, .. } = nearest.fold(self.between, Line::least);
        let ports = self.ports.map_or(f64::INFINITY, |ports| ports as f64);
        let spreads = call_demand.spread().is_some_and(|spread| spread.ranks > 1);
        let least_s = self.levels.iter().flat_map(Levels::costs).map(|line| line.alpha_s).fold(alpha_s, f64::min);
        Bound {
            latency_s: (rounds(ranks_to_tell, self.ports) as f64 * alpha_s).max(if spreads { least_s } else { 0.0 }),
            bandwidth_s: match bytes > 0.0 && ports.is_finite() {
                true => Some(alpha_s + beta_s_per_byte * bytes / ports),
                false => (call_demand.bytes_of_a_rank() == 0.0).then_some(0.0),
            },
            computation_s: 0.0,
        }
    }

    fn is_eager(&self, _message: Parcel) -> bool {
        self.is_eager
    }

    #[inline(always)]
    fn inject<T: Clock>(&self, (): &mut (), now: T, Parcel { bytes, within, .. }: Parcel) -> Departure<T> {
        let (alpha_s, beta_s_per_byte) = match (&self.levels, within) {
            (Some(levels), Some(within)) => {
                let line = levels.of(within);
                let share_s_per_byte = f64::from(within.ranks_on_node) * line.node_s_per_byte;
                (line.alpha_s, line.beta_s_per_byte.max(share_s_per_byte))
            }
            _ => (self.between.alpha_s, self.between.beta_s_per_byte),
        };
        let transfer_s = alpha_s + beta_s_per_byte * bytes;
        let sender_done = now.plus(self.send_overhead_s.unwrap_or(transfer_s));
        Departure { sender_done, start: now, transfer_s, latency_s: alpha_s }
    }

    fn processing_s(&self, end: usize, _message: Parcel) -> f64 {
        self.send_overhead_s.filter(|_| end == SEND).unwrap_or(0.0)
    }
}

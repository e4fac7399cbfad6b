//! LogGOPS: latency, processor overhead and interface gap, each also per byte, and rendezvous above S bytes.
//!
//! Source: A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, "LogGP: incorporating long messages into the LogP
//! model", SPAA 1995 (L, o, g, G); T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", LSAP 2010 (O, S); ranges of
//! sizes as in P.-N. Clauss et al., "Single node on-line simulation of MPI applications with SMPI", IPDPS 2011. For n
//! bytes, and m = max(n - 1, 0), with the parameters of the range of n:
//!
//! - A rank has three independent resources: a processor, a sending interface and a receiving interface. The
//!   processor serves operations in the order in which they become ready; nothing reserves it before.
//! - send: ready at t, when it is issued and the interface has sent all messages issued before. It starts at s =
//!   max(t, processor free). The send is done and the processor free at s + o + m O; the interface is free at s + g + m
//!   G; the last byte arrives at s + o + L + m max(G, O). From t on, the receiving interface is held up by (b - 1) m G,
//!   where b is `both_ways`: the factor by which sending and receiving at once is slower.
//! - the receiving interface takes in messages in the order of their first bytes, m G before the last ones. It has a
//!   message at r = max(arrival of the last byte, interface free + m G), and is busy until r + g.
//! - receive: ready at t, when it is issued and the interface has the message. It starts at s = max(t, processor
//!   free); it is done, and the processor free, at s + o + m O.
//! - above S bytes: a request takes `request` (o + L when absent) and meets the receive; its answer takes `answer` (o
//!   + L when absent); then the message is sent as above. Both occupy no processor.
//! - computing, reducing and copying occupy the processor; they are ready when issued.
//!
//! - the first message of a rank to a peer arrives `new_peer` later; of a rendezvous, the request does.
//!
//! The keys of `[network]` except L, and those of nodes, can stand in a section `[host]` instead. Sender and receiver
//! can differ in o and O. Messages within a group of ranks can have their own parameters ([`Levels`]) and share the
//! processors with all others. In `[network.local]`, their G is at least k times the time per byte of the node's memory
//! (1 / `memory_bandwidth`), since each of the node's k ranks has its share.
//!
//! Messages through the switch of a node with `[level.multicast]` have L = `latency`, o = O = 0 and g = G = k / (2 (k - 1)
//! `bandwidth`): a rank that sends n / k bytes to each other rank, twice, as in an allreduce, sends for n / `bandwidth`. An
//! interface is occupied for `gap` / (2 (k - 1)) more.

use hocket_core::Result;
use hocket_machine::{Machine, Placement};

use super::groups::Groups;
use super::level::{Busy, Costs, Level, OF_HOST};
use super::{Departure, Levels, Network, Parcel, Resources, Within};
use crate::call_demand::{Bound, CallDemand};
use crate::clock::Clock;

/// The parameters of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Loggp {
    /// Between nodes.
    pub between: Level,
    /// Within groups of ranks, if they have their own parameters.
    pub levels: Option<Levels<Level>>,
    /// What ranks share, if anything.
    pub resources: Option<Resources>,
    /// The nodes of the ranks.
    pub placement: Placement,
}

impl Loggp {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let section = &machine.network;
        let between = match &machine.host {
            None => Level::read(section)?,
            Some(host) => {
                section.forbid(&OF_HOST, "this key in [host], as the file has a section [host]")?;
                section.ensure(!host.contains("G") || !section.contains("G"), "G", "no such key beside host.G")?;
                Level::read_parts(host, Some(section))?
            }
        };
        let levels = Levels::read(machine, Level::read, Level::read_local, Some(Level::read_multicast))?;
        let resources = Resources::read(&machine.node, levels.as_ref())?;
        Ok(Self { between, levels, resources, placement: Placement::read_without_topology(section)? })
    }

    fn all_levels(&self) -> impl Iterator<Item = &Level> + Clone {
        std::iter::once(&self.between).chain(self.levels.iter().flat_map(Levels::costs))
    }
}

impl Network for Loggp {
    type Node<T: Clock> = Busy<T>;
    const NODE_HAS_STATE: bool = true;

    #[inline(always)]
    fn within(&self, message: [usize; 2], ranks: usize) -> Option<Within> {
        self.levels.as_ref().and_then(|levels| levels.within(&self.placement, message, ranks))
    }

    #[inline(always)]
    fn level(&self, message: Parcel) -> Option<&Level> {
        match (&self.levels, message.within) {
            (Some(levels), Some(within)) => Some(levels.of(within)),
            _ => Some(&self.between),
        }
    }

    fn resources(&self) -> Option<(&Resources, &Placement)> {
        self.resources.as_ref().map(|resources| (resources, &self.placement))
    }

    /// A rank tells one more rank every max(o, g), which knows the data 2 o + L later: [`Groups::telling_s`]. The bytes of a
    /// rank take [`Groups::passing_s`]. A processor does one thing at a time.
    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound {
        let groups = Groups::new(self.levels.as_ref(), &self.between, &self.placement, call_demand.call.ranks);
        let gap_s = |costs: &Costs, bytes: f64| [costs.interface_s(bytes), costs.processor_s(bytes)];
        Bound {
            latency_s: call_demand.spread().map_or(0.0, |spread| groups.telling_s(spread.ranks, |_| 0.0, gap_s)),
            bandwidth_s: groups.passing_s(call_demand),
            computation_s: call_demand.combining_s(),
        }
    }

    fn knows_peers(&self) -> bool {
        self.all_levels().any(Level::knows_peers)
    }

    fn inject<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> Departure<T> {
        self.level(message).unwrap_or(&self.between).inject(node, now, message)
    }

    fn processing_s(&self, end: usize, message: Parcel) -> f64 {
        self.level(message).unwrap_or(&self.between).processing_s(end, message)
    }
}

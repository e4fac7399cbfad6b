//! LogGOPS: latency, overhead of the processor, gap of the network interface, each also per byte, and a rendezvous above S.
//!
//! Source: A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, "LogGP: incorporating long messages into the LogP
//! model", SPAA 1995 (L, o, g, G); T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", LSAP 2010 (O, S); ranges of sizes
//! as in P.-N. Clauss et al., "Single node on-line simulation of MPI applications with SMPI", IPDPS 2011. For n bytes, and
//! m = max(n - 1, 0), with the parameters of the range of n:
//!
//! - A rank has three resources, none of which waits for another: a processor, an interface that sends, and one that
//!   receives. The processor serves what is ready, in the order in which it becomes ready; nothing reserves it before.
//! - send: ready at t, when it is asked for, and all sends asked for before have left the interface free. It starts at
//!   s = max(t, processor free); the processor is busy until s + o + m O, when the send is done; the interface until s + g +
//!   m G; the last byte arrives at s + o + L + m max(G, O). From t on the receiving interface is held up by (b - 1) m G,
//!   where b is `both_ways`: how many times as long both ways at once take.
//! - the receiving interface takes messages in, whether asked for or not, in the order in which their first bytes are there,
//!   m G before the last ones. It has a message at r = max(arrival of the last byte, interface free + m G), and is then
//!   busy until r + g.
//! - receive: ready at t, when the interface has the message, and it is asked for. It starts at s = max(t, processor free),
//!   and is done at s + o + m O, until which the processor is busy.
//! - above S bytes the sender first asks: the request is there after `request`, o + L when the key is absent, and meets its
//!   receive; the answer is back `answer`, o + L, later, and then the message is sent as above. Request and answer occupy
//!   no processor.
//! - computing, reducing and copying occupy the processor; they are ready when asked for.
//!
//! - the first message of a rank to a peer occupies the sender's processor for `new_peer` before it starts.
//!
//! The keys of `[network]` besides L and those of nodes can stand in a section `[host]` instead. The o and O of a sender
//! and of a receiver can differ. Messages within a node can have parameters of their own
//! ([`Local`]); they share the processors with all others. There G is at least k times the time per byte of the node's memory
//! (1 / `memory_bandwidth`), of which each of the node's k ranks has its share.

use hocket_core::Result;
use hocket_machine::Machine;

use super::level::{Busy, Level, OF_HOST, least, passing_s};
use super::{Departure, Local, Network, Parcel};
use crate::clock::Clock;
use crate::demanded::{Bound, Demanded, telling_s};

/// The network: its parameters, and those of messages within a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Loggp {
    /// Between nodes.
    pub between: Level,
    /// Within a node, where that differs.
    pub local: Option<Local<Level>>,
}

impl Loggp {
    pub(super) fn read(machine: &Machine) -> Result<Self> {
        let section = &machine.network;
        let between = match &machine.host {
            None => Level::read(section)?,
            Some(host) => {
                if let Some(key) = OF_HOST.iter().find(|key| section.contains(key)) {
                    return Err(section.reject(key, "this key in [host], as the file has a section [host]"));
                }
                if host.contains("G") && section.contains("G") {
                    return Err(section.reject("G", "no such key beside host.G"));
                }
                Level::read_parts(host, Some(section))?
            }
        };
        Ok(Self { between, local: Local::read(section, Level::read_local)? })
    }

    #[inline(always)]
    fn level(&self, message: Parcel) -> &Level {
        match &self.local {
            Some(local) if message.local_ranks > 0 => &local.costs,
            _ => &self.between,
        }
    }

    fn levels(&self) -> impl Iterator<Item = &Level> + Clone {
        std::iter::once(&self.between).chain(self.local.as_ref().map(|local| &local.costs))
    }
}

impl Network for Loggp {
    type Node<T: Clock> = Busy<T>;
    const NODE_HAS_STATE: bool = true;

    fn idle<T: Clock>(&self, start: T) -> Busy<T> {
        Busy::idle(start)
    }

    #[inline(always)]
    fn local_ranks(&self, of_message: [usize; 2], ranks: usize) -> usize {
        self.local.as_ref().map_or(0, |local| local.ranks_of(of_message, ranks))
    }

    /// A rank tells one more every max(o, g), which knows 2 o + L later. The bytes of one rank pass it as [`passing_s`] says.
    /// A processor does one thing at a time.
    fn bound(&self, demanded: &Demanded<'_>) -> Bound {
        let gap_s = least(self.levels(), |costs, [first, _]| costs.interface_s(first).max(costs.processor_s(first)));
        let delay_s = self.levels().map(Level::least_time_s).fold(f64::INFINITY, f64::min);
        let bytes = demanded.bytes_of_a_rank();
        let is_one_range = self.local.is_none() && self.between.ranges.len() == 1;
        let last_s = if is_one_range { delay_s } else { 0.0 };
        Bound {
            latency_s: demanded.spread().map_or(0.0, |spread| telling_s(spread.ranks, delay_s, gap_s)),
            bandwidth_s: if bytes > 0.0 { last_s + passing_s(self.levels(), bytes) } else { 0.0 },
            computation_s: demanded.combining_s(),
        }
    }

    fn knows_peers(&self) -> bool {
        self.levels().any(Level::knows_peers)
    }

    fn is_eager(&self, message: Parcel) -> bool {
        self.level(message).is_eager(message.bytes)
    }

    fn request<T: Clock>(&self, now: T, message: Parcel) -> T {
        self.level(message).request(now, message.bytes)
    }

    fn grant<T: Clock>(&self, now: T, message: Parcel) -> T {
        self.level(message).grant(now, message.bytes)
    }

    #[inline(always)]
    fn free_to_send<T: Clock>(&self, node: &Busy<T>, _message: Parcel) -> Option<T> {
        Some(node.sending)
    }

    fn inject<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> Departure<T> {
        self.level(message).inject(node, now, message)
    }

    #[inline(always)]
    fn holds_receiving(&self, message: Parcel) -> bool {
        self.level(message).holds_receiving()
    }

    #[inline(always)]
    fn head<T: Clock>(&self, start: T, arrival: T, message: Parcel) -> T {
        self.level(message).head(start, arrival, message)
    }

    #[inline(always)]
    fn take_in<T: Clock>(&self, node: &mut Busy<T>, arrival: T, message: Parcel) -> T {
        self.level(message).take_in(node, arrival, message)
    }

    fn accept<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> T {
        self.level(message).accept(node, now, message)
    }

    fn work<T: Clock>(&self, node: &mut Busy<T>, now: T, pass: impl FnOnce(T) -> T) -> T {
        node.work(now, pass)
    }
}

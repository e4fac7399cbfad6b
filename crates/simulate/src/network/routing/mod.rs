//! Routing: which ways messages take where a pair of nodes has several. One file per policy, and a line in the registry.
//!
//! Keys of `[network]` for `links` and `packets`: `routing`, the policy (default "fixed", the topology's own route), and
//! the keys of the policy.
//!
//! - *Ways.* A shortest way has the least length; most links have the length 1, global links of dragonflies 3. It passes
//!   through no node if the topology has switches. A policy walks along them from vertex to vertex, and chooses among the
//!   links that come nearer.
//! - *Packets.* Each packet takes a way of its own; one that follows its message's flow takes that flow's.
//! - *Fair links.* A message is its packets in the mean: it has a [`Lane`] on each link of its ways, with the share of its
//!   bytes that passes there. All of them flow at one rate. Where a packet would draw a way at random, all ways have
//!   equal shares.
//! - *Queues* carry a message over one way, as a packet.
//! - A way is chosen when a message, or a packet, leaves. Links that are down then count as missing; where no way is
//!   left, the message goes or waits as with the fixed route.
//! - *Virtual channels.* The first link of a way has the first `channels_per_hop` (default 4) of them, the second one the
//!   next, and so on, so that no circle of waiting can arise. A packet takes the one whose buffer has the most room.

mod chooser;
mod course;
mod map;

pub(super) use chooser::Chooser;
use course::{Course, draw, one_of, shares};
pub(super) use course::{Lane, WHOLE};
pub(super) use map::{Edge, Roads};
use map::{Map, any};

use hocket_core::Result;
use hocket_machine::{AnyTopology, Section};

/// The decisions of a policy.
pub trait RoutingPolicy: Sync {
    /// Adds the links of the ways of a message, or of a packet.
    fn lead(&self, map: &mut Map<'_>, leaving: &Leaving<'_>, course: &mut Course);
    /// Whether a message, or a packet, can take any shortest way, or with 2 one that is up to twice as long.
    fn lengthening(&self) -> usize {
        1
    }
    /// Whether ways depend on the seed, of whole messages or of packets.
    fn is_random(&self, _is_whole: bool) -> bool {
        false
    }
    /// Whether ways depend on what links carry.
    fn looks_at_loads(&self) -> bool {
        false
    }
    /// Whether a message can take several ways at a time only.
    fn divides(&self) -> bool {
        false
    }
    /// Whether packets choose link by link, where they are.
    fn goes_by_routers(&self) -> bool {
        false
    }
}

/// A message, or a packet, that chooses its way.
pub struct Leaving<'a> {
    /// Its nodes.
    pub nodes: [usize; 2],
    /// Its connection, as a random number that the seed and its ranks give.
    pub flow: u64,
    /// The number of packets that have left the node, or of messages that are led as packets.
    pub number: u64,
    /// Whether a message is led as all its packets.
    pub is_whole: bool,
    /// What a link carries: the messages on it over the part of its bandwidth that it has, or the time or the packets that
    /// wait for it.
    pub load: &'a dyn Fn(u32) -> f64,
}

impl Leaving<'_> {
    fn random(&self, vertex: u32) -> u64 {
        draw(self.flow, [self.number, u64::from(vertex)])
    }

    /// Keeps all links of a vertex for all packets, one at random for one.
    fn keep(&self) -> impl FnMut(u32, &mut Vec<Edge>) {
        |vertex, links| {
            if !self.is_whole {
                any(links, self.random(vertex));
            }
        }
    }
}

macro_rules! routings {
    ($($name:literal: $module:ident: $Policy:ident, $read:expr);+ $(;)?) => {
        $(
            mod $module;
            use $module::$Policy;
        )+

        /// A policy with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Routing {
            /// The topology's own route.
            Fixed,
            $(
                #[allow(missing_docs)]
                $Policy($Policy),
            )+
        }

        impl Routing {
            /// Names of all policies.
            pub const NAMES: &[&str] = &["fixed", "d-mod-k", $($name),+];

            /// The policy that the section names under `routing`, with its parameters.
            pub(super) fn read(section: &Section, topology: &AnyTopology) -> Result<Self> {
                type Read = fn(&Section, &AnyTopology) -> Result<Routing>;
                let policies: &[(&str, Read)] = &[
                    ("fixed", |_, _| Ok(Self::Fixed)),
                    ("d-mod-k", |section, topology| SModK::read(section, topology).map(|_| Self::Fixed)),
                    $(($name, |section, topology| {
                        let read: fn(&Section, &AnyTopology) -> Result<$Policy> = $read;
                        read(section, topology).map(Self::$Policy)
                    }),)+
                ];
                section.choice("routing", policies)?(section, topology)
            }

            /// The decisions of the policy; none for fixed routes.
            pub(super) fn policy(&self) -> Option<&dyn RoutingPolicy> {
                match self {
                    Self::Fixed => None,
                    $(Self::$Policy(policy) => Some(policy),)+
                }
            }
        }
    };
}

routings! {
    "adaptive": adaptive: Adaptive, |_, _| Ok(Adaptive);
    "ecmp": ecmp: Ecmp, Ecmp::read;
    "s-mod-k": s_mod_k: SModK, SModK::read;
    "spray": spray: Spray, |_, _| Ok(Spray);
    "ugal": ugal: Ugal, Ugal::read;
    "valiant": valiant: Valiant, |_, _| Ok(Valiant);
}

impl Routing {
    /// Number of links that the longest way can have; none for fixed routes.
    pub(super) fn longest_way(&self, topology: &AnyTopology) -> Option<usize> {
        self.policy().map(|policy| (policy.lengthening() * topology.longest_route()).max(1))
    }

    /// Number of switches, or of groups, by way of which parts of a whole message can go.
    pub(super) fn detours(&self, topology: &AnyTopology) -> usize {
        self.policy().filter(|policy| policy.lengthening() > 1).map_or(0, |_| topology.middles().len())
    }

    /// Whether ways depend on the seed, of whole messages or of packets.
    pub(super) fn is_random(&self, is_whole: bool) -> bool {
        self.policy().is_some_and(|policy| policy.is_random(is_whole))
    }
}

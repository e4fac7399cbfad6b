//! Network models: one file each, and a line in the registry below.

mod contention;
mod fabric;
mod faults;
mod groups;
mod level;
mod levels;
mod memo;
mod model;
mod parcel;
mod passages;
mod resources;
mod routing;
mod traffic;

pub use fabric::{Fabric, SharedNetwork};
pub use faults::{Fault, Faults, Place};
pub use hockney::Line;
pub use level::{RECEIVE, SEND};
pub use levels::Levels;
pub use model::Network;
pub(crate) use model::Visitor;
pub use parcel::{Departure, Parcel, Within};
pub use passages::{Passage, Passages};
pub use resources::{Occupancy, Passing, Resources};
pub use routing::Routing;
pub use traffic::{Ask, CircuitCounts, Flight, LinkUse, Milestone, OnDemand, Traffic};

pub(crate) use contention::NetworkWithContention;
pub(crate) use level::NodeTimes;
pub(crate) use memo::Memo;

use hocket_core::{Error, Result};
use hocket_machine::{Machine, Placement};

use level::Level;

macro_rules! networks {
    (separate: $($separate:ident: $Separate:ident),+; joint: $($joint:ident: $Joint:ident),+ $(;)?) => {
        $(
            mod $separate;
            pub use $separate::$Separate;
        )+
        $(
            mod $joint;
            pub use $joint::$Joint;
        )+

        /// The network model of a machine.
        #[allow(missing_docs)]
        #[derive(Clone, Debug, PartialEq)]
        pub enum NetworkModel {
            $($Separate($Separate),)+
            $($Joint($Joint),)+
        }

        impl NetworkModel {
            /// The model that the machine names, with its parameters.
            pub fn read(machine: &Machine) -> Result<Self> {
                type Read = fn(&Machine) -> Result<NetworkModel>;
                let mut models: Vec<(&str, Read)> = vec![
                    $((stringify!($separate), |machine| $Separate::read(machine).map(NetworkModel::$Separate)),)+
                    $((stringify!($joint), |machine| $Joint::read(machine).map(NetworkModel::$Joint)),)+
                ];
                models.sort_unstable_by_key(|(name, _)| *name);
                machine.network.required_choice("model", &models)?(machine)
            }

            /// The model's name in machine files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Separate(_) => stringify!($separate),)+
                    $(Self::$Joint(_) => stringify!($joint),)+
                }
            }

            /// The network, if messages meet in it.
            pub fn shared_network(&self) -> Option<&dyn SharedNetwork> {
                match self {
                    $(Self::$Separate(_) => None,)+
                    $(Self::$Joint(network) => Some(network),)+
                }
            }

            /// Whether the ways of messages depend on the seed.
            pub fn is_random(&self) -> bool {
                self.shared_network().is_some_and(SharedNetwork::is_random)
            }

            /// The topology of a network with contention.
            pub fn fabric(&self) -> Option<&Fabric> {
                self.shared_network().map(SharedNetwork::fabric)
            }

            /// The same network, with the ranks on these nodes.
            pub fn with_placement(&self, placement: &Placement) -> Self {
                let mut network = self.clone();
                let own = match &mut network {
                    $(Self::$Separate(network) => &mut network.placement,)+
                    $(Self::$Joint(network) => &mut network.fabric.placement,)+
                };
                *own = placement.clone();
                network
            }

            /// The same network, with these faults.
            ///
            /// # Errors
            /// A model without links, or a link, a node or a fault that the network cannot have.
            pub fn with_faults(&self, faults: &[Fault]) -> Result<Self> {
                let mut faulty = self.clone();
                match &mut faulty {
                    $(Self::$Separate(_) => {
                        let model = self.name();
                        let expected = "a machine with links: the model circuits, links or packets";
                        return Err(Error::new(format!("faults: got the model {model}, expected {expected}")));
                    })+
                    $(Self::$Joint(network) => network.add_faults(faults)?,)+
                }
                Ok(faulty)
            }

            /// All networks with contention have one type for the visitor, so that programs are compiled once for them.
            pub(crate) fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                match self {
                    $(Self::$Separate(network) => visitor.visit(network),)+
                    $(Self::$Joint(network) => visitor.visit(&NetworkWithContention::new(network)),)+
                }
            }
        }
    };
}

networks! {
    separate: hockney: Hockney, loggp: Loggp;
    joint: circuits: Circuits, links: Links, packets: Packets;
}

impl NetworkModel {
    /// The level that has the costs of a message between two of these ranks, on a network without a topology.
    pub fn within(&self, message: [usize; 2], ranks: usize) -> Option<Within> {
        match self {
            Self::Hockney(network) => network.within(message, ranks),
            Self::Loggp(network) => network.within(message, ranks),
            _ => None,
        }
    }

    /// What ranks share besides links and ports, if anything.
    pub fn resources(&self) -> Option<&Resources> {
        match self {
            Self::Hockney(network) => network.resources.as_ref(),
            Self::Loggp(network) => network.resources.as_ref(),
            other => other.fabric()?.resources.as_ref(),
        }
    }

    /// The sizes at which a message begins to cost more or less, or fills a packet more.
    pub fn thresholds_bytes(&self) -> Vec<u64> {
        let (host, levels) = match self {
            Self::Hockney(_) => return Vec::new(),
            Self::Loggp(network) => (Some(&network.between), network.levels.as_ref()),
            other => other.fabric().map_or((None, None), |fabric| (Some(&fabric.host), fabric.levels.as_ref())),
        };
        let of_levels =
            host.into_iter().chain(levels.into_iter().flat_map(Levels::costs)).flat_map(Level::thresholds_bytes);
        let packet = if let Self::Packets(network) = self { Some(network.packet_bytes as u64 + 1) } else { None };
        let mut all: Vec<_> = of_levels.chain(packet).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The least time for which a message occupies one of its ends, and the least for each of its bytes, in seconds.
    pub fn least_message(&self) -> [f64; 2] {
        let least = |[one, other]: [f64; 2], [also, more]: [f64; 2]| [one.min(also), other.min(more)];
        let of_levels = |levels: Option<&Levels<Level>>| {
            levels.into_iter().flat_map(Levels::costs).map(Level::least_message).reduce(least)
        };
        match self {
            Self::Hockney(network) => {
                let alpha_s = |line: &Line| if network.is_eager { 0.0 } else { line.alpha_s };
                let levels = network.levels.iter().flat_map(Levels::costs).chain([&network.between]);
                levels.map(|line| [alpha_s(line), line.beta_s_per_byte]).fold([f64::INFINITY; 2], least)
            }
            Self::Loggp(network) => {
                of_levels(network.levels.as_ref()).into_iter().fold(network.between.least_message(), least)
            }
            other => match other.fabric() {
                Some(fabric) if fabric.levels.is_none() => [fabric.host.least_message()[0], f64::INFINITY],
                _ => [0.0; 2],
            },
        }
    }

    /// The number of nodes after which levels without a topology begin again.
    pub fn nodes_per_group(&self) -> usize {
        match self {
            Self::Hockney(network) => network.levels.as_ref().map_or(1, Levels::nodes_per_group),
            Self::Loggp(network) => network.levels.as_ref().map_or(1, Levels::nodes_per_group),
            _ => 1,
        }
    }
}

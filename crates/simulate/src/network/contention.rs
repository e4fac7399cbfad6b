//! Adapts networks with contention to the engines' interface.

use hocket_machine::Placement;

use super::fabric::{Fabric, SharedNetwork};
use super::level::{Busy, Level};
use super::{Departure, Levels, Network, Parcel, Resources, Within};
use crate::call_demand::{Bound, CallDemand};
use crate::clock::Clock;

/// A network with contention, as the engines see it.
pub(crate) struct NetworkWithContention<'a> {
    network: &'a dyn SharedNetwork,
    fabric: &'a Fabric,
}

impl<'a> NetworkWithContention<'a> {
    pub fn new(network: &'a dyn SharedNetwork) -> Self {
        Self { network, fabric: network.fabric() }
    }
}

impl Network for NetworkWithContention<'_> {
    type Node<T: Clock> = Busy<T>;
    const NODE_HAS_STATE: bool = true;
    const MESSAGES_MEET: bool = true;

    fn shared_network(&self) -> Option<&dyn SharedNetwork> {
        Some(self.network)
    }

    #[inline(always)]
    fn within(&self, message: [usize; 2], ranks: usize) -> Option<Within> {
        let Fabric { levels, placement, .. } = self.fabric;
        levels.as_ref().and_then(|levels| levels.within(placement, message, ranks))
    }

    /// Of a level, or `[host]` between nodes; none without them.
    #[inline(always)]
    fn level(&self, message: Parcel) -> Option<&Level> {
        let Fabric { levels, host, has_interfaces, .. } = self.fabric;
        match (levels, message.within) {
            (Some(levels), Some(within)) => Some(levels.of(within)),
            _ => has_interfaces.then_some(host),
        }
    }

    fn resources(&self) -> Option<(&Resources, &Placement)> {
        let Fabric { resources, placement, .. } = self.fabric;
        resources.as_ref().map(|resources| (resources, placement))
    }

    fn bound(&self, call_demand: &CallDemand<'_>) -> Bound {
        self.network.bound(call_demand)
    }

    fn is_eager(&self, message: Parcel) -> bool {
        let is_eager = message.within.is_some() || self.fabric.is_eager;
        is_eager && self.level(message).is_none_or(|level| level.is_eager(message.bytes))
    }

    fn knows_peers(&self) -> bool {
        let Fabric { levels, host, .. } = self.fabric;
        std::iter::once(host).chain(levels.iter().flat_map(Levels::costs)).any(Level::knows_peers)
    }

    fn way_s(&self, of_message: [usize; 2], ranks: usize, message: Parcel) -> f64 {
        let Fabric { placement, has_interfaces, .. } = self.fabric;
        if !has_interfaces || message.within.is_some() {
            return 0.0;
        }
        self.network.latency_s(of_message.map(|rank| placement.node_of(rank, ranks)))
    }

    fn free_to_send<T: Clock>(&self, node: &mut Busy<T>, message: Parcel) -> Option<T> {
        self.level(message).map(|_| node.sending)
    }

    fn inject<T: Clock>(&self, node: &mut Busy<T>, now: T, message: Parcel) -> Departure<T> {
        match self.level(message) {
            Some(level) if message.within.is_some() => return level.inject(node, now, message),
            Some(level) => {
                level.inject(node, now, message);
            }
            None => {
                self.fabric.host.occupy_sender(node, now, message);
            }
        }
        Departure { sender_done: node.processor, start: node.processor, transfer_s: 0.0, latency_s: 0.0 }
    }

    fn processing_s(&self, end: usize, message: Parcel) -> f64 {
        self.level(message).unwrap_or(&self.fabric.host).processing_s(end, message)
    }
}

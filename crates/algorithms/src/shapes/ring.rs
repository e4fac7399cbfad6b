//! Rings.

use hocket_core::{Call, Rank, Tag};

use crate::shapes::channels::{ChannelOrder, channels};

/// A ring of ranks, as the rank at `position` sees it.
///
/// ```text
/// ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐     position 1: previous 0, next 2, size 4
/// └────────────────────────┘
/// ```
pub struct Ring {
    /// The position of this rank, from 0 on.
    pub position: usize,
    /// Number of ranks in the ring.
    pub size: usize,
    /// The rank at the position before.
    pub previous: usize,
    /// The rank at the position after.
    pub next: usize,
    /// The tag of all messages round this ring.
    pub tag: Tag,
}

impl Ring {
    /// The ring of all ranks in their order.
    pub fn of_ranks(r: &Rank<'_>) -> Self {
        let (rank, size) = (r.rank(), r.size());
        Self { position: rank, size, previous: (rank + size - 1) % size, next: (rank + 1) % size, tag: 0 }
    }

    /// The ring of a channel: all ranks group by group, in each group from another rank on. Drawn for two groups of two
    /// ranks and two channels.
    ///
    /// ```text
    /// channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
    /// channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
    /// ```
    pub fn of_channel(c: &Call, rank: usize, channel: usize) -> Self {
        let order = ChannelOrder::new(c, channel, channels(c).len());
        let (group, position_in_group) = order.position(rank);
        let (position, size) = (order.levels.ranks_before(group) + position_in_group, c.ranks);
        Self {
            position,
            size,
            previous: Self::rank_at(&order, (position + size - 1) % size),
            next: Self::rank_at(&order, (position + 1) % size),
            tag: channel as Tag,
        }
    }

    /// The rank at a position of the ring of a channel.
    pub fn rank_at(order: &ChannelOrder, position: usize) -> usize {
        let (group, position_in_group) = order.levels.at(position);
        order.rank(group, position_in_group)
    }
}

#[cfg(test)]
mod tests {
    use hocket_core::{Collective, Nodes};
    use proptest::prelude::*;

    use super::*;
    use crate::shapes::channels::CHANNELS;
    use crate::shapes::groups::GROUP;

    fn call(ranks: usize, group: u64, channels: u64, nodes: Nodes) -> Call {
        let parameters = vec![(GROUP.name, group), (CHANNELS.name, channels)];
        Call { parameters, nodes, ..Call::new(Collective::Allreduce, ranks, 1) }
    }

    fn rings(ranks: usize, group: u64, channels: u64, nodes: Nodes) -> Vec<Vec<Ring>> {
        let call = call(ranks, group, channels, nodes);
        let ring = |channel| (0..ranks).map(|rank| Ring::of_channel(&call, rank, channel)).collect();
        (0..channels as usize).map(ring).collect()
    }

    #[test]
    fn channels_leave_a_node_by_different_ranks() {
        let leaving = |ring: &Vec<Ring>| (0..4).find(|rank| ring[*rank].next >= 4);
        let by = |channels| rings(8, 4, channels, Nodes::Unknown).iter().map(leaving).collect::<Vec<_>>();
        assert_eq!(by(1), [Some(3)]);
        assert_eq!(by(2), [Some(3), Some(1)]);
        assert_eq!(by(4), [Some(3), Some(0), Some(1), Some(2)]);
        assert_eq!(by(5), [Some(3), Some(3), Some(0), Some(1), Some(2)]);
    }

    proptest! {
        #[test]
        fn every_channel_has_all_ranks(ranks in 1_usize..40, group in 0_u64..9, channels in 1_u64..9, nodes in 1_usize..5) {
            let round_robin: Vec<_> = (0..ranks).map(|rank| rank % nodes).collect();
            let call = call(ranks, group, channels, Nodes::of(&round_robin));
            for (channel, ring) in rings(ranks, group, channels, Nodes::of(&round_robin)).iter().enumerate() {
                let order = ChannelOrder::new(&call, channel, channels as usize);
                let mut at = vec![ranks; ranks];
                for (rank, place) in ring.iter().enumerate() {
                    at[place.position] = rank;
                    prop_assert_eq!(Ring::rank_at(&order, place.position), rank);
                }
                for (position, rank) in at.iter().enumerate() {
                    prop_assert_eq!(ring[*rank].next, at[(position + 1) % ranks]);
                    prop_assert_eq!(ring[ring[*rank].next].previous, *rank);
                }
            }
        }
    }
}

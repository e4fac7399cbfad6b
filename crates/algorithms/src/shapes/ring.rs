//! Rings.

use hocket_core::{Call, Tag};

use crate::shapes::channels::turn;
use crate::shapes::levels::Levels;

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
    /// The ring of a channel: all ranks group by group, in each group from another rank on. Drawn for two groups of two
    /// ranks and two channels.
    ///
    /// ```text
    /// channel 0   ┌─▶ 0 ──▶ 1 ──▶ 2 ──▶ 3 ─┐       ranks 1 and 3 send to the other group
    /// channel 1   ┌─▶ 1 ──▶ 0 ──▶ 3 ──▶ 2 ─┐       ranks 0 and 2 send to the other group
    /// ```
    pub fn of_channel(c: &Call, rank: usize, channel: usize) -> Self {
        let levels = Levels::of(c);
        let (group, place) = levels.place(rank);
        let size = levels.size(group);
        let within = (place + size - turn(c, channel, size)) % size;
        let after = (group + 1) % levels.count();
        Self {
            position: levels.ranks_before(group) + within,
            size: c.ranks,
            previous: Self::predecessor(c, &levels, rank, channel),
            next: if within + 1 < size {
                levels.rank(group, place + 1)
            } else {
                levels.rank(after, turn(c, channel, levels.size(after)))
            },
            tag: channel as Tag,
        }
    }

    /// The rank before another one on the ring of a channel.
    pub fn predecessor(c: &Call, levels: &Levels, rank: usize, channel: usize) -> usize {
        let (group, place) = levels.place(rank);
        let size = levels.size(group);
        if place != turn(c, channel, size) {
            return levels.rank(group, place + size - 1);
        }
        let before = (group + levels.count() - 1) % levels.count();
        let size = levels.size(before);
        levels.rank(before, turn(c, channel, size) + size - 1)
    }
}

#[cfg(test)]
mod tests {
    use hocket_core::{Collective, Nodes};
    use proptest::prelude::*;

    use super::*;
    use crate::shapes::channels::CHANNELS;
    use crate::shapes::groups::GROUP;

    fn rings(ranks: usize, group: u64, channels: u64, nodes: Nodes) -> Vec<Vec<Ring>> {
        let parameters = vec![(GROUP.name, group), (CHANNELS.name, channels)];
        let call = Call { parameters, nodes, ..Call::new(Collective::Allreduce, ranks, 1) };
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
            for ring in rings(ranks, group, channels, Nodes::of(&round_robin)) {
                let mut at = vec![ranks; ranks];
                for (rank, place) in ring.iter().enumerate() {
                    at[place.position] = rank;
                }
                for (position, rank) in at.iter().enumerate() {
                    prop_assert_eq!(ring[*rank].next, at[(position + 1) % ranks]);
                    prop_assert_eq!(ring[ring[*rank].next].previous, *rank);
                }
            }
        }
    }
}
